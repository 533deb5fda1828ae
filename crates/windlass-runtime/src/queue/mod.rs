//! Which parent is reconciled next, and which has to wait.
//!
//! Start with [`Queue`]. It is pure: the time is an argument, and nothing here waits. One worker at a time holds an
//! object; what triggers it meanwhile makes one further run.

mod backoff;
mod causes;
mod entry;
mod rate_limit;
mod ready;
mod settings;
mod shared;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass::{ObjectRef, ReconcileResult};

pub use backoff::Backoff;
pub use causes::{Causes, Changed, Priority, Reason};
use entry::{Entry, Pending, Stage};
pub use rate_limit::RateLimit;
use ready::Ready;
pub use settings::QueueSettings;
pub(crate) use shared::{Claim, SharedQueue};

/// The objects of one controller that are due, wait, or are being reconciled. Of all others nothing is kept.
#[derive(Clone, Debug)]
pub struct Queue {
    settings: QueueSettings,
    entries: BTreeMap<Arc<ObjectRef>, Entry>,
    ready: Ready,
    delayed: BTreeSet<(Instant, Arc<ObjectRef>)>,
    active: BTreeMap<Arc<ObjectRef>, Instant>,
    adds: u64,
    retries: u64,
}

/// What a worker should do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Reconcile this, and then return it with [`Queue::finished`].
    Take(Work),
    /// Nothing before this time, unless something is added.
    WaitUntil(Instant),
    /// Nothing until something is added or finished.
    Idle,
}

/// A reconcile that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The parent.
    pub key: ObjectRef,
    /// What changed. A retry has the causes of the run that failed too; a run that only the time made due has none.
    pub causes: Causes,
    /// What made it due.
    pub due: Due,
    /// Whether the parent may be made if it does not exist: something that is watched named it.
    pub create_missing: bool,
    /// How long it was due before it was taken.
    pub waited: Duration,
    /// 1, and one more for each failure in a row before it.
    pub attempt: u32,
}

/// What made a reconcile due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A trigger.
    Change,
    /// The time that the last run asked for.
    Timer,
    /// The end of a backoff.
    Retry,
}

/// When an object is reconciled again, if nothing triggers it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Only when something triggers it.
    OnTrigger,
    /// After this time.
    After(Duration),
    /// After a backoff that grows with each failure in a row.
    WithBackoff,
    /// Only when the parent's spec changes (see [`Reason::spec_changed`]); other triggers are dropped.
    OnSpecChange,
}

impl From<&ReconcileResult> for Requeue {
    fn from(result: &ReconcileResult) -> Self {
        match result {
            ReconcileResult::Gone | ReconcileResult::Idle | ReconcileResult::Done { requeue_after: None } => {
                Requeue::OnTrigger
            }
            ReconcileResult::Done { requeue_after: Some(after) } | ReconcileResult::Requeue { after, .. } => {
                Requeue::After(*after)
            }
            // Another writer got in between: no error, but an immediate retry would likely conflict again.
            ReconcileResult::Conflict { .. } | ReconcileResult::Failed { .. } => Requeue::WithBackoff,
            ReconcileResult::Terminal { .. } => Requeue::OnSpecChange,
        }
    }
}

/// How many objects are where, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueCounts {
    /// Due, after something changed.
    pub live: usize,
    /// Due, with background priority.
    pub background: usize,
    /// Waiting for a time.
    pub delayed: usize,
    /// Waiting for a change of the parent after a terminal error.
    pub halted: usize,
    /// Being reconciled.
    pub active: usize,
    /// Of those being reconciled, the seconds so far, all together.
    pub unfinished_seconds: f64,
    /// Of those being reconciled, the seconds of the one that takes longest.
    pub longest_running_seconds: f64,
    /// How often an object came into the queue, ever.
    pub adds: u64,
    /// How often one was put back because it failed, ever.
    pub retries: u64,
}

