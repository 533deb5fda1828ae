//! The cells of pods: what their containers are up to.

use serde_json::Value;

use super::since;
use crate::object;
use crate::time::Timestamp;

/// What `kubectl get pods` says of a pod.
struct Summary {
    ready: usize,
    containers: usize,
    reason: String,
    restarts: i64,
    /// When a container ended last before it was started again.
    last_end: String,
}

pub(super) fn ready(pod: &Value) -> Value {
    let summary = summary(pod);
    format!("{}/{}", summary.ready, summary.containers).into()
}

pub(super) fn status(pod: &Value) -> Value {
    summary(pod).reason.into()
}

pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let summary = summary(pod);
    if summary.restarts == 0 || summary.last_end.is_empty() {
        return summary.restarts.to_string().into();
    }
    format!("{} ({} ago)", summary.restarts, since(&summary.last_end, now)).into()
}

pub(super) fn readiness_gates(pod: &Value) -> Value {
    let gates = list(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return "<none>".into();
    }
    let open = gates.iter().filter(|gate| condition(pod, text(&gate["conditionType"])) == "True").count();
    format!("{open}/{}", gates.len()).into()
}

fn summary(pod: &Value) -> Summary {
    let sidecars = list(&pod["spec"]["initContainers"]).iter().filter(|container| is_sidecar(container));
    let mut summary = Summary {
        ready: 0,
        containers: list(&pod["spec"]["containers"]).len() + sidecars.count(),
        reason: phase_or_reason(pod),
        restarts: 0,
        last_end: String::new(),
    };
    let (initializing, of_sidecars) = add_init_containers(&mut summary, pod);
    if !initializing || condition(pod, "Initialized") == "True" {
        (summary.restarts, summary.last_end) = of_sidecars;
        add_containers(&mut summary, pod);
    }
    let ended = matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed");
    if object::is_deleting(pod) && pod["status"]["reason"] == "NodeLost" {
        summary.reason = "Unknown".to_owned();
    } else if object::is_deleting(pod) && !ended {
        summary.reason = "Terminating".to_owned();
    }
    summary
}

fn phase_or_reason(pod: &Value) -> String {
    let is_gated = |it: &Value| it["type"] == "PodScheduled" && it["reason"] == "SchedulingGated";
    if list(&pod["status"]["conditions"]).iter().any(is_gated) {
        return "SchedulingGated".to_owned();
    }
    match text(&pod["status"]["reason"]) {
        "" => text(&pod["status"]["phase"]).to_owned(),
        reason => reason.to_owned(),
    }
}

/// Counts init containers up to the one that the pod is at. Says whether there is such a one, and how often
/// those that go on running were restarted.
fn add_init_containers(summary: &mut Summary, pod: &Value) -> (bool, (i64, String)) {
    let specs = list(&pod["spec"]["initContainers"]);
    let mut of_sidecars = (0, String::new());
    for (index, status) in list(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
        let spec = specs.iter().find(|spec| spec["name"] == status["name"]);
        let sidecar = spec.is_some_and(is_sidecar);
        count_restarts(&mut summary.restarts, &mut summary.last_end, status);
        if sidecar {
            count_restarts(&mut of_sidecars.0, &mut of_sidecars.1, status);
        }
        let (waiting, terminated) = (&status["state"]["waiting"], &status["state"]["terminated"]);
        if terminated.is_object() && number(&terminated["exitCode"]) == 0 {
            continue;
        }
        if sidecar && status["started"] == true {
            summary.ready += usize::from(status["ready"] == true);
            continue;
        }
        summary.reason = if terminated.is_object() {
            format!("Init:{}", terminated_reason(terminated))
        } else if !matches!(text(&waiting["reason"]), "" | "PodInitializing") {
            format!("Init:{}", text(&waiting["reason"]))
        } else {
            format!("Init:{index}/{}", specs.len())
        };
        return (true, of_sidecars);
    }
    (false, of_sidecars)
}

/// Counts the containers proper, the last one first, so that the first one's trouble is shown.
fn add_containers(summary: &mut Summary, pod: &Value) {
    let mut running = false;
    let mut error = None;
    for status in list(&pod["status"]["containerStatuses"]).iter().rev() {
        count_restarts(&mut summary.restarts, &mut summary.last_end, status);
        let (waiting, terminated) = (&status["state"]["waiting"], &status["state"]["terminated"]);
        if !text(&waiting["reason"]).is_empty() {
            summary.reason = text(&waiting["reason"]).to_owned();
        } else if terminated.is_object() {
            summary.reason = terminated_reason(terminated);
            if number(&terminated["exitCode"]) != 0 {
                error = Some(summary.reason.clone());
            }
        } else if status["ready"] == true && status["state"]["running"].is_object() {
            running = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" {
        if running && condition(pod, "Ready") == "True" {
            summary.reason = "Running".to_owned();
        } else if let Some(error) = error {
            summary.reason = error;
        } else if running {
            summary.reason = "NotReady".to_owned();
        }
    }
}

fn count_restarts(restarts: &mut i64, last_end: &mut String, status: &Value) {
    *restarts = restarts.saturating_add(number(&status["restartCount"]));
    let ended = text(&status["lastState"]["terminated"]["finishedAt"]);
    // All times have the same form, so that the later one is also the greater text.
    if ended > last_end.as_str() {
        *last_end = ended.to_owned();
    }
}

fn terminated_reason(terminated: &Value) -> String {
    match (text(&terminated["reason"]), number(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn condition<'a>(pod: &'a Value, kind: &str) -> &'a str {
    let found = list(&pod["status"]["conditions"]).iter().find(|condition| condition["type"] == kind);
    found.map_or("", |condition| text(&condition["status"]))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}
