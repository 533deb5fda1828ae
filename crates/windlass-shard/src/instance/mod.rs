//! An instance: what it asks of the registry, what it does with its slots, and what it may act on.
//!
//! It does no I/O. A driver asks [`Instance::next`] what to do, performs it, and reports back; a model does the same
//! under every order of events. At most one request is under way at a time. The rules stand in `rules.rs`; this is what
//! happens when, and `decide.rs` says what is wanted next.

mod decide;
mod held;
mod observe;
#[cfg(feature = "model")]
pub(crate) mod relative;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lease::{Incarnation, InstanceId, Lease};
use crate::mutation::Broken;
#[cfg(any(test, feature = "model"))]
use crate::mutation::Mutation;
use crate::registry::{Answer, Request, Version, Versioned};
use crate::ring::{Epoch, MONITORS, Ring};
use crate::rules;
use crate::slot::{Slot, SlotCount};
use crate::timing::{Millis, Timing};

pub(crate) use held::{Held, Stage};

/// One member of a fleet, or one that wants to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    pub(crate) id: InstanceId,
    pub(crate) timing: Timing,
    pub(crate) count: SlotCount,
    pub(crate) broken: Broken,
    /// How many members watch the leases of all.
    pub(crate) monitors: usize,
    /// Which of its lives this is; none before it has a lease.
    pub(crate) incarnation: Option<Incarnation>,
    /// From when on no request is sent for an earlier incarnation, or for a ring that somebody deleted.
    pub(crate) began: Millis,
    /// The own lease as last seen.
    pub(crate) own: Own,
    /// When the last good renewal was sent.
    pub(crate) renewed: Option<Millis>,
    /// When to renew.
    pub(crate) renew_at: Millis,
    /// The ring as last seen.
    pub(crate) ring: Option<Versioned<Arc<Ring>>>,
    /// An epoch that no ring had that somebody deleted; none if there was no such ring.
    pub(crate) last_epoch: Epoch,
    /// Who held the lock when the ring was last seen, and since when.
    pub(crate) lock_seen: Option<(InstanceId, Millis)>,
    /// The leases of others.
    pub(crate) peers: BTreeMap<InstanceId, Peer>,
    /// The slots that the ring names as those of this incarnation.
    pub(crate) held: BTreeMap<Slot, Held>,
    /// What is to be read before anything is decided.
    pub(crate) reading: Reading,
    /// When to read all of it again.
    pub(crate) read_at: Millis,
    /// The request under way, and when it was sent.
    pub(crate) asked: Option<(Request, Millis)>,
    pub(crate) leaving: bool,
    pub(crate) finished: bool,
    pub(crate) weights: Option<Arc<[u64]>>,
    pub(crate) commands: Vec<Command>,
}

/// The own lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Own {
    /// It must be read.
    Unknown,
    /// There is none.
    Missing,
    /// It was of this version.
    Seen(Version, Lease),
}

/// The lease of another instance, and since when it is seen like this.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    pub(crate) lease: Option<Versioned<Lease>>,
    pub(crate) since: Millis,
}

/// What is to be read before anything is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reading {
    Ring,
    Leases,
    Done,
    /// A request got no answer: nothing is read or decided before it is time to read again.
    Failed,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this to the registry, and report the answer with [`Instance::answered`].
    Ask(Request),
    /// Nothing before this time, unless something is observed.
    WaitUntil(Millis),
    /// Nothing any more: it has left.
    Finished,
}

/// Something to do with a slot that this instance owns at an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// List its objects, consistently, and report with [`Instance::loaded`].
    Load(Slot, Epoch),
    /// Reconcile its objects: all of them once, in the background.
    Start(Slot, Epoch),
    /// Start nothing more, finish what is active, and report with [`Instance::drained`] when none of its requests can be
    /// in flight.
    Drain(Slot, Epoch),
    /// Drop everything about it at once.
    Drop(Slot, Epoch),
}

impl Command {
    /// Which slot it is about.
    pub fn slot(&self) -> Slot {
        match self {
            Command::Load(slot, _)
            | Command::Start(slot, _)
            | Command::Drain(slot, _)
            | Command::Drop(slot, _) => *slot,
        }
    }
}

/// The permit to send one request for an object of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permit {
    /// For the request to carry, so that a later owner's can be distinguished from it.
    pub epoch: Epoch,
    /// When the permit ends. A request must not be sent later, not even a retry of one that was permitted.
    pub deadline: Millis,
}

impl Instance {
    /// A process that starts now, under a name that no other process uses.
    pub fn new(id: InstanceId, count: SlotCount, timing: Timing, now: Millis) -> Self {
        Instance {
            id,
            timing,
            count,
            broken: Broken::default(),
            monitors: MONITORS,
            incarnation: None,
            began: now,
            own: Own::Unknown,
            renewed: None,
            renew_at: now,
            ring: None,
            last_epoch: Epoch::default(),
            lock_seen: None,
            peers: BTreeMap::new(),
            held: BTreeMap::new(),
            reading: Reading::Ring,
            read_at: now,
            asked: None,
            leaving: false,
            finished: false,
            weights: None,
            commands: Vec::new(),
        }
    }

    /// Breaks a rule on purpose.
    #[cfg(any(test, feature = "model"))]
    pub fn break_rule(&mut self, mutation: Mutation) {
        self.broken = Broken(Some(mutation));
    }

    /// The same with a rule that is broken on purpose, if any.
    #[cfg(any(test, feature = "model"))]
    pub(crate) fn with_broken_rule(mut self, mutation: Option<Mutation>) -> Self {
        self.broken = Broken(mutation);
        self
    }

