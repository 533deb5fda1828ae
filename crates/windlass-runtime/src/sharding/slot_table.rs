//! Which slots are served, and what is going on in each: reconciles, and writes that got no answer.
//!
//! It is pure: the time is an argument. The protocol says what to do with slots
//! ([`Command`](windlass_shard::Command)); this says when a slot is drained.

use std::collections::BTreeMap;

use windlass_shard::{Epoch, Millis, Slot};

/// The slots that this instance owns, and the reconciles of those that it owned.
#[derive(Debug, Default)]
pub(crate) struct SlotTable {
    owned: BTreeMap<Slot, Owned>,
    /// Active reconciles by slot. One goes on for a moment after its slot is lost, and without a permit.
    active: BTreeMap<Slot, usize>,
    /// When the last write of a slot was sent that has no answer. It may still arrive.
    unanswered: BTreeMap<Slot, Millis>,
}

#[derive(Clone, Copy, Debug)]
struct Owned {
    epoch: Epoch,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Loading,
    Serving,
    Draining,
}

impl SlotTable {
    /// The objects of a slot are being listed.
    pub(crate) fn load(&mut self, slot: Slot, epoch: Epoch) {
        self.owned.insert(slot, Owned { epoch, stage: Stage::Loading });
    }

    /// From now on, its objects are reconciled.
    pub(crate) fn start(&mut self, slot: Slot, epoch: Epoch) {
        self.set_stage(slot, epoch, Stage::Serving);
    }

    /// No further reconcile of it starts.
    pub(crate) fn drain(&mut self, slot: Slot, epoch: Epoch) {
        self.set_stage(slot, epoch, Stage::Draining);
    }

    /// It is another's.
    pub(crate) fn drop_slot(&mut self, slot: Slot, epoch: Epoch) {
        if self.owned.get(&slot).is_some_and(|owned| owned.epoch == epoch) {
            self.owned.remove(&slot);
        }
    }

    fn set_stage(&mut self, slot: Slot, epoch: Epoch, stage: Stage) {
        if let Some(owned) = self.owned.get_mut(&slot).filter(|owned| owned.epoch == epoch) {
            owned.stage = stage;
        }
    }

    /// The epoch at which a slot is served, if it is.
    pub(crate) fn serves(&self, slot: Slot) -> Option<Epoch> {
        self.owned.get(&slot).filter(|owned| owned.stage == Stage::Serving).map(|owned| owned.epoch)
    }

    /// Whether a slot is this instance's, whatever it does with it.
    pub(crate) fn owns(&self, slot: Slot) -> bool {
        self.owned.contains_key(&slot)
    }

