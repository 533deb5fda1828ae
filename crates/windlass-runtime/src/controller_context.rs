//! What the parts of one running controller share.

use std::sync::Arc;

use windlass::{Controller, WatchDeclaration};

use crate::operations::metrics::ControllerMetrics;
use crate::queue::{QueueSettings, SharedQueue};
use crate::sharding::Shard;
use crate::waits::Waits;

/// A controller with its queue and its metrics, shared by what enqueues and by the workers.
pub(crate) struct ControllerContext {
    pub(crate) controller: Controller,
    pub(crate) metrics: ControllerMetrics,
    pub(crate) queue: Arc<SharedQueue>,
    pub(crate) waits: Waits,
    /// Its part in a fleet, if it has one.
    pub(crate) shard: Option<Arc<Shard>>,
}

impl ControllerContext {
    pub(crate) fn new(controller: Controller, settings: QueueSettings, metrics: ControllerMetrics) -> Self {
        ControllerContext {
            controller,
            metrics,
            queue: SharedQueue::new(settings),
            waits: Waits::default(),
            shard: None,
        }
    }

    /// As one of a fleet that shares the objects.
    pub(crate) fn sharded(self, shard: Option<Arc<Shard>>) -> Self {
        ControllerContext { shard, ..self }
    }

    /// The declared watches, each with its number, that are open as long as the controller runs. A sharded controller
    /// watches outputs by slots, which come and go, and parents, too, if the server can select them.
    pub(crate) fn watches_from_start(&self) -> impl Iterator<Item = (usize, &WatchDeclaration)> {
        let (is_sharded, parents) =
            (self.shard.is_some(), self.shard.as_ref().is_some_and(|shard| shard.knows_own_alone()));
        let is_by_slots = move |watch: &WatchDeclaration| {
            (is_sharded && watch.is_of_outputs()) || (parents && watch.is_of_parents())
        };
        let watches = self.controller.declaration().all_watches().iter().enumerate();
        watches.filter(move |(_, watch)| !is_by_slots(watch))
    }

    /// Exports the depth of the queue as a metric, for as long as there is a queue.
    pub(crate) fn export_queue_metrics(&self) {
        let queue = Arc::downgrade(&self.queue);
        self.metrics.set_queue(move || queue.upgrade().map(|queue| queue.counts()).unwrap_or_default());
    }
}
