//! One reconcile: driven, counted, logged, recorded, and its object returned to the queue.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt;
use tracing::Instrument;
use windlass::model::Timestamp;
use windlass::{Bug, CONTESTED, KindInfo, ObjectRef, ReadyChange, ReconcileResult, Reconciled};

use crate::controller_context::ControllerContext;
use crate::driver::{Driver, End, Transcript};
use crate::operations::clock::now;
use crate::operations::events::{Events, Regarding};
use crate::operations::spans;
use crate::queue::{Claim, Requeue, Work};
use crate::recorder::{FlightRecorder, save};
use crate::sharding::{Admission, NotRead, admit_unknown, read_again};

/// Where reconciles of a controller are written down.
#[derive(Clone)]
pub(crate) struct Records {
    pub(crate) recorder: Arc<FlightRecorder>,
    /// Where files of failed ones go, and how many there may be.
    pub(crate) folder: Option<(PathBuf, usize)>,
}

impl Records {
    /// Keeps a reconcile, and writes a file if it failed and there is a folder for it.
    async fn keep(self, work: Work, at: Timestamp, transcript: Transcript) {
        let now = tokio::time::Instant::now().into_std();
        let Some(failed) = self.recorder.keep(work, at, transcript, now) else { return };
        let Some((folder, most)) = self.folder else { return };
        let saving = move || save(&folder, &self.recorder.recording(&failed), most);
        match tokio::task::spawn_blocking(saving).await {
            Ok(Ok(path)) => tracing::info!(file = %path.display(), "the failed reconcile was saved"),
            Ok(Err(error)) => tracing::warn!("a failed reconcile was not saved: {error}: {}", error.source),
            Err(error) => tracing::error!(%error, "saving a failed reconcile panicked; please report this"),
        }
    }
}

/// Reconciles an object that was taken from the queue. The claim is an argument, so that a task that is dropped before
/// its first poll returns its object, too.
pub(crate) async fn process(
    context: Arc<ControllerContext>,
    driver: Driver,
    events: Option<Events>,
    records: Records,
    claim: Claim,
    work: Work,
) {
    let key = claim.key();
    let at = now();
    let span = spans::reconcile_span(context.controller.name(), &work);
    let driver = match admitted(&context, driver, key).instrument(span.clone()).await {
        Ok(driver) => driver,
        Err(NotAdmitted::NotMine) => return claim.finish(Requeue::OnTrigger),
        Err(NotAdmitted::Unread) => return claim.finish(Requeue::WithBackoff),
    };
    let running = context.metrics.started(&work);
    let start = tokio::time::Instant::now();
    let driving = driver.drive(&context.controller, key, work.create_missing);
    // The coroutine catches what panics in it; this is for everything else.
    let transcript = AssertUnwindSafe(driving).catch_unwind().instrument(span.clone()).await;
    let result = span.in_scope(|| match &transcript {
        Ok(transcript) => {
            if let Some(events) = &events {
                publish(events, context.controller.declaration().parent(), key, transcript);
            }
            conclude(&context, key, transcript)
        }
        Err(_) => {
            context.metrics.panicked();
            tracing::error!("the runtime panicked in this reconcile; please report this");
            failed("RuntimePanicked")
        }
    });
    if let Ok(transcript) = transcript {
        records.keep(work, at, transcript).instrument(span.clone()).await;
    }
    spans::finished(&span, &result);
    context.metrics.finished(&result, start.elapsed());
    // When an object leaves the queue, its reconcile must be counted already, and no longer active.
    drop(running);
    claim.finish((&result).into());
}

/// Why a parent is not reconciled now.
enum NotAdmitted {
    /// It is another instance's by now, gone or completed: whatever was to be done for it is for its owner to do.
    NotMine,
    /// Whose it is could not be read. No other instance may know of the trigger, so it must be tried again.
    Unread,
}

