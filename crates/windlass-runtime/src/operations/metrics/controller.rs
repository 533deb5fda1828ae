//! What one controller counts.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use serde_json::Value;
use windlass::{Cause, ReconcileResult};

use super::Families;
use super::labels::{CauseLabels, ConditionLabels, ControllerLabel, QueueLabels, ResultLabels, StateLabels};
use super::parents::ParentChange;
use crate::queue::{Due, QueueCounts, Work};

/// What one controller counts. Cloning shares it.
#[derive(Clone)]
pub struct ControllerMetrics {
    families: Arc<Families>,
    name: Arc<str>,
}

/// A reconcile that is being counted as active, until this is dropped.
#[must_use = "a reconcile is counted as active only as long as this is kept"]
pub struct Running {
    active: Gauge,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.active.dec();
    }
}

impl ControllerMetrics {
    pub(super) fn new(families: Arc<Families>, name: &str) -> Self {
        let metrics = ControllerMetrics { families, name: name.into() };
        let (label, families) = (metrics.label(), &metrics.families);
        // Asking for a series makes it.
        for result in ["error", "requeue", "requeue_after", "success"] {
            drop(families.reconciles.get_or_create(&metrics.result(result)));
        }
        for counters in [&families.errors, &families.terminal_errors, &families.panics, &families.contested] {
            drop(counters.get_or_create(&label));
        }
        for gauges in [&families.workers, &families.active_workers] {
            drop(gauges.get_or_create(&label));
        }
        drop(families.reconcile_seconds.get_or_create(&label));
        for histograms in [&families.queue_seconds, &families.work_seconds] {
            drop(histograms.get_or_create(&QueueLabels::of(name)));
        }
        metrics
    }

    /// Sets how to count the controller's queue. It is called whenever the metrics are read.
    pub fn set_queue(&self, count: impl Fn() -> QueueCounts + Send + Sync + 'static) {
        self.families.queues.add(&self.name, Box::new(count));
    }

    /// Says how many reconciles may be active at a time.
    pub fn set_workers(&self, workers: usize) {
        let workers = i64::try_from(workers).unwrap_or(i64::MAX);
        self.families.workers.get_or_create(&self.label()).set(workers);
    }

    /// How many reconciles are active.
    pub fn active(&self) -> usize {
        let active = self.families.active_workers.get_or_create(&self.label()).get();
        usize::try_from(active).unwrap_or_default()
    }

    /// Counts what made a reconcile due, how long it was so, and that it is active until the guard is dropped.
    pub fn started(&self, work: &Work) -> Running {
        let queued = self.families.queue_seconds.get_or_create_owned(&QueueLabels::of(&self.name));
        queued.observe(work.waited.as_secs_f64());
        match work.due {
            Due::Change => {}
            Due::Timer => self.triggered("timer"),
            Due::Retry => self.triggered("retry"),
        }
        // A retry carries the causes of the run that failed, which was counted.
        if work.due != Due::Retry {
            work.causes.kept.iter().for_each(|changed| self.triggered(cause(changed.cause)));
        }
        let active = self.families.active_workers.get_or_create_owned(&self.label());
        active.inc();
        Running { active }
    }

    /// Counts how a reconcile ended, and how long it took.
    pub fn finished(&self, result: &ReconcileResult, took: Duration) {
        let (label, families) = (self.label(), &self.families);
        let word = match result {
            ReconcileResult::Failed { .. } | ReconcileResult::Terminal { .. } => "error",
            ReconcileResult::Conflict { .. } => "requeue",
            ReconcileResult::Requeue { .. } | ReconcileResult::Done { requeue_after: Some(_) } => {
                "requeue_after"
            }
            ReconcileResult::Done { requeue_after: None } | ReconcileResult::Gone | ReconcileResult::Idle => {
                "success"
            }
        };
        families.reconciles.get_or_create(&self.result(word)).inc();
        if word == "error" {
            families.errors.get_or_create(&label).inc();
        }
        if matches!(result, ReconcileResult::Terminal { .. }) {
            families.terminal_errors.get_or_create(&label).inc();
        }
        families.reconcile_seconds.get_or_create(&label).observe(took.as_secs_f64());
        families.work_seconds.get_or_create(&QueueLabels::of(&self.name)).observe(took.as_secs_f64());
    }

    /// Counts a panic. How the reconcile ended is counted as well.
    pub fn panicked(&self) {
        self.families.panics.get_or_create(&self.label()).inc();
    }

    /// Counts a reconcile that stepped back because another writer keeps changing an output.
    pub fn contested(&self) {
        self.families.contested.get_or_create(&self.label()).inc();
    }

    /// Counts how long a state took, with the requests in it.
    pub fn state_took(&self, state: &str, took: Duration) {
        let labels = StateLabels { controller: self.name.to_string(), state: state.to_owned() };
        self.families.state_seconds.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Notes that a parent came, changed or went, from what it was and what it is.
    ///
    /// The counts are right if this is called once for every change that a watch shows.
    pub fn parent_changed(&self, before: Option<&Value>, after: Option<&Value>) {
        self.count_conditions(before, after);
        self.families.observers.notify(&self.name, ParentChange::Changed { before, after });
    }

    /// Notes that a parent is this instance's from now on.
    pub fn parent_assigned(&self, parent: &Value) {
        self.count_conditions(None, Some(parent));
        self.families.observers.notify(&self.name, ParentChange::Assigned(parent));
    }

    /// Notes that a parent is another instance's from now on.
    pub fn parent_released(&self, parent: &Value) {
        self.count_conditions(Some(parent), None);
        self.families.observers.notify(&self.name, ParentChange::Released(parent));
    }

    fn count_conditions(&self, before: Option<&Value>, after: Option<&Value>) {
        for (parent, step) in [(before, -1), (after, 1)] {
            let conditions = parent.and_then(|parent| parent["status"]["conditions"].as_array());
            for condition in conditions.into_iter().flatten() {
                let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
                let (condition, status) = (text("type"), text("status"));
                let labels = ConditionLabels { controller: self.name.to_string(), condition, status };
                self.families.conditions.get_or_create(&labels).inc_by(step);
            }
        }
    }

    fn triggered(&self, cause: &'static str) {
        let labels = CauseLabels { controller: self.name.to_string(), cause };
        self.families.triggers.get_or_create(&labels).inc();
    }

    fn label(&self) -> ControllerLabel {
        ControllerLabel { controller: self.name.to_string() }
    }

    fn result(&self, result: &'static str) -> ResultLabels {
        ResultLabels { controller: self.name.to_string(), result }
    }
}

/// A cause as a label.
fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Parent => "parent",
        Cause::Output => "output",
        Cause::Watched => "watched",
        Cause::Source => "source",
    }
}
