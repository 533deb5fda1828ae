//! The ring: who the members are, and who owns each slot.
//!
//! It is one register, and is only ever compared-and-swapped as a whole. The table itself is therefore always exact, and
//! what the protocol must guard against is stale knowledge of it.

mod change;
mod delta;
mod last;
mod spec;
mod status;

pub use delta::Delta;
pub use last::LastRing;
pub use spec::{KeyField, RingSpec, RingTimes};
pub use status::{InstanceStatus, Phase, RingError, RingStatus, RunStatus};

use serde::{Deserialize, Serialize};

use crate::lease::{Incarnation, InstanceId};
use crate::slot::{Slot, SlotCount};

/// Counts the owners of slots: it grows whenever a slot changes hands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        Epoch(self.0 + 1)
    }

    /// An epoch that a ring has not reached which was deleted, if this one was noted not long before: slots change hands
    /// fewer times between two renewals of a lease.
    #[must_use]
    pub(crate) fn above_all(self) -> Self {
        Epoch(self.0 + 1_000)
    }
}

/// A member of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its name.
    pub id: InstanceId,
    /// The incarnation that owns its slots.
    pub incarnation: Incarnation,
    /// Whether it hands over its slots in order to go.
    pub leaving: bool,
}

/// What the ring says about a slot. Members are numbers: their places in [`Ring::members`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ownership {
    /// Who owns it.
    pub owner: usize,
    /// Who gets it once the owner has drained it.
    pub draining_to: Option<usize>,
    /// Grows with each owner.
    pub epoch: Epoch,
    /// Whether the owner before had drained it, so that nothing of it can be in flight.
    pub clean: bool,
}

/// Who the members are, and who owns each slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    pub(crate) members: Vec<Member>,
    pub(crate) slots: Vec<Ownership>,
    /// Who computes what moves, after a membership change.
    pub(crate) lock: Option<InstanceId>,
}

impl Ring {
    /// The members, in the order in which they joined.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Number of slots.
    pub fn count(&self) -> SlotCount {
        SlotCount::new(self.slots.len() as u64).expect("a ring is made for a number of slots")
    }

    /// What is known of a slot.
    pub fn slot(&self, slot: Slot) -> Ownership {
        self.slots[slot.index()]
    }

    /// All slots in order, each with what is known of it.
    pub fn slots(&self) -> impl Iterator<Item = (Slot, Ownership)> + '_ {
        self.slots.iter().enumerate().map(|(slot, ownership)| (Slot::new(slot), *ownership))
    }

    /// The owner of a slot.
    pub fn owner(&self, slot: Slot) -> &Member {
        &self.members[self.slots[slot.index()].owner]
    }

    /// The place of a member.
    pub fn member(&self, id: &InstanceId) -> Option<usize> {
        self.members.iter().position(|member| member.id == *id)
    }

    /// Who computes what moves, after a membership change. It affects no slot that does not move.
    pub fn lock_holder(&self) -> Option<&InstanceId> {
        self.lock.as_ref()
    }

    /// The epoch of the last change of hands.
    pub fn epoch(&self) -> Epoch {
        self.slots.iter().map(|slot| slot.epoch).max().unwrap_or_default()
    }

    /// Whether a member is one of the few oldest, which watch all leases and compute what moves.
    pub fn is_monitor(&self, id: &InstanceId, monitors: usize) -> bool {
        self.member(id).is_some_and(|place| place < monitors)
    }

    /// Whose leases a member has to watch. The few oldest members watch all, and all others watch these: with 100
    /// members, that is a few hundred watches and not ten thousand.
    pub fn watched_by(&self, id: &InstanceId, monitors: usize) -> Vec<InstanceId> {
        let watched =
            if self.is_monitor(id, monitors) { self.members.len() } else { monitors.min(self.members.len()) };
        self.members[..watched]
            .iter()
            .map(|member| &member.id)
            .filter(|other| *other != id)
            .cloned()
            .collect()
    }
}

/// How many members watch the leases of all: any one of them is enough, and three rarely go at once.
pub(crate) const MONITORS: usize = 3;