impl Queue {
    /// An empty queue.
    pub fn new(settings: QueueSettings) -> Self {
        Queue {
            settings,
            entries: BTreeMap::new(),
            ready: Ready::default(),
            delayed: BTreeSet::new(),
            active: BTreeMap::new(),
            adds: 0,
            retries: 0,
        }
    }

    /// Adds a parent for a reason.
    ///
    /// It is then due at once, with two exceptions. While it is being reconciled, it becomes due when that has finished.
    /// During a backoff, or after a terminal error, only a spec change ([`Reason::spec_changed`]) makes it due; other
    /// triggers are merged into the retry, or dropped after a terminal error.
    pub fn add(&mut self, key: ObjectRef, reason: Reason, now: Instant) {
        let spec_changed = reason.spec_changed;
        let key = Arc::new(key);
        let Some(entry) = self.entries.get_mut(&key) else {
            self.make_ready(key, Pending::of(reason), Due::Change, now, 0);
            return;
        };
        if spec_changed {
            entry.failures = 0;
        }
        match &mut entry.stage {
            Stage::Active { again, forgotten, .. } => {
                *forgotten = false;
                match again {
                    Some(again) => again.add(reason),
                    None => *again = Some(Pending::of(reason)),
                }
            }
            Stage::Ready { position, pending, since, .. } => {
                if reason.priority > position.priority {
                    self.ready.remove(*position);
                    *position = self.ready.push(key, reason.priority, *since);
                }
                pending.add(reason);
            }
            Stage::Backoff { pending, .. } if !spec_changed => pending.add(reason),
            Stage::Halted if !spec_changed => {}
            Stage::Backoff { .. } | Stage::Timer { .. } | Stage::Halted => {
                let mut pending = self.take_out(&key).unwrap_or_default();
                pending.add(reason);
                self.make_ready(key, pending, Due::Change, now, 0);
            }
        }
    }

    /// What to do now. Who takes work must say how it [`Queue::finished`].
    pub fn next(&mut self, now: Instant) -> Next {
        self.wake_delayed(now);
        if self.ready.is_empty() {
            return self.delayed.first().map_or(Next::Idle, |(until, _)| Next::WaitUntil(*until));
        }
        if let Some(limit) = &self.settings.rate_limit
            && let Err(until) = limit.take(now)
        {
            return Next::WaitUntil(until);
        }
        let key = self.ready.pop(now, self.settings.background_aging).expect("it is not empty");
        Next::Take(self.start(key, now))
    }

    /// Returns an object whose reconcile has ended. Does nothing for an object that was not taken.
    pub fn finished(&mut self, key: &ObjectRef, requeue: Requeue, now: Instant) {
        if self.active.remove(key).is_none() {
            return;
        }
        let Some((key, entry)) = self.entries.remove_entry(key) else { return };
        let Stage::Active { pending, again, forgotten } = entry.stage else { return };
        if forgotten {
            return;
        }
        let parent_changed = again.as_ref().is_some_and(|again| again.spec_changed);
        match (requeue, again) {
            (Requeue::WithBackoff, again) => {
                self.retries += 1;
                let mut merged = pending;
                again.into_iter().for_each(|again| merged.append(again));
                if parent_changed {
                    self.make_ready(key, merged, Due::Change, now, 0);
                } else {
                    self.back_off(key, merged, now, entry.failures.saturating_add(1));
                }
            }
            (Requeue::OnSpecChange, _) if !parent_changed => {
                self.entries.insert(key, Entry { failures: 0, stage: Stage::Halted });
            }
            (_, Some(again)) => self.make_ready(key, again, Due::Change, now, 0),
            (Requeue::After(after), None) => self.wait(key, now + after),
            (Requeue::OnTrigger | Requeue::OnSpecChange, None) => {}
        }
    }

