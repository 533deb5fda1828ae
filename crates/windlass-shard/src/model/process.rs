//! A process of the model: an instance, its request under way, requests that arrive late, and whether it runs.

use std::sync::Arc;

use crate::instance::relative::{lease_versions, rename_answer, rename_request, ring_versions};
use crate::instance::{Instance, Next, Stage};
use crate::lease::InstanceId;
use crate::mutation::Mutation;
use crate::registry::{Answer, Request, Version, Versioned};
use crate::ring::{Epoch, Ring};
use crate::slot::Slot;
use crate::timing::Millis;

use super::registers::{CURRENT, CURRENT_EPOCH, Written, id};

/// The time that is always now: states do not depend on when they are reached.
pub(super) const NOW: Millis = Millis(1_000);

/// A process, or what is left of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) life: Life,
    /// Requests that no one waits for any more, and that may still arrive.
    pub(super) late: Vec<Request>,
}

/// Whether it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Life {
    /// It will be started again.
    Down,
    /// It will not.
    Gone,
    Up(Box<Running>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Running {
    pub(super) instance: Instance,
    /// The answer to the request under way, if it came while the process was paused.
    pub(super) reply: Option<Answer>,
    pub(super) paused: bool,
    /// Slots for which a permit was once given, if a permit is not checked at each send.
    pub(super) checked: u8,
}

/// Something that happens to a process by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Event {
    Tick,
    Pause,
    Resume,
    Crash,
    Die,
    Leave,
    /// It stops waiting for an answer; the request may still arrive.
    TimeOut,
    Loaded(u8),
    Drained(u8),
    /// It checks its permit for a slot, to use it later.
    Check(u8),
}

impl Process {
    /// Lets an instance do what it wants now, and makes what is alike equal.
    fn settle(mut self) -> Self {
        if let Life::Up(running) = &mut self.life {
            let instance = &mut running.instance;
            let is_finished =
                !running.paused && instance.asked.is_none() && instance.next(NOW) == Next::Finished;
            instance.commands.clear();
            instance.forget_what_is_over(NOW);
            if is_finished {
                self.life = Life::Down;
            }
        }
        self
    }

    pub(super) fn start(&self, instance: Instance) -> Self {
        let running = Running { instance, reply: None, paused: false, checked: 0 };
        Process { life: Life::Up(Box::new(running)), late: self.late.clone() }.settle()
    }

    pub(super) fn running(&self) -> Option<&Running> {
        if let Life::Up(running) = &self.life { Some(running) } else { None }
    }

    /// The request that is on its way.
    pub(super) fn in_flight(&self) -> Option<&Request> {
        let running = self.running().filter(|running| running.reply.is_none())?;
        running.instance.asked.as_ref().map(|(request, _)| request)
    }

    /// Whether a request is performed without comparing versions, by a rule that is broken.
    pub(super) fn writes_blindly(&self, request: &Request) -> bool {
        let Some(Running { instance, .. }) = self.running() else { return false };
        match request {
            Request::SwapLease { id, .. } => {
                *id == instance.id && instance.broken.is(Mutation::RenewsBlindly)
            }
            Request::SwapRing { .. } => {
                let holds_lock = instance.ring().is_some_and(|ring| ring.lock_holder() == Some(&instance.id));
                holds_lock && instance.broken.is(Mutation::TrustsLock)
            }
            _ => false,
        }
    }

    pub(super) fn happens(&self, event: Event) -> Self {
        let mut next = self.clone();
        match event {
            Event::Crash | Event::Die => {
                next.late.extend(self.in_flight().filter(|request| can_write(request)).cloned());
                next.life = if event == Event::Die { Life::Gone } else { Life::Down };
            }
            Event::TimeOut => {
                next.late.extend(self.in_flight().filter(|request| can_write(request)).cloned());
                return next.answered(Answer::Unknown);
            }
            _ => {
                if let Life::Up(running) = &mut next.life {
                    running.happens(event);
                }
            }
        }
        next.settle()
    }

    /// The answer to its request arrives; a paused process gets it later.
    pub(super) fn answered(&self, answer: Answer) -> Self {
        let mut next = self.clone();
        if let Life::Up(running) = &mut next.life {
            if running.paused {
                running.reply = Some(answer);
            } else {
                running.instance.answered(answer, NOW);
            }
        }
        next.settle()
    }

    /// A watch shows it the current ring.
    pub(super) fn observes(&self, ring: Arc<Ring>) -> Self {
        let mut next = self.clone();
        if let Life::Up(running) = &mut next.life {
            running.instance.observed_ring(Versioned::new(CURRENT, ring), NOW);
        }
        next.settle()
    }

    /// Something was written: what the process knows of it is outdated now.
    pub(super) fn outdated(&self, written: Written) -> Self {
        let mut next = self.clone();
        if written.ring {
            outdate(|change| next.ring_versions(change));
        }
        if let Some(lease) = written.lease {
            outdate(|change| next.lease_versions(&id(lease), change));
        }
        for slot in (0..8).filter(|slot| written.slots & (1 << slot) != 0) {
            outdate_epochs(|change| next.epochs(Slot::new(slot), change));
        }
        next.late.retain(can_write);
        next
    }

    fn ring_versions(&mut self, change: &mut dyn FnMut(&mut Version)) {
        self.late.iter_mut().for_each(|request| ring_versions(request, change));
        let Life::Up(running) = &mut self.life else { return };
        let is_of_ring = matches!(running.instance.asked, Some((Request::SwapRing { .. }, _)));
        match &mut running.reply {
            Some(Answer::Ring(Some(ring))) => change(&mut ring.version),
            Some(Answer::Swapped(version)) if is_of_ring => change(version),
            _ => {}
        }
        running.instance.ring_versions(change);
    }

