//! Pods and pod templates.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::containers::{check_containers, check_init_containers};
use super::formats::check_dns_label;
use super::selectors::check_labels;
use super::values::{
    Errors, entries, invalid_all, list, named, number, object_at, one_of, put, required, text,
};
use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;
use windlass_cel::formats::quantity::Quantity;

/// A new pod is pending, whatever its status says.
pub(super) fn prepare_create(pod: &mut Map<String, Value>) {
    let mut status = json!({ "phase": "Pending", "qosClass": quality_of_service(pod.get("spec")) });
    let gated = pod.get("spec").is_some_and(|spec| !list(&spec["schedulingGates"]).is_empty());
    if let Some(status) = status.as_object_mut().filter(|_| gated) {
        let condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        });
        status.insert("conditions".into(), json!([condition]));
    }
    pod.insert("status".into(), status);
}

/// Keeps what a write to a subresource may not touch.
pub(super) fn prepare_update(pod: &mut Map<String, Value>, old: &Value, subresource: Option<&str>) {
    match subresource {
        Some("status") => {
            let owners = old["metadata"]["ownerReferences"].clone();
            if let Some(metadata) = object_at(pod, "metadata") {
                put(metadata, "ownerReferences", owners);
            }
            if let Some(status) = object_at(pod, "status").filter(|status| !status.contains_key("qosClass")) {
                put(status, "qosClass", old["status"]["qosClass"].clone());
            }
            if let Some(status) = object_at(pod, "status") {
                agree_on_addresses(status);
            }
        }
        Some("ephemeralcontainers") => {
            let containers = pod.get("spec").map_or(Value::Null, |spec| spec["ephemeralContainers"].clone());
            keep_spec(pod, old, |spec| put(spec, "ephemeralContainers", containers));
        }
        Some("resize") => {
            let new = pod.get("spec").cloned().unwrap_or_default();
            keep_spec(pod, old, |spec| {
                ["containers", "initContainers"].iter().for_each(|it| resize(spec, &new, it))
            });
        }
        _ => {}
    }
}

/// The first of the addresses is the address. Where both are given and differ, the single one holds: an old client has
/// changed what it knows of.
fn agree_on_addresses(status: &mut Map<String, Value>) {
    let single = status.get("podIP").and_then(Value::as_str).unwrap_or_default().to_owned();
    let first =
        status.get("podIPs").and_then(|addresses| addresses[0]["ip"].as_str()).unwrap_or_default().to_owned();
    if !single.is_empty() && single != first {
        status.insert("podIPs".into(), json!([{ "ip": single }]));
    } else if single.is_empty() && !first.is_empty() {
        status.insert("podIP".into(), first.into());
    }
}

/// Goes back to the old spec, but for one change.
fn keep_spec(pod: &mut Map<String, Value>, old: &Value, change: impl FnOnce(&mut Map<String, Value>)) {
    put(pod, "spec", old["spec"].clone());
    put(pod, "status", old["status"].clone());
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        change(spec);
    }
}

/// Takes over the resources of the containers of the same name.
fn resize(spec: &mut Map<String, Value>, new: &Value, field: &str) {
    let resized = named(list(&new[field]));
    let containers = spec.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten();
    for container in containers {
        let Some(resized) = resized.get(text(&container["name"])) else { continue };
        if let Some(container) = container.as_object_mut() {
            put(container, "resources", resized["resources"].clone());
            put(container, "resizePolicy", resized["resizePolicy"].clone());
        }
    }
}

/// `BestEffort` asks for nothing, `Guaranteed` for exactly its limits of both cpu and memory, in every container.
fn quality_of_service(spec: Option<&Value>) -> &'static str {
    let spec = spec.unwrap_or(&Value::Null);
    let containers: Vec<&Value> = if spec["resources"].is_object() {
        vec![spec]
    } else {
        list(&spec["containers"]).iter().chain(list(&spec["initContainers"])).collect()
    };
    let amount = |container: &Value, kind: &str, name: &str| {
        let amount = Quantity::parse(text(&container["resources"][kind][name])).ok();
        amount.filter(|amount| !amount.is_zero() && !amount.is_negative())
    };
    let pairs = || containers.iter().flat_map(|it| ["cpu", "memory"].map(|name| (it, name)));
    let asks = |(container, name): (&&Value, &str)| {
        amount(container, "limits", name).is_some() || amount(container, "requests", name).is_some()
    };
    let is_fixed = |(container, name): (&&Value, &str)| {
        let limit = amount(container, "limits", name);
        limit.is_some() && limit == amount(container, "requests", name)
    };
    match (pairs().any(asks), pairs().all(is_fixed)) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// The rules of a new pod.
