//! The flight recorder: what the last reconciles of a controller asked and were answered, kept within bounds.
//!
//! It costs little until it is read: what is kept is what the driver had anyway. It becomes a [`Recording`], with
//! secrets redacted, only when it is read or saved.

mod buffer;
mod folder;
mod redact;
mod sizes;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass::ObjectRef;
use windlass::model::Timestamp;
use windlass::recording::{Batch, Exchange, FORMAT, RecordedEnd, Recording};

use crate::driver::{End, Transcript};
use crate::queue::{Causes, Work};

pub use folder::SaveError;
pub(crate) use folder::save;
pub(crate) use redact::Redaction;

use buffer::RecordingBuffer;

/// How many recordings of each controller are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderSettings {
    /// Maximum number of latest reconciles that are kept, however they ended. Default: 20.
    pub last: usize,
    /// Maximum number of failed reconciles that are kept besides. Default: 100.
    pub failed: usize,
    /// How long failed reconciles are kept. Default: 1 h.
    pub failed_for: Duration,
    /// Approximate maximum size of the latest reconciles, and of the failed ones, in bytes. Default: 8 MiB each.
    pub bytes: usize,
    /// Maximum number of files of each controller in the folder, if there is one. Default: 100.
    pub files: usize,
}

impl Default for RecorderSettings {
    fn default() -> Self {
        RecorderSettings {
            last: 20,
            failed: 100,
            failed_for: Duration::from_secs(3600),
            bytes: 8 << 20,
            files: 100,
        }
    }
}

/// Keeps the reconciles of one controller.
pub(crate) struct FlightRecorder {
    controller: String,
    redaction: Arc<Redaction>,
    count: AtomicU64,
    buffer: Mutex<RecordingBuffer>,
}

/// A reconcile as it was performed.
pub(crate) struct Flight {
    id: String,
    target: ObjectRef,
    create_missing: bool,
    causes: Causes,
    at: Timestamp,
    transcript: Transcript,
}

impl Flight {
    fn is_failure(&self) -> bool {
        match &self.transcript.end {
            End::Ended(ended) => RecordedEnd::of(ended).is_failure(),
            End::Bug(_) | End::TimedOut => true,
        }
    }
}

impl FlightRecorder {
    pub(crate) fn new(controller: &str, settings: &RecorderSettings, redaction: Arc<Redaction>) -> Self {
        FlightRecorder {
            controller: controller.to_owned(),
            redaction,
            count: AtomicU64::new(0),
            buffer: Mutex::new(RecordingBuffer::new(settings)),
        }
    }

    /// Keeps a reconcile that has ended; returns it if it failed.
    pub(crate) fn keep(
        &self,
        work: Work,
        at: Timestamp,
        transcript: Transcript,
        now: Instant,
    ) -> Option<Arc<Flight>> {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        // Names of files sort as the reconciles began; colons are not for file names.
        let began = at.to_micro_string().replace([':', '-', '.'], "");
        let id = format!("{}-{began}-{number}", self.controller);
        let Work { key: target, create_missing, causes, .. } = work;
        let flight = Arc::new(Flight { id, target, create_missing, causes, at, transcript });
        let failed = flight.is_failure();
        self.buffer().keep(&flight, failed, now);
        failed.then_some(flight)
    }

    /// What is kept, oldest first.
    pub(crate) fn recordings(&self, now: Instant) -> Vec<Recording> {
        // Copies under the lock and converts outside it, so that workers are not blocked.
        let kept = self.buffer().all(now);
        kept.iter().map(|flight| self.recording(flight)).collect()
    }

    /// The ids of what is kept, oldest first, with how each ended and whose reconcile it was.
    pub(crate) fn list(&self, now: Instant) -> Vec<(String, ObjectRef, bool)> {
        let line = |flight: &Arc<Flight>| (flight.id.clone(), flight.target.clone(), flight.is_failure());
        self.buffer().all(now).iter().map(line).collect()
    }

    /// One of those that are kept.
    pub(crate) fn find(&self, id: &str, now: Instant) -> Option<Recording> {
        let kept = self.buffer().all(now);
        kept.iter().find(|flight| flight.id == id).map(|flight| self.recording(flight))
    }

    /// The document of a reconcile, without its secrets.
    pub(crate) fn recording(&self, flight: &Flight) -> Recording {
        let mut causes: Vec<String> = flight
            .causes
            .kept
            .iter()
            .map(|changed| format!("{} ({:?})", changed.what, changed.cause))
            .collect();
        if flight.causes.more > 0 {
            causes.push(format!("and {} more", flight.causes.more));
        }
        let mut recording = Recording {
            recording: FORMAT,
            windlass: env!("CARGO_PKG_VERSION").to_owned(),
            id: flight.id.clone(),
            controller: self.controller.clone(),
            target: flight.target.clone(),
            create_missing: flight.create_missing,
            causes,
            at: flight.at,
            batches: flight.transcript.exchanges.iter().map(batch).collect(),
            end: match &flight.transcript.end {
                End::Ended(ended) => RecordedEnd::of(ended),
                End::Bug(bug) => RecordedEnd::Bug(bug.to_string()),
                End::TimedOut => RecordedEnd::TimedOut,
            },
        };
        self.redaction.recording(&mut recording);
        recording
    }

    fn buffer(&self) -> MutexGuard<'_, RecordingBuffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn batch(exchange: &crate::driver::Exchange) -> Batch {
    let pairs = exchange.asks.iter().zip(&exchange.answers);
    let exchanges = pairs.map(|(ask, answer)| Exchange { ask: ask.clone(), answer: answer.clone() });
    Batch { state: exchange.state.to_owned(), exchanges: exchanges.collect() }
}
