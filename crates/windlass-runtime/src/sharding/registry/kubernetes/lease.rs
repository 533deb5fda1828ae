//! The Lease of an instance: `leaseTransitions` is its incarnation, and an empty holder says that it has ended.

use serde_json::{Value, json};
use windlass::model::{ResourceId, Timestamp, object};
use windlass_shard::{Epoch, Incarnation, InstanceId, Lease, ServedSlots, Timing, Version, Versioned};

use super::version_of;

/// On the Lease of each instance: the ring that it is a member of.
pub const LEASE_RING_LABEL: &str = "windlass.dev/ring";

/// On the Lease of each instance: the highest epoch of the ring that it has seen. It outlives the ring.
const LEASE_EPOCH: &str = "windlass.dev/epoch";

/// On the Lease of each instance: the slots that it serves.
const LEASE_SERVED: &str = "windlass.dev/served-slots";

/// The name of an instance's Lease. There is one for each ring: to lose one of them must not end the work on the others.
pub fn lease_name(ring: &str, id: &InstanceId) -> String {
    format!("{ring}-{id}")
}

pub(super) fn resource() -> ResourceId {
    ResourceId::new("coordination.k8s.io", "v1", "leases")
}

/// What a Lease says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) lease: Versioned<Lease>,
    /// The highest epoch of the ring that its instance has seen.
    pub(super) epoch: Epoch,
    /// The slots that its instance serves; none of an ended one.
    pub(super) served: ServedSlots,
    /// When it was last renewed, for people.
    pub(super) renewed: Option<String>,
}

/// Reads a Lease.
pub(super) fn from_object(object: &Value) -> Result<Stored, String> {
    let spec = &object["spec"];
    let Some(incarnation) = spec["leaseTransitions"].as_u64() else {
        let name = object::name(object);
        return Err(format!("the Lease {name} has no leaseTransitions, which is its incarnation: delete it"));
    };
    let alive = spec["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty());
    let epoch = object["metadata"]["annotations"][LEASE_EPOCH].as_str().and_then(|epoch| epoch.parse().ok());
    let served = served_slots(object).filter(|_| alive);
    let lease = Versioned::new(version_of(object)?, Lease { incarnation: Incarnation(incarnation), alive });
    Ok(Stored {
        lease,
        epoch: Epoch(epoch.unwrap_or_default()),
        served: served.unwrap_or_default(),
        renewed: spec["renewTime"].as_str().map(str::to_owned),
    })
}

/// The slots that the instance of a Lease says to serve.
pub(crate) fn served_slots(object: &Value) -> Option<ServedSlots> {
    object["metadata"]["annotations"][LEASE_SERVED].as_str()?.parse().ok()
}

/// A Lease that is to be written.
pub(super) struct Written<'a> {
    pub(super) ring: &'a str,
    pub(super) namespace: &'a str,
    pub(super) id: &'a InstanceId,
    pub(super) lease: Lease,
    pub(super) epoch: Epoch,
    /// The slots that the instance serves, if it is that of this process.
    pub(super) served: Option<ServedSlots>,
    pub(super) timing: Timing,
    pub(super) now: Timestamp,
}

impl Written<'_> {
    /// A new Lease.
    pub(super) fn created(&self) -> Value {
        let name = lease_name(self.ring, self.id);
        let mut metadata = self.metadata();
        metadata["name"] = name.into();
        metadata["namespace"] = self.namespace.into();
        let mut spec = self.spec();
        spec["acquireTime"] = self.now.to_micro_string().into();
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec })
    }

    /// The change of a Lease that is still of a version.
    pub(super) fn patch(&self, version: Version) -> Value {
        let mut metadata = self.metadata();
        metadata["resourceVersion"] = version.0.to_string().into();
        json!({ "metadata": metadata, "spec": self.spec() })
    }

    /// A lease of another may be ended by who knows of an earlier epoch, which must not replace a later one.
    fn metadata(&self) -> Value {
        let mut metadata = json!({ "labels": { LEASE_RING_LABEL: self.ring } });
        if self.lease.alive && self.epoch != Epoch::default() {
            metadata["annotations"][LEASE_EPOCH] = self.epoch.0.to_string().into();
        }
        if let Some(served) = &self.served {
            metadata["annotations"][LEASE_SERVED] = served.to_string().into();
        }
        metadata
    }

    /// `renewTime` is for people, who read it as the last sign of life: the end of a lease leaves it as it is.
    fn spec(&self) -> Value {
        if !self.lease.alive {
            return json!({ "holderIdentity": "", "leaseTransitions": self.lease.incarnation });
        }
        json!({
            "holderIdentity": self.id,
            "leaseTransitions": self.lease.incarnation,
            "leaseDurationSeconds": self.timing.lease_ms.div_ceil(1_000),
            "renewTime": self.now.to_micro_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(id: &InstanceId, alive: bool) -> Written<'_> {
        let lease = Lease { incarnation: Incarnation(3), alive };
        let now = Timestamp::from_unix_micros(0);
        let (epoch, timing) = (Epoch(17), Timing::default());
        let served = alive.then(|| "0-3".parse().expect("slots"));
        Written { ring: "web", namespace: "system", id, lease, epoch, served, timing, now }
    }

    #[test]
    fn lease_is_read_as_it_was_written() {
        let id = InstanceId::new("a");
        let mut object = written(&id, true).created();
        object::set_meta(&mut object, "resourceVersion", "7");
        let read = from_object(&object).expect("a lease");
        let lease = Versioned::new(Version(7), Lease { incarnation: Incarnation(3), alive: true });
        let renewed = Some("1970-01-01T00:00:00.000000Z".to_owned());
        assert_eq!(read, Stored { lease, epoch: Epoch(17), served: "0-3".parse().expect("slots"), renewed });
        assert_eq!(object::name(&object), "web-a");
    }

    #[test]
    fn ended_lease_keeps_the_last_sign_of_life() {
        let patch = written(&InstanceId::new("a"), false).patch(Version(7));
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        assert!(patch["metadata"].get("annotations").is_none(), "its own instance has seen more");
        assert_eq!(patch["spec"], json!({"holderIdentity": "", "leaseTransitions": 3}));
    }

    #[test]
    fn foreign_lease_is_explained() {
        let object = json!({"metadata": {"name": "web-a", "resourceVersion": "7"}, "spec": {}});
        let error = from_object(&object).expect_err("it has no incarnation");
        assert_eq!(error, "the Lease web-a has no leaseTransitions, which is its incarnation: delete it");
    }
}