/// The driver of this reconcile, unless the parent is another instance's by now.
async fn admitted(
    context: &ControllerContext,
    driver: Driver,
    parent: &ObjectRef,
) -> Result<Driver, NotAdmitted> {
    let Some(shard) = &context.shard else { return Ok(driver) };
    loop {
        let admission = match shard.admit(parent) {
            Admission::Unknown => admit_unknown(shard, context, &driver, parent).await?,
            decided => decided,
        };
        match admission {
            Admission::Granted(grant) => return Ok(driver.granted(Some(grant))),
            Admission::Refused | Admission::Unknown => return Err(NotAdmitted::NotMine),
            Admission::ReadAgain => {
                tracing::debug!("the parent was reassigned since it was enqueued, reading it again");
                if !read_again(shard, context, &driver, parent).await? {
                    return Err(NotAdmitted::NotMine);
                }
            }
        }
    }
}

impl From<NotRead> for NotAdmitted {
    fn from(NotRead: NotRead) -> Self {
        NotAdmitted::Unread
    }
}

/// Counts and logs how a reconcile ended.
fn conclude(context: &ControllerContext, key: &ObjectRef, transcript: &Transcript) -> ReconcileResult {
    for (state, took) in &transcript.states {
        context.metrics.state_took(state, *took);
    }
    match &transcript.end {
        End::Ended(ended) => {
            log_result(context, key, ended);
            ended.result.clone()
        }
        End::Bug(bug) => {
            count_panic(context, bug);
            tracing::error!("{bug}");
            failed("Bug")
        }
        End::TimedOut => {
            tracing::error!("reconcile timed out and could not write its status");
            failed("TimedOut")
        }
    }
}

/// The result of a reconcile that came to no end of its own. What happened is logged already.
fn failed(reason: &str) -> ReconcileResult {
    ReconcileResult::Failed { reason: reason.to_owned(), message: String::new() }
}

/// Publishes the Events of a reconcile about its parent.
fn publish(events: &Events, kind: &KindInfo, key: &ObjectRef, transcript: &Transcript) {
    let End::Ended(ended) = &transcript.end else { return };
    if ended.events.is_empty() {
        return;
    }
    let Some(parent) = transcript.parent(kind, key) else { return };
    let regarding = Regarding::of(kind, parent);
    ended.events.iter().for_each(|event| events.publish(&regarding, event));
}

/// Logs how a reconcile ended; at INFO only what changed. Controller, namespace and name are fields of the span.
fn log_result(context: &ControllerContext, key: &ObjectRef, ended: &Reconciled) {
    if let Some(bug) = &ended.bug {
        count_panic(context, bug);
    }
    if let Some(ReadyChange { status, reason, message, previous_status, previous_reason }) = &ended.ready {
        tracing::info!(status, reason, previous_status, previous_reason, "Ready changed: {message}");
    }
    let path = ended.path.join(" -> ");
    match &ended.result {
        ReconcileResult::Gone => {
            context.waits.end(key);
            context.shard.iter().for_each(|shard| shard.forget_gone(key));
            tracing::debug!("parent not found");
        }
        ReconcileResult::Idle => tracing::debug!("suspended, not selected, or being deleted by others"),
        ReconcileResult::Done { requeue_after } => {
            if context.waits.end(key) {
                tracing::info!(path, "reconciled after a wait");
            }
            tracing::debug!(path, ?requeue_after, "reconciled");
        }
        ReconcileResult::Requeue { after, reason } => {
            // Parents with conditions show it, and its change was logged above.
            if !context.controller.declaration().keeps_status() && context.waits.begin(key, reason) {
                tracing::info!(path, reason, ?after, "requeued");
            } else {
                tracing::debug!(path, reason, ?after, "requeued");
            }
        }
        ReconcileResult::Conflict { reason, message } if reason == CONTESTED => {
            context.metrics.contested();
            tracing::warn!(path, message, "another writer keeps changing an output back");
        }
        ReconcileResult::Conflict { message, .. } => {
            tracing::info!(path, message, "conflict with another writer, requeued with backoff");
        }
        ReconcileResult::Failed { reason, message } => tracing::warn!(path, reason, "{message}"),
        ReconcileResult::Terminal { reason, message } => {
            tracing::error!(path, reason, "terminal error: {message}");
        }
    }
}

fn count_panic(context: &ControllerContext, bug: &Bug) {
    if matches!(bug, Bug::Panicked { .. }) {
        context.metrics.panicked();
    }
}

#[cfg(test)]
mod tests;
