//! The Lease of an instance: `leaseTransitions` is its incarnation, and an empty holder says that it has ended.

use serde_json::{Value, json};
use windlass::model::{ResourceId, Timestamp, object};
use windlass_shard::{Incarnation, InstanceId, Lease, Timing, Version, Versioned};

use super::version_of;

/// On the Lease of each instance: the ring that it is a member of.
pub const LEASE_RING_LABEL: &str = "windlass.dev/ring";

/// The name of an instance's Lease. There is one for each ring: to lose one of them must not end the work on the others.
pub fn lease_name(ring: &str, id: &InstanceId) -> String {
    format!("{ring}-{id}")
}

pub(super) fn resource() -> ResourceId {
    ResourceId::new("coordination.k8s.io", "v1", "leases")
}

/// What a Lease says.
pub(super) fn from_object(object: &Value) -> Result<Versioned<Lease>, String> {
    let spec = &object["spec"];
    let Some(incarnation) = spec["leaseTransitions"].as_u64() else {
        let name = object::name(object);
        return Err(format!("the Lease {name} has no leaseTransitions, which is its incarnation: delete it"));
    };
    let alive = spec["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty());
    Ok(Versioned::new(version_of(object)?, Lease { incarnation: Incarnation(incarnation), alive }))
}

/// A Lease that is to be written.
pub(super) struct Written<'a> {
    pub(super) ring: &'a str,
    pub(super) namespace: &'a str,
    pub(super) id: &'a InstanceId,
    pub(super) lease: Lease,
    pub(super) timing: Timing,
    pub(super) now: Timestamp,
}

impl Written<'_> {
    /// A new Lease.
    pub(super) fn created(&self) -> Value {
        let name = lease_name(self.ring, self.id);
        let metadata = json!({
            "name": name, "namespace": self.namespace, "labels": { LEASE_RING_LABEL: self.ring },
        });
        let mut spec = self.spec();
        spec["acquireTime"] = self.now.to_micro_string().into();
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec })
    }

    /// The change of a Lease that is still of a version.
    pub(super) fn patch(&self, version: Version) -> Value {
        let metadata =
            json!({ "resourceVersion": version.0.to_string(), "labels": { LEASE_RING_LABEL: self.ring } });
        json!({ "metadata": metadata, "spec": self.spec() })
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
        Written { ring: "web", namespace: "system", id, lease, timing: Timing::default(), now }
    }

    #[test]
    fn lease_is_read_as_it_was_written() {
        let id = InstanceId::new("a");
        let mut object = written(&id, true).created();
        object::set_meta(&mut object, "resourceVersion", "7");
        let read = from_object(&object).expect("a lease");
        assert_eq!(read, Versioned::new(Version(7), Lease { incarnation: Incarnation(3), alive: true }));
        assert_eq!(object::name(&object), "web-a");
    }

    #[test]
    fn ended_lease_keeps_the_last_sign_of_life() {
        let patch = written(&InstanceId::new("a"), false).patch(Version(7));
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        assert_eq!(patch["spec"], json!({"holderIdentity": "", "leaseTransitions": 3}));
    }

    #[test]
    fn foreign_lease_is_explained() {
        let object = json!({"metadata": {"name": "web-a", "resourceVersion": "7"}, "spec": {}});
        let error = from_object(&object).expect_err("it has no incarnation");
        assert_eq!(error, "the Lease web-a has no leaseTransitions, which is its incarnation: delete it");
    }
}