    /// The slots that are this instance's, whatever it does with them.
    pub(crate) fn owned(&self) -> impl Iterator<Item = Slot> + '_ {
        self.owned.keys().copied()
    }

    /// The slots that are served.
    pub(crate) fn served(&self) -> impl Iterator<Item = Slot> + '_ {
        self.owned.iter().filter(|(_, owned)| owned.stage == Stage::Serving).map(|(slot, _)| *slot)
    }

    /// A reconcile begins, if its slot is served; returns the epoch. Each that begins must end.
    pub(crate) fn begin(&mut self, slot: Slot) -> Option<Epoch> {
        let epoch = self.serves(slot)?;
        *self.active.entry(slot).or_default() += 1;
        Some(epoch)
    }

    /// A reconcile has ended. Returns whether a drain may have waited for it: it was the last one of a slot that is not
    /// served any more.
    pub(crate) fn end(&mut self, slot: Slot) -> bool {
        let active = self.active.get_mut(&slot).expect("what ends has begun");
        *active -= 1;
        if *active > 0 {
            return false;
        }
        self.active.remove(&slot);
        self.serves(slot).is_none()
    }

    /// A write that was sent at this time, or later, got no answer.
    pub(crate) fn unanswered(&mut self, slot: Slot, sent: Millis) {
        let last = self.unanswered.entry(slot).or_insert(sent);
        *last = (*last).max(sent);
    }

    /// The slots that have no active reconcile and no write in flight any more. `flight_ms` is the longest that a write
    /// may be in flight.
    pub(crate) fn drained(&mut self, flight_ms: u64, now: Millis) -> Vec<(Slot, Epoch)> {
        self.unanswered.retain(|_, sent| now < sent.plus(flight_ms));
        let draining = self.owned.iter().filter(|(_, owned)| owned.stage == Stage::Draining);
        let at_rest = draining
            .filter(|(slot, _)| !self.active.contains_key(slot) && !self.unanswered.contains_key(slot));
        at_rest.map(|(slot, owned)| (*slot, owned.epoch)).collect()
    }

    /// When a slot may be drained by time alone.
    pub(crate) fn drains_at(&self, flight_ms: u64) -> Option<Millis> {
        let draining = |slot: &Slot| self.owned.get(slot).is_some_and(|owned| owned.stage == Stage::Draining);
        let waiting = self.unanswered.iter().filter(|(slot, _)| draining(slot));
        waiting.map(|(_, sent)| sent.plus(flight_ms)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Slot = Slot::FIRST;
    const FIRST: Epoch = Epoch(1);
    const FLIGHT_MS: u64 = 5;

    fn serving() -> SlotTable {
        let mut table = SlotTable::default();
        table.load(SLOT, FIRST);
        table.start(SLOT, FIRST);
        table
    }

    #[test]
    fn slot_is_served_between_start_and_drain() {
        let mut table = SlotTable::default();
        assert_eq!(table.begin(SLOT), None, "another's");
        table.load(SLOT, FIRST);
        assert_eq!(table.begin(SLOT), None, "its objects are not known");
        table.start(SLOT, Epoch(2));
        assert_eq!(table.begin(SLOT), None, "that was another epoch");
        table.start(SLOT, FIRST);
        assert_eq!(table.begin(SLOT), Some(FIRST));
        table.drain(SLOT, FIRST);
        assert_eq!(table.begin(SLOT), None, "it is on its way to another");
    }

    #[test]
    fn slot_is_drained_when_its_last_reconcile_has_ended() {
        let mut table = serving();
        table.begin(SLOT);
        table.begin(SLOT);
        table.drain(SLOT, FIRST);
        for is_last in [false, true] {
            assert_eq!(table.drained(FLIGHT_MS, Millis(9)), []);
            assert_eq!(table.end(SLOT), is_last);
        }
        assert_eq!(table.drained(FLIGHT_MS, Millis(9)), [(SLOT, FIRST)]);
    }

    #[test]
    fn no_drain_waits_for_a_reconcile_of_a_slot_that_stays() {
        let mut table = serving();
        table.begin(SLOT);
        assert!(!table.end(SLOT));
        table.begin(SLOT);
        table.drop_slot(SLOT, FIRST);
        assert!(table.end(SLOT), "it was lost meanwhile");
    }

    #[test]
    fn slot_is_not_drained_while_a_write_may_arrive() {
        let mut table = serving();
        table.begin(SLOT);
        table.unanswered(SLOT, Millis(10));
        table.unanswered(SLOT, Millis(7));
        table.end(SLOT);
        assert_eq!(table.drains_at(FLIGHT_MS), None, "it is not draining");
        table.drain(SLOT, FIRST);
        assert_eq!(table.drained(FLIGHT_MS, Millis(14)), []);
        assert_eq!(table.drains_at(FLIGHT_MS), Some(Millis(15)));
        assert_eq!(table.drained(FLIGHT_MS, Millis(15)), [(SLOT, FIRST)]);
    }

    #[test]
    fn reconcile_of_an_earlier_epoch_delays_the_drain_of_a_later_one() {
        let mut table = serving();
        table.begin(SLOT);
        table.drop_slot(SLOT, FIRST);
        table.load(SLOT, Epoch(3));
        table.start(SLOT, Epoch(3));
        table.drop_slot(SLOT, FIRST);
        assert_eq!(table.serves(SLOT), Some(Epoch(3)), "a late drop of an earlier epoch changes nothing");
        table.drain(SLOT, Epoch(3));
        assert_eq!(table.drained(FLIGHT_MS, Millis(0)), []);
        table.end(SLOT);
        assert_eq!(table.drained(FLIGHT_MS, Millis(0)), [(SLOT, Epoch(3))]);
    }
}
