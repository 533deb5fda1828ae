//! The changes that a ring can go through. Each makes a new ring, to be swapped for the old one.

use crate::assign::moves;
use crate::lease::{Incarnation, InstanceId};
use crate::slot::{Slot, SlotCount};

use super::{Epoch, Member, Ownership, Ring};

impl Ring {
    /// The first ring: its founder owns everything. `epoch` is above that of any ring there was before; if there was one,
    /// it is not `clean`.
    pub fn found(
        id: &InstanceId,
        incarnation: Incarnation,
        count: SlotCount,
        epoch: Epoch,
        clean: bool,
    ) -> Self {
        let founder = Member { id: id.clone(), incarnation, leaving: false };
        let slot = Ownership { owner: 0, draining_to: None, epoch, clean };
        Ring { members: vec![founder], slots: vec![slot; count.get()], lock: None }
    }

    /// With one more member, which has no slots yet. It takes the lock if that is free.
    #[must_use]
    pub fn join(&self, id: &InstanceId, incarnation: Incarnation) -> Self {
        let mut ring = self.clone();
        ring.members.push(Member { id: id.clone(), incarnation, leaving: false });
        ring.lock.get_or_insert_with(|| id.clone());
        ring
    }

    /// With the slots of a member in the hands of its later incarnation. Requests of the earlier one may be in flight, so
    /// none of them is clean.
    #[must_use]
    pub fn take_over(&self, member: usize, incarnation: Incarnation) -> Self {
        let mut ring = self.clone();
        let epoch = self.epoch().next();
        ring.members[member].incarnation = incarnation;
        ring.members[member].leaving = false;
        for slot in ring.slots.iter_mut().filter(|slot| slot.owner == member) {
            (slot.epoch, slot.clean) = (epoch, false);
        }
        ring
    }

    /// With slots that a member has drained in the hands of those who were to get them.
    #[must_use]
    pub fn hand_over(&self, drained: &[Slot]) -> Self {
        let mut ring = self.clone();
        let epoch = self.epoch().next();
        for slot in drained {
            let slot = &mut ring.slots[slot.index()];
            if let Some(owner) = slot.draining_to {
                *slot = Ownership { owner, draining_to: None, epoch, clean: true };
            }
        }
        ring
    }

    /// With another holder of the lock.
    #[must_use]
    pub fn lock(&self, holder: Option<&InstanceId>) -> Self {
        Ring { lock: holder.cloned(), ..self.clone() }
    }

    /// With a member that wants to go.
    #[must_use]
    pub fn begin_leave(&self, member: usize) -> Self {
        let mut ring = self.clone();
        ring.members[member].leaving = true;
        ring
    }

    /// Without a member that has no slots; none if it has some, or is to get some.
    pub fn remove(&self, member: usize) -> Option<Self> {
        let is_named = |slot: &Ownership| slot.owner == member || slot.draining_to == Some(member);
        if self.slots.iter().any(is_named) {
            return None;
        }
        let mut ring = self.clone();
        let removed = ring.members.remove(member);
        let renumber = |place: usize| if place > member { place - 1 } else { place };
        for slot in &mut ring.slots {
            slot.owner = renumber(slot.owner);
            slot.draining_to = slot.draining_to.map(renumber);
        }
        ring.lock = ring.lock.filter(|holder| *holder != removed.id);
        Some(ring)
    }

    /// Without the lost members, with all that must move on its way, and unlocked. Slots of lost members go to others at
    /// once, and are not clean; those of others are drained first.
    ///
    /// It is the same ring (but for the lock) if nothing is to be done, or if no member would be left.
    #[must_use]
    pub fn rebalance(&self, lost: &[InstanceId], weights: Option<&[u64]>) -> Self {
        let is_lost = |place: usize| lost.contains(&self.members[place].id);
        if (0..self.members.len()).all(is_lost) {
            return self.lock(None);
        }
        let wanted = self.wanted_owners(is_lost, weights);
        let epoch = self.epoch().next();
        let mut ring = self.lock(None);
        for (slot, wanted) in ring.slots.iter_mut().zip(wanted) {
            if is_lost(slot.owner) {
                *slot = Ownership { owner: wanted, draining_to: None, epoch, clean: false };
            } else {
                slot.draining_to = (wanted != slot.owner).then_some(wanted);
            }
        }
        for place in (0..self.members.len()).rev().filter(|place| is_lost(*place)) {
            ring = ring.remove(place).expect("its slots have other owners by now");
        }
        ring
    }

