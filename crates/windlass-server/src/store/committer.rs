//! How a write becomes durable and visible: optimistic concurrency for writers, and group commit on one thread.
//!
//! 1. **Evaluate.** [`Core::submit`] evaluates a write against the last committed snapshot, without a lock, and records
//!    what it reads. Under the lock it then validates these reads against the newest state, which includes writes that
//!    are not durable yet. If one of them has changed, the write is evaluated again, this time under the lock. So the
//!    outcome is serializable, and no write is evaluated more than twice.
//! 2. **Commit.** The committer thread takes all writes that wait and syncs them to the disk in one transaction
//!    (group commit): the cost of a sync is shared by all writers of a batch. While it syncs, the next batch gathers.
//! 3. **Publish, then answer, then trim**, in this order; [`Core::commit_all`] says why.
//!
//! Readers have snapshot isolation: they take the committed snapshot, which is immutable, and never wait for the disk.
//! As with any write-ahead log, nothing is visible before it is durable, so a crash takes back nothing that was seen.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use tokio::sync::oneshot;
use windlass_model::{Body, Change, Effect};

use super::disk::Disk;
use super::error::WriteError;
use super::history::History;
use super::outage::Outage;
use super::reads::restamp;
use super::record::Record;
use super::snapshot::Snapshot;

/// Maximum number of trimmed changes that one commit folds into the table of objects: a few milliseconds of work.
const FOLD_AT_ONCE: usize = 500;
/// Interval at which an idle committer trims changes that have become too old.
const IDLE_WAIT: Duration = Duration::from_secs(5);

/// Maximum time that a write waits for others to share its commit.
const MAX_GROUP_COMMIT_DELAY: Duration = Duration::from_millis(1);

/// Reports to a writer whether its write is durable.
type Waiter = oneshot::Sender<Result<(), WriteError>>;

/// A write that was evaluated.
pub(crate) struct Evaluated {
    pub(crate) written: Written,
    /// Resolves when its changes, and those that it depends on, are durable; `None` if they are already.
    pub(crate) done: Option<oneshot::Receiver<Result<(), WriteError>>>,
}

/// The outcome of a write.
#[derive(Debug)]
pub struct Written {
    /// The result of the evaluation, with the versions that the changes got.
    pub effect: Effect,
    /// The text of the object that it answers with, if that is what was stored.
    pub text: Option<Bytes>,
}

impl Written {
    /// Nothing was stored.
    fn nothing(effect: Effect) -> Self {
        Written { effect, text: None }
    }

    fn as_stored(effect: Effect, records: &[Arc<Record>]) -> Self {
        let text = match (&effect.response.body, effect.changes.as_slice(), records) {
            (Body::Object(answer), [Change { after: Some(after), .. }], [record])
                if Arc::ptr_eq(answer, after) =>
            {
                record.after.as_ref().map(|stored| stored.text().clone())
            }
            _ => None,
        };
        Written { effect, text }
    }
}

/// What writers and the committer share.
pub(crate) struct Core {
    pending: Mutex<Pending>,
    /// Wakes the committer.
    arrived: Condvar,
    committed: RwLock<Snapshot>,
    pub(crate) history: Arc<History>,
    durable: bool,
    pub(crate) commits: AtomicU64,
    pub(crate) failed_commits: AtomicU64,
    pub(crate) evaluated_twice: AtomicU64,
    /// Error of the last commit, if it failed.
    failure: Mutex<Option<WriteError>>,
}

/// Writes that are evaluated, but not yet durable.
struct Pending {
    /// The newest state, with all these writes.
    newest: Snapshot,
    batch: Batch,
    /// Whether the committer is writing an earlier batch.
    committing: bool,
    /// Number of waiting writers at which the committer is woken.
    wanted: usize,
    closed: bool,
}

#[derive(Default)]
struct Batch {
    records: Vec<Arc<Record>>,
    waiters: Vec<Waiter>,
}

/// Measurements of the last commit, from which the delay of the next one follows.
#[derive(Default)]
struct Pace {
    /// Number of concurrent writers at its end.
    writers: usize,
    duration: Duration,
}

impl Pace {
    /// How long to wait for more writers to join a batch: at most half a commit, so that the delay never dominates the
    /// latency of a write.
    fn group_commit_delay(&self) -> Duration {
        (self.duration / 2).min(MAX_GROUP_COMMIT_DELAY)
    }
}

