//! Kubernetes Events about parents, as `kubectl describe` shows them.
//!
//! Start with [`EventRecorder`]. Publishing never waits and never fails: events go through a bounded channel to one task,
//! which counts those that repeat, holds back those of an object that has too many, and writes the rest. They are
//! written through `events.k8s.io/v1`, as client-go's newer recorder does: `kubectl describe` reads the same objects
//! through the core group, shows a series as "x5 over 3m" and the controller under "From", and a count is one small
//! patch. The core/v1 API would work too, but the API server validates the newer fields only in events.k8s.io/v1.

mod aggregator;
mod occurrence;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass::Event;

use super::clock;
use super::perform::Perform;
use aggregator::EventAggregator;
pub use occurrence::Regarding;
use occurrence::{Occurrence, Reporter};
use write::perform_write;

/// Maximum number of events that wait to be written; further ones are dropped.
const WAITING_MAX: usize = 1_000;
/// Timeout of the last events when the process ends.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Writes the events of a process.
pub struct EventRecorder {
    sender: mpsc::Sender<Occurrence>,
    instance: Arc<str>,
    closing: oneshot::Sender<()>,
    task: JoinHandle<()>,
    full: Arc<AtomicBool>,
}

/// Publishes the events of one controller. Cloning shares it.
#[derive(Clone)]
pub struct Events {
    sender: mpsc::Sender<Occurrence>,
    reporter: Arc<Reporter>,
    full: Arc<AtomicBool>,
}

impl EventRecorder {
    /// Writes events through this API. `instance` identifies the process: the name of the pod, or of the machine.
    pub fn start(api: Arc<dyn Perform>, instance: &str) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let (closing, closed) = oneshot::channel();
        let task = tokio::spawn(record(api, receiver, closed));
        EventRecorder { sender, instance: instance.into(), closing, task, full: Arc::default() }
    }

    /// For the events of one controller.
    pub fn controller(&self, name: &str) -> Events {
        let reporter = Arc::new(Reporter::new(name, &self.instance));
        Events { sender: self.sender.clone(), reporter, full: self.full.clone() }
    }

    /// Writes what waits, if that does not take long, and ends. Events that are published later are lost.
    pub async fn shutdown(self) {
        let _ = self.closing.send(());
        let mut task = self.task;
        if timeout(LAST_WRITES, &mut task).await.is_err() {
            task.abort();
        }
    }
}

impl Events {
    /// Publishes an event about an object. Returns at once, whatever becomes of it.
    pub fn publish(&self, regarding: &Regarding, event: &Event) {
        let occurrence = Occurrence {
            regarding: regarding.clone(),
            reporter: self.reporter.clone(),
            event: event.clone(),
            at: clock::now(),
        };
        match self.sender.try_send(occurrence) {
            Ok(()) => self.full.store(false, Ordering::Relaxed),
            Err(TrySendError::Closed(_)) => {}
            // Logged once each time that the channel becomes full, since many follow.
            Err(TrySendError::Full(_)) if !self.full.swap(true, Ordering::Relaxed) => {
                tracing::warn!("events dropped: they come faster than the API takes them");
            }
            Err(TrySendError::Full(_)) => {}
        }
    }
}

/// Writes events until it is to end, and then what still waits.
async fn record(
    api: Arc<dyn Perform>,
    mut receiver: mpsc::Receiver<Occurrence>,
    mut closed: oneshot::Receiver<()>,
) {
    let mut aggregator = EventAggregator::default();
    let mut is_closing = false;
    loop {
        let writes = tokio::select! {
            received = receiver.recv() => match received {
                Some(occurrence) => aggregator.observe(occurrence, Instant::now()).into_iter().collect(),
                None => break,
            },
            () = wait_for(aggregator.next_count()) => aggregator.counts(Instant::now()),
            asked = &mut closed, if !is_closing => {
                is_closing = true;
                // A recorder that was dropped and not shut down leaves its task to those who publish.
                if asked.is_ok() {
                    receiver.close();
                }
                Vec::new()
            }
        };
        for write in &writes {
            perform_write(&*api, write).await;
        }
    }
    for write in &aggregator.last_counts() {
        perform_write(&*api, write).await;
    }
}

/// Waits until a time, or forever.
async fn wait_for(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
