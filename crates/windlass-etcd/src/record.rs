//! The values in etcd: JSON, as a person may read it with `etcdctl get`.

use serde::{Deserialize, Serialize};
use windlass_shard::{Epoch, Incarnation, Lease, Ring, RingSpec, RingStatus, SlotCount};

use crate::error::EtcdError;

/// A ring as it is stored: like a `ControllerRing` object, without metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRing {
    /// Whose ring it is, and how objects are hashed. It never changes.
    pub spec: RingSpec,
    /// The members, and the owner of each slot.
    pub status: RingStatus,
}

/// A lease as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredLease {
    incarnation: Incarnation,
    alive: bool,
}

/// The epoch of a ring, beside it. It is still there when somebody has deleted the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredEpoch {
    pub(crate) epoch: Epoch,
}

/// An entry in the list of instances, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredInstance {
    pub(crate) incarnation: Incarnation,
}

impl StoredRing {
    /// Reads what a key holds. What cannot be used is never taken for a missing ring: that would be replaced.
    pub(crate) fn read(key: &str, value: &[u8]) -> Result<Self, EtcdError> {
        read(key, value)
    }

    /// The ring, if it has these settings and makes sense.
    pub(crate) fn ring(&self, key: &str, wanted: &RingSpec, count: SlotCount) -> Result<Ring, EtcdError> {
        if let Some(problem) = self.spec.difference(wanted) {
            return Err(EtcdError::Settings { key: key.to_owned(), problem });
        }
        let refuse = |problem: String| EtcdError::Value { key: key.to_owned(), problem };
        let ring = Ring::from_status(&self.status, count).map_err(|error| refuse(error.to_string()))?;
        ring.ok_or_else(|| refuse("it has no instances and no slots".to_owned()))
    }
}

impl StoredLease {
    pub(crate) fn read(key: &str, value: &[u8]) -> Result<Lease, EtcdError> {
        let StoredLease { incarnation, alive } = read(key, value)?;
        Ok(Lease { incarnation, alive })
    }
}

impl From<Lease> for StoredLease {
    fn from(lease: Lease) -> Self {
        let Lease { incarnation, alive } = lease;
        StoredLease { incarnation, alive }
    }
}

pub(crate) fn read<Value: for<'de> Deserialize<'de>>(key: &str, value: &[u8]) -> Result<Value, EtcdError> {
    let refuse = |problem: String| EtcdError::Value { key: key.to_owned(), problem };
    serde_json::from_slice(value).map_err(|error| refuse(error.to_string()))
}

/// The value to store.
pub(crate) fn written(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("these values have only names that are text")
}

#[cfg(test)]
mod tests {
    use windlass_shard::KeyField;

    use super::*;

    fn spec() -> RingSpec {
        RingSpec::new("vm", 4096, KeyField::Uid)
    }

    fn problem(value: &str, wanted: &RingSpec) -> String {
        let read = StoredRing::read("/rings/vm", value.as_bytes());
        read.and_then(|ring| ring.ring("/rings/vm", wanted, SlotCount::DEFAULT)).unwrap_err().to_string()
    }

    #[test]
    fn lease_has_the_documented_form() {
        let lease = Lease { incarnation: Incarnation(3), alive: true };
        let value = written(&StoredLease::from(lease));
        assert_eq!(String::from_utf8_lossy(&value), r#"{"incarnation":3,"alive":true}"#);
        assert_eq!(StoredLease::read("k", &value), Ok(lease));
        assert!(StoredLease::read("k", b"{}").is_err());
    }

    #[test]
    fn what_is_wrong_with_a_ring_is_named() {
        let empty = r#"{"spec": {"controllerType": "vm"}, "status": {}}"#;
        let member = r#"{"spec": {"controllerType": "vm"}, "status": {"instances": [{"instanceId": "a", "incarnation": 1}]}}"#;
        for (value, expected) in [
            ("", "EOF while parsing"),
            ("{}", "missing field `spec`"),
            (empty, "it has no instances and no slots"),
            (member, "slots 0 to 4095 have no owner"),
        ] {
            assert!(problem(value, &spec()).contains(expected), "{value}: {}", problem(value, &spec()));
        }
    }

    #[test]
    fn other_settings_are_named() {
        let value = r#"{"spec": {"controllerType": "vm", "slots": 16, "key": "namespace"}, "status": {}}"#;
        assert!(problem(value, &spec()).contains("has 16 slots, and this instance is set to 4096"));
        let spec = RingSpec { slots: 16, ..spec() };
        assert!(problem(value, &spec).contains("has slots by namespace, and this instance is set to uid"));
        let spec = RingSpec { controller_type: "pm".to_owned(), ..spec };
        assert!(problem(value, &spec).contains("is of controller type \"vm\""));
    }
}
