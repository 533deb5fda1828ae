//! The `ControllerRing` of a ring: its status is the register.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use windlass::model::{PatchKind, Reason, Request, ResourceId, Response, Timestamp, Verb, object};
use windlass_shard::{InstanceId, LastRing, Ring, RingSpec, RingStatus, SlotCount, Version, Versioned};

use crate::api::Api;
use crate::informer::{EventHandler, Informer, Selection, WatchEvent, follow};

use super::{FIELD_MANAGER, ring_kind, version_of};

/// The condition that explains a status that no one can use.
const READABLE: &str = "Readable";

/// The resource of rings: cluster-scoped, as their controllers' names are.
pub fn ring_resource() -> ResourceId {
    ResourceId::new("windlass.dev", "v1alpha1", "controllerrings")
}

fn on_ring(verb: Verb, spec: &RingSpec) -> Request {
    Request::new(verb, ring_resource()).named(&spec.controller_type).as_manager(FIELD_MANAGER)
}

pub(super) fn get(spec: &RingSpec) -> Request {
    on_ring(Verb::Get, spec)
}

/// The object without a status: no one is a member.
pub(super) fn create(spec: &RingSpec) -> Request {
    let metadata = json!({ "name": spec.controller_type });
    Request::new(Verb::Create, ring_resource())
        .as_manager(FIELD_MANAGER)
        .with_body(whole(metadata, spec, None))
}

/// When members have renewed their leases, as far as it is known. It is for people.
type Renewed = BTreeMap<InstanceId, String>;

/// The swap of the register.
pub(super) fn update(spec: &RingSpec, expected: Version, ring: &Ring, renewed: &Renewed) -> Request {
    let metadata = json!({ "name": spec.controller_type, "resourceVersion": expected.0.to_string() });
    let mut status = ring.to_status();
    for instance in &mut status.instances {
        instance.last_healthprobe_at = renewed.get(&instance.instance_id).cloned();
    }
    on_ring(Verb::Update, spec).on("status").with_body(whole(metadata, spec, Some((ring, status))))
}

fn whole(metadata: Value, spec: &RingSpec, ring: Option<(&Ring, RingStatus)>) -> Value {
    let mut whole = json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "ControllerRing", "metadata": metadata, "spec": spec,
    });
    if let Some((ring, status)) = ring {
        whole["status"] = json!(status);
        // For the columns of `kubectl get`.
        whole["status"]["instanceCount"] = ring.members().len().into();
        whole["status"]["epoch"] = ring.epoch().0.into();
    }
    whole
}

/// There is no object; none of this name, or none of this kind at all.
pub(super) fn missing(spec: &RingSpec, response: &Response) -> Result<Option<Versioned<Arc<Ring>>>, String> {
    let Some(status) = response.failure() else { return Err("the answer is no object".to_owned()) };
    let named = status.details.as_ref().and_then(|details| details.name.as_deref());
    match status.reason {
        Some(Reason::NotFound) if named == Some(&spec.controller_type) => Ok(None),
        Some(Reason::NotFound) => Err("the API server does not know the kind ControllerRing: install the \
                                       CustomResourceDefinitions that `crd --sharding` prints"
            .to_owned()),
        _ => Err(status.message.clone()),
    }
}

/// Reads the register; none if no one has written it yet. It must be able to come after the last ring that was seen.
pub(super) fn from_object(
    spec: &RingSpec,
    last: &LastRing,
    object: &Value,
) -> Result<Option<Versioned<Arc<Ring>>>, String> {
    let name = &spec.controller_type;
    let found: RingSpec = serde_json::from_value(object["spec"].clone())
        .map_err(|error| format!("the spec of the ControllerRing {name} cannot be read: {error}"))?;
    if let Some(difference) = found.difference(spec) {
        return Err(format!(
            "the ControllerRing {name} {difference}: use the settings of the ring, or stop all instances and delete it"
        ));
    }
    let edited = |error: &dyn std::fmt::Display| {
        format!(
            "the status of the ControllerRing {name} makes no sense: {error}. Instances keep what they have. Restore \
             it, or stop all instances and delete the ring"
        )
    };
    let status = object["status"].clone();
    let status: RingStatus = if status.is_null() {
        RingStatus::default()
    } else {
        serde_json::from_value(status).map_err(|error| edited(&error))?
    };
    let count = SlotCount::new(spec.slots).map_err(|error| error.to_string())?;
    let ring = Ring::from_status(&status, count).map_err(|error| edited(&error))?;
    let Some(ring) = ring else { return Ok(None) };
    let ring = Versioned::new(version_of(object)?, Arc::new(ring));
    last.accept(&ring).map_err(|error| edited(&error))?;
    Ok(Some(ring))
}

