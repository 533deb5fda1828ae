//! Cells that are computed from several fields of an object.

use serde_json::Value;

use crate::object;
use crate::selector::selector_text;
use crate::time::{Timestamp, human_duration};

const NONE: &str = "<none>";

/// The items of a list; none for anything else.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// A field of each item, joined by commas.
fn joined(items: &Value, field: &str) -> String {
    let values: Vec<&str> = list(items).iter().map(|item| text(&item[field])).collect();
    values.join(",")
}

fn or_none(shown: String) -> Value {
    if shown.is_empty() { NONE.into() } else { shown.into() }
}

/// The first three, and how many more there are.
fn shortened(all: &[String]) -> Value {
    match all.get(..3).filter(|first| first.len() < all.len()) {
        Some(first) => format!("{} + {} more...", first.join(","), all.len() - 3).into(),
        None => or_none(all.join(",")),
    }
}

fn condition_is_true(object: &Value, kind: &str) -> bool {
    list(&object["status"]["conditions"]).iter().any(|it| it["type"] == kind && it["status"] == "True")
}

pub(super) fn template_containers(object: &Value) -> Value {
    joined(&object["spec"]["template"]["spec"]["containers"], "name").into()
}

pub(super) fn template_images(object: &Value) -> Value {
    joined(&object["spec"]["template"]["spec"]["containers"], "image").into()
}

pub(super) fn bare_template_containers(object: &Value) -> Value {
    joined(&object["template"]["spec"]["containers"], "name").into()
}

pub(super) fn bare_template_images(object: &Value) -> Value {
    joined(&object["template"]["spec"]["containers"], "image").into()
}

pub(super) fn selector(object: &Value) -> Value {
    or_none(selector_text(&object["spec"]["selector"]))
}

pub(super) fn pod_selector(object: &Value) -> Value {
    or_none(selector_text(&object["spec"]["podSelector"]))
}

pub(super) fn node_selector(object: &Value) -> Value {
    or_none(selector_text(&object["spec"]["template"]["spec"]["nodeSelector"]))
}

pub(super) fn replicas_ready(object: &Value) -> Value {
    let (ready, wanted) = (number(&object["status"]["readyReplicas"]), number(&object["spec"]["replicas"]));
    format!("{ready}/{wanted}").into()
}

pub(super) fn pod_ready(pod: &Value) -> Value {
    let is_sidecar = |container: &&Value| container["restartPolicy"] == "Always";
    let sidecars = list(&pod["spec"]["initContainers"]).iter().filter(is_sidecar).count();
    let is_ready = |status: &&Value| status["ready"] == true && status["state"]["running"].is_object();
    let ready = list(&pod["status"]["containerStatuses"]).iter().filter(is_ready).count();
    let ready_sidecars = list(&pod["status"]["initContainerStatuses"]).iter().filter(is_ready).count();
    let all = list(&pod["spec"]["containers"]).len() + sidecars;
    format!("{}/{all}", ready + ready_sidecars.min(sidecars)).into()
}

pub(super) fn pod_restarts(pod: &Value) -> Value {
    let restarts: i64 = list(&pod["status"]["containerStatuses"])
        .iter()
        .map(|status| number(&status["restartCount"]))
        .fold(0, i64::saturating_add);
    restarts.to_string().into()
}

pub(super) fn pod_status(pod: &Value) -> Value {
    let status = &pod["status"];
    let phase = text(&status["phase"]);
    if object::is_deleting(pod) && !matches!(phase, "Succeeded" | "Failed") {
        return if status["reason"] == "NodeLost" { "Unknown" } else { "Terminating" }.into();
    }
    if let Some(reason) = init_reason(pod) {
        return reason.into();
    }
    let reasons = list(&status["containerStatuses"]).iter().filter_map(container_reason);
    let reason = match text(&status["reason"]) {
        "" => phase,
        reason => reason,
    };
    let is_gated = |it: &Value| it["type"] == "PodScheduled" && it["reason"] == "SchedulingGated";
    let gated = list(&status["conditions"]).iter().any(is_gated);
    let reason = if gated { "SchedulingGated" } else { reason };
    let shown = reasons.into_iter().next().unwrap_or_else(|| reason.to_owned());
    let running = list(&status["containerStatuses"]).iter().any(|it| it["state"]["running"].is_object());
    match (shown.as_str(), running) {
        ("Completed", true) if condition_is_true(pod, "Ready") => "Running".into(),
        ("Completed", true) => "NotReady".into(),
        _ => shown.into(),
    }
}

/// Why a container is not running.
fn container_reason(status: &Value) -> Option<String> {
    let (waiting, terminated) = (&status["state"]["waiting"], &status["state"]["terminated"]);
    if !text(&waiting["reason"]).is_empty() {
        return Some(text(&waiting["reason"]).to_owned());
    }
    terminated.is_object().then(|| terminated_reason(terminated))
}

