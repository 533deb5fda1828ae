//! The ring as a `ControllerRing` object has it: runs of slots, and checks of what somebody may have edited by hand.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::lease::{Incarnation, InstanceId};
use crate::slot::{Slot, SlotCount};

use super::{Epoch, Member, Ownership, Ring};

/// The status of a `ControllerRing`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RingStatus {
    /// Whether a member computes what moves.
    pub locked: bool,
    /// Which one.
    pub lock_holder: String,
    /// The members.
    pub instances: Vec<InstanceStatus>,
    /// The slots, in order, neighbours of which the same is known being one run.
    pub slots: Vec<RunStatus>,
}

/// A member, in a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    /// Its name.
    pub instance_id: InstanceId,
    /// The incarnation that owns its slots.
    pub incarnation: Incarnation,
    /// When its lease was last renewed, for people. No decision reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_healthprobe_at: Option<String>,
    /// Whether it hands over its slots in order to go.
    #[serde(default, skip_serializing_if = "is_false")]
    pub leaving: bool,
}

/// Consecutive slots of which the same is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    /// The first slot.
    pub from: u64,
    /// The last slot.
    pub to: u64,
    /// The owner, by its place in the list of instances.
    pub owner: usize,
    /// Grows with each owner.
    pub epoch: Epoch,
    /// Whether they are on their way to another owner.
    pub phase: Phase,
    /// Who gets them, while they are draining.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<usize>,
    /// Whether the owner before had drained them. If not stated, it had not: the owner waits.
    #[serde(default)]
    pub clean: bool,
}

/// Whether slots are on their way to another owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// They are not.
    Owned,
    /// The owner finishes its work on them.
    Draining,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A status that makes no sense: somebody has edited it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// A member without a name.
    #[error("instance {place} of the ring has no instanceId")]
    NoName {
        /// Its place in the list.
        place: usize,
    },
    /// Two members of one name.
    #[error("instance {id} is in the ring twice")]
    Twice {
        /// Their name.
        id: InstanceId,
    },
    /// Incarnations begin with 1.
    #[error("instance {id} has incarnation 0; incarnations begin with 1")]
    NoIncarnation {
        /// Its name.
        id: InstanceId,
    },
    /// `locked` and `lockHolder` contradict each other.
    #[error("locked is {locked}, but lockHolder is {holder:?}")]
    Lock {
        /// `locked`.
        locked: bool,
        /// `lockHolder`.
        holder: String,
    },
    /// A run does not begin where the one before ends.
    #[error("a run of slots begins with {from}, but the next slot without an owner is {expected}")]
    Gap {
        /// Where it begins.
        from: u64,
        /// Where it should.
        expected: u64,
    },
    /// A run ends before it begins, or after the last slot.
    #[error("the run from slot {from} ends with slot {to}, but the ring has slots {from} to {last} for it")]
    End {
        /// Where it begins.
        from: u64,
        /// Where it ends.
        to: u64,
        /// The last slot of the ring.
        last: u64,
    },
    /// Some slots have no owner.
    #[error("slots {from} to {last} have no owner")]
    Unowned {
        /// The first of them.
        from: u64,
        /// The last slot of the ring.
        last: u64,
    },
    /// A number that is not that of a member.
    #[error("{role} of the run from slot {from} is instance {place}, but there are {members} instances")]
    NoMember {
        /// Owner or target.
        role: &'static str,
        /// Where the run begins.
        from: u64,
        /// The number.
        place: usize,
        /// How many members there are.
        members: usize,
    },
    /// `phase` and `target` contradict each other.
    #[error("the run from slot {from} is {phase:?}, but its target is {target:?} and its owner {owner}")]
    Target {
        /// Where the run begins.
        from: u64,
        /// Its phase.
        phase: Phase,
        /// Its target.
        target: Option<usize>,
        /// Its owner.
        owner: usize,
    },
    /// Epochs begin with 1.
    #[error("the run from slot {from} has epoch 0; epochs begin with 1")]
    NoEpoch {
        /// Where the run begins.
        from: u64,
    },
    /// The epoch of a slot became lower, or its owner changed and the epoch did not become higher.
    #[error(
        "slot {slot} was that of {before} and is now that of {after}: its epoch must grow with each owner"
    )]
    WentBack {
        /// The slot.
        slot: Slot,
        /// Its owner and epoch before.
        before: String,
        /// Its owner and epoch now.
        after: String,
    },
}