    /// Who is to own each slot at last, by its place among all members.
    fn wanted_owners(&self, is_lost: impl Fn(usize) -> bool, weights: Option<&[u64]>) -> Vec<usize> {
        let rest: Vec<usize> = (0..self.members.len()).filter(|place| !is_lost(*place)).collect();
        let staying = rest.iter().copied().filter(|place| !self.members[*place].leaving);
        let mut takers: Vec<usize> = staying.collect();
        if takers.is_empty() {
            // There is no one else: those who want to go keep what they have.
            takers = rest;
        }
        let number = |place: usize| takers.binary_search(&place).ok();
        // A slot on its way counts as that of its next owner, so that a second membership change does not turn it back.
        let owner_of = |slot: &Ownership| slot.draining_to.and_then(number).or(number(slot.owner));
        let mut owners: Vec<Option<usize>> = self.slots.iter().map(owner_of).collect();
        for planned in moves(&owners, takers.len(), weights) {
            owners[planned.slot.index()] = Some(planned.to);
        }
        owners.into_iter().map(|owner| takers[owner.expect("moves give every slot an owner")]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> InstanceId {
        InstanceId::new(name)
    }

    /// A ring of four slots that two members share.
    fn shared() -> Ring {
        let ring = Ring::found(&id("a"), Incarnation(1), SlotCount::new(4).unwrap(), Epoch(1), true);
        ring.join(&id("b"), Incarnation(1)).rebalance(&[], None).hand_over(&[Slot::new(2), Slot::new(3)])
    }

    /// `a1 b2*>c` is: a owns a slot at epoch 1, b one at epoch 2 that is not clean and goes to c.
    fn show(ring: &Ring) -> String {
        let name = |place: usize| ring.members()[place].id.to_string();
        let show = |slot: &Ownership| {
            let dirty = if slot.clean { "" } else { "*" };
            let to = slot.draining_to.map(|to| format!(">{}", name(to))).unwrap_or_default();
            format!("{}{}{dirty}{to}", name(slot.owner), slot.epoch.0)
        };
        ring.slots.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn newcomer_gets_slots_that_were_drained() {
        let ring = Ring::found(&id("a"), Incarnation(1), SlotCount::new(4).unwrap(), Epoch(1), true);
        let joined = ring.join(&id("b"), Incarnation(1));
        assert_eq!((show(&joined).as_str(), joined.lock_holder()), ("a1 a1 a1 a1", Some(&id("b"))));
        let planned = joined.rebalance(&[], None);
        assert_eq!((show(&planned).as_str(), planned.lock_holder()), ("a1 a1 a1>b a1>b", None));
        assert_eq!(show(&planned.hand_over(&[Slot::new(3)])), "a1 a1 a1>b b2");
    }

    #[test]
    fn slots_of_a_lost_member_change_hands_at_once() {
        let ring = shared().rebalance(&[id("a")], None);
        assert_eq!(show(&ring), "b3* b3* b2 b2");
        assert_eq!(ring.members().len(), 1);
    }

    #[test]
    fn later_incarnation_takes_over_its_slots_not_clean() {
        let ring = shared().take_over(1, Incarnation(2));
        assert_eq!(show(&ring), "a1 a1 b3* b3*");
        assert_eq!(ring.owner(Slot::new(2)).incarnation, Incarnation(2));
    }

    #[test]
    fn drain_towards_a_lost_member_is_called_off() {
        let ring = Ring::found(&id("a"), Incarnation(1), SlotCount::new(2).unwrap(), Epoch(1), true);
        let ring = ring.join(&id("b"), Incarnation(1)).rebalance(&[], None);
        assert_eq!(show(&ring), "a1 a1>b");
        assert_eq!(show(&ring.rebalance(&[id("b")], None)), "a1 a1");
        assert_eq!(show(&ring.rebalance(&[id("a")], None)), "b2* b2*");
    }

    #[test]
    fn leaving_member_hands_over_all_and_is_removed() {
        let ring = shared().begin_leave(0).rebalance(&[], None);
        assert_eq!(show(&ring), "a1>b a1>b b2 b2");
        assert_eq!(ring.remove(0), None);
        let ring = ring.hand_over(&[Slot::new(0), Slot::new(1)]).remove(0).unwrap();
        assert_eq!(show(&ring), "b3 b3 b2 b2");
    }

    #[test]
    fn last_member_keeps_its_slots() {
        let ring = Ring::found(&id("a"), Incarnation(1), SlotCount::new(2).unwrap(), Epoch(1), true);
        assert_eq!(show(&ring.begin_leave(0).rebalance(&[], None)), "a1 a1");
        assert_eq!(show(&ring.rebalance(&[id("a")], None)), "a1 a1");
    }

    #[test]
    fn few_members_watch_all_leases() {
        let names: Vec<InstanceId> = (0..5).map(|number| id(&number.to_string())).collect();
        let found = Ring::found(&names[0], Incarnation(1), SlotCount::DEFAULT, Epoch(1), true);
        let ring = names[1..].iter().fold(found, |ring, name| ring.join(name, Incarnation(1)));
        assert_eq!(
            ring.watched_by(&names[1], 3),
            [&names[0], &names[2], &names[3], &names[4]].map(Clone::clone)
        );
        assert_eq!(ring.watched_by(&names[4], 3), names[..3]);
    }
}