    /// Forgets an object, with all that is known of it. One that is being reconciled is forgotten when it has
    /// finished, unless something triggers it before that.
    pub fn forget(&mut self, key: &ObjectRef) {
        if let Some(Entry { stage: Stage::Active { again, forgotten, .. }, .. }) = self.entries.get_mut(key) {
            *again = None;
            *forgotten = true;
        } else {
            self.take_out(key);
        }
    }

    /// How many objects are where.
    pub fn counts(&self, now: Instant) -> QueueCounts {
        let seconds = |started: &Instant| now.saturating_duration_since(*started).as_secs_f64();
        let live = self.ready.count(Priority::Live);
        let background = self.ready.count(Priority::Background);
        QueueCounts {
            live,
            background,
            delayed: self.delayed.len(),
            halted: self.entries.len() - live - background - self.delayed.len() - self.active.len(),
            active: self.active.len(),
            unfinished_seconds: self.active.values().map(seconds).sum(),
            longest_running_seconds: self.active.values().map(seconds).fold(0.0, f64::max),
            adds: self.adds,
            retries: self.retries,
        }
    }

    /// Makes due what has waited for its time.
    fn wake_delayed(&mut self, now: Instant) {
        while self.delayed.first().is_some_and(|(until, _)| *until <= now) {
            let (until, key) = self.delayed.pop_first().expect("it is not empty");
            let entry = self.entries.remove(&key).expect("what is delayed has an entry");
            match entry.stage {
                Stage::Backoff { mut pending, .. } => {
                    pending.priority = Priority::Live;
                    self.make_ready(key, pending, Due::Retry, until, entry.failures);
                }
                _ => self.make_ready(key, Pending::default(), Due::Timer, until, 0),
            }
        }
    }

    fn start(&mut self, key: Arc<ObjectRef>, now: Instant) -> Work {
        let entry = self.entries.get_mut(&key).expect("what is ready has an entry");
        let Stage::Ready { pending, since, due, .. } = std::mem::replace(&mut entry.stage, Stage::Halted)
        else {
            unreachable!("what stands in line is ready");
        };
        let work = Work {
            key: (*key).clone(),
            causes: pending.causes.clone(),
            due,
            create_missing: pending.create_missing,
            waited: now.saturating_duration_since(since),
            attempt: entry.failures.saturating_add(1),
        };
        entry.stage = Stage::Active { pending, again: None, forgotten: false };
        self.active.insert(key, now);
        work
    }

    fn make_ready(&mut self, key: Arc<ObjectRef>, pending: Pending, due: Due, since: Instant, failures: u32) {
        self.adds += 1;
        let position = self.ready.push(key.clone(), pending.priority, since);
        self.entries.insert(key, Entry { failures, stage: Stage::Ready { position, pending, since, due } });
    }

    fn back_off(&mut self, key: Arc<ObjectRef>, pending: Pending, now: Instant, failures: u32) {
        let until = now + self.settings.backoff.delay(&key, failures);
        self.delayed.insert((until, key.clone()));
        self.entries.insert(key, Entry { failures, stage: Stage::Backoff { until, pending } });
    }

    fn wait(&mut self, key: Arc<ObjectRef>, until: Instant) {
        self.delayed.insert((until, key.clone()));
        self.entries.insert(key, Entry { failures: 0, stage: Stage::Timer { until } });
    }

    /// Takes out an object that is not being reconciled, and returns what it was due for.
    fn take_out(&mut self, key: &ObjectRef) -> Option<Pending> {
        let (key, entry) = self.entries.remove_entry(key)?;
        match entry.stage {
            Stage::Ready { position, pending, .. } => {
                self.ready.remove(position);
                Some(pending)
            }
            Stage::Backoff { until, pending } => {
                self.delayed.remove(&(until, key));
                Some(pending)
            }
            Stage::Timer { until } => {
                self.delayed.remove(&(until, key));
                None
            }
            Stage::Halted | Stage::Active { .. } => None,
        }
    }
}