impl Core {
    pub(crate) fn new(snapshot: Snapshot, history: Arc<History>, durable: bool) -> Self {
        let pending = Pending {
            newest: snapshot.clone(),
            batch: Batch::default(),
            committing: false,
            wanted: 1,
            closed: false,
        };
        Core {
            pending: Mutex::new(pending),
            arrived: Condvar::new(),
            committed: RwLock::new(snapshot),
            history,
            durable,
            commits: AtomicU64::new(0),
            failed_commits: AtomicU64::new(0),
            evaluated_twice: AtomicU64::new(0),
            failure: Mutex::new(None),
        }
    }

    /// Error of the last commit; `None` if it succeeded.
    pub(crate) fn failure(&self) -> Option<WriteError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_failure(&self, failure: Option<WriteError>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    pub(crate) fn committed(&self) -> Snapshot {
        self.committed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Evaluates a write and hands its changes to the committer.
    ///
    /// Evaluation is the expensive part (defaulting, validation, policies), so it runs without the lock, optimistically:
    /// most writes do not touch what others read.
    pub(crate) fn submit(
        &self,
        mut evaluate: impl FnMut(&Snapshot) -> Effect,
    ) -> Result<Evaluated, WriteError> {
        let seen = self.committed().recording();
        let effect = evaluate(&seen);
        if effect.changes.is_empty() {
            // A refusal, or a write that changes nothing. It has read only committed state, so there is nothing to
            // wait for.
            return Ok(Evaluated { written: Written::nothing(effect), done: None });
        }
        let mut pending = self.pending();
        if pending.closed {
            return Err(WriteError::Closed);
        }
        let effect = if seen.is_same_for_reader(pending.newest.state()) {
            // Validated. At most its versions are outdated: writes that came in between have taken them.
            let mut effect = effect;
            restamp(&mut effect, pending.newest.state().next_version() - seen.state().next_version());
            effect
        } else {
            // A conflict. The lock is held now, so nothing can change during this evaluation: there is no retry loop,
            // and no writer starves.
            self.evaluated_twice.fetch_add(1, Ordering::Relaxed);
            evaluate(&pending.newest)
        };
        drop(seen);
        Ok(self.join_batch(&mut pending, effect))
    }

    /// Applies the changes to the newest state, and adds them to the batch that the committer takes next.
    fn join_batch(&self, pending: &mut Pending, effect: Effect) -> Evaluated {
        let records = match effect.changes.as_slice() {
            [] => Vec::new(),
            changes => pending.newest.state_mut().apply(changes, now_ms()),
        };
        let written = Written::as_stored(effect, &records);
        pending.batch.records.extend(records);
        if !self.durable {
            self.publish_pending(pending);
            return Evaluated { written, done: None };
        }
        // A second evaluation has read changes that may not be durable yet. Its answer has to wait for them, even if it
        // makes no changes: a 409 for an object that a crash takes back would be wrong.
        if pending.batch.records.is_empty() && !pending.committing {
            return Evaluated { written, done: None };
        }
        let (waiter, done) = oneshot::channel();
        pending.batch.waiters.push(waiter);
        if pending.batch.waiters.len() == pending.wanted {
            self.arrived.notify_one();
        }
        Evaluated { written, done: Some(done) }
    }

    /// Without a disk, a change is visible immediately.
    fn publish_pending(&self, pending: &mut Pending) {
        let records = std::mem::take(&mut pending.batch.records);
        if !records.is_empty() {
            self.publish(pending.newest.clone(), &records);
            self.history.trim(now_ms());
        }
    }

    /// Makes durable changes visible to readers and watchers at the same time. The lock is held for both, so a client
    /// that has seen an event finds the object when it reads, and what a snapshot shows is in the history.
    fn publish(&self, snapshot: Snapshot, records: &[Arc<Record>]) {
        let mut committed = self.committed.write().unwrap_or_else(PoisonError::into_inner);
        *committed = snapshot;
        let feeds = self.history.push(records);
        // Watchers are woken after the lock is released, so that one that reads the snapshot next does not wait for it.
        drop(committed);
        feeds.wake();
    }

    /// Refuses all further writes; those that were evaluated before are made durable.
    pub(crate) fn close(&self) {
        self.pending().closed = true;
        self.arrived.notify_one();
    }

    /// Commits batch after batch until the store is closed.
    ///
    /// After a commit the order is: publish, then answer, then trim.
    /// - Nothing is published before it is durable: a crash must not take back what a reader or watcher has seen.
    /// - A write is published before its writer is answered, so that clients read their own writes.
    /// - The history is trimmed last. Only then does it hold the new changes that its limits count, and trimming is no
    ///   part of the latency of a write. What is trimmed has been published and is durable in the log, so it can be
    ///   folded into the table of objects by a later commit, at any time: until then the file holds it in the log.
    pub(crate) fn commit_all(&self, mut disk: Disk) {
        // A short history is folded in small portions, so that the log in the file is at most twice as long.
        let at_once = self.history.limits().changes.clamp(1, FOLD_AT_ONCE);
        let mut forgotten: Vec<Arc<Record>> = Vec::new();
        let mut pace = Pace::default();
        let mut outage = Outage::default();
        while let Some((batch, snapshot)) = self.next_batch(&pace) {
            let folding = forgotten.len() >= at_once || batch.records.is_empty();
            let folded = if folding { &forgotten[..forgotten.len().min(at_once)] } else { &[] };
            // While the disk fails, an empty commit probes it from time to time, to notice when it works again.
            let trying = batch.waiters.is_empty() && outage.is_on();
            let nothing = batch.records.is_empty() && folded.is_empty() && !trying;
            let previous = self.committed().version();
            let begun = Instant::now();
            let result = match outage.refusal() {
                _ if nothing => Ok(()),
                Some(error) => Err(error),
                None => outage.note(disk.commit(previous, &batch.records, folded)),
            };
            if !nothing {
                self.note_failure(result.as_ref().err().cloned());
            }
            pace = Pace { writers: self.writers_with(&batch), duration: begun.elapsed() };
            match result {
                Ok(()) => {
                    let folded = folded.len();
                    forgotten.drain(..folded);
                    self.commits.fetch_add(u64::from(!nothing), Ordering::Relaxed);
                    self.succeed(batch, snapshot);
                }
                Err(error) => self.fail(batch, &error),
            }
            forgotten.extend(self.history.trim(now_ms()));
        }
    }

    /// Waits for writes, and takes all that are pending. `None` once the store is closed.
    fn next_batch(&self, pace: &Pace) -> Option<(Batch, Snapshot)> {
        let mut pending = self.wait(self.pending(), 1, IDLE_WAIT);
        // Writers that were just answered usually send their next write immediately. Without a short delay for them, they
        // would alternate with those that came during the commit, in batches of half the size.
        if !pending.batch.waiters.is_empty() {
            pending = self.wait(pending, pace.writers, pace.group_commit_delay());
        }
        if pending.closed && pending.batch.waiters.is_empty() {
            return None;
        }
        pending.committing = true;
        Some((std::mem::take(&mut pending.batch), pending.newest.clone()))
    }

    /// Sleeps until this many writers wait, the store is closed, or the time is over.
    fn wait<'a>(
        &self,
        mut pending: MutexGuard<'a, Pending>,
        writers: usize,
        time: Duration,
    ) -> MutexGuard<'a, Pending> {
        pending.wanted = writers;
        let not_yet = |pending: &mut Pending| pending.batch.waiters.len() < writers && !pending.closed;
        let waited = self.arrived.wait_timeout_while(pending, time, not_yet);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Estimate of the number of concurrent writers: those of a batch, and those that came during its commit.
    fn writers_with(&self, batch: &Batch) -> usize {
        batch.waiters.len() + self.pending().batch.waiters.len()
    }

    /// Publishes a batch that is durable, and answers its writers.
    fn succeed(&self, batch: Batch, snapshot: Snapshot) {
        if !batch.records.is_empty() {
            self.publish(snapshot, &batch.records);
        }
        // Not before publishing: until then, answers that depend on this batch have to wait for it.
        self.pending().committing = false;
        for waiter in batch.waiters {
            // A writer that has given up has dropped its end of the channel.
            drop(waiter.send(Ok(())));
        }
    }

    /// Rolls back a batch and everything that was evaluated on top of it.
    ///
    /// The versions that these writes got stay reserved: none is given out twice, even if the failed commit turns out to
    /// be on the disk.
    fn fail(&self, batch: Batch, error: &WriteError) {
        self.failed_commits.fetch_add(1, Ordering::Relaxed);
        let mut pending = self.pending();
        let reserved = pending.newest.state().reserved;
        pending.newest = self.committed();
        pending.newest.state_mut().reserved = reserved;
        pending.committing = false;
        let later = std::mem::take(&mut pending.batch);
        drop(pending);
        for waiter in batch.waiters.into_iter().chain(later.waiters) {
            drop(waiter.send(Err(error.clone())));
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // An evaluation that panicked has changed nothing, so a poisoned lock does no harm.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}
