//! Cells that are computed from several fields of an object.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::object;
use crate::selector::selector_text;
use crate::time::{Timestamp, human_duration};

use super::since;

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
fn shortened(all: &[String]) -> String {
    match all.get(..3).filter(|first| first.len() < all.len()) {
        Some(first) => format!("{} + {} more...", first.join(","), all.len() - 3),
        None => all.join(","),
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

pub(super) fn bare_template_labels(object: &Value) -> Value {
    or_none(selector_text(&object["template"]["metadata"]["labels"]))
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

/// How long a job took, or takes already.
pub(super) fn job_duration(job: &Value, now: Timestamp) -> Value {
    let time = |field: &str| Timestamp::parse(text(&job["status"][field])).map(Timestamp::unix_seconds);
    match (time("startTime"), time("completionTime")) {
        (Some(start), end) => human_duration(end.unwrap_or(now.unix_seconds()).saturating_sub(start)).into(),
        _ => "".into(),
    }
}

pub(super) fn cron_job_suspended(job: &Value) -> Value {
    match job["spec"]["suspend"].as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    }
    .into()
}

pub(super) fn last_schedule(job: &Value, now: Timestamp) -> Value {
    match text(&job["status"]["lastScheduleTime"]) {
        "" => NONE.into(),
        time => since(time, now).into(),
    }
}

pub(super) fn cron_job_containers(job: &Value) -> Value {
    joined(&job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"], "name").into()
}

pub(super) fn cron_job_images(job: &Value) -> Value {
    joined(&job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"], "image").into()
}

pub(super) fn cron_job_selector(job: &Value) -> Value {
    or_none(selector_text(&job["spec"]["jobTemplate"]["spec"]["selector"]))
}

pub(super) fn config_map_data(config_map: &Value) -> Value {
    let count = |field: &str| config_map[field].as_object().map_or(0, serde_json::Map::len);
    (count("data") + count("binaryData")).into()
}

pub(super) fn endpoints(endpoints: &Value) -> Value {
    if list(&endpoints["subsets"]).is_empty() {
        return NONE.into();
    }
    let mut all = Vec::new();
    for subset in list(&endpoints["subsets"]) {
        let ips = || list(&subset["addresses"]).iter().map(|address| text(&address["ip"]));
        match list(&subset["ports"]) {
            [] => all.extend(ips().map(str::to_owned)),
            ports => {
                let ports = ports.iter().map(|port| number(&port["port"]));
                all.extend(ports.flat_map(|port| ips().map(move |ip| host_and_port(ip, port))));
            }
        }
    }
    shortened(&all).into()
}

fn host_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

pub(super) fn load_balancer_addresses(object: &Value) -> Value {
    let address = |it: &Value| match text(&it["ip"]) {
        "" => text(&it["hostname"]).to_owned(),
        ip => ip.to_owned(),
    };
    let all = list(&object["status"]["loadBalancer"]["ingress"]).iter().map(address);
    let all: BTreeSet<String> = all.filter(|address| !address.is_empty()).collect();
    all.into_iter().collect::<Vec<_>>().join(",").into()
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
    let role = |(key, value): (&'_ String, &'_ Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => role.to_owned(),
        None if key == "kubernetes.io/role" => text(value).to_owned(),
        None => String::new(),
    };
    let roles: BTreeSet<String> = labels.map(role).filter(|role| !role.is_empty()).collect();
    or_none(roles.into_iter().collect::<Vec<_>>().join(","))
}

fn node_address(node: &Value, kind: &str) -> Value {
    let found = list(&node["status"]["addresses"]).iter().find(|address| address["type"] == kind);
    found.map_or(NONE, |address| text(&address["address"])).into()
}

pub(super) fn node_internal_ip(node: &Value) -> Value {
    node_address(node, "InternalIP")
}

pub(super) fn node_external_ip(node: &Value) -> Value {
    node_address(node, "ExternalIP")
}

/// The first of some fields that is there, since events have two versions with different names.
fn first_of<'a>(event: &'a Value, fields: &[&str]) -> &'a str {
    fields.iter().map(|field| text(&event[*field])).find(|text| !text.is_empty()).unwrap_or("")
}

pub(super) fn event_first_seen(event: &Value, now: Timestamp) -> Value {
    since(first_of(event, &["firstTimestamp", "deprecatedFirstTimestamp", "eventTime"]), now).into()
}

pub(super) fn event_last_seen(event: &Value, now: Timestamp) -> Value {
    if event["series"].is_object() {
        return since(text(&event["series"]["lastObservedTime"]), now).into();
    }
    match first_of(event, &["lastTimestamp", "deprecatedLastTimestamp"]) {
        "" => event_first_seen(event, now),
        time => since(time, now).into(),
    }
}

pub(super) fn event_count(event: &Value) -> Value {
    let count = match event["series"].is_object() {
        true => number(&event["series"]["count"]),
        false => number(&event["count"]).max(number(&event["deprecatedCount"])).max(1),
    };
    count.into()
}

pub(super) fn event_source(event: &Value) -> Value {
    let source =
        if event["deprecatedSource"].is_object() { &event["deprecatedSource"] } else { &event["source"] };
    let or = |first: &Value, fields: &[&str]| match text(first) {
        "" => first_of(event, fields).to_owned(),
        first => first.to_owned(),
    };
    let component = or(&source["component"], &["reportingComponent", "reportingController"]);
    let instance = or(&source["host"], &["reportingInstance"]);
    if instance.is_empty() { component.into() } else { format!("{component}, {instance}").into() }
}

pub(super) fn event_field(event: &Value) -> Value {
    text(&event_target(event)["fieldPath"]).into()
}

fn event_target(event: &Value) -> &Value {
    if event["regarding"].is_object() { &event["regarding"] } else { &event["involvedObject"] }
}

pub(super) fn event_object(event: &Value) -> Value {
    let target = event_target(event);
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
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let known = SHORT.iter().filter(|(mode, _)| list(modes).iter().any(|given| given == mode));
    known.map(|(_, short)| *short).collect::<Vec<_>>().join(",").into()
}

pub(super) fn volume_access_modes(volume: &Value) -> Value {
    access_modes(&volume["spec"]["accessModes"])
}

/// What a claim has got; nothing as long as it has no volume.
pub(super) fn claim_access_modes(claim: &Value) -> Value {
    if text(&claim["spec"]["volumeName"]).is_empty() {
        return "".into();
    }
    access_modes(&claim["status"]["accessModes"])
}

pub(super) fn claim_capacity(claim: &Value) -> Value {
    match (text(&claim["spec"]["volumeName"]), text(&claim["status"]["capacity"]["storage"])) {
        ("", _) => "".into(),
        (_, "") => "0".into(),
        (_, capacity) => capacity.into(),
    }
}

pub(super) fn storage_class_name(object: &Value) -> Value {
    match text(&object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"]) {
        "" => text(&object["spec"]["storageClassName"]).into(),
        class => class.into(),
    }
}

pub(super) fn class_name(class: &Value) -> Value {
    let annotations = &class["metadata"]["annotations"];
    let marks =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    let default = marks.iter().any(|mark| annotations[*mark] == "true");
    let name = object::name(class);
    if default { format!("{name} (default)").into() } else { name.into() }
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

pub(super) fn min_replicas(autoscaler: &Value) -> Value {
    autoscaler["spec"]["minReplicas"].as_i64().map_or("<unset>".into(), |count| count.to_string().into())
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
    if hosts.is_empty() { "*".into() } else { shortened(&hosts).into() }
}

pub(super) fn ingress_ports(ingress: &Value) -> Value {
    if list(&ingress["spec"]["tls"]).is_empty() { "80".into() } else { "80, 443".into() }
}

pub(super) fn ingress_class_parameters(class: &Value) -> Value {
    let parameters = &class["spec"]["parameters"];
    if !parameters.is_object() {
        return NONE.into();
    }
    let group = parameters["apiGroup"].as_str().map(|group| format!(".{group}")).unwrap_or_default();
    format!("{}{group}/{}", text(&parameters["kind"]), text(&parameters["name"])).into()
}

fn or_unset(shown: String) -> Value {
    if shown.is_empty() { "<unset>".into() } else { shown.into() }
}

pub(super) fn slice_ports(slice: &Value) -> Value {
    let port = |it: &Value| match (it["port"].as_i64(), it["name"].as_str()) {
        (Some(port), _) => port.to_string(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "*".to_owned(),
    };
    let ports: Vec<String> = list(&slice["ports"]).iter().map(port).collect();
    or_unset(shortened(&ports))
}

pub(super) fn slice_endpoints(slice: &Value) -> Value {
    let endpoints = list(&slice["endpoints"]).iter().flat_map(|it| list(&it["addresses"]));
    let addresses: Vec<String> = endpoints.map(|address| text(address).to_owned()).collect();
    or_unset(shortened(&addresses))
}

pub(super) fn role(binding: &Value) -> Value {
    format!("{}/{}", text(&binding["roleRef"]["kind"]), text(&binding["roleRef"]["name"])).into()
}

fn subjects(binding: &Value, kind: &str) -> Value {
    let shown = |subject: &Value| match kind {
        "ServiceAccount" => format!("{}/{}", text(&subject["namespace"]), text(&subject["name"])),
        _ => text(&subject["name"]).to_owned(),
    };
    let of_kind = list(&binding["subjects"]).iter().filter(|subject| subject["kind"] == kind);
    of_kind.map(shown).collect::<Vec<_>>().join(", ").into()
}

pub(super) fn users(binding: &Value) -> Value {
    subjects(binding, "User")
}

pub(super) fn groups(binding: &Value) -> Value {
    subjects(binding, "Group")
}

pub(super) fn service_accounts(binding: &Value) -> Value {
    subjects(binding, "ServiceAccount")
}

pub(super) fn parameter_kind(policy: &Value) -> Value {
    let kind = &policy["spec"]["paramKind"];
    if !kind.is_object() {
        return "<unset>".into();
    }
    format!("{}/{}", text(&kind["apiVersion"]), text(&kind["kind"])).into()
}

pub(super) fn parameter(binding: &Value) -> Value {
    let reference = &binding["spec"]["paramRef"];
    match (text(&reference["namespace"]), text(&reference["name"])) {
        (_, "") => "<unset>".into(),
        ("", name) => format!("*/{name}").into(),
        (namespace, name) => format!("{namespace}/{name}").into(),
    }
}
