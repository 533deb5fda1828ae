//! What is known of one object of a queue.

use std::time::Instant;

use super::Due;
use super::causes::{Causes, Changed, Priority, Reason};
use super::ready::ReadyPosition;

/// An object that is due, waits, or is being reconciled.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// How often in a row it failed.
    pub(super) failures: u32,
    pub(super) stage: Stage,
}

#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// It is in the ready queue.
    Ready { position: ReadyPosition, pending: Pending, since: Instant, due: Due },
    /// It failed, and is tried again at this time.
    Backoff { until: Instant, pending: Pending },
    /// It asked to be requeued at this time.
    Timer { until: Instant },
    /// It ended with a terminal error, and waits for a change of the parent.
    Halted,
    /// It is being reconciled, because of `pending`; what came since then is `again`.
    Active { pending: Pending, again: Option<Pending>, forgotten: bool },
}

/// What a run is for.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) causes: Causes,
    pub(super) create_missing: bool,
    pub(super) spec_changed: bool,
    pub(super) priority: Priority,
}

impl Default for Pending {
    /// A run without causes: only its timer fired.
    fn default() -> Self {
        Pending {
            causes: Causes::default(),
            create_missing: false,
            spec_changed: false,
            priority: Priority::Live,
        }
    }
}

impl Pending {
    pub(super) fn of(reason: Reason) -> Self {
        let mut pending = Pending { priority: reason.priority, ..Pending::default() };
        pending.add(reason);
        pending
    }

    pub(super) fn add(&mut self, reason: Reason) {
        self.create_missing |= reason.cause.creates_missing();
        self.spec_changed |= reason.spec_changed;
        self.priority = self.priority.max(reason.priority);
        self.causes.add(Changed { cause: reason.cause, what: reason.what });
    }

    pub(super) fn append(&mut self, other: Pending) {
        self.create_missing |= other.create_missing;
        self.spec_changed |= other.spec_changed;
        self.priority = self.priority.max(other.priority);
        self.causes.append(other.causes);
    }
}
