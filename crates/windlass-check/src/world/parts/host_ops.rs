//! What a step does to one controller process. Each result is remembered: the same process and operation, the same result.

use super::{NO_MESSAGE, Parts};
use crate::host::controller::{Host, insert, remove};
use crate::ids::{HostId, JobId};
use crate::index::ProcessIndex;
use crate::steps::Job;
use crate::world::ops::{HostOp, HostStep};

impl Parts {
    /// What a step does to a controller.
    pub(crate) fn host_op(&mut self, host: HostId, process: ProcessIndex, op: HostOp) -> HostStep {
        if let Some(known) = self.host_steps.get(&(host, process, op)) {
            return *known;
        }
        // By process, too: what a change triggers depends on what the process watches.
        let step = self.do_host_op(host, process, op);
        self.host_steps.insert((host, process, op), step);
        step
    }

    fn do_host_op(&mut self, host: HostId, process: ProcessIndex, op: HostOp) -> HostStep {
        let mut host = (**self.hosts.get(host)).clone();
        let (mut ending, mut violation) = (None, None);
        match op {
            HostOp::Notify(job) => {
                remove(&mut host.fresh, job);
                if self.setup.faults.duplicates {
                    self.may_notify_again(&mut host, job);
                }
                self.enqueue(&mut host, job);
            }
            HostOp::NotifyAgain(job) => self.enqueue(&mut host, job),
            HostOp::Timer(job) => {
                remove(&mut host.timers, job);
                self.enqueue(&mut host, job);
            }
            HostOp::Mark(jobs) => {
                self.job_sets.get(jobs).iter().for_each(|job| insert(&mut host.fresh, *job));
            }
            HostOp::Commit { changes, is_cut } => self.commit(&mut host, process, changes, is_cut),
            HostOp::Advance { kind } => self.advance(&mut host, process, kind),
            HostOp::Start => (ending, violation) = self.start(&mut host, process),
            HostOp::Answered { slot, answer } => {
                // The version in an answer brings caches up to date when it arrives.
                let answer =
                    if self.setup.faults.can_lag() { answer } else { self.detail(&host, slot, answer) };
                let waiting = &mut host.active[usize::from(slot.active)].slots[usize::from(slot.slot)];
                waiting.delivered = true;
                insert(&mut waiting.replies, answer);
            }
            HostOp::Receive { slot, answer } => {
                (ending, violation) =
                    self.receive(&mut host, process, slot.active.into(), slot.slot.into(), answer);
            }
            HostOp::Reply { slot, reply } => {
                let waiting = &host.active[usize::from(slot.active)].slots[usize::from(slot.slot)];
                let answer = waiting.replies[usize::from(reply)];
                (ending, violation) =
                    self.receive(&mut host, process, slot.active.into(), slot.slot.into(), answer);
            }
            HostOp::Crash { unseen, listed } => {
                self.note_crash(&host);
                let fresh = (**self.job_sets.get(listed)).clone();
                // Notices of the old watch may still come. The clock is the machine's, not the process's.
                host = Host {
                    fresh,
                    observed: host.observed.clone(),
                    skew: host.skew,
                    unseen,
                    ..Host::default()
                };
            }
            HostOp::Gap { unseen, listed } => {
                host.fresh = (**self.job_sets.get(listed)).clone();
                host.unseen = unseen;
            }
            HostOp::ClockJump { forward } => host.skew += if forward { 1 } else { -1 },
        }
        HostStep {
            host: self.hosts.id(host),
            ending,
            violation: violation.map(|found| self.violations.id(found)),
        }
    }

    /// Jobs of one parent are done as one, which may make the parent if any of them may.
    fn enqueue(&mut self, host: &mut Host, job: JobId) {
        let (plain, making) = (self.job_with(job, false), self.job_with(job, true));
        match host.queue.iter().position(|known| [plain, making].contains(known)) {
            None => host.queue.push(job),
            Some(index) if job == making => host.queue[index] = job,
            Some(_) => {}
        }
    }

    /// A repeated notification for a parent that may be made is also one for a parent that is there.
    fn may_notify_again(&mut self, host: &mut Host, job: JobId) {
        let (plain, making) = (self.job_with(job, false), self.job_with(job, true));
        if host.observed.contains(&making) {
            return;
        }
        remove(&mut host.observed, plain);
        insert(&mut host.observed, job);
    }

    /// The same job, but a missing parent may be made, or not.
    pub(super) fn job_with(&mut self, job: JobId, create_missing: bool) -> JobId {
        let known = self.jobs.get(job).clone();
        if known.create_missing == create_missing {
            return job;
        }
        self.jobs.id(Job { create_missing, ..(*known).clone() })
    }

    fn note_crash(&mut self, host: &Host) {
        for active in &host.active {
            let running = self.steps.node(active.node).state;
            for slot in active.slots.iter().filter(|slot| slot.message != NO_MESSAGE) {
                let ask = self.asks.get(self.messages.get(slot.message).ask);
                self.crash_points.insert(format!("{running}: {}", crate::show::ask(ask)));
            }
        }
    }
}