impl Ring {
    /// Reads a status; none if it is that of a ring without members yet.
    ///
    /// # Errors
    /// What makes no sense in it. An instance then keeps what it has, and takes nothing more.
    pub fn from_status(status: &RingStatus, count: SlotCount) -> Result<Option<Self>, RingError> {
        if status.instances.is_empty() && status.slots.is_empty() {
            return Ok(None);
        }
        let members = members(&status.instances)?;
        let mut slots = Vec::with_capacity(count.get());
        for run in &status.slots {
            check_run(run, slots.len() as u64, count.get() as u64 - 1, members.len())?;
            slots.extend((run.from..=run.to).map(|_| ownership(run)));
        }
        if slots.len() < count.get() {
            return Err(RingError::Unowned { from: slots.len() as u64, last: count.get() as u64 - 1 });
        }
        Ok(Some(Ring { members, slots, lock: lock(status)? }))
    }

    /// The status of this ring.
    pub fn to_status(&self) -> RingStatus {
        let mut slots: Vec<RunStatus> = Vec::new();
        for (slot, ownership) in self.slots() {
            let run = run(slot, ownership);
            match slots.last_mut() {
                Some(last)
                    if (RunStatus { from: last.from, ..run }) == (RunStatus { to: run.to, ..*last }) =>
                {
                    last.to = run.to;
                }
                _ => slots.push(run),
            }
        }
        let instances = self.members.iter().map(|member| InstanceStatus {
            instance_id: member.id.clone(),
            incarnation: member.incarnation,
            last_healthprobe_at: None,
            leaving: member.leaving,
        });
        RingStatus {
            locked: self.lock.is_some(),
            lock_holder: self.lock.as_ref().map(ToString::to_string).unwrap_or_default(),
            instances: instances.collect(),
            slots,
        }
    }
}

fn members(instances: &[InstanceStatus]) -> Result<Vec<Member>, RingError> {
    let mut names = BTreeSet::new();
    for (place, instance) in instances.iter().enumerate() {
        let id = instance.instance_id.clone();
        if id.as_str().is_empty() {
            return Err(RingError::NoName { place });
        }
        if instance.incarnation == Incarnation(0) {
            return Err(RingError::NoIncarnation { id });
        }
        if !names.insert(&instance.instance_id) {
            return Err(RingError::Twice { id });
        }
    }
    let member = |instance: &InstanceStatus| Member {
        id: instance.instance_id.clone(),
        incarnation: instance.incarnation,
        leaving: instance.leaving,
    };
    Ok(instances.iter().map(member).collect())
}

fn check_run(run: &RunStatus, expected: u64, last: u64, members: usize) -> Result<(), RingError> {
    let RunStatus { from, to, owner, phase, target, .. } = *run;
    if from != expected {
        return Err(RingError::Gap { from, expected });
    }
    if to < from || to > last {
        return Err(RingError::End { from, to, last });
    }
    for (role, place) in [("the owner", Some(owner)), ("the target", target)] {
        if let Some(place) = place.filter(|place| *place >= members) {
            return Err(RingError::NoMember { role, from, place, members });
        }
    }
    if target.is_some() != (phase == Phase::Draining) || target == Some(owner) {
        return Err(RingError::Target { from, phase, target, owner });
    }
    if run.epoch == Epoch(0) {
        return Err(RingError::NoEpoch { from });
    }
    Ok(())
}

fn lock(status: &RingStatus) -> Result<Option<InstanceId>, RingError> {
    let (locked, holder) = (status.locked, status.lock_holder.clone());
    match (locked, holder.is_empty()) {
        (true, false) => Ok(Some(InstanceId::new(&holder))),
        (false, true) => Ok(None),
        _ => Err(RingError::Lock { locked, holder }),
    }
}

fn ownership(run: &RunStatus) -> Ownership {
    Ownership { owner: run.owner, draining_to: run.target, epoch: run.epoch, clean: run.clean }
}