fn terminated_reason(terminated: &Value) -> String {
    match (text(&terminated["reason"]), number(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Which init container the pod is at, while it is.
fn init_reason(pod: &Value) -> Option<String> {
    let count = list(&pod["spec"]["initContainers"]).len();
    let statuses = list(&pod["status"]["initContainerStatuses"]).iter().enumerate();
    for (index, status) in statuses {
        let (waiting, terminated) = (&status["state"]["waiting"], &status["state"]["terminated"]);
        let done = terminated.is_object() && number(&terminated["exitCode"]) == 0;
        if done || status["started"] == true {
            continue;
        }
        return Some(if terminated.is_object() {
            format!("Init:{}", terminated_reason(terminated))
        } else if !matches!(text(&waiting["reason"]), "" | "PodInitializing") {
            format!("Init:{}", text(&waiting["reason"]))
        } else {
            format!("Init:{index}/{count}")
        });
    }
    None
}

pub(super) fn controller(revision: &Value) -> Value {
    let owner = object::owner_references(revision).iter().find(|owner| owner["controller"] == true);
    let Some(owner) = owner else { return NONE.into() };
    let (group, _) = object::split_api_version(text(&owner["apiVersion"]));
    let kind = text(&owner["kind"]).to_ascii_lowercase();
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}/{}", text(&owner["name"])).into()
}

pub(super) fn job_status(job: &Value) -> Value {
    let is_true = |kind: &str| condition_is_true(job, kind);
    for kind in ["Complete", "Failed"] {
        if is_true(kind) {
            return kind.into();
        }
    }
    if object::is_deleting(job) {
        return "Terminating".into();
    }
    let others = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
    others.into_iter().find(|kind| is_true(kind)).unwrap_or("Running").into()
}

pub(super) fn job_completions(job: &Value) -> Value {
    let (succeeded, parallelism) = (number(&job["status"]["succeeded"]), number(&job["spec"]["parallelism"]));
    match job["spec"]["completions"].as_i64() {
        Some(completions) => format!("{succeeded}/{completions}").into(),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}").into(),
        None => format!("{succeeded}/1").into(),
    }
}

/// How long a finished job took. A running one shows nothing: there is no clock here.
pub(super) fn job_duration(job: &Value) -> Value {
    let time = |field: &str| Timestamp::parse(text(&job["status"][field])).map(Timestamp::unix_seconds);
    match (time("startTime"), time("completionTime")) {
        (Some(start), Some(end)) => human_duration(end.saturating_sub(start)).into(),
        _ => "".into(),
    }
}

pub(super) fn config_map_data(config_map: &Value) -> Value {
    let count = |field: &str| config_map[field].as_object().map_or(0, serde_json::Map::len);
    (count("data") + count("binaryData")).into()
}

pub(super) fn endpoints(endpoints: &Value) -> Value {
    let mut all = Vec::new();
    for subset in list(&endpoints["subsets"]) {
        for address in list(&subset["addresses"]) {
            let ip = text(&address["ip"]);
            match list(&subset["ports"]) {
                [] => all.push(ip.to_owned()),
                ports => all.extend(ports.iter().map(|port| format!("{ip}:{}", number(&port["port"])))),
            }
        }
    }
    shortened(&all)
}

pub(super) fn load_balancer_addresses(object: &Value) -> Value {
    let address = |it: &Value| match text(&it["ip"]) {
        "" => text(&it["hostname"]).to_owned(),
        ip => ip.to_owned(),
    };
    let all: Vec<String> = list(&object["status"]["loadBalancer"]["ingress"]).iter().map(address).collect();
    all.join(",").into()
}

pub(super) fn service_external_ip(service: &Value) -> Value {
    let external: Vec<&str> = list(&service["spec"]["externalIPs"]).iter().map(text).collect();
    let balanced = load_balancer_addresses(service);
    match text(&service["spec"]["type"]) {
        "ExternalName" => service["spec"]["externalName"].clone(),
        "LoadBalancer" if balanced == "" && external.is_empty() => "<pending>".into(),
        "LoadBalancer" if external.is_empty() => balanced,
        "LoadBalancer" if balanced != "" => format!("{},{}", text(&balanced), external.join(",")).into(),
        _ => or_none(external.join(",")),
    }
}

pub(super) fn service_ports(service: &Value) -> Value {
    let port = |it: &Value| match number(&it["nodePort"]) {
        0 => format!("{}/{}", number(&it["port"]), text(&it["protocol"])),
        node => format!("{}:{node}/{}", number(&it["port"]), text(&it["protocol"])),
    };
    let ports: Vec<String> = list(&service["spec"]["ports"]).iter().map(port).collect();
    or_none(ports.join(","))
}

pub(super) fn node_status(node: &Value) -> Value {
    let ready = list(&node["status"]["conditions"]).iter().find(|condition| condition["type"] == "Ready");
    let status = match ready {
        None => "Unknown",
        Some(ready) if ready["status"] == "True" => "Ready",
        Some(_) => "NotReady",
    };
    if node["spec"]["unschedulable"] == true {
        format!("{status},SchedulingDisabled").into()
    } else {
        status.into()
    }
}

pub(super) fn node_roles(node: &Value) -> Value {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: Vec<&str> = labels
        .filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/"))
        .filter(|it| !it.is_empty())
        .collect();
    or_none(roles.join(","))
}

pub(super) fn event_last_seen(event: &Value) -> Value {
    let times = [
        &event["series"]["lastObservedTime"],
        &event["lastTimestamp"],
        &event["deprecatedLastTimestamp"],
        &event["eventTime"],
        &event["firstTimestamp"],
    ];
    times.into_iter().find(|time| time.is_string()).cloned().unwrap_or_default()
}

pub(super) fn event_object(event: &Value) -> Value {
    let target = if event["regarding"].is_object() { &event["regarding"] } else { &event["involvedObject"] };
    let kind = text(&target["kind"]).to_ascii_lowercase();
    match text(&target["name"]) {
        "" => kind.into(),
        name => format!("{kind}/{name}").into(),
    }
}

pub(super) fn event_message(event: &Value) -> Value {
    let message = if event["note"].is_string() { &event["note"] } else { &event["message"] };
    text(message).trim().into()
}

pub(super) fn phase_or_terminating(object: &Value) -> Value {
    if object::is_deleting(object) { "Terminating".into() } else { text(&object["status"]["phase"]).into() }
}

fn access_modes(modes: &Value) -> Value {
    let short = |mode: &Value| match text(mode) {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    };
    let modes: Vec<&str> = list(modes).iter().map(short).filter(|mode| !mode.is_empty()).collect();
    modes.join(",").into()
}

pub(super) fn spec_access_modes(object: &Value) -> Value {
    access_modes(&object["spec"]["accessModes"])
}

pub(super) fn status_access_modes(object: &Value) -> Value {
    access_modes(&object["status"]["accessModes"])
}

pub(super) fn volume_claim(volume: &Value) -> Value {
    let claim = &volume["spec"]["claimRef"];
    if claim.is_object() {
        format!("{}/{}", text(&claim["namespace"]), text(&claim["name"])).into()
    } else {
        "".into()
    }
}

fn quota(quota: &Value, of_limits: bool) -> Value {
    let hard = quota["status"]["hard"].as_object().into_iter().flatten();
    let shown: Vec<String> = hard
        .filter(|(name, _)| name.starts_with("limits.") == of_limits)
        .map(|(name, hard)| {
            let used = quota["status"]["used"].get(name).map_or("0", text);
            format!("{name}: {used}/{}", text(hard))
        })
        .collect();
    shown.join(", ").into()
}

pub(super) fn quota_requests(object: &Value) -> Value {
    quota(object, false)
}

pub(super) fn quota_limits(object: &Value) -> Value {
    quota(object, true)
}

pub(super) fn scale_target(autoscaler: &Value) -> Value {
    let target = &autoscaler["spec"]["scaleTargetRef"];
    format!("{}/{}", text(&target["kind"]), text(&target["name"])).into()
}

fn or_not_applicable(value: &Value) -> Value {
    match value {
        Value::Null => "N/A".into(),
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

pub(super) fn min_available(budget: &Value) -> Value {
    or_not_applicable(&budget["spec"]["minAvailable"])
}

pub(super) fn max_unavailable(budget: &Value) -> Value {
    or_not_applicable(&budget["spec"]["maxUnavailable"])
}

pub(super) fn ingress_hosts(ingress: &Value) -> Value {
    let hosts = list(&ingress["spec"]["rules"]).iter().map(|rule| text(&rule["host"]).to_owned());
    let hosts: Vec<String> = hosts.filter(|host| !host.is_empty()).collect();
    if hosts.is_empty() { "*".into() } else { shortened(&hosts) }
}

pub(super) fn ingress_ports(ingress: &Value) -> Value {
    if list(&ingress["spec"]["tls"]).is_empty() { "80".into() } else { "80, 443".into() }
}

pub(super) fn slice_ports(slice: &Value) -> Value {
    let port = |it: &Value| match (it["port"].as_i64(), it["name"].as_str()) {
        (Some(port), _) => port.to_string(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "*".to_owned(),
    };
    let ports: Vec<String> = list(&slice["ports"]).iter().map(port).collect();
    if ports.is_empty() { "<unset>".into() } else { shortened(&ports) }
}

pub(super) fn slice_endpoints(slice: &Value) -> Value {
    let endpoints = list(&slice["endpoints"]).iter().flat_map(|it| list(&it["addresses"]));
    let addresses: Vec<String> = endpoints.map(|address| text(address).to_owned()).collect();
    if addresses.is_empty() { "<unset>".into() } else { shortened(&addresses) }
}

pub(super) fn role(binding: &Value) -> Value {
    format!("{}/{}", text(&binding["roleRef"]["kind"]), text(&binding["roleRef"]["name"])).into()
}

pub(super) fn global_default(class: &Value) -> Value {
    (class["globalDefault"] == true).into()
}

pub(super) fn allows_expansion(class: &Value) -> Value {
    (class["allowVolumeExpansion"] == true).into()
}
