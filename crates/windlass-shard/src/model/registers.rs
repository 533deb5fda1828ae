//! The registry of the model: a register for the ring and one for each lease.
//!
//! The version of a register is always the same, [`CURRENT`]: when it is written, the versions that processes know of
//! become smaller instead. States then do not differ by how often something was written.

use std::sync::Arc;

use crate::lease::{Incarnation, InstanceId, Lease};
use crate::registry::{Answer, Request, Version, Versioned};
use crate::ring::{Epoch, Ring};
use crate::slot::Slot;

/// The most instances of a world.
pub(super) const MAX_INSTANCES: usize = 3;
/// The version of every register.
pub(super) const CURRENT: Version = Version(100);
/// The epoch of every slot.
pub(super) const CURRENT_EPOCH: Epoch = Epoch(100);

/// What the registry holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Registers {
    pub(super) ring: Option<Arc<Ring>>,
    pub(super) leases: [Option<Lease>; MAX_INSTANCES],
}

/// What a request has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Written {
    /// The ring.
    pub(super) ring: bool,
    /// The lease of this instance.
    pub(super) lease: Option<usize>,
    /// The slots that changed hands, as bits.
    pub(super) slots: u8,
}

/// The instance of a number, and back.
pub(super) fn id(number: usize) -> InstanceId {
    InstanceId::new(["a", "b", "c"][number])
}

pub(super) fn number(id: &InstanceId) -> usize {
    usize::from(id.as_str().as_bytes()[0] - b'a')
}

impl Registers {
    /// Performs a request, `blindly` if the version is not to be compared.
    ///
    /// # Errors
    /// What must never happen to the ring.
    pub(super) fn perform(&mut self, request: &Request, blindly: bool) -> Result<(Answer, Written), String> {
        let is_current = |expected: &Option<Version>, exists: bool| match expected {
            Some(version) => exists && *version == CURRENT,
            None => !exists,
        };
        let mut written = Written::default();
        let answer = match request {
            Request::ReadRing => Answer::Ring(self.ring.clone().map(|ring| Versioned::new(CURRENT, ring))),
            Request::ReadLeases(ids) => {
                let lease =
                    |id: &InstanceId| self.leases[number(id)].map(|lease| Versioned::new(CURRENT, lease));
                Answer::Leases(ids.iter().map(|id| (id.clone(), lease(id))).collect())
            }
            Request::SwapLease { id, expected, lease } => {
                let register = &mut self.leases[number(id)];
                if !blindly && !is_current(expected, register.is_some()) {
                    return Ok((Answer::Conflict, written));
                }
                *register = Some(*lease);
                written.lease = Some(number(id));
                Answer::Swapped(CURRENT)
            }
            Request::SwapRing { expected, ring } => {
                if !blindly && !is_current(expected, self.ring.is_some()) {
                    return Ok((Answer::Conflict, written));
                }
                written = Written { ring: true, lease: None, slots: self.changed_hands(ring)? };
                self.ring = Some(Arc::new(at_current_epoch(ring)));
                Answer::Swapped(CURRENT)
            }
        };
        Ok((answer, written))
    }

    /// The slots whose epoch grows with a new ring.
    fn changed_hands(&self, ring: &Ring) -> Result<u8, String> {
        let Some(before) = &self.ring else { return Ok(0) };
        let mut changed = 0;
        for (slot, after) in ring.slots() {
            let named = |ring: &Ring| (ring.owner(slot).id.clone(), ring.owner(slot).incarnation);
            if after.owner >= ring.members.len() {
                return Err(format!("slot {slot} has no owner"));
            }
            if after.epoch < CURRENT_EPOCH || (after.epoch == CURRENT_EPOCH && named(before) != named(ring)) {
                return Err(format!("the epoch of slot {slot} does not grow although it changes hands"));
            }
            if after.epoch > CURRENT_EPOCH {
                changed |= 1 << slot.index();
            }
        }
        Ok(changed)
    }

    /// The incarnation that the ring names as the owner of a slot, with its instance.
    pub(super) fn owner(&self, slot: Slot) -> Option<(usize, Incarnation)> {
        self.ring.as_ref().map(|ring| (number(&ring.owner(slot).id), ring.owner(slot).incarnation))
    }
}

fn at_current_epoch(ring: &Ring) -> Ring {
    let mut ring = ring.clone();
    ring.slots.iter_mut().for_each(|slot| slot.epoch = CURRENT_EPOCH);
    ring
}
