//! The kubelet of every node: runs pods without running anything, and ends those that are deleted.

use serde_json::{Map, Value, json};

use super::pods;
use super::statuses::has_condition;
use super::template_hash::fnv32;
use super::writes::{PODS, status_update};
use crate::object;
use crate::request::Request;
use crate::time::Timestamp;

pub(super) const MANAGER: &str = "kubelet";
pub(super) const NODE_ADDRESS: &str = "192.0.2.1";

/// What becomes of a pod that has this annotation: `Pending` is never scheduled, `NotReady` runs and never becomes
/// ready, `Failed` fails, and one that is restarted fails again and again.
const BEHAVIOUR_ANNOTATION: &str = "windlass.dev/pod-behaviour";

/// Whether a pod asks not to be scheduled.
pub(super) fn is_held_back(pod: &Value) -> bool {
    object::annotation(pod, BEHAVIOUR_ANNOTATION) == Some("Pending")
}

/// Starts a pod, or ends one that is deleted.
pub(super) fn next(pod: &Value, now: Timestamp) -> Option<Request> {
    if !pods::is_scheduled(pod) {
        return None;
    }
    if object::is_deleting(pod) {
        let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        return (grace > 0).then(|| end(pod));
    }
    match pod["status"]["phase"].as_str() {
        Some("Succeeded" | "Failed") => None,
        Some("Running") => pass_gates(pod, now),
        _ => start(pod, now),
    }
}

fn end(pod: &Value) -> Request {
    let mut request = PODS.delete(pod).as_manager(MANAGER);
    request.options.grace_period_seconds = Some(0);
    request
}

/// How a pod is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Ready,
    NotReady,
    Crashing,
    Succeeded,
    Failed,
}

impl Fate {
    fn of(pod: &Value) -> Self {
        let restarts = pod["spec"]["restartPolicy"].as_str().unwrap_or("Always");
        match (object::annotation(pod, BEHAVIOUR_ANNOTATION), restarts) {
            (Some("NotReady"), _) => Fate::NotReady,
            (Some("Failed"), "Never") => Fate::Failed,
            (Some("Failed"), _) => Fate::Crashing,
            (_, "Always") => Fate::Ready,
            _ => Fate::Succeeded,
        }
    }

    fn phase(self) -> &'static str {
        match self {
            Fate::Succeeded => "Succeeded",
            Fate::Failed => "Failed",
            _ => "Running",
        }
    }

    /// The state of each of its containers.
    fn container_state(self, now: Timestamp) -> Value {
        let now = now.to_string();
        let ended = |code: i64, reason: &str| {
            json!({ "terminated": {
                "exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now,
            }})
        };
        match self {
            Fate::Ready | Fate::NotReady => json!({ "running": { "startedAt": now } }),
            Fate::Crashing => {
                json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off restarting failed container" } })
            }
            Fate::Succeeded => ended(0, "Completed"),
            Fate::Failed => ended(1, "Error"),
        }
    }
}

fn start(pod: &Value, now: Timestamp) -> Option<Request> {
    let fate = Fate::of(pod);
    let request = status_update(PODS, pod, |status| {
        status.insert("phase".to_owned(), fate.phase().into());
        status.insert("hostIP".to_owned(), NODE_ADDRESS.into());
        status.insert("hostIPs".to_owned(), json!([{ "ip": NODE_ADDRESS }]));
        let address = address(pod);
        status.insert("podIP".to_owned(), address.as_str().into());
        status.insert("podIPs".to_owned(), json!([{ "ip": address }]));
        status.entry("startTime").or_insert_with(|| now.to_string().into());
        let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
        let containers: Vec<Value> =
            containers.map(|container| container_status(container, fate, now)).collect();
        status.insert("containerStatuses".to_owned(), containers.into());
        let ready = fate == Fate::Ready;
        let is_over = matches!(fate, Fate::Succeeded | Fate::Failed);
        let reason = if is_over { "PodCompleted" } else { "ContainersNotReady" };
        set(status, "PodScheduled", true, reason, now);
        set(status, "Initialized", true, reason, now);
        set(status, "ContainersReady", ready, reason, now);
        set(
            status,
            "Ready",
            ready && gates_are_open(pod),
            if ready { "ReadinessGatesNotReady" } else { reason },
            now,
        );
    });
    request.map(|request| request.as_manager(MANAGER))
}

/// A running pod becomes ready when the last of its readiness gates opens.
fn pass_gates(pod: &Value, now: Timestamp) -> Option<Request> {
    let has_gates = pod["spec"]["readinessGates"].as_array().is_some_and(|gates| !gates.is_empty());
    if !has_gates || !has_condition(pod, "ContainersReady") || gates_are_open(pod) == pods::is_ready(pod) {
        return None;
    }
    let request = status_update(PODS, pod, |status| {
        set(status, "Ready", gates_are_open(pod), "ReadinessGatesNotReady", now);
    });
    request.map(|request| request.as_manager(MANAGER))
}

fn gates_are_open(pod: &Value) -> bool {
    let mut gates = pod["spec"]["readinessGates"].as_array().into_iter().flatten();
    gates.all(|gate| has_condition(pod, gate["conditionType"].as_str().unwrap_or("")))
}

fn container_status(container: &Value, fate: Fate, now: Timestamp) -> Value {
    let restarts = if fate == Fate::Crashing { 1 } else { 0 };
    json!({
        "name": container["name"], "image": container["image"], "imageID": "",
        "ready": fate == Fate::Ready, "started": matches!(fate, Fate::Ready | Fate::NotReady),
        "restartCount": restarts, "state": fate.container_state(now),
    })
}

/// Sets a condition of a pod; the reason is shown if it is not true.
fn set(status: &mut Map<String, Value>, kind: &str, value: bool, reason: &str, now: Timestamp) {
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else { return };
    let text = if value { "True" } else { "False" };
    let mut changed =
        json!({ "type": kind, "status": text, "lastProbeTime": null, "lastTransitionTime": now.to_string() });
    if !value {
        changed["reason"] = reason.into();
    }
    match conditions.iter_mut().find(|known| known["type"] == kind) {
        Some(known) if known["status"] == text => {}
        Some(known) => *known = changed,
        None => conditions.push(changed),
    }
}

/// An address that depends on nothing but the name of the pod: two pods may have the same one.
fn address(pod: &Value) -> String {
    let name = format!("{}/{}", object::namespace(pod), object::name(pod));
    let number = fnv32(name.as_bytes());
    format!("10.244.{}.{}", number >> 8 & 0xff, 1 + number % 254)
}
