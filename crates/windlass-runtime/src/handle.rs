//! What can be asked of a running manager, and changed in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use tokio::sync::watch;

use crate::operations::endpoints::{Check, Health};
use crate::operations::metrics::Metrics;
use crate::watch::{Selection, WatchState, Watches};

/// What can be asked of a running manager, and changed in it. Clones are for the same manager.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

struct Shared {
    watches: Arc<Watches>,
    workers: BTreeMap<String, watch::Sender<usize>>,
    metrics: Metrics,
    stop: watch::Sender<bool>,
}

impl Handle {
    pub(crate) fn new(
        watches: Arc<Watches>,
        workers: BTreeMap<String, watch::Sender<usize>>,
        metrics: Metrics,
        stop: watch::Sender<bool>,
    ) -> Self {
        Handle { shared: Arc::new(Shared { watches, workers, metrics, stop }) }
    }

    /// The names of the controllers.
    pub fn controllers(&self) -> impl Iterator<Item = &str> {
        self.shared.workers.keys().map(String::as_str)
    }

    /// How many reconciles of a controller may be active at a time; `None` if there is no such controller.
    pub fn workers(&self, controller: &str) -> Option<usize> {
        self.shared.workers.get(controller).map(|workers| *workers.borrow())
    }

    /// Changes how many reconciles of a controller may be active at a time; those that are active go on. With 0 the
    /// controller pauses. Returns whether there is such a controller.
    pub fn set_workers(&self, controller: &str, count: usize) -> bool {
        let workers = self.shared.workers.get(controller);
        workers.map(|workers| workers.send_replace(count)).is_some()
    }

    /// How each watch is doing.
    pub fn watches(&self) -> Vec<(Selection, WatchState)> {
        self.shared.watches.states()
    }

    /// Waits until every watch has told all there is.
    pub async fn synced(&self) {
        join_all(self.shared.watches.all().iter().map(|watch| watch.state.synced())).await;
    }

    /// What the manager counts.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// From now on no further reconcile starts.
    pub(crate) fn stop(&self) {
        self.shared.stop.send_replace(true);
    }
}

impl Health for Handle {
    fn readiness(&self) -> Vec<Check> {
        let check = |(selection, state): (Selection, WatchState)| {
            let name = format!("watch {selection}");
            match state {
                WatchState { synced: true, error: None } => Check::good(name),
                WatchState { error: Some(error), .. } => Check::bad(name, error),
                WatchState { .. } => Check::bad(name, "it has not told all there is yet"),
            }
        };
        self.watches().into_iter().map(check).collect()
    }
}
