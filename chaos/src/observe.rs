//! Reads what the auditor needs from objects: the marks of children, the values of parents, the owners in the ring.

use kube::api::DynamicObject;
use serde_json::Value;
use windlass_shard::RingStatus;

use crate::audit::{Edit, OwnedRun, RingSeen, Write};
use crate::follow::version_of;
use crate::task::VALUE;

/// The label with the slot of a child.
const SLOT: &str = "windlass.dev/slot";
/// The annotation with the epoch at which a child was written, the instance that wrote it, and its incarnation.
const WRITER: &str = "windlass.dev/writer";

/// A parent: what it wants.
pub(crate) fn edit(object: &DynamicObject, at_ms: u64) -> Edit {
    Edit {
        at_ms,
        parent: object.metadata.name.clone().unwrap_or_default(),
        uid: object.metadata.uid.clone().unwrap_or_default(),
        value: object.data.pointer("/spec/value").and_then(Value::as_u64).unwrap_or_default(),
    }
}

/// A child: what it has, and from whom.
pub(crate) fn write(object: &DynamicObject, at_ms: u64) -> Write {
    let label = |name| object.metadata.labels.as_ref()?.get(name);
    let annotation = |name| object.metadata.annotations.as_ref()?.get(name);
    let written = annotation(WRITER).and_then(|written| written.split_once(' '));
    let value = object.data.pointer(&format!("/data/{VALUE}")).and_then(Value::as_str);
    Write {
        at_ms,
        version: version_of(object),
        child: object.metadata.name.clone().unwrap_or_default(),
        slot: label(SLOT).and_then(|slot| slot.parse().ok()),
        epoch: written.and_then(|(epoch, _)| epoch.parse().ok()),
        writer: written.map(|(_, writer)| writer.to_owned()),
        value: value.and_then(|value| value.parse().ok()),
    }
}

/// The ring; none if its status makes no sense, or is not there yet.
pub(crate) fn ring(object: &DynamicObject, at_ms: u64) -> Option<RingSeen> {
    let status: RingStatus = serde_json::from_value(object.data.get("status")?.clone()).ok()?;
    ring_status(&status, version_of(object), at_ms)
}

/// The ring that a status describes.
pub(crate) fn ring_status(status: &RingStatus, version: u64, at_ms: u64) -> Option<RingSeen> {
    let mut runs = Vec::new();
    for run in &status.slots {
        let owner = status.instances.get(run.owner)?;
        runs.push(OwnedRun {
            from: usize::try_from(run.from).ok()?,
            to: usize::try_from(run.to).ok()?,
            epoch: run.epoch.0,
            owner: format!("{}/{}", owner.instance_id, owner.incarnation.0),
        });
    }
    Some(RingSeen { at_ms, version, runs })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn marks_of_a_child_are_read() {
        let child = object(json!({
            "metadata": {
                "name": "a",
                "resourceVersion": "42",
                "labels": {"windlass.dev/slot": "731"},
                "annotations": {"windlass.dev/writer": "17 app-0/3"},
            },
            "data": {"value": "5"},
        }));
        let expected = Write {
            at_ms: 9,
            version: 42,
            child: "a".to_owned(),
            slot: Some(731),
            epoch: Some(17),
            writer: Some("app-0/3".to_owned()),
            value: Some(5),
        };
        assert_eq!(write(&child, 9), expected);
        assert_eq!(expected.instance(), Some("app-0"));
    }

    #[test]
    fn owners_in_the_ring_are_read() {
        let status = json!({
            "locked": false,
            "lockHolder": "",
            "instances": [{"instanceId": "app-0", "incarnation": 3}, {"instanceId": "app-1", "incarnation": 1}],
            "slots": [
                {"from": 0, "to": 9, "owner": 1, "epoch": 17, "phase": "Draining", "target": 0, "clean": true},
                {"from": 10, "to": 15, "owner": 0, "epoch": 2, "phase": "Owned", "clean": true},
            ],
        });
        let seen = ring(&object(json!({"metadata": {"resourceVersion": "5"}, "status": status})), 9).unwrap();
        let run = |from, to, epoch, owner: &str| OwnedRun { from, to, epoch, owner: owner.to_owned() };
        assert_eq!(seen.runs, [run(0, 9, 17, "app-1/1"), run(10, 15, 2, "app-0/3")]);
        assert_eq!(ring(&object(json!({"metadata": {}})), 9), None);
    }
}