    fn lease_versions(&mut self, whose: &InstanceId, change: &mut dyn FnMut(&mut Version)) {
        self.late.iter_mut().for_each(|request| lease_versions(request, whose, change));
        let Life::Up(running) = &mut self.life else { return };
        let is_of_lease =
            matches!(&running.instance.asked, Some((Request::SwapLease { id, .. }, _)) if id == whose);
        match &mut running.reply {
            Some(Answer::Leases(leases)) => {
                let read = leases.iter_mut().filter(|(id, _)| id == whose);
                read.filter_map(|(_, lease)| lease.as_mut()).for_each(|lease| change(&mut lease.version));
            }
            Some(Answer::Swapped(version)) if is_of_lease => change(version),
            _ => {}
        }
        running.instance.lease_versions(whose, change);
    }

    fn epochs(&mut self, slot: Slot, change: &mut dyn FnMut(&mut Epoch)) {
        let Life::Up(running) = &mut self.life else { return };
        if let Some(Answer::Ring(Some(ring))) = &mut running.reply {
            change(&mut Arc::make_mut(&mut ring.value).slots[slot.index()].epoch);
        }
        running.instance.epochs(slot, change);
    }

    /// Without one of the requests that no one waits for.
    pub(super) fn without_late(&self, index: u8) -> Self {
        let mut next = self.clone();
        next.late.remove(usize::from(index));
        next
    }

    /// Sets all epochs that it knows of: the first ring is made without knowing those of the model.
    pub(super) fn set_epochs(&mut self, current: Epoch) {
        let count = self.running().map_or(0, |running| running.instance.count.get());
        (0..count).for_each(|slot| self.epochs(Slot::new(slot), &mut |epoch| *epoch = current));
    }

    /// Everybody has another name.
    pub(super) fn renamed(&self, name: &dyn Fn(&InstanceId) -> InstanceId) -> Self {
        let mut next = self.clone();
        next.late.iter_mut().for_each(|request| rename_request(request, name));
        if let Life::Up(running) = &mut next.life {
            running.instance.rename(name);
            running.reply.iter_mut().for_each(|reply| rename_answer(reply, name));
        }
        next
    }
}

impl Running {
    fn happens(&mut self, event: Event) {
        let epoch = |slot: u8| self.instance.held.get(&Slot::new(slot.into())).map(|held| held.epoch);
        match event {
            Event::Tick => self.instance.shift(),
            Event::Pause => self.paused = true,
            Event::Resume => {
                self.paused = false;
                if let Some(reply) = self.reply.take() {
                    self.instance.answered(reply, NOW);
                }
            }
            Event::Leave => self.instance.leave(),
            Event::Loaded(slot) => {
                if let Some(epoch) = epoch(slot) {
                    self.instance.loaded(Slot::new(slot.into()), epoch);
                }
            }
            Event::Drained(slot) => {
                if let Some(epoch) = epoch(slot) {
                    self.instance.drained(Slot::new(slot.into()), epoch);
                }
            }
            Event::Check(slot) => self.checked |= 1 << slot,
            Event::Crash | Event::Die | Event::TimeOut => {}
        }
    }

    /// The slots, as bits, that it may act on now.
    pub(super) fn permits(&self) -> u8 {
        self.bits(|slot| self.instance.permit(slot, NOW).is_some())
    }

    /// The slots, as bits, that are in a stage.
    pub(super) fn at(&self, stage: Stage) -> u8 {
        self.bits(|slot| self.instance.held.get(&slot).is_some_and(|held| held.stage == stage))
    }

    fn bits(&self, has: impl Fn(Slot) -> bool) -> u8 {
        self.instance.count.slots().filter(|slot| has(*slot)).fold(0, |bits, slot| bits | 1 << slot.index())
    }
}

/// Whether a request can change something: one that replaces an outdated version can only be refused.
fn can_write(request: &Request) -> bool {
    match request {
        Request::SwapLease { expected, .. } | Request::SwapRing { expected, .. } => {
            expected.is_none_or(|version| version == CURRENT)
        }
        Request::ReadRing | Request::ReadLeases(_) => false,
    }
}

/// Makes versions older by one, and those that are outdated already as new as their order allows.
fn outdate(mut each: impl FnMut(&mut dyn FnMut(&mut Version))) {
    let mut versions = Vec::new();
    each(&mut |version| {
        version.0 -= 1;
        versions.push(*version);
    });
    versions.sort_unstable_by(|one, other| other.cmp(one));
    versions.dedup();
    each(&mut |version| {
        let rank = versions.iter().position(|known| known == version).unwrap_or_default();
        version.0 = CURRENT.0 - 1 - rank as u64;
    });
}

/// The same for epochs. A ring under way may have the one that is current from now on.
fn outdate_epochs(mut each: impl FnMut(&mut dyn FnMut(&mut Epoch))) {
    let mut epochs = Vec::new();
    each(&mut |epoch| {
        epoch.0 -= 1;
        epochs.push(*epoch);
    });
    epochs.retain(|epoch| *epoch < CURRENT_EPOCH);
    epochs.sort_unstable_by(|one, other| other.cmp(one));
    epochs.dedup();
    each(&mut |epoch| {
        if let Some(rank) = epochs.iter().position(|known| known == epoch) {
            epoch.0 = CURRENT_EPOCH.0 - 1 - rank as u64;
        }
    });
}