fn run(slot: Slot, ownership: Ownership) -> RunStatus {
    RunStatus {
        from: slot.index() as u64,
        to: slot.index() as u64,
        owner: ownership.owner,
        epoch: ownership.epoch,
        phase: if ownership.draining_to.is_some() { Phase::Draining } else { Phase::Owned },
        target: ownership.draining_to,
        clean: ownership.clean,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn ring() -> Ring {
        let id = InstanceId::new;
        let ring = Ring::found(&id("uuid1"), Incarnation(3), SlotCount::DEFAULT, Epoch(17), true);
        ring.join(&id("uuid2"), Incarnation(1)).rebalance(&[], None)
    }

    fn read(status: Value) -> Result<Option<Ring>, RingError> {
        Ring::from_status(&serde_json::from_value(status).unwrap(), SlotCount::DEFAULT)
    }

    #[test]
    fn status_has_runs_of_slots() {
        let status = serde_json::to_value(ring().to_status()).unwrap();
        let expected = json!({
            "locked": false,
            "lockHolder": "",
            "instances": [
                { "instanceId": "uuid1", "incarnation": 3 },
                { "instanceId": "uuid2", "incarnation": 1 },
            ],
            "slots": [
                { "from": 0, "to": 2047, "owner": 0, "epoch": 17, "phase": "Owned", "clean": true },
                { "from": 2048, "to": 4095, "owner": 0, "epoch": 17, "phase": "Draining", "target": 1, "clean": true },
            ],
        });
        assert_eq!(status, expected);
        assert_eq!(read(status), Ok(Some(ring())));
    }

    #[test]
    fn locked_ring_is_read_as_it_was_written() {
        let ring = ring().lock(Some(&InstanceId::new("uuid2"))).begin_leave(1);
        let status = serde_json::to_value(ring.to_status()).unwrap();
        assert_eq!((&status["locked"], &status["lockHolder"]), (&json!(true), &json!("uuid2")));
        assert_eq!(read(status), Ok(Some(ring)));
    }

    #[test]
    fn empty_status_is_no_ring_yet() {
        assert_eq!(read(json!({})), Ok(None));
    }

    /// Changes a good status in one place; returns the error.
    fn edited(pointer: &str, value: Value) -> String {
        let mut status = serde_json::to_value(ring().to_status()).unwrap();
        *status.pointer_mut(pointer).unwrap() = value;
        read(status).unwrap_err().to_string()
    }

    #[test]
    fn edits_by_hand_are_explained() {
        let cases = [
            ("/instances/1/instanceId", json!("uuid1"), "instance uuid1 is in the ring twice"),
            ("/instances/1/instanceId", json!(""), "instance 1 of the ring has no instanceId"),
            (
                "/instances/0/incarnation",
                json!(0),
                "instance uuid1 has incarnation 0; incarnations begin with 1",
            ),
            ("/locked", json!(true), "locked is true, but lockHolder is \"\""),
            ("/lockHolder", json!("uuid1"), "locked is false, but lockHolder is \"uuid1\""),
            (
                "/slots/1/from",
                json!(2049),
                "a run of slots begins with 2049, but the next slot without an owner is 2048",
            ),
            (
                "/slots/1/to",
                json!(4096),
                "the run from slot 2048 ends with slot 4096, but the ring has slots 2048 to 4095 for it",
            ),
            ("/slots/1/to", json!(4000), "slots 4001 to 4095 have no owner"),
            (
                "/slots/0/owner",
                json!(2),
                "the owner of the run from slot 0 is instance 2, but there are 2 instances",
            ),
            (
                "/slots/1/target",
                json!(0),
                "the run from slot 2048 is Draining, but its target is Some(0) and its owner 0",
            ),
            (
                "/slots/1/phase",
                json!("Owned"),
                "the run from slot 2048 is Owned, but its target is Some(1) and its owner 0",
            ),
            ("/slots/0/epoch", json!(0), "the run from slot 0 has epoch 0; epochs begin with 1"),
        ];
        for (pointer, value, error) in cases {
            assert_eq!(edited(pointer, value), error, "{pointer}");
        }
    }

    #[test]
    fn huge_runs_take_no_memory() {
        assert!(edited("/slots/0/to", json!(u64::MAX)).contains("ends with slot"));
    }
}
