//! What all instances of a ring agree on, once and for all.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::slot::SlotCount;
use crate::timing::Timing;

/// The spec of a `ControllerRing`. It never changes: if two instances of a ring had different ones, an object could have
/// two owners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RingSpec {
    /// Whose objects these are.
    pub controller_type: String,
    /// Number of slots.
    #[serde(default = "default_slots")]
    pub slots: u64,
    /// What an object's slot is computed from.
    #[serde(default)]
    pub key: KeyField,
    /// The times that instances must have in common. A ring without them was made by hand, and takes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<RingTimes>,
    /// The namespace of the leases, where leases have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_namespace: Option<String>,
    /// The namespaces of the objects; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
}

fn default_slots() -> u64 {
    SlotCount::DEFAULT.get() as u64
}

/// What an object's slot is computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyField {
    /// Its uid: the best balance.
    #[default]
    Uid,
    /// Its namespace: all objects of a namespace have one owner.
    Namespace,
}

impl fmt::Display for KeyField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyField::Uid => "uid",
            KeyField::Namespace => "namespace",
        })
    }
}

/// The times of the protocol from which others conclude when an instance acts no more, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RingTimes {
    /// L: [`Timing::lease_ms`].
    pub lease_ms: u64,
    /// R: [`Timing::renew_ms`].
    pub renew_ms: u64,
    /// T: [`Timing::request_ms`].
    pub request_ms: u64,
}

impl From<Timing> for RingTimes {
    fn from(Timing { lease_ms, renew_ms, request_ms, .. }: Timing) -> Self {
        RingTimes { lease_ms, renew_ms, request_ms }
    }
}

impl fmt::Display for RingTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RingTimes { lease_ms, renew_ms, request_ms } = self;
        write!(f, "leases of {lease_ms} ms (renewed within {renew_ms} ms, requests within {request_ms} ms)")
    }
}

impl RingSpec {
    /// With these slots, and nothing else that instances have to agree on.
    pub fn new(controller_type: &str, slots: u64, key: KeyField) -> Self {
        RingSpec {
            controller_type: controller_type.to_owned(),
            slots,
            key,
            times: None,
            lease_namespace: None,
            namespaces: Vec::new(),
        }
    }

    /// Why an instance that wants another spec cannot join, as the end of a sentence about the ring.
    pub fn difference(&self, wanted: &RingSpec) -> Option<String> {
        let differ = |is: &dyn fmt::Display, what: &dyn fmt::Display| {
            Some(format!("has {is}, and this instance is set to {what}"))
        };
        if self.controller_type != wanted.controller_type {
            return Some(format!("is of controller type {:?}", self.controller_type));
        }
        if self.slots != wanted.slots {
            return differ(&format!("{} slots", self.slots), &wanted.slots);
        }
        if self.key != wanted.key {
            return differ(&format!("slots by {}", self.key), &wanted.key);
        }
        match (self.times, wanted.times) {
            (Some(is), Some(times)) if is != times => return differ(&is, &times),
            _ => {}
        }
        match (&self.lease_namespace, &wanted.lease_namespace) {
            (Some(is), Some(namespace)) if is != namespace => {
                return differ(&format!("leases in namespace {is}"), namespace);
            }
            _ => {}
        }
        if self.namespaces != wanted.namespaces {
            let objects = |namespaces: &[String]| match namespaces {
                [] => "objects of all namespaces".to_owned(),
                some => format!("objects of the namespaces {}", some.join(", ")),
            };
            return differ(&objects(&self.namespaces), &objects(&wanted.namespaces));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> RingSpec {
        RingSpec {
            times: Some(Timing::default().into()),
            lease_namespace: Some("system".to_owned()),
            ..RingSpec::new("vm", 16, KeyField::Uid)
        }
    }

    fn difference(change: impl FnOnce(&mut RingSpec)) -> String {
        let mut wanted = spec();
        change(&mut wanted);
        spec().difference(&wanted).unwrap_or_default()
    }

    #[test]
    fn what_two_instances_must_have_in_common_is_named() {
        assert_eq!(difference(|_| {}), "");
        assert_eq!(difference(|spec| spec.controller_type = "pm".to_owned()), "is of controller type \"vm\"");
        assert_eq!(difference(|spec| spec.slots = 8), "has 16 slots, and this instance is set to 8");
        assert_eq!(
            difference(|spec| spec.key = KeyField::Namespace),
            "has slots by uid, and this instance is set to namespace"
        );
        assert_eq!(
            difference(|spec| spec.times = Some(Timing { lease_ms: 20_000, ..Timing::default() }.into())),
            "has leases of 15000 ms (renewed within 10000 ms, requests within 5000 ms), and this instance is set to \
             leases of 20000 ms (renewed within 10000 ms, requests within 5000 ms)"
        );
        assert_eq!(
            difference(|spec| spec.lease_namespace = Some("team".to_owned())),
            "has leases in namespace system, and this instance is set to team"
        );
        assert_eq!(
            difference(|spec| spec.namespaces = vec!["team".to_owned()]),
            "has objects of all namespaces, and this instance is set to objects of the namespaces team"
        );
    }

    #[test]
    fn ring_that_was_made_by_hand_takes_any_times() {
        let is = RingSpec { times: None, lease_namespace: None, ..spec() };
        assert_eq!(is.difference(&spec()), None);
    }

    #[test]
    fn spec_has_defaults() {
        let spec: RingSpec = serde_json::from_str(r#"{"controllerType": "virtualmachine"}"#).unwrap();
        assert_eq!(spec, RingSpec::new("virtualmachine", 4096, KeyField::Uid));
    }
}