    /// Its name.
    pub fn id(&self) -> &InstanceId {
        &self.id
    }

    /// Which of its lives this is; none before it has a lease.
    pub fn incarnation(&self) -> Option<Incarnation> {
        self.incarnation
    }

    /// The ring as last seen.
    pub fn ring(&self) -> Option<&Ring> {
        self.ring.as_ref().map(|ring| &*ring.value)
    }

    /// Whether it is one of the few members that watch the leases of all.
    pub fn watches_all(&self) -> bool {
        self.incarnation.is_some() && self.ring().is_some_and(|ring| ring.is_monitor(&self.id, self.monitors))
    }

    /// Whether a request for an object of this slot may be sent now, and until when. **Ask at each send**, retries
    /// included, on the clock that [`Instance::next`] gets.
    pub fn permit(&self, slot: Slot, now: Millis) -> Option<Permit> {
        rules::permit(self, slot, now)
    }

    /// The slots that the ring names as those of this instance, with their epochs.
    pub fn held(&self) -> impl Iterator<Item = (Slot, Epoch)> + '_ {
        self.held.iter().map(|(slot, held)| (*slot, held.epoch))
    }

    /// What the slots cost, in any unit, for a better balance than by their number. It counts when this instance is the
    /// one to compute what moves.
    ///
    /// # Panics
    /// If there is not one for each slot.
    pub fn set_weights(&mut self, weights: Option<Arc<[u64]>>) {
        assert!(
            weights.as_ref().is_none_or(|weights| weights.len() == self.count.get()),
            "one weight for each slot"
        );
        self.weights = weights;
    }

    /// From now on, hands over its slots in order to go. [`Next::Finished`] says when it is done.
    ///
    /// An instance that will come back under the same name soon should not leave but just stop: its slots then stay.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// Whether a request is under way.
    pub fn is_waiting(&self) -> bool {
        self.asked.is_some()
    }

    /// What to do with slots, in this order. It is empty again afterwards.
    pub fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// What to do now. If it is a request, there must be an answer before the next call.
    ///
    /// # Panics
    /// If there is none.
    pub fn next(&mut self, now: Millis) -> Next {
        assert!(self.asked.is_none(), "the last request has no answer yet");
        self.finished |= self.leaving && self.incarnation.is_none();
        if self.finished {
            return Next::Finished;
        }
        if self.leaving && self.ring().is_some_and(|ring| self.leaves_alone(ring)) {
            self.held.keys().copied().collect::<Vec<_>>().into_iter().for_each(|slot| self.drain(slot));
        }
        self.start_slots(now);
        match self.wanted(now) {
            Some(request) => {
                self.asked = Some((request.clone(), now));
                Next::Ask(request)
            }
            None => Next::WaitUntil(self.wake_at(now)),
        }
    }

    /// The answer to the request under way.
    pub fn answered(&mut self, answer: Answer, now: Millis) {
        let Some((request, sent)) = self.asked.take() else { return };
        match (request, answer) {
            (Request::ReadRing, Answer::Ring(ring)) => {
                self.see_ring(ring, now);
                (self.reading, self.read_at) = (Reading::Leases, now.plus(self.timing.retry_ms));
            }
            (Request::ReadRing, Answer::RingGone(epoch)) => {
                self.ring_is_gone(epoch, now);
                (self.reading, self.read_at) = (Reading::Leases, now.plus(self.timing.retry_ms));
            }
            (Request::ReadLeases(_), Answer::Leases(leases)) => {
                leases.into_iter().for_each(|(id, lease)| self.see_lease(id, lease, now));
                self.reading = Reading::Done;
            }
            (Request::SwapLease { id, lease, .. }, Answer::Swapped(version)) if id == self.id => {
                self.wrote_own_lease(version, lease, sent);
            }
            (Request::SwapLease { id, lease, .. }, Answer::Swapped(version)) => {
                self.see_lease(id, Some(Versioned::new(version, lease)), now);
            }
            (Request::SwapRing { ring, .. }, Answer::Swapped(version)) => {
                self.see_ring(Some(Versioned::new(version, ring)), now);
            }
            (Request::SwapLease { id, .. }, Answer::Conflict) => {
                // The own lease may have been written by a renewal that came late: read it before drawing conclusions.
                if id == self.id {
                    self.own = Own::Unknown;
                }
                self.reading = Reading::Leases;
            }
            (_, Answer::Conflict) => self.reading = Reading::Ring,
            (request, _) => self.got_no_answer(&request, sent, now),
        }
    }

    /// An answer that leaves everything open, or that is none to this request.
    fn got_no_answer(&mut self, request: &Request, sent: Millis, now: Millis) {
        if let Request::SwapLease { id, .. } = request
            && *id == self.id
        {
            if self.incarnation.is_some() {
                // The same renewal can be sent again: if it was written after all, the next one is refused.
                self.renew_at = now.plus(self.timing.retry_ms);
                return;
            }
            self.own = Own::Unknown;
        }
        // A registry that refuses at once must not be asked again at once.
        (self.reading, self.read_at) = (Reading::Failed, sent.plus(self.timing.retry_ms).max(now));
    }

    fn wrote_own_lease(&mut self, version: Version, lease: Lease, sent: Millis) {
        self.own = Own::Seen(version, lease);
        if !lease.alive {
            self.finished = true;
            return;
        }
        self.incarnation = Some(lease.incarnation);
        self.renewed = Some(sent);
        self.renew_at = sent.plus(self.timing.retry_ms);
    }
}
