//! What is counted, under the names that controller-runtime and client-go gave it and dashboards know.
//!
//! Start with [`Metrics`]: there is one per process, and each controller takes its [`ControllerMetrics`] from it.

mod controller;
mod labels;
mod parents;
mod queues;
mod shards;
#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

pub use controller::{ControllerMetrics, Running};
use labels::{CauseLabels, ConditionLabels, ControllerLabel, LeaseLabel, QueueLabels, RequestLabels};
use labels::{ResultLabels, StateLabels};
use parents::Observers;
pub use parents::ParentChange;
use queues::Queues;
pub(crate) use shards::ShardMetrics;
use shards::Shards;

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where reconcile durations are counted, as controller-runtime has them.
const RECONCILE_SECONDS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

type Histograms<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

/// All that a process counts. Cloning shares it.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<RwLock<Registry>>,
    families: Arc<Families>,
}

/// The families of series. Each is registered once, and then found by its field.
struct Families {
    reconciles: Family<ResultLabels, Counter>,
    errors: Family<ControllerLabel, Counter>,
    terminal_errors: Family<ControllerLabel, Counter>,
    panics: Family<ControllerLabel, Counter>,
    reconcile_seconds: Histograms<ControllerLabel>,
    workers: Family<ControllerLabel, Gauge>,
    active_workers: Family<ControllerLabel, Gauge>,
    queue_seconds: Histograms<QueueLabels>,
    work_seconds: Histograms<QueueLabels>,
    queues: Arc<Queues>,
    requests: Family<RequestLabels, Counter>,
    leading: Family<LeaseLabel, Gauge>,
    state_seconds: Histograms<StateLabels>,
    triggers: Family<CauseLabels, Counter>,
    contested: Family<ControllerLabel, Counter>,
    conditions: Family<ConditionLabels, Gauge>,
    shards: Shards,
    observers: Observers,
}

impl Default for Metrics {
    fn default() -> Self {
        let families = Families::new();
        let mut registry = Registry::default();
        families.register(&mut registry);
        Metrics { registry: Arc::new(RwLock::new(registry)), families: Arc::new(families) }
    }
}

impl Metrics {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Metrics::default()
    }

    /// The metrics of one controller. Its series exist from the start, at zero, so that a dashboard can distinguish
    /// "none" from "not running".
    pub fn controller(&self, name: &str) -> ControllerMetrics {
        ControllerMetrics::new(self.families.clone(), name)
    }

    /// Counts a request to the API: its HTTP method, the host and port it went to, and the status code, if there was
    /// an answer at all.
    pub fn requested(&self, method: &str, host: &str, code: Option<u16>) {
        // client-go says this of requests without an answer.
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let labels = RequestLabels { code, host: host.to_owned(), method: method.to_owned() };
        self.families.requests.get_or_create(&labels).inc();
    }

    /// Says whether this process leads, by the name of the lease.
    pub fn set_leading(&self, lease: &str, leads: bool) {
        self.families.leading.get_or_create(&LeaseLabel { name: lease.to_owned() }).set(i64::from(leads));
    }

    /// The metrics of a sharded controller's slots.
    pub(crate) fn shard(&self, controller: &str) -> ShardMetrics {
        self.families.shards.of(controller)
    }

    /// Calls a function for each change of a parent that this process serves, with the name of the controller: for metrics
    /// of a program's own. It is called while events are handled, so it must be quick.
    pub fn observe_parents(&self, observer: impl Fn(&str, ParentChange<'_>) + Send + Sync + 'static) {
        self.families.observers.add(observer);
    }

    /// Registers further metrics.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// All of it, as the text that Prometheus reads: see [`CONTENT_TYPE`].
    pub fn text(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.read().unwrap_or_else(PoisonError::into_inner);
        encode(&mut text, &registry).expect("writing to a string does not fail");
        text
    }
}

impl Families {
    fn new() -> Self {
        // Both as controller-runtime has them: from ten nanoseconds to a thousand seconds.
        let queue: fn() -> Histogram = || Histogram::new(exponential_buckets(10e-9, 10.0, 12));
        let reconcile: fn() -> Histogram = || Histogram::new(RECONCILE_SECONDS);
        Families {
            reconciles: Family::default(),
            errors: Family::default(),
            terminal_errors: Family::default(),
            panics: Family::default(),
            reconcile_seconds: Family::new_with_constructor(reconcile),
            workers: Family::default(),
            active_workers: Family::default(),
            queue_seconds: Family::new_with_constructor(queue),
            work_seconds: Family::new_with_constructor(queue),
            queues: Arc::default(),
            requests: Family::default(),
            leading: Family::default(),
            state_seconds: Family::new_with_constructor(reconcile),
            triggers: Family::default(),
            contested: Family::default(),
            conditions: Family::default(),
            shards: Shards::default(),
            observers: Observers::default(),
        }
    }

    /// Names the series. The encoding adds `_total` to the names of counters.
    fn register(&self, registry: &mut Registry) {
        let reconciles = "Reconciles by how they ended";
        registry.register("controller_runtime_reconcile", reconciles, self.reconciles.clone());
        let errors = "Reconciles that failed";
        registry.register("controller_runtime_reconcile_errors", errors, self.errors.clone());
        let terminal = "Reconciles that failed for good, until the parent changes";
        registry.register(
            "controller_runtime_terminal_reconcile_errors",
            terminal,
            self.terminal_errors.clone(),
        );
        let panics = "Reconciles that panicked";
        registry.register("controller_runtime_reconcile_panics", panics, self.panics.clone());
        let took = "Seconds that a reconcile took";
        registry.register("controller_runtime_reconcile_time_seconds", took, self.reconcile_seconds.clone());
        let workers = "Reconciles that may be active at a time";
        registry.register("controller_runtime_max_concurrent_reconciles", workers, self.workers.clone());
        let active = "Reconciles that are active";
        registry.register("controller_runtime_active_workers", active, self.active_workers.clone());
        let queued = "Seconds that an object was due before a worker took it";
        registry.register("workqueue_queue_duration_seconds", queued, self.queue_seconds.clone());
        let worked = "Seconds that a worker held an object";
        registry.register("workqueue_work_duration_seconds", worked, self.work_seconds.clone());
        registry.register_collector(Box::new(self.queues.clone()));
        let requests = "Requests to the API, by status code, method and host";
        registry.register("rest_client_requests", requests, self.requests.clone());
        let leading = "1 if this process leads, by the name of the lease";
        registry.register("leader_election_master_status", leading, self.leading.clone());
        let states = "Seconds that a state of a machine took";
        registry.register("windlass_state_duration_seconds", states, self.state_seconds.clone());
        let triggers = "What made reconciles due";
        registry.register("windlass_trigger", triggers, self.triggers.clone());
        let contested = "Reconciles that stepped back since another writer keeps changing an output";
        registry.register("windlass_contested_reconciles", contested, self.contested.clone());
        let conditions = "Parents by the status of each of their conditions";
        registry.register("windlass_condition", conditions, self.conditions.clone());
        self.shards.register(registry);
    }
}
