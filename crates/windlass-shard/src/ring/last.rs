//! The last ring that a process has seen, to notice one that cannot have come after it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::registry::Versioned;

use super::{Epoch, Ring, RingError};

/// The newest ring that was read or written, for whoever connects an instance with a registry.
///
/// Swaps only ever let epochs grow. A ring in which one became lower was edited by hand, or comes from a backup; and if an
/// instance believed it, slots could have two owners.
#[derive(Debug, Default)]
pub struct LastRing(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    ring: Option<Versioned<Arc<Ring>>>,
    epoch: Epoch,
}

impl LastRing {
    /// Takes the next ring. One of an earlier version than the last is not compared: instances ignore it.
    ///
    /// # Errors
    /// The first slot of which the epoch went back.
    pub fn accept(&self, ring: &Versioned<Arc<Ring>>) -> Result<(), RingError> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &seen.ring {
            Some(last) if last.version >= ring.version => return Ok(()),
            Some(last) => ring.value.follows(&last.value)?,
            None => {}
        }
        seen.epoch = seen.epoch.max(ring.value.epoch());
        seen.ring = Some(ring.clone());
        Ok(())
    }

    /// The ring is gone: any other may come after it.
    pub fn gone(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ring = None;
    }

    /// The highest epoch that was seen.
    pub fn epoch(&self) -> Epoch {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).epoch
    }
}

impl Ring {
    /// Whether this can be what swaps have made of an earlier ring, as far as epochs say.
    fn follows(&self, earlier: &Ring) -> Result<(), RingError> {
        if self.count() != earlier.count() {
            return Ok(());
        }
        let describe = |ring: &Ring, slot| {
            let owner = ring.owner(slot);
            format!("{} (incarnation {}) at epoch {}", owner.id, owner.incarnation.0, ring.slot(slot).epoch.0)
        };
        for (slot, before) in earlier.slots() {
            let after = self.slot(slot);
            let (was, is) = (earlier.owner(slot), self.owner(slot));
            let is_other = (&was.id, was.incarnation) != (&is.id, is.incarnation);
            if after.epoch < before.epoch || (after.epoch == before.epoch && is_other) {
                let (before, after) = (describe(earlier, slot), describe(self, slot));
                return Err(RingError::WentBack { slot, before, after });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::lease::{Incarnation, InstanceId};
    use crate::registry::Version;
    use crate::slot::{Slot, SlotCount};

    use super::*;

    fn id(name: &str) -> InstanceId {
        InstanceId::new(name)
    }

    fn version(number: u64, ring: &Ring) -> Versioned<Arc<Ring>> {
        Versioned::new(Version(number), Arc::new(ring.clone()))
    }

    fn shared() -> Ring {
        let ring = Ring::found(&id("a"), Incarnation(1), SlotCount::new(4).unwrap(), Epoch(7), true);
        ring.join(&id("b"), Incarnation(1)).rebalance(&[], None).hand_over(&[Slot::new(2), Slot::new(3)])
    }

    #[test]
    fn what_swaps_make_is_accepted() {
        let last = LastRing::default();
        let rings = [
            shared(),
            shared().take_over(1, Incarnation(2)),
            shared().take_over(1, Incarnation(2)).rebalance(&[id("a")], None),
        ];
        for (number, ring) in rings.iter().enumerate() {
            assert_eq!(last.accept(&version(number as u64, ring)), Ok(()));
        }
        assert_eq!(last.epoch(), Epoch(10));
        assert_eq!(last.accept(&version(1, &rings[0])), Ok(()), "it is older, and ignored");
    }

    #[test]
    fn owner_without_a_higher_epoch_is_refused() {
        let last = LastRing::default();
        last.accept(&version(1, &shared())).unwrap();
        let mut edited = shared();
        edited.slots[0].owner = 1;
        assert_eq!(
            last.accept(&version(2, &edited)).unwrap_err().to_string(),
            "slot 0 was that of a (incarnation 1) at epoch 7 and is now that of b (incarnation 1) at epoch 7: its \
             epoch must grow with each owner"
        );
        assert_eq!(last.accept(&version(3, &shared())), Ok(()), "it was restored");
    }

    #[test]
    fn lower_epoch_is_refused_unless_the_ring_was_gone() {
        let last = LastRing::default();
        last.accept(&version(1, &shared())).unwrap();
        let mut edited = shared();
        edited.slots[3].epoch = Epoch(2);
        assert!(matches!(last.accept(&version(2, &edited)), Err(RingError::WentBack { .. })));
        last.gone();
        assert_eq!(last.accept(&version(2, &edited)), Ok(()));
        assert_eq!(last.epoch(), Epoch(8), "leases name the highest of all");
    }
}
