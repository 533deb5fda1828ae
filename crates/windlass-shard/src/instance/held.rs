//! A slot of this instance, from its gain to its loss.

use crate::ring::Epoch;
use crate::slot::Slot;
use crate::timing::Millis;

use super::{Command, Instance};

/// A slot that the ring names as one of this incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    pub(crate) epoch: Epoch,
    /// Before this, requests of an earlier owner may be in flight.
    pub(crate) wait_until: Millis,
    pub(crate) stage: Stage,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// Its objects are being listed.
    Loading,
    /// They are known.
    Loaded,
    /// They are reconciled.
    Active,
    /// Its active reconciles come to their end.
    Draining,
    /// None of its requests is in flight.
    Drained,
}

impl Instance {
    /// The objects of a slot are listed. It must be the answer to the last command for this slot: a list that began
    /// before a drain misses what happened during it.
    pub fn loaded(&mut self, slot: Slot, epoch: Epoch) {
        self.advance(slot, epoch, Stage::Loading, Stage::Loaded);
    }

    /// No request for an object of the slot is in flight any more, and none will be sent. It must be the answer to the last
    /// command for this slot: a drain may be called off, and begin again.
    pub fn drained(&mut self, slot: Slot, epoch: Epoch) {
        self.advance(slot, epoch, Stage::Draining, Stage::Drained);
    }

    /// A report about another epoch, or about something that was called off meanwhile, changes nothing.
    fn advance(&mut self, slot: Slot, epoch: Epoch, from: Stage, to: Stage) {
        if let Some(held) = self.held.get_mut(&slot)
            && held.epoch == epoch
            && held.stage == from
        {
            held.stage = to;
        }
    }

    /// Starts the slots that are loaded and need not wait any more.
    pub(super) fn start_slots(&mut self, now: Millis) {
        for (slot, held) in &mut self.held {
            if held.stage == Stage::Loaded && now >= held.wait_until {
                held.stage = Stage::Active;
                self.commands.push(Command::Start(*slot, held.epoch));
            }
        }
    }

    /// Begins to drain a slot, if that has not begun.
    pub(super) fn drain(&mut self, slot: Slot) {
        if let Some(held) = self.held.get_mut(&slot)
            && !matches!(held.stage, Stage::Draining | Stage::Drained)
        {
            held.stage = Stage::Draining;
            self.commands.push(Command::Drain(slot, held.epoch));
        }
    }

    /// A drain that was called off: what was dropped meanwhile must be loaded again.
    pub(super) fn keep(&mut self, slot: Slot) {
        if let Some(held) = self.held.get_mut(&slot)
            && matches!(held.stage, Stage::Draining | Stage::Drained)
        {
            held.stage = Stage::Loading;
            self.commands.push(Command::Load(slot, held.epoch));
        }
    }

    pub(super) fn gain(&mut self, slot: Slot, epoch: Epoch, wait_until: Millis) {
        self.held.insert(slot, Held { epoch, wait_until, stage: Stage::Loading });
        self.commands.push(Command::Load(slot, epoch));
    }

    pub(super) fn lose(&mut self, slot: Slot) {
        if let Some(held) = self.held.remove(&slot) {
            self.commands.push(Command::Drop(slot, held.epoch));
        }
    }
}
