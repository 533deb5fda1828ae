//! How many workflows were started and have come to their end, how long they took, and which step those under way are at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use serde_json::Value;
use windlass_runtime::operations::metrics::{Metrics, ParentChange};

use super::progress::{Tracked, progress, workflow_of};
use super::table::Workflow;
use crate::api::{Bouncer, Divider, Droplet, Endpoint, Subnet, Vpc};

/// Metrics of workflows, fed by what happens to objects.
#[derive(Clone)]
pub struct WorkflowMetrics {
    /// Workflows under way, by the uid of their object.
    under_way: Arc<Mutex<BTreeMap<String, UnderWay>>>,
    started: Family<WorkflowLabel, Counter>,
    finished: Family<WorkflowLabel, Counter>,
    seconds: Family<WorkflowLabel, Histogram, fn() -> Histogram>,
    waiting: Family<StepLabels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WorkflowLabel {
    workflow: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    workflow: &'static str,
    /// The condition that is True when the step is done.
    step: &'static str,
}

struct UnderWay {
    workflow: &'static Workflow,
    step: &'static str,
    since: Instant,
}

/// An object as a workflow sees it.
struct Seen {
    workflow: &'static Workflow,
    step: &'static str,
    finished: bool,
    age: Duration,
}

/// The age of an object is known to the second: one that is younger began just now.
const YOUNG: Duration = Duration::from_secs(2);
/// The step of a workflow whose conditions are all True.
const END: &str = "End";

impl Default for WorkflowMetrics {
    fn default() -> Self {
        WorkflowMetrics {
            under_way: Arc::default(),
            started: Family::default(),
            finished: Family::default(),
            // From ten milliseconds to two minutes.
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.01, 1.5, 24))),
            waiting: Family::default(),
        }
    }
}

impl WorkflowMetrics {
    /// Adds them to the metrics of a manager: `manager.observe(|metrics| WorkflowMetrics::default().add_to(metrics))`.
    pub fn add_to(self, metrics: &Metrics) {
        metrics.register(|registry| {
            let started = "Workflows that were started";
            registry.register("windlass_mizar_workflows_started", started, self.started.clone());
            let finished = "Workflows that have come to their end";
            registry.register("windlass_mizar_workflows_finished", finished, self.finished.clone());
            let seconds = "Seconds that a workflow took";
            registry.register("windlass_mizar_workflow_duration_seconds", seconds, self.seconds.clone());
            let waiting = "Workflows under way, by the step that they wait for";
            registry.register("windlass_mizar_workflows_waiting", waiting, self.waiting.clone());
        });
        metrics.observe_parents(move |controller, change| self.observe(controller, change));
    }

    /// Each kind is observed by the controller that is its home.
    fn observe(&self, controller: &str, change: ParentChange<'_>) {
        match controller {
            "mizar-vpc" => self.changed::<Vpc>(change),
            "mizar-network" => self.changed::<Subnet>(change),
            "mizar-divider" => self.changed::<Divider>(change),
            "mizar-bouncer" => self.changed::<Bouncer>(change),
            "mizar-droplet" => self.changed::<Droplet>(change),
            "mizar-endpoint-address" | "mizar-scaled-endpoint" => self.changed::<Endpoint>(change),
            _ => {}
        }
    }

