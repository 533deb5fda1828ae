//! What can be asked of a running manager, and changed in it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;
use windlass::ObjectRef;
use windlass::recording::Recording;

use crate::informer::{InformerState, Informers, Selection};
use crate::operations::endpoints::{Check, Health};
use crate::operations::metrics::Metrics;
use crate::operations::preflight::Degraded;
use crate::recorder::{SaveError, save};
use crate::running::{Enqueuers, Recorders};

/// What can be asked of a running manager, and changed in it. Clones are for the same manager.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

/// What a handle reads and changes.
pub(crate) struct Shared {
    pub(crate) informers: Arc<Informers>,
    pub(crate) workers: BTreeMap<String, watch::Sender<usize>>,
    pub(crate) enqueuers: Enqueuers,
    pub(crate) recorders: Recorders,
    pub(crate) metrics: Metrics,
    pub(crate) degraded: Degraded,
    pub(crate) stop: watch::Sender<bool>,
}

/// Says that objects are left alone: a sharded controller that pauses keeps its slots.
pub(crate) fn warn_of_paused_shard(controller: &str) {
    tracing::warn!(
        controller,
        "a sharded controller has 0 workers here: this instance keeps its slots, and no one reconciles their objects"
    );
}

impl Handle {
    pub(crate) fn new(shared: Shared) -> Self {
        Handle { shared: Arc::new(shared) }
    }

    /// The names of the controllers.
    pub fn controllers(&self) -> impl Iterator<Item = &str> {
        self.shared.workers.keys().map(String::as_str)
    }

    /// Maximum number of concurrent reconciles of a controller; `None` if there is no such controller.
    pub fn workers(&self, controller: &str) -> Option<usize> {
        self.shared.workers.get(controller).map(|workers| *workers.borrow())
    }

    /// Sets the maximum number of concurrent reconciles of a controller; those that are active go on. With 0 the
    /// controller pauses. Returns whether there is such a controller.
    pub fn set_workers(&self, controller: &str, count: usize) -> bool {
        let Some(workers) = self.shared.workers.get(controller) else { return false };
        let is_sharded = || Some(self.shared.enqueuers.get(controller)?.upgrade()?.context.shard.is_some());
        if count == 0 && is_sharded() == Some(true) {
            warn_of_paused_shard(controller);
        }
        workers.send_replace(count);
        true
    }

    /// Number of active reconciles of a controller; `None` if there is no such controller.
    pub fn active(&self, controller: &str) -> Option<usize> {
        let is_known = self.shared.workers.contains_key(controller);
        is_known.then(|| self.shared.metrics.controller(controller).active())
    }

    /// Asks for a reconcile of a parent, because of something outside the cluster; `what` is shown as its cause. A
    /// parent that does not exist is made, if the machine says how. Returns whether there is such a controller.
    ///
    /// Like any trigger it may be one with others, and it does not cut short the wait after a failure.
    pub fn trigger(&self, controller: &str, parent: ObjectRef, what: &str) -> bool {
        let enqueuer = self.shared.enqueuers.get(controller).and_then(Weak::upgrade);
        enqueuer.map(|enqueuer| enqueuer.enqueue_external(parent, what)).is_some()
    }

    /// The state of each informer.
    pub fn informers(&self) -> Vec<(Selection, InformerState)> {
        self.shared.informers.states()
    }

    /// Waits until the caches of all informers are synced.
    pub async fn synced(&self) {
        join_all(self.shared.informers.all().iter().map(|informer| informer.state.synced())).await;
    }

    /// What the manager counts.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// The reconciles of a controller that are kept, oldest first, with secrets redacted; none if there is no such
    /// controller.
    pub fn recordings(&self, controller: &str) -> Vec<Recording> {
        let recorder = self.shared.recorders.get(controller);
        recorder.map(|recorder| recorder.recordings(instant())).unwrap_or_default()
    }

    /// Writes all reconciles that are kept into a folder, as files for `windlass replay`; returns how many.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn save_recordings(&self, folder: &Path) -> Result<usize, SaveError> {
        let recordings = self.shared.recorders.values().flat_map(|recorder| recorder.recordings(instant()));
        let mut count = 0;
        for recording in recordings {
            save(folder, &recording, usize::MAX)?;
            count += 1;
        }
        Ok(count)
    }

    /// From now on no further reconcile starts.
    pub(crate) fn stop(&self) {
        self.shared.stop.send_replace(true);
    }
}

fn instant() -> std::time::Instant {
    tokio::time::Instant::now().into_std()
}

impl Health for Handle {
    fn document(&self, path: &str) -> Option<String> {
        let recorders = || self.shared.recorders.values();
        match path.strip_prefix("/debug/recordings")? {
            "" | "/" => {
                let line = |(id, target, failed): (String, ObjectRef, bool)| json!({"id": id, "target": target, "failed": failed});
                let lines: Vec<Value> =
                    recorders().flat_map(|recorder| recorder.list(instant())).map(line).collect();
                Some(format!("{:#}\n", Value::from(lines)))
            }
            rest => {
                let id = rest.strip_prefix('/')?;
                recorders()
                    .find_map(|recorder| recorder.find(id, instant()))
                    .map(|recording| recording.to_json())
            }
        }
    }

    fn readiness(&self) -> Vec<Check> {
        let check = |(selection, state): (Selection, InformerState)| {
            let name = format!("watch {selection}");
            match state {
                InformerState { synced: true, error: None } => Check::good(name),
                InformerState { error: Some(error), .. } => Check::bad(name, error),
                InformerState { .. } => Check::bad(name, "cache not synced yet"),
            }
        };
        let rings = self.shared.enqueuers.values().filter_map(|enqueuer| {
            let shard = enqueuer.upgrade()?.context.shard.clone()?;
            let name = format!("ring {}", shard.spec.controller_type);
            Some(match shard.registry_error() {
                None => Check::good(name),
                Some(error) => Check::bad(name, error),
            })
        });
        self.informers().into_iter().map(check).chain(rings).chain(self.shared.degraded.checks()).collect()
    }
}
