//! What a sharded controller writes on the objects that it applies: their slot, and who wrote them at which epoch.
//!
//! The slot is a label, since watches select by it. It never changes: owners move and slots do not. Epoch and writer are
//! those of the last write that changed something, so that they alone never cause a write.

use std::borrow::Cow;

use serde_json::Value;
use windlass::model::{PatchKind, Request, ResourceId, Verb, object};
use windlass_shard::{Epoch, Slot};

/// On each output of a sharded controller: the slot of its parent.
pub const SLOT_LABEL: &str = "windlass.dev/slot";
/// On each output of a sharded controller: the epoch of its slot when it was last written, and by which instance, with its
/// incarnation: `17 app-0/3`. One annotation, since each costs the API server as much as the object's own fields do.
pub const WRITER_ANNOTATION: &str = "windlass.dev/writer";

/// Who writes, for one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The kind of parents, which are not stamped: a parent that a machine makes has a slot by its uid.
    pub(crate) parents: ResourceId,
    pub(crate) slot: Slot,
    pub(crate) epoch: Epoch,
    pub(crate) writer: String,
}

impl Stamp {
    /// The request with the label of its slot, and without the rest.
    pub(crate) fn labelled<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        self.changed(request, |body| set_entry(body, "labels", SLOT_LABEL, &self.slot.to_string()))
    }

    /// The request as it is sent.
    pub(crate) fn stamped<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        self.changed(request, |body| {
            set_entry(body, "labels", SLOT_LABEL, &self.slot.to_string());
            let written = format!("{} {}", self.epoch.0, self.writer);
            set_entry(body, "annotations", WRITER_ANNOTATION, &written);
        })
    }

    /// Whether a request writes an output: those that machines ensure, and no statuses or plain updates.
    fn is_of_output(&self, request: &Request) -> bool {
        matches!(request.verb, Verb::Patch(PatchKind::Apply) | Verb::Create)
            && request.subresource.is_none()
            && request.resource != self.parents
    }

    fn changed<'a>(&self, request: &'a Request, change: impl FnOnce(&mut Value)) -> Cow<'a, Request> {
        let Some(body) = request.body.as_ref().filter(|_| self.is_of_output(request)) else {
            return Cow::Borrowed(request);
        };
        let mut body = body.clone();
        change(&mut body);
        // Field by field: a clone of the whole would copy the body once more, which is most of it.
        Cow::Owned(Request {
            verb: request.verb,
            resource: request.resource.clone(),
            namespace: request.namespace.clone(),
            name: request.name.clone(),
            subresource: request.subresource.clone(),
            body: Some(body),
            options: request.options.clone(),
        })
    }
}

/// What to apply with the epoch and the writer of the last write, if there are any: it shows whether an apply would
/// change anything else.
pub(crate) fn as_last_written<'a>(body: &'a Value, live: &Value) -> Cow<'a, Value> {
    let Some(written) = object::annotation(live, WRITER_ANNOTATION) else { return Cow::Borrowed(body) };
    let mut body = body.clone();
    set_entry(&mut body, "annotations", WRITER_ANNOTATION, written);
    Cow::Owned(body)
}

/// Epoch and writer of the last write of an output, as its annotation has them.
pub fn last_write(annotation: &str) -> Option<(u64, &str)> {
    let (epoch, writer) = annotation.split_once(' ')?;
    Some((epoch.parse().ok()?, writer))
}

fn set_entry(body: &mut Value, map: &str, key: &str, value: &str) {
    body["metadata"][map][key] = value.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn apply() -> Request {
        let body = json!({"kind": "ConfigMap", "metadata": {"name": "a", "labels": {"app": "web"}}});
        Request::new(Verb::Patch(PatchKind::Apply), ResourceId::new("", "v1", "configmaps"))
            .named("a")
            .with_body(body)
    }

    fn stamp() -> Stamp {
        Stamp {
            parents: ResourceId::new("example.dev", "v1", "pairs"),
            slot: Slot::new(731),
            epoch: Epoch(17),
            writer: "uuid1/3".to_owned(),
        }
    }

    #[test]
    fn output_carries_slot_epoch_and_writer() {
        let stamped = stamp().stamped(&apply()).into_owned().body.expect("a body");
        assert_eq!(stamped["metadata"]["labels"], json!({"app": "web", SLOT_LABEL: "731"}));
        assert_eq!(stamped["metadata"]["annotations"], json!({WRITER_ANNOTATION: "17 uuid1/3"}));
        assert_eq!(last_write("17 uuid1/3"), Some((17, "uuid1/3")));
    }

    #[test]
    fn status_is_sent_as_it_is() {
        let status = apply().on("status");
        assert_eq!(*stamp().stamped(&status), status);
        assert_eq!(*stamp().labelled(&status), status);
    }

    #[test]
    fn parent_that_is_made_is_no_output() {
        let create = Request { verb: Verb::Create, resource: stamp().parents, ..apply() };
        assert_eq!(*stamp().stamped(&create), create);
    }

    #[test]
    fn comparison_is_with_the_last_epoch() {
        let live = stamp().stamped(&apply()).into_owned().body.expect("a body");
        let later = Stamp { epoch: Epoch(18), ..stamp() };
        let labelled = later.labelled(&apply()).into_owned().body.expect("a body");
        assert_eq!(*as_last_written(&labelled, &live), live);
        let unsharded = json!({"metadata": {"name": "a"}});
        assert_eq!(*as_last_written(&labelled, &unsharded), labelled);
    }
}