    fn changed<K: Tracked>(&self, change: ParentChange<'_>) {
        let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        match change {
            ParentChange::Changed { after: Some(object), .. } => {
                self.is_at(uid(object), seen::<K>(object), true);
            }
            // It began elsewhere, and was counted there.
            ParentChange::Assigned(object) => self.is_at(uid(object), seen::<K>(object), false),
            ParentChange::Changed { before: Some(object), after: None } => self.is_gone(&uid(object)),
            ParentChange::Changed { before: None, after: None } => {}
            ParentChange::Released(object) => {
                self.forget(&mut self.known(), &uid(object));
            }
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object is at a step of a workflow, or at its end.
    fn is_at(&self, uid: String, seen: Option<Seen>, counts: bool) {
        let mut known = self.known();
        let before = self.forget(&mut known, &uid);
        let Some(seen) = seen else { return };
        let same = before.filter(|before| before.workflow == seen.workflow);
        if seen.finished {
            same.iter().for_each(|before| self.ended(before));
            return;
        }
        if same.is_none() && counts {
            self.started.get_or_create(&WorkflowLabel { workflow: seen.workflow.name }).inc();
        }
        let age = if seen.age < YOUNG { Duration::ZERO } else { seen.age };
        let now = Instant::now();
        let since = same.map_or(now.checked_sub(age).unwrap_or(now), |before| before.since);
        let labels = StepLabels { workflow: seen.workflow.name, step: seen.step };
        self.waiting.get_or_create(&labels).inc();
        known.insert(uid, UnderWay { workflow: seen.workflow, step: seen.step, since });
    }

    /// An object is gone: that is the end of a workflow that deletes it, and of no other.
    fn is_gone(&self, uid: &str) {
        let before = self.forget(&mut self.known(), uid);
        before.filter(|before| before.workflow.deletes).iter().for_each(|before| self.ended(before));
    }

    fn forget(&self, known: &mut BTreeMap<String, UnderWay>, uid: &str) -> Option<UnderWay> {
        let before = known.remove(uid)?;
        let labels = StepLabels { workflow: before.workflow.name, step: before.step };
        self.waiting.get_or_create(&labels).dec();
        Some(before)
    }

    fn ended(&self, before: &UnderWay) {
        let labels = WorkflowLabel { workflow: before.workflow.name };
        self.finished.get_or_create(&labels).inc();
        self.seconds.get_or_create(&labels).observe(before.since.elapsed().as_secs_f64());
    }
}

/// Where the workflow of an object is.
fn seen<K: Tracked>(object: &Value) -> Option<Seen> {
    let object = K::deserialize(object).ok()?;
    let (workflow, progress) = (workflow_of(&object)?, progress(&object)?);
    let metadata = object.object_meta();
    let begun = metadata.deletion_timestamp.as_ref().or(metadata.creation_timestamp.as_ref());
    let begun = begun.map(|time| SystemTime::from(time.0));
    let age = begun.and_then(|begun| begun.elapsed().ok()).unwrap_or_default();
    let step = workflow.steps.get(progress.step - 1).map_or(END, |step| step.condition);
    Some(Seen { workflow, step, finished: progress.finished, age })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn vpc(done: &[&str], phase: &str, deleting: bool) -> Value {
        let condition = |step: &&str| {
            json!({
                "type": step, "status": "True", "reason": "Done", "message": "",
                "lastTransitionTime": "2026-01-02T03:04:06Z",
            })
        };
        let conditions: Vec<Value> = done.iter().map(condition).collect();
        let mut vpc = json!({
            "apiVersion": "mizar.com/v1", "kind": "Vpc",
            "metadata": { "name": "vpc0", "namespace": "default", "uid": "u1" },
            "spec": { "ip": "10.0.0.0", "prefix": 16 },
            "status": { "phase": phase, "conditions": conditions },
        });
        if deleting {
            vpc["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z".into();
        }
        vpc
    }

    /// The values of series that are not zero, without histograms.
    fn shown(metrics: &Metrics) -> Vec<String> {
        let text = metrics.text();
        let own = text.lines().filter_map(|line| line.strip_prefix("windlass_mizar_workflows_"));
        let mut shown: Vec<String> =
            own.filter(|line| !line.ends_with(" 0")).map(|line| line.replace('"', "")).collect();
        shown.sort();
        shown
    }

    #[test]
    fn workflows_are_counted_from_their_start_to_their_end() {
        let (metrics, workflows) = (Metrics::new(), WorkflowMetrics::default());
        workflows.add_to(&metrics);
        let home = metrics.controller("mizar-vpc");
        let (new, half) = (vpc(&[], "Init", false), vpc(&["VniAllocated"], "Init", false));
        home.parent_changed(None, Some(&new));
        home.parent_changed(Some(&new), Some(&half));
        // Another controller of the same parents.
        metrics.controller("mizar-other").parent_changed(None, Some(&new));
        assert_eq!(
            shown(&metrics),
            ["started_total{workflow=create VPC} 1", "waiting{workflow=create VPC,step=DividersReady} 1",]
        );
        let done = vpc(&["VniAllocated", "DividersReady"], "Provisioned", false);
        home.parent_changed(Some(&half), Some(&done));
        let deleting = vpc(&["VniAllocated", "DividersReady"], "Provisioned", true);
        home.parent_changed(Some(&done), Some(&deleting));
        home.parent_changed(Some(&deleting), None);
        assert_eq!(
            shown(&metrics),
            [
                "finished_total{workflow=create VPC} 1",
                "finished_total{workflow=delete VPC} 1",
                "started_total{workflow=create VPC} 1",
                "started_total{workflow=delete VPC} 1",
            ]
        );
        assert!(metrics.text().contains("workflow_duration_seconds_count{workflow=\"create VPC\"} 1"));
    }

    #[test]
    fn what_moves_to_another_instance_is_counted_there() {
        let (metrics, workflows) = (Metrics::new(), WorkflowMetrics::default());
        workflows.add_to(&metrics);
        let home = metrics.controller("mizar-vpc");
        let new = vpc(&[], "Init", false);
        home.parent_assigned(&new);
        assert_eq!(shown(&metrics), ["waiting{workflow=create VPC,step=VniAllocated} 1"]);
        home.parent_released(&new);
        assert!(shown(&metrics).is_empty(), "{:?}", shown(&metrics));
        home.parent_assigned(&new);
        home.parent_changed(Some(&new), Some(&vpc(&["VniAllocated", "DividersReady"], "Provisioned", false)));
        assert_eq!(shown(&metrics), ["finished_total{workflow=create VPC} 1"]);
    }
}