pub(super) fn check_create(errors: &mut Errors, pod: &Value) {
    let path = FieldPath::of("spec");
    let spec = &pod["spec"];
    check_spec(errors, &path, spec, true);
    if !list(&spec["ephemeralContainers"]).is_empty() {
        errors.push(FieldError::forbidden(&path.child("ephemeralContainers"), "cannot be set on create"));
    }
    if !text(&spec["nodeName"]).is_empty() && !list(&spec["schedulingGates"]).is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(FieldError::forbidden(&path.child("nodeName"), detail));
    }
}

/// The rules of a pod template. Claims of a StatefulSet are volumes too.
pub(super) fn check_template(errors: &mut Errors, path: &FieldPath, template: &Value) {
    check_labels(errors, &path.child("labels"), &template["metadata"]["labels"]);
    for (key, _) in entries(&template["metadata"]["annotations"]) {
        let messages = names::is_qualified_name(&key.to_lowercase());
        invalid_all(errors, &path.child("annotations"), &key.as_str().into(), messages);
    }
    let path = path.child("spec");
    check_spec(errors, &path, &template["spec"], false);
    if !list(&template["spec"]["ephemeralContainers"]).is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(&path.child("ephemeralContainers"), detail));
    }
}

/// The rules of a pod spec, in a pod or in a template.
pub(super) fn check_spec(errors: &mut Errors, path: &FieldPath, spec: &Value, in_pod: bool) {
    let volumes = check_volumes(errors, &path.child("volumes"), list(&spec["volumes"]));
    check_containers(errors, path, spec, &volumes);
    check_init_containers(errors, path, spec, &volumes);
    check_host_network(errors, path, spec, in_pod);
    one_of(errors, &path.child("restartPolicy"), &spec["restartPolicy"], &["Always", "OnFailure", "Never"]);
    let dns_policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(errors, &path.child("dnsPolicy"), &spec["dnsPolicy"], &dns_policies);
    check_labels(errors, &path.child("nodeSelector"), &spec["nodeSelector"]);
    for field in ["serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"] {
        let name = text(&spec[field]);
        if !name.is_empty() {
            invalid_all(errors, &path.child(field), &spec[field], names::is_dns1123_subdomain(name));
        }
    }
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64() {
        check_range(errors, &path.child("activeDeadlineSeconds"), seconds, 1);
    }
    for field in ["hostname", "subdomain"].into_iter().filter(|field| !text(&spec[*field]).is_empty()) {
        check_dns_label(errors, &path.child(field), &spec[field]);
    }
    check_tolerations(errors, &path.child("tolerations"), list(&spec["tolerations"]));
    check_gates(errors, &path.child("schedulingGates"), list(&spec["schedulingGates"]));
}

pub(super) fn check_range(errors: &mut Errors, path: &FieldPath, value: i64, least: i64) {
    if value < least || value > i64::from(i32::MAX) {
        errors.push(FieldError::invalid(
            path,
            value,
            format!("must be between {least} and {}, inclusive", i32::MAX),
        ));
    }
}

