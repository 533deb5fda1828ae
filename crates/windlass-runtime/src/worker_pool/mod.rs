//! The workers of one controller: they take what is due as long as there is room, and as long as they may.

use std::sync::{Arc, Weak};
use std::time::Instant;

use futures::future::join_all;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use crate::controller_context::ControllerContext;
use crate::driver::Driver;
use crate::enqueuer::Enqueuer;
use crate::informer::Informer;
use crate::operations::events::Events;
use crate::operations::leader::Leading;
use crate::worker::{Records, process};

/// One controller at work.
pub(crate) struct WorkerPool {
    pub(crate) context: Arc<ControllerContext>,
    pub(crate) enqueuer: Arc<Enqueuer>,
    pub(crate) driver: Driver,
    /// The informers whose caches must be synced before the first reconcile: it would take what it does not see for
    /// missing.
    pub(crate) informers: Vec<Arc<Informer>>,
    /// Where Kubernetes Events go, if they are published.
    pub(crate) events: Option<Events>,
    /// What keeps its reconciles.
    pub(crate) records: Records,
    /// Whether this process leads, if only the leader works.
    pub(crate) leading: Option<Leading>,
    /// How many reconciles may be active at a time.
    pub(crate) workers: watch::Receiver<usize>,
    /// Becomes true when no further reconcile is to start.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Why no further reconciles start.
enum Halt {
    Stopped,
    Deposed,
}

impl WorkerPool {
    /// The controller's name and its enqueuer.
    pub(crate) fn named_enqueuer(&self) -> (String, Weak<Enqueuer>) {
        (self.context.controller.name().to_owned(), Arc::downgrade(&self.enqueuer))
    }

    /// Works until it is stopped, and lets active reconciles finish. While another process leads it waits; what is
    /// active when that begins is dropped.
    pub(crate) async fn work(mut self) {
        let mut stopping = self.stopping.clone();
        let mut leading = self.leading.take();
        let controller = self.context.controller.name().to_owned();
        tokio::select! {
            _ = join_all(self.informers.iter().map(|informer| informer.state.synced())) => {}
            () = stopped(&mut stopping) => return,
        }
        loop {
            tokio::select! {
                () = elected(&mut leading) => {}
                () = stopped(&mut stopping) => return,
            }
            tracing::info!(controller, "caches synced, starting workers");
            let mut active = JoinSet::new();
            let halt = tokio::select! {
                () = self.take(&mut active) => Halt::Stopped,
                () = stopped(&mut stopping) => Halt::Stopped,
                () = deposed(&mut leading) => Halt::Deposed,
            };
            match halt {
                Halt::Deposed => {
                    tracing::warn!(controller, "leader election lost, dropping active reconciles");
                    // They are gone before the next term begins: together both would be more than the limit.
                    active.shutdown().await;
                }
                Halt::Stopped => {
                    let finishing = async { while active.join_next().await.is_some() {} };
                    tokio::select! {
                        () = finishing => {}
                        () = deposed(&mut leading) => {}
                    }
                    return;
                }
            }
        }
    }

    /// Takes work, for ever.
    async fn take(&mut self, active: &mut JoinSet<()>) {
        loop {
            let limit = *self.workers.borrow_and_update();
            self.context.metrics.set_workers(limit);
            let until = self.start_due(active, limit);
            tokio::select! {
                () = self.context.queue.changed() => {}
                () = sleep_until(until.unwrap_or_else(Instant::now).into()), if until.is_some() => {}
                Some(_) = active.join_next() => {}
                Ok(()) = self.workers.changed() => {}
            }
        }
    }

    /// Starts reconciles as long as there is work and room; returns when to call this again, if the time makes more due.
    fn start_due(&self, active: &mut JoinSet<()>, limit: usize) -> Option<Instant> {
        self.context.queue.start_due(limit.saturating_sub(active.len()), |claim, work| {
            let (context, driver) = (Arc::clone(&self.context), self.driver.clone());
            let (events, records) = (self.events.clone(), self.records.clone());
            active.spawn(process(context, driver, events, records, claim, work));
        })
    }
}

/// Waits until no further reconcile is to start.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // If the sender is gone, the pool is stopped.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Waits until this process may work.
async fn elected(leading: &mut Option<Leading>) {
    if let Some(leading) = leading {
        leading.begin().await;
    }
}

/// Waits until this process may not work any more.
async fn deposed(leading: &mut Option<Leading>) {
    match leading {
        Some(leading) => leading.end().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
