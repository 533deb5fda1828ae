//! What the parts of one running controller share.

use std::sync::Arc;

use windlass::Controller;

use crate::operations::metrics::ControllerMetrics;
use crate::queue::{QueueSettings, SharedQueue};
use crate::waits::Waits;

/// A controller with its queue and its metrics, shared by what enqueues and by the workers.
pub(crate) struct ControllerContext {
    pub(crate) controller: Controller,
    pub(crate) metrics: ControllerMetrics,
    pub(crate) queue: Arc<SharedQueue>,
    pub(crate) waits: Waits,
}

impl ControllerContext {
    pub(crate) fn new(controller: Controller, settings: QueueSettings, metrics: ControllerMetrics) -> Self {
        ControllerContext { controller, metrics, queue: SharedQueue::new(settings), waits: Waits::default() }
    }

    /// Exports the depth of the queue as a metric, for as long as there is a queue.
    pub(crate) fn export_queue_metrics(&self) {
        let queue = Arc::downgrade(&self.queue);
        self.metrics.set_queue(move || queue.upgrade().map(|queue| queue.counts()).unwrap_or_default());
    }
}
