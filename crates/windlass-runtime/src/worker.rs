//! One reconcile: driven, counted, told, and reported to the queue.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt;
use tracing::Instrument;
use windlass::model::Timestamp;
use windlass::{Bug, CONTESTED, Ended, KindInfo, ObjectRef, ReadyChange, Verdict};

use crate::driver::{Driven, Driver, End};
use crate::inbox::Inbox;
use crate::operations::clock::now;
use crate::operations::events::{Events, Regarding};
use crate::operations::spans;
use crate::queue::{Claim, Finished, Work};
use crate::recorder::{Recorder, save};

/// Where reconciles of a controller are written down.
#[derive(Clone)]
pub(crate) struct Records {
    pub(crate) recorder: Arc<Recorder>,
    /// Where files of failed ones go, and how many there may be.
    pub(crate) folder: Option<(PathBuf, usize)>,
}

impl Records {
    /// Keeps a reconcile, and writes a file if it failed and there is a folder for it.
    async fn keep(self, work: Work, at: Timestamp, driven: Driven) {
        let now = tokio::time::Instant::now().into_std();
        let Some(failed) = self.recorder.keep(work, at, driven, now) else { return };
        let Some((folder, most)) = self.folder else { return };
        let saving = move || save(&folder, &self.recorder.recording(&failed), most);
        match tokio::task::spawn_blocking(saving).await {
            Ok(Ok(path)) => tracing::info!(file = %path.display(), "the failed reconcile was saved"),
            Ok(Err(error)) => tracing::warn!("a failed reconcile was not saved: {error}: {}", error.source),
            Err(error) => tracing::error!(%error, "saving a failed reconcile panicked; please report this"),
        }
    }
}

/// Reconciles what was taken from the queue, and says how it ended. The claim is an argument, so that a task that is
/// dropped before its first poll returns its object, too.
pub(crate) async fn reconcile(
    inbox: Arc<Inbox>,
    driver: Driver,
    events: Option<Events>,
    records: Records,
    claim: Claim,
    work: Work,
) {
    let key = claim.key();
    let at = now();
    let span = spans::reconcile(inbox.controller.name(), &work);
    let running = inbox.metrics.started(&work);
    let start = tokio::time::Instant::now();
    let driving = driver.drive(&inbox.controller, key, work.create_missing);
    // The coroutine catches what panics in it; this is for everything else.
    let driven = AssertUnwindSafe(driving).catch_unwind().instrument(span.clone()).await;
    let finished = span.in_scope(|| match &driven {
        Ok(driven) => {
            if let Some(events) = &events {
                publish(events, inbox.controller.declaration().parent(), key, driven);
            }
            conclude(&inbox, key, driven)
        }
        Err(_) => {
            inbox.metrics.panicked();
            tracing::error!("the runtime panicked in this reconcile; please report this");
            Finished::Failed
        }
    });
    if let Ok(driven) = driven {
        records.keep(work, at, driven).instrument(span.clone()).await;
    }
    spans::finished(&span, finished);
    inbox.metrics.finished(finished, start.elapsed());
    // Whoever sees an object leave the queue must find its reconcile counted, and no longer active.
    drop(running);
    claim.finish(finished);
}

/// Counts and tells how a reconcile ended.
fn conclude(inbox: &Inbox, key: &ObjectRef, driven: &Driven) -> Finished {
    for (state, took) in &driven.states {
        inbox.metrics.state_took(state, *took);
    }
    match &driven.end {
        End::Ended(ended) => log_end(inbox, key, ended),
        End::Bug(bug) => {
            count_panic(inbox, bug);
            tracing::error!("{bug}");
            Finished::Failed
        }
        End::TimedOut => {
            tracing::error!("the reconcile did not end in its time, nor after it; it was dropped");
            Finished::Failed
        }
    }
}

/// Publishes the Events of a reconcile about its parent.
fn publish(events: &Events, kind: &KindInfo, key: &ObjectRef, driven: &Driven) {
    let End::Ended(ended) = &driven.end else { return };
    if ended.events.is_empty() {
        return;
    }
    let Some(parent) = driven.parent(kind, key) else { return };
    let regarding = Regarding::of(kind, parent);
    ended.events.iter().for_each(|event| events.publish(&regarding, event));
}

/// Logs how a reconcile ended. What is as it was is logged for debugging only: controller, namespace and name are those
/// of the span.
fn log_end(inbox: &Inbox, key: &ObjectRef, ended: &Ended) -> Finished {
    if let Some(bug) = &ended.bug {
        count_panic(inbox, bug);
    }
    if let Some(ReadyChange { status, reason, message, previous_status, previous_reason }) = &ended.ready {
        tracing::info!(status, reason, previous_status, previous_reason, "Ready changed: {message}");
    }
    let path = ended.path.join(" -> ");
    match &ended.verdict {
        Verdict::Gone => {
            inbox.waits.end(key);
            tracing::debug!("the parent is gone");
            Finished::Gone
        }
        Verdict::Idle => {
            tracing::debug!("suspended, or being deleted by others");
            Finished::Done { requeue_after: None }
        }
        Verdict::Done { requeue_after } => {
            if inbox.waits.end(key) {
                tracing::info!(path, "done, after a wait");
            }
            tracing::debug!(path, ?requeue_after, "done");
            Finished::Done { requeue_after: *requeue_after }
        }
        Verdict::Requeue { after, reason } => {
            // Parents with conditions show it, and its change was logged above.
            if !inbox.controller.declaration().keeps_status() && inbox.waits.begin(key, reason) {
                tracing::info!(path, reason, ?after, "waits");
            }
            tracing::debug!(path, reason, ?after, "requeued");
            Finished::Requeue { after: *after }
        }
        Verdict::Conflict { reason, message } if reason == CONTESTED => {
            inbox.metrics.contested();
            tracing::warn!(path, message, "another writer keeps changing an output back");
            Finished::Conflict
        }
        Verdict::Conflict { message, .. } => {
            tracing::info!(path, message, "another writer got in between");
            Finished::Conflict
        }
        Verdict::Failed { reason, message } => {
            tracing::warn!(path, reason, "{message}");
            Finished::Failed
        }
        Verdict::Terminal { reason, message } => {
            tracing::error!(path, reason, "failed for good: {message}");
            Finished::Terminal
        }
    }
}

fn count_panic(inbox: &Inbox, bug: &Bug) {
    if matches!(bug, Bug::Panicked { .. }) {
        inbox.metrics.panicked();
    }
}

#[cfg(test)]
mod tests;