/// Checks volumes and returns the names of the good ones.
fn check_volumes<'a>(errors: &mut Errors, path: &FieldPath, volumes: &'a [Value]) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, volume) in volumes.iter().enumerate() {
        let path = path.index(index);
        let before = errors.len();
        check_volume_source(errors, &path, volume);
        let name = text(&volume["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else {
            check_dns_label(errors, &path.child("name"), &volume["name"]);
        }
        if names.contains(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
        if errors.len() == before {
            names.insert(name);
        }
    }
    names
}

fn check_volume_source(errors: &mut Errors, path: &FieldPath, volume: &Value) {
    // Absent sources were made an emptyDir; of several only the first one counts.
    let mut sources = entries(volume).filter(|(field, source)| *field != "name" && source.is_object());
    let Some((kind, source)) = sources.next() else {
        errors.push(FieldError::required(path, "must specify a volume type"));
        return;
    };
    let name = match kind.as_str() {
        "secret" => Some("secretName"),
        "configMap" => Some("name"),
        "persistentVolumeClaim" => Some("claimName"),
        "hostPath" => Some("path"),
        _ => None,
    };
    if let Some(name) = name {
        required(errors, &path.child(kind).child(name), &source[name]);
    }
    if source["defaultMode"].as_i64().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(FieldError::invalid(
            &path.child(kind).child("defaultMode"),
            source["defaultMode"].clone(),
            detail,
        ));
    }
    for (kind, _) in sources {
        errors.push(FieldError::forbidden(&path.child(kind), "may not specify more than 1 volume type"));
    }
}

fn check_host_network(errors: &mut Errors, path: &FieldPath, spec: &Value, in_pod: bool) {
    if spec["hostNetwork"] != true {
        return;
    }
    for (index, container) in list(&spec["containers"]).iter().enumerate() {
        for (port_index, port) in list(&container["ports"]).iter().enumerate() {
            let (host, inside) = (number(&port["hostPort"]), number(&port["containerPort"]));
            if (in_pod || host != 0) && host != inside {
                let path =
                    path.child("containers").index(index).child("ports").index(port_index).child("hostPort");
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(&path, host, detail));
            }
        }
    }
}

/// The rules of tolerations.
pub(super) fn check_tolerations(errors: &mut Errors, path: &FieldPath, tolerations: &[Value]) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = path.index(index);
        let (key, operator, value) =
            (&toleration["key"], &toleration["operator"], text(&toleration["value"]));
        let mut refuse = |field: &str, value: &Value, detail: &str| {
            errors.push(FieldError::invalid(&path.child(field), value.clone(), detail));
        };
        if text(key).is_empty() && operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            refuse("operator", &text(operator).into(), detail);
        }
        if toleration["tolerationSeconds"].is_number() && toleration["effect"] != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            refuse("effect", &text(&toleration["effect"]).into(), detail);
        }
        match text(operator) {
            "" | "Equal" if !names::is_valid_label_value(value).is_empty() => {
                refuse("operator", &value.into(), &names::is_valid_label_value(value).join(";"));
            }
            "Exists" if !value.is_empty() => {
                refuse("operator", &value.into(), "value must be empty when `operator` is 'Exists'");
            }
            "" | "Equal" | "Exists" => {}
            _ => errors.push(FieldError::not_supported(
                &path.child("operator"),
                operator.clone(),
                &["Equal", "Exists"],
            )),
        }
        if !text(key).is_empty() {
            invalid_all(errors, &path.child("key"), key, names::is_qualified_name(text(key)));
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        super::values::one_of_if_set(errors, &path.child("effect"), &toleration["effect"], &effects);
    }
}

