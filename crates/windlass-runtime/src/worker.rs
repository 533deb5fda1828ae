//! Takes what is due from the queue of a controller, has it reconciled, and says how it ended.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use futures::future::join_all;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep_until;
use tracing::Instrument;
use windlass::{Bug, Ended, KindInfo, ObjectRef, Verdict};

use crate::driver::{Driven, Driver, End};
use crate::inbox::Inbox;
use crate::operations::events::{Events, Regarding};
use crate::queue::{Finished, Next, Work};
use crate::watch::Watch;

/// One controller at work.
pub(crate) struct Crew {
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) driver: Driver,
    /// The watches that must have told all there is before the first reconcile: it would take what it does not see
    /// for missing.
    pub(crate) watches: Vec<Arc<Watch>>,
    /// Where Kubernetes Events go, if they are published.
    pub(crate) events: Option<Events>,
    /// How many reconciles may be active at a time.
    pub(crate) workers: watch::Receiver<usize>,
    /// Becomes true when no further reconcile is to start.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Crew {
    /// Works until it is stopped, and lets active reconciles finish.
    pub(crate) async fn work(mut self) {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            _ = join_all(self.watches.iter().map(|watch| watch.state.synced())) => {}
            () = stopped(&mut stopping) => return,
        }
        tracing::info!(controller = self.inbox.controller.name(), "its watches are synced; it starts");
        let mut active = JoinSet::new();
        loop {
            let limit = *self.workers.borrow_and_update();
            self.inbox.metrics.set_workers(limit);
            let until = self.start_what_is_due(&mut active, limit);
            tokio::select! {
                () = self.inbox.filled.notified() => {}
                () = sleep_until(until.unwrap_or_else(Instant::now).into()), if until.is_some() => {}
                Some(_) = active.join_next() => {}
                Ok(()) = self.workers.changed() => {}
                () = stopped(&mut stopping) => break,
            }
        }
        while active.join_next().await.is_some() {}
    }

    /// Starts reconciles as long as there is work and room; returns when to look again, if the time makes more due.
    fn start_what_is_due(&self, active: &mut JoinSet<()>, limit: usize) -> Option<Instant> {
        let now = tokio::time::Instant::now().into_std();
        while active.len() < limit {
            let next = self.inbox.queue().next(now);
            match next {
                Next::Take(work) => {
                    let (inbox, driver) = (Arc::clone(&self.inbox), self.driver.clone());
                    active.spawn(reconcile(inbox, driver, self.events.clone(), work));
                }
                Next::WaitUntil(until) => return Some(until),
                Next::Idle => return None,
            }
        }
        None
    }
}

/// Waits until no further reconcile is to start.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // If whoever could stop this is gone, it is stopped.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

async fn reconcile(inbox: Arc<Inbox>, driver: Driver, events: Option<Events>, work: Work) {
    let (controller, key) = (inbox.controller.name(), &work.key);
    let span = tracing::info_span!("reconcile", controller, object = %key, causes = %work.causes, attempt = work.attempt);
    let running = inbox.metrics.started(&work);
    let start = tokio::time::Instant::now();
    let driving = driver.drive(&inbox.controller, key, work.create_missing);
    // The coroutine catches what panics in it; this is for everything else.
    let driven = AssertUnwindSafe(driving).catch_unwind().instrument(span.clone()).await;
    let _entered = span.enter();
    let finished = match driven {
        Ok(driven) => {
            if let Some(events) = &events {
                publish(events, inbox.controller.declaration().parent(), key, &driven);
            }
            conclude(&inbox, driven)
        }
        Err(_) => {
            inbox.metrics.panicked();
            tracing::error!("the runtime panicked in this reconcile; please report this");
            Finished::Failed
        }
    };
    inbox.metrics.finished(finished, start.elapsed());
    drop(running);
    inbox.queue().finished(key, finished, tokio::time::Instant::now().into_std());
}

/// Counts and tells how a reconcile ended.
fn conclude(inbox: &Inbox, driven: Driven) -> Finished {
    for (state, took) in &driven.states {
        inbox.metrics.state_took(state, *took);
    }
    match driven.end {
        End::Ended(ended) => tell(inbox, &ended),
        End::Bug(bug) => {
            count_panic(inbox, &bug);
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

fn tell(inbox: &Inbox, ended: &Ended) -> Finished {
    if let Some(bug) = &ended.bug {
        count_panic(inbox, bug);
    }
    let path = ended.path.join(" -> ");
    match &ended.verdict {
        Verdict::Gone => {
            tracing::debug!("the parent is gone");
            Finished::Gone
        }
        Verdict::Idle => {
            tracing::debug!("suspended, or being deleted by others");
            Finished::Done { requeue_after: None }
        }
        Verdict::Done { requeue_after } => {
            tracing::debug!(path, "done");
            Finished::Done { requeue_after: *requeue_after }
        }
        Verdict::Requeue { after, reason } => {
            tracing::info!(path, reason, ?after, "waits");
            Finished::Requeue { after: *after }
        }
        Verdict::Conflict { message } => {
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
