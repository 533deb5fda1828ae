//! The thread that makes changes durable: all that have come together since it last did so, at once.

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

/// Forgotten changes are folded into the objects this many at a time: a few milliseconds of work.
const FOLD_AT_ONCE: usize = 500;
/// How often changes are looked for that have become too old.
const IDLE_WAIT: Duration = Duration::from_secs(5);

/// A write does not wait longer than this for others to share its commit.
const MAX_PATIENCE: Duration = Duration::from_millis(1);

/// Tells a writer how its write ended.
type Waiter = oneshot::Sender<Result<(), WriteError>>;

/// A write that was judged.
pub(crate) struct Judged {
    pub(crate) written: Written,
    /// Says when its changes, and those that it rests on, are durable; nothing if they are.
    pub(crate) done: Option<oneshot::Receiver<Result<(), WriteError>>>,
}

/// What a write came to.
#[derive(Debug)]
pub struct Written {
    /// What the judge said, with the versions that the changes got.
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
    pub(crate) judged_twice: AtomicU64,
    /// Why the last attempt to make something durable failed.
    failure: Mutex<Option<WriteError>>,
}

/// Writes that are judged, but not yet durable.
struct Pending {
    /// The newest state, with all these writes.
    newest: Snapshot,
    batch: Batch,
    /// Whether the committer is at work on an earlier batch.
    committing: bool,
    /// The committer sleeps until so many wait for it.
    wanted: usize,
    closed: bool,
}

#[derive(Default)]
struct Batch {
    records: Vec<Arc<Record>>,
    waiters: Vec<Waiter>,
}

/// How the last commit went.
#[derive(Default)]
struct Pace {
    /// How many writers there were at its end.
    writers: usize,
    duration: Duration,
}

impl Pace {
    /// How long it is worth to wait for more writers.
    fn patience(&self) -> Duration {
        (self.duration / 2).min(MAX_PATIENCE)
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
            judged_twice: AtomicU64::new(0),
            failure: Mutex::new(None),
        }
    }

    /// Why the last attempt to make something durable failed; nothing if it did not.
    pub(crate) fn failure(&self) -> Option<WriteError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_failure(&self, failure: Option<WriteError>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    pub(crate) fn committed(&self) -> Snapshot {
        self.committed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Judges a write and hands its changes to the committer.
    pub(crate) fn submit(&self, mut judge: impl FnMut(&Snapshot) -> Effect) -> Result<Judged, WriteError> {
        let seen = self.committed().recording();
        let effect = judge(&seen);
        if effect.changes.is_empty() {
            // A refusal, or a write that changes nothing: it rests on durable changes alone.
            return Ok(Judged { written: Written::nothing(effect), done: None });
        }
        let mut pending = self.pending();
        if pending.closed {
            return Err(WriteError::Closed);
        }
        let effect = if seen.is_same_for_reader(pending.newest.state()) {
            let mut effect = effect;
            restamp(&mut effect, pending.newest.state().next_version() - seen.state().next_version());
            effect
        } else {
            self.judged_twice.fetch_add(1, Ordering::Relaxed);
            judge(&pending.newest)
        };
        drop(seen);
        Ok(self.join_batch(&mut pending, effect))
    }

    /// Makes the changes in the newest state, and waits for them to be durable.
    fn join_batch(&self, pending: &mut Pending, effect: Effect) -> Judged {
        let records = match effect.changes.as_slice() {
            [] => Vec::new(),
            changes => pending.newest.state_mut().apply(changes, now_ms()),
        };
        let written = Written::as_stored(effect, &records);
        pending.batch.records.extend(records);
        if !self.durable {
            self.publish_pending(pending);
            return Judged { written, done: None };
        }
        // An answer that rests on changes which are not durable yet has to wait for them, even if it makes none.
        if pending.batch.records.is_empty() && !pending.committing {
            return Judged { written, done: None };
        }
        let (waiter, done) = oneshot::channel();
        pending.batch.waiters.push(waiter);
        if pending.batch.waiters.len() == pending.wanted {
            self.arrived.notify_one();
        }
        Judged { written, done: Some(done) }
    }

    /// Without a disk, a change is visible at once.
    fn publish_pending(&self, pending: &mut Pending) {
        let records = std::mem::take(&mut pending.batch.records);
        if !records.is_empty() {
            self.publish(pending.newest.clone(), &records);
            self.history.trim(now_ms());
        }
    }

    /// Makes durable changes visible, at once to who reads and to who watches: who has seen an event finds the
    /// object when he looks, and what a snapshot shows is in the history.
    fn publish(&self, snapshot: Snapshot, records: &[Arc<Record>]) {
        let mut committed = self.committed.write().unwrap_or_else(PoisonError::into_inner);
        *committed = snapshot;
        let channels = self.history.push(records);
        drop(committed);
        for channel in channels {
            channel.wake();
        }
    }

    /// Refuses all further writes; those that were judged before are made durable.
    pub(crate) fn close(&self) {
        self.pending().closed = true;
        self.arrived.notify_one();
    }

    /// Makes batch after batch durable until the store is closed.
    pub(crate) fn commit_all(&self, mut disk: Disk) {
        // A short history is folded in small portions, so that the file has no more than twice of it.
        let at_once = self.history.limits().changes.clamp(1, FOLD_AT_ONCE);
        let mut forgotten: Vec<Arc<Record>> = Vec::new();
        let mut pace = Pace::default();
        let mut outage = Outage::default();
        while let Some((batch, snapshot)) = self.next_batch(&pace) {
            let folding = forgotten.len() >= at_once || batch.records.is_empty();
            let folded = if folding { &forgotten[..forgotten.len().min(at_once)] } else { &[] };
            // While the disk fails, it is tried from time to time, so that it is known when it is well again.
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

    /// Waits for writes, and takes all that there are. Nothing once the store is closed.
    fn next_batch(&self, pace: &Pace) -> Option<(Batch, Snapshot)> {
        let mut pending = self.wait(self.pending(), 1, IDLE_WAIT);
        // Those whose writes have just ended are about to come again. Without a short wait for them, they would
        // take turns with those who came meanwhile, in batches of half the size.
        if !pending.batch.waiters.is_empty() {
            pending = self.wait(pending, pace.writers, pace.patience());
        }
        if pending.closed && pending.batch.waiters.is_empty() {
            return None;
        }
        pending.committing = true;
        Some((std::mem::take(&mut pending.batch), pending.newest.clone()))
    }

    /// Sleeps until so many writers wait, or the store is closed, or the time is over.
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

    /// How many writers there are, as far as is known: those of a batch, and those who came meanwhile.
    fn writers_with(&self, batch: &Batch) -> usize {
        batch.waiters.len() + self.pending().batch.waiters.len()
    }

    fn succeed(&self, batch: Batch, snapshot: Snapshot) {
        if !batch.records.is_empty() {
            self.publish(snapshot, &batch.records);
        }
        self.pending().committing = false;
        for waiter in batch.waiters {
            // Who does not wait any more has nothing to be told.
            drop(waiter.send(Ok(())));
        }
    }

    /// Takes back a batch and everything that was judged on top of it.
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
        // A judge that panicked has changed nothing.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}
