//! What a change of the ring means for one member: by slots, and never by objects.

use crate::lease::InstanceId;
use crate::slot::{Slot, SlotRange, runs};

use super::Ring;

/// The slots that a member gained and lost between two rings.
///
/// It takes one step for each slot, and the objects of these slots are found by an index: how many objects there are
/// makes no difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Slots that it owns now, or owns at another epoch.
    pub gained: Vec<SlotRange>,
    /// Slots that it no longer owns.
    pub lost: Vec<SlotRange>,
}

impl Delta {
    /// What changed for a member. Without a ring before, all that it owns is gained.
    pub fn between(before: Option<&Ring>, after: &Ring, id: &InstanceId) -> Self {
        let owned = |ring: &Ring, slot: Slot| {
            let owner = ring.owner(slot);
            (owner.id == *id).then(|| (owner.incarnation, ring.slot(slot).epoch))
        };
        let mut delta = (Vec::new(), Vec::new());
        for slot in after.count().slots() {
            let was = before.and_then(|before| owned(before, slot));
            match owned(after, slot) {
                None if was.is_some() => delta.1.push(slot),
                Some(is) if was != Some(is) => delta.0.push(slot),
                _ => {}
            }
        }
        Delta { gained: runs(delta.0), lost: runs(delta.1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Incarnation;
    use crate::ring::Epoch;
    use crate::slot::SlotCount;

    #[test]
    fn delta_is_what_changed_hands() {
        let (a, b) = (InstanceId::new("a"), InstanceId::new("b"));
        let before = Ring::found(&a, Incarnation(1), SlotCount::new(8).unwrap(), Epoch(1), true);
        let planned = before.join(&b, Incarnation(1)).rebalance(&[], None);
        let after = planned.hand_over(&[4, 5, 7].map(Slot::new));
        let range = |from, to| SlotRange { from: Slot::new(from), to: Slot::new(to) };
        let moved = vec![range(4, 5), range(7, 7)];
        assert_eq!(Delta::between(Some(&before), &planned, &a), Delta::default());
        assert_eq!(Delta::between(Some(&before), &after, &a), Delta { gained: vec![], lost: moved.clone() });
        assert_eq!(Delta::between(Some(&before), &after, &b), Delta { gained: moved, lost: vec![] });
        assert_eq!(Delta::between(None, &before, &a), Delta { gained: vec![range(0, 7)], lost: vec![] });
        let restarted = before.take_over(0, Incarnation(2));
        assert_eq!(Delta::between(Some(&before), &restarted, &a).gained, [range(0, 7)]);
    }
}