fn check_gates(errors: &mut Errors, path: &FieldPath, gates: &[Value]) {
    let mut names = BTreeSet::new();
    for (index, gate) in gates.iter().enumerate() {
        let name = text(&gate["name"]);
        invalid_all(errors, &path.index(index), &name.into(), names::is_qualified_name(name));
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.index(index), name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, prepared};
    use serde_json::{Value, json};

    fn spec(more: Value) -> Value {
        let mut spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "spec": spec })
    }

    #[test]
    fn new_pods_are_pending_with_a_quality_of_service() {
        for (resources, expected) in [
            (json!({}), "BestEffort"),
            (json!({ "requests": { "cpu": "1" } }), "Burstable"),
            (json!({ "limits": { "cpu": "1" } }), "Burstable"),
            (json!({ "limits": { "cpu": "1", "memory": "1Gi" } }), "Guaranteed"),
        ] {
            let pod = spec(json!({ "containers": [{ "name": "c", "image": "i", "resources": resources }] }));
            let pod = prepared("Pod", None, pod, None);
            assert_eq!(pod["status"], json!({ "phase": "Pending", "qosClass": expected }));
        }
        let gated = prepared("Pod", None, spec(json!({ "schedulingGates": [{ "name": "g" }] })), None);
        assert_eq!(gated["status"]["conditions"][0]["reason"], "SchedulingGated");
    }

    #[test]
    fn status_writes_keep_owners_and_quality() {
        let old = json!({ "metadata": { "ownerReferences": [{ "uid": "1" }] }, "status": { "qosClass": "BestEffort" } });
        let new = prepared(
            "Pod",
            Some(old),
            json!({ "metadata": {}, "status": { "phase": "Running" } }),
            Some("status"),
        );
        assert_eq!(new["metadata"]["ownerReferences"][0]["uid"], "1");
        assert_eq!(new["status"], json!({ "phase": "Running", "qosClass": "BestEffort" }));
    }

    #[test]
    fn the_first_address_is_the_address() {
        let old = json!({ "metadata": {}, "status": { "qosClass": "BestEffort" } });
        let addresses = |status: Value| {
            let new = json!({ "metadata": {}, "status": status });
            let status = prepared("Pod", Some(old.clone()), new, Some("status"))["status"].clone();
            (status["podIP"].clone(), status["podIPs"].clone())
        };
        let both = (json!("10.0.0.1"), json!([{ "ip": "10.0.0.1" }]));
        assert_eq!(addresses(json!({ "podIP": "10.0.0.1" })), both);
        assert_eq!(addresses(json!({ "podIPs": [{ "ip": "10.0.0.1" }] })), both);
        let another = json!([{ "ip": "10.0.0.2" }, { "ip": "::1" }]);
        assert_eq!(addresses(json!({ "podIP": "10.0.0.1", "podIPs": another })), both);
        let two = json!([{ "ip": "10.0.0.1" }, { "ip": "::1" }]);
        assert_eq!(addresses(json!({ "podIP": "10.0.0.1", "podIPs": two })), (json!("10.0.0.1"), two));
        assert_eq!(addresses(json!({})), (Value::Null, Value::Null));
    }

    #[test]
    fn resize_changes_resources_alone() {
        let old = spec(json!({}));
        let new = json!({ "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "other", "resources": { "limits": { "cpu": "1" } } }] } });
        let new = prepared("Pod", Some(old), new, Some("resize"));
        assert_eq!(new["spec"]["containers"][0]["image"], "i");
        assert_eq!(new["spec"]["containers"][0]["resources"]["limits"]["cpu"], "1");
        assert_eq!(new["spec"].get("nodeName"), None);
    }

    #[test]
    fn fields_of_the_spec() {
        check("Pod", None, spec(json!({})), &[]);
        check(
            "Pod",
            None,
            spec(json!({ "restartPolicy": "No" })),
            &[
                "spec.restartPolicy: Unsupported value: \"No\": supported values: \"Always\", \"OnFailure\", \"Never\"",
            ],
        );
        check(
            "Pod",
            None,
            spec(json!({ "activeDeadlineSeconds": 0 })),
            &["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
        );
        check(
            "Pod",
            None,
            spec(json!({ "ephemeralContainers": [{ "name": "e", "image": "i" }] })),
            &["spec.ephemeralContainers: Forbidden: cannot be set on create"],
        );
        check(
            "Pod",
            None,
            spec(json!({ "volumes": [{ "name": "a" }, { "name": "a" }, { "name": "b", "secret": {} }] })),
            &[
                "spec.volumes[1].name: Duplicate value: \"a\"",
                "spec.volumes[2].secret.secretName: Required value",
            ],
        );
        check(
            "Pod",
            None,
            spec(
                json!({ "tolerations": [{ "operator": "Equal" }, { "key": "k", "operator": "Exists", "value": "v" }] }),
            ),
            &[
                "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
                "spec.tolerations[1].operator: Invalid value: \"v\": value must be empty when `operator` is 'Exists'",
            ],
        );
    }
}