/// The write that shows an error in the ring's conditions; none if it is there already. The next swap removes it.
pub(super) fn report(spec: &RingSpec, object: &Value, error: &str, now: Timestamp) -> Option<Request> {
    let known = object["status"]["conditions"].as_array().into_iter().flatten();
    if known.into_iter().any(|condition| condition["type"] == READABLE && condition["message"] == error) {
        return None;
    }
    let condition = json!({
        "type": READABLE, "status": "False", "reason": "InvalidStatus", "message": error,
        "lastTransitionTime": now.to_string(),
    });
    let metadata = json!({ "resourceVersion": object::resource_version(object) });
    let patch = json!({ "metadata": metadata, "status": { "conditions": [condition] } });
    Some(on_ring(Verb::Patch(PatchKind::Merge), spec).on("status").with_body(patch))
}

/// The ring after each change that can be read.
pub(super) fn watch(
    api: Api,
    spec: RingSpec,
    last: Arc<LastRing>,
) -> BoxStream<'static, Versioned<Arc<Ring>>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let kind = ring_kind();
    let fields = Some(format!("metadata.name={}", spec.controller_type));
    let selection = Selection { fields, ..Selection::whole(&kind, None) };
    let informer = Informer::new(kind, selection).expect("the selector of a name can be read");
    informer.add_event_handler(Arc::new(RingChanges { spec, last, sender: sender.clone() }));
    tokio::spawn(async move {
        tokio::select! {
            () = follow(&api, &informer) => {}
            () = sender.closed() => {}
        }
    });
    let next = |mut receiver: mpsc::UnboundedReceiver<_>| async { Some((receiver.recv().await?, receiver)) };
    stream::unfold(receiver, next).boxed()
}

/// Sends what a watch shows to whoever polls the stream.
struct RingChanges {
    spec: RingSpec,
    last: Arc<LastRing>,
    sender: mpsc::UnboundedSender<Versioned<Arc<Ring>>>,
}

impl EventHandler for RingChanges {
    fn changed(&self, event: &WatchEvent) {
        let Some(object) = &event.after else { return };
        // What cannot be read is reported by the next read.
        if let Ok(Some(ring)) = from_object(&self.spec, &self.last, object) {
            // If no one listens any more, the task ends.
            let _ = self.sender.send(ring);
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_shard::{Epoch, Incarnation, KeyField};

    use super::*;

    fn spec() -> RingSpec {
        RingSpec::new("web", 8, KeyField::Uid)
    }

    fn ring() -> Ring {
        Ring::found(
            &InstanceId::new("a"),
            Incarnation(1),
            SlotCount::new(8).expect("a power of two"),
            Epoch(1),
            true,
        )
    }

    fn stored() -> Value {
        let renewed = BTreeMap::from([(InstanceId::new("a"), "2026-01-02T03:04:05Z".to_owned())]);
        let mut stored = update(&spec(), Version(7), &ring(), &renewed).body.expect("a body");
        object::set_meta(&mut stored, "resourceVersion", "8");
        stored
    }

    #[test]
    fn ring_is_read_as_it_was_written() {
        let read = from_object(&spec(), &LastRing::default(), &stored()).expect("it can be read");
        assert_eq!(read, Some(Versioned::new(Version(8), Arc::new(ring()))));
        assert_eq!(
            (&stored()["status"]["instanceCount"], &stored()["status"]["epoch"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(stored()["status"]["instances"][0]["lastHealthprobeAt"], "2026-01-02T03:04:05Z");
    }

    #[test]
    fn object_without_a_status_is_no_ring_yet() {
        let mut stored = stored();
        stored.as_object_mut().expect("an object").remove("status");
        assert_eq!(from_object(&spec(), &LastRing::default(), &stored), Ok(None));
    }

    #[test]
    fn ring_of_other_settings_is_explained() {
        let other = RingSpec { slots: 16, ..spec() };
        let error = from_object(&other, &LastRing::default(), &stored()).expect_err("it has other slots");
        assert!(
            error.starts_with(
                "the ControllerRing web has 8 slots, and this instance is set to 16: use the settings"
            ),
            "{error}"
        );
    }

    #[test]
    fn edited_status_is_explained_once() {
        let mut stored = stored();
        stored["status"]["slots"][0]["owner"] = json!(3);
        let error = from_object(&spec(), &LastRing::default(), &stored).expect_err("there is no instance 3");
        assert!(error.contains("the owner of the run from slot 0 is instance 3"), "{error}");
        let now = Timestamp::from_unix_micros(0);
        let report = report(&spec(), &stored, &error, now).expect("it is new").body.expect("a body");
        stored["status"]["conditions"] = report["status"]["conditions"].clone();
        assert!(super::report(&spec(), &stored, &error, now).is_none(), "it is there already");
    }
}
