//! A queue that the tasks of a process share: taking an object yields a [`Claim`] on it.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;
use windlass::ObjectRef;

use super::{Next, Queue, QueueCounts, QueueSettings, Reason, Requeue, Work};

/// Reads the time.
type Clock = Box<dyn Fn() -> Instant + Send + Sync>;

/// A [`Queue`] behind a lock, with a clock, and with a notification for those that wait for work.
pub(crate) struct SharedQueue {
    queue: Mutex<Queue>,
    changed: Notify,
    clock: Clock,
}

impl SharedQueue {
    /// An empty queue that reads tokio's clock.
    pub(crate) fn new(settings: QueueSettings) -> Arc<Self> {
        SharedQueue::with_clock(settings, Box::new(|| tokio::time::Instant::now().into_std()))
    }

    pub(super) fn with_clock(settings: QueueSettings, clock: Clock) -> Arc<Self> {
        Arc::new(SharedQueue { queue: Mutex::new(Queue::new(settings)), changed: Notify::new(), clock })
    }

    /// Enqueues parents, each for a reason.
    pub(crate) fn add(&self, parents: impl IntoIterator<Item = (ObjectRef, Reason)>) {
        let now = (self.clock)();
        let mut queue = self.lock();
        parents.into_iter().for_each(|(parent, reason)| queue.add(parent, reason, now));
        drop(queue);
        self.changed.notify_one();
    }

    /// Forgets parents, timers included. Those that are being reconciled are forgotten when they have ended.
    pub(crate) fn forget<'a>(&self, parents: impl Iterator<Item = &'a ObjectRef>) {
        let mut queue = self.lock();
        parents.for_each(|parent| queue.forget(parent));
    }

    /// Takes what is due, at most `room` objects, and starts each. Returns when to call this again, if the time alone
    /// makes more due.
    ///
    /// Each object comes with its claim. Whatever becomes of the task that it is moved into, also if it is dropped
    /// before it was polled for the first time, the object returns to the queue.
    pub(crate) fn start_due(
        self: &Arc<Self>,
        room: usize,
        mut start: impl FnMut(Claim, Work),
    ) -> Option<Instant> {
        let now = (self.clock)();
        for _ in 0..room {
            let next = self.lock().next(now);
            match next {
                Next::Take(work) => start(Claim::new(self, &work.key), work),
                Next::WaitUntil(until) => return Some(until),
                Next::Idle => return None,
            }
        }
        None
    }

    /// Waits until something was added or released since the last call. One caller at a time may wait.
    pub(crate) fn changed(&self) -> impl Future<Output = ()> {
        self.changed.notified()
    }

    /// How many objects are where.
    pub(crate) fn counts(&self) -> QueueCounts {
        self.lock().counts((self.clock)())
    }

    /// No change of a queue panics half-way.
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An object that was taken from the queue, and that returns to it when this is dropped.
#[must_use = "dropping a claim returns its object to the queue"]
pub(crate) struct Claim {
    queue: Arc<SharedQueue>,
    key: ObjectRef,
    requeue: Requeue,
}

impl Claim {
    pub(super) fn new(queue: &Arc<SharedQueue>, key: &ObjectRef) -> Self {
        // A reconcile that does not end was dropped in the middle, and is retried.
        Claim { queue: Arc::clone(queue), key: key.clone(), requeue: Requeue::WithBackoff }
    }

    /// The object.
    pub(crate) fn key(&self) -> &ObjectRef {
        &self.key
    }

    /// Returns the object to the queue, after its reconcile has ended.
    pub(crate) fn finish(mut self, requeue: Requeue) {
        self.requeue = requeue;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let now = (self.queue.clock)();
        self.queue.lock().finished(&self.key, self.requeue, now);
        // The pool that took the object may be gone, and another may have found nothing to do while it was claimed.
        self.queue.changed.notify_one();
    }
}
