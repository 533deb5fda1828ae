//! Defaults that depend on other fields, by kind.

use serde_json::{Map, Value, json};

use super::{child, items, pods, set_missing};
use crate::types::TypeInfo;
use windlass_cel::formats::base64::Base64;

type Fields = Map<String, Value>;

/// Sets the defaults of a kind that no table can hold. Says whether the kind has any.
pub(super) fn set_defaults(info: &TypeInfo, object: &mut Value) -> bool {
    let Some(object) = object.as_object_mut() else { return false };
    match (info.resource.group.as_str(), info.kind.as_str()) {
        ("", "Pod") => pods::set_pod(object),
        ("", "PodTemplate") => pods::set_template(object, "template"),
        ("", "ReplicationController") => replication_controller(object),
        ("", "Secret") => secret(object),
        ("", "Service") => {
            with_spec(object, service);
            balancer_status(object);
        }
        ("", "Namespace") => namespace(object),
        ("", "Node") => node(object),
        ("", "LimitRange") => with_spec(object, limit_range),
        ("apps", "Deployment") => with_spec(object, deployment),
        ("apps", "DaemonSet") => {
            count_templates(object);
            with_spec(object, daemon_set);
        }
        ("apps", "StatefulSet") => with_spec(object, stateful_set),
        ("apps", "ReplicaSet") => with_spec(object, |spec| pods::set_template(spec, "template")),
        ("batch", "Job") => job(object),
        ("batch", "CronJob") => with_spec(object, cron_job),
        ("autoscaling", "HorizontalPodAutoscaler") => with_spec(object, autoscaler),
        ("networking.k8s.io", "NetworkPolicy") => with_spec(object, network_policy),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => subjects(object),
        _ => return false,
    }
    true
}

fn with_spec(object: &mut Fields, set: impl FnOnce(&mut Fields)) {
    if let Some(spec) = child(object, "spec") {
        set(spec);
    }
}

/// `type` of a strategy; the schema has filled it in.
fn is_rolling(strategy: &Fields) -> bool {
    strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate")
}

fn deployment(spec: &mut Fields) {
    pods::set_template(spec, "template");
    let Some(strategy) = child(spec, "strategy").filter(|strategy| is_rolling(strategy)) else { return };
    if let Some(rolling) = child(strategy, "rollingUpdate") {
        set_missing(rolling, "maxUnavailable", "25%");
        set_missing(rolling, "maxSurge", "25%");
    }
}

/// An old version of the API counted templates; that count is still written.
fn count_templates(object: &mut Fields) {
    let annotations = child(object, "metadata").and_then(|metadata| child(metadata, "annotations"));
    if let Some(annotations) = annotations {
        set_missing(annotations, "deprecated.daemonset.template.generation", "0");
    }
}

fn daemon_set(spec: &mut Fields) {
    pods::set_template(spec, "template");
    let Some(strategy) = child(spec, "updateStrategy").filter(|strategy| is_rolling(strategy)) else {
        return;
    };
    if let Some(rolling) = child(strategy, "rollingUpdate") {
        set_missing(rolling, "maxUnavailable", 1);
        set_missing(rolling, "maxSurge", 0);
    }
}

fn stateful_set(spec: &mut Fields) {
    pods::set_template(spec, "template");
    for claim in items(spec, "volumeClaimTemplates") {
        claim.insert("apiVersion".into(), "v1".into());
        claim.insert("kind".into(), "PersistentVolumeClaim".into());
    }
    let Some(strategy) = child(spec, "updateStrategy") else { return };
    if !strategy.contains_key("type") {
        // Only a strategy that was not chosen gets parameters; a chosen one keeps what it has.
        strategy.insert("type".into(), "RollingUpdate".into());
        child(strategy, "rollingUpdate");
    }
    if !is_rolling(strategy) {
        return;
    }
    if let Some(rolling) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut) {
        set_missing(rolling, "partition", 0);
        set_missing(rolling, "maxUnavailable", 1);
    }
}

fn replication_controller(object: &mut Fields) {
    let mut labels = Value::Null;
    with_spec(object, |spec| {
        pods::set_template(spec, "template");
        labels = template_labels(spec);
        if labels.is_object() {
            set_missing(spec, "selector", labels.clone());
        }
    });
    copy_labels(object, labels);
}

fn job(object: &mut Fields) {
    let mut labels = Value::Null;
    with_spec(object, |spec| {
        pods::set_template(spec, "template");
        labels = template_labels(spec);
        if !spec.contains_key("parallelism") {
            set_missing(spec, "completions", 1);
        }
        let failing = spec.contains_key("podFailurePolicy");
        let backoff_limit = if spec.contains_key("backoffLimitPerIndex") { i32::MAX } else { 6 };
        set_missing(spec, "parallelism", 1);
        set_missing(spec, "backoffLimit", backoff_limit);
        set_missing(spec, "completionMode", "NonIndexed");
        set_missing(spec, "suspend", false);
        set_missing(spec, "podReplacementPolicy", if failing { "Failed" } else { "TerminatingOrFailed" });
        set_missing(spec, "manualSelector", false);
    });
    copy_labels(object, labels);
}

fn template_labels(spec: &Fields) -> Value {
    spec.get("template").map_or(Value::Null, |template| template["metadata"]["labels"].clone())
}

/// An object without labels takes those of its template.
fn copy_labels(object: &mut Fields, labels: Value) {
    if let Some(metadata) = child(object, "metadata").filter(|_| labels.is_object()) {
        set_missing(metadata, "labels", labels);
    }
}

fn cron_job(spec: &mut Fields) {
    if let Some(job) = child(spec, "jobTemplate").and_then(|template| child(template, "spec")) {
        pods::set_template(job, "template");
    }
}

fn service(spec: &mut Fields) {
    let text = |spec: &Fields, field: &str| spec.get(field).and_then(Value::as_str).unwrap_or("").to_owned();
    match text(spec, "sessionAffinity").as_str() {
        "None" => drop(spec.remove("sessionAffinityConfig")),
        "ClientIP" => {
            let config = spec.entry("sessionAffinityConfig").or_insert(Value::Null);
            if config["clientIP"]["timeoutSeconds"].is_null() {
                *config = json!({ "clientIP": { "timeoutSeconds": 10_800 } });
            }
        }
        _ => {}
    }
    for port in items(spec, "ports") {
        if port.get("targetPort").is_none_or(|target| *target == 0 || *target == "") {
            let number = port.get("port").cloned().unwrap_or_default();
            port.insert("targetPort".into(), number);
        }
    }
    let kind = text(spec, "type");
    let has_external_ips =
        spec.get("externalIPs").and_then(Value::as_array).is_some_and(|ips| !ips.is_empty());
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") || kind == "ClusterIP" && has_external_ips {
        set_missing(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        set_missing(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_missing(spec, "allocateLoadBalancerNodePorts", true);
    }
}

/// A load balancer that gives an address delivers packets to it as they are, unless it says that it is a proxy.
fn balancer_status(object: &mut Fields) {
    if object.get("spec").is_none_or(|spec| spec["type"] != "LoadBalancer") {
        return;
    }
    let status = object.get_mut("status").and_then(|status| status.get_mut("loadBalancer"));
    let Some(status) = status.and_then(Value::as_object_mut) else { return };
    for point in items(status, "ingress") {
        if point.get("ip").and_then(Value::as_str).is_some_and(|ip| !ip.is_empty()) {
            set_missing(point, "ipMode", "VIP");
        }
    }
}

/// What is given as plain text is kept encoded.
fn secret(object: &mut Fields) {
    let Some(Value::Object(strings)) = object.remove("stringData") else { return };
    if strings.is_empty() {
        return;
    }
    if let Some(data) = child(object, "data") {
        let encoded = |text: &Value| Base64::Standard.encode(text.as_str().unwrap_or_default().as_bytes());
        data.extend(strings.iter().map(|(key, text)| (key.clone(), encoded(text).into())));
    }
}

fn namespace(object: &mut Fields) {
    let Some(metadata) = child(object, "metadata") else { return };
    let Some(name) = metadata.get("name").filter(|name| !name.as_str().unwrap_or("").is_empty()).cloned()
    else {
        return;
    };
    if let Some(labels) = child(metadata, "labels") {
        labels.insert("kubernetes.io/metadata.name".into(), name);
    }
}

fn node(object: &mut Fields) {
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    if let Some(spec) = spec
        && let Some(range) = spec.get("podCIDR").cloned()
        && !spec.contains_key("podCIDRs")
    {
        spec.insert("podCIDRs".into(), json!([range]));
    }
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    if let Some(capacity) = status.get("capacity").cloned() {
        set_missing(status, "allocatable", capacity);
    }
}

fn limit_range(spec: &mut Fields) {
    for item in items(spec, "limits") {
        if item.get("type").and_then(Value::as_str) != Some("Container") {
            continue;
        }
        for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
            if let Some(amounts) = item.get(from).and_then(Value::as_object).cloned() {
                fill(item, to, amounts);
            }
        }
    }
}

/// Adds to a map what it does not have.
pub(super) fn fill(object: &mut Fields, field: &str, from: Fields) {
    if let Some(map) = child(object, field) {
        for (key, value) in from {
            map.entry(key).or_insert(value);
        }
    }
}

fn autoscaler(spec: &mut Fields) {
    set_missing(
        spec,
        "metrics",
        json!([{
            "type": "Resource",
            "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 } },
        }]),
    );
    let Some(behavior) = spec.get_mut("behavior").and_then(Value::as_object_mut) else { return };
    let policy = |kind: &str, value: i32| json!({ "type": kind, "value": value, "periodSeconds": 15 });
    if let Some(up) = child(behavior, "scaleUp") {
        set_missing(up, "stabilizationWindowSeconds", 0);
        set_missing(up, "selectPolicy", "Max");
        set_missing(up, "policies", json!([policy("Pods", 4), policy("Percent", 100)]));
    }
    if let Some(down) = child(behavior, "scaleDown") {
        set_missing(down, "selectPolicy", "Max");
        set_missing(down, "policies", json!([policy("Percent", 100)]));
    }
}

fn network_policy(spec: &mut Fields) {
    if spec.contains_key("policyTypes") {
        return;
    }
    let types = if spec.contains_key("egress") { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    spec.insert("policyTypes".into(), types);
}

fn subjects(object: &mut Fields) {
    for subject in items(object, "subjects") {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            set_missing(subject, "apiGroup", "rbac.authorization.k8s.io");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::set_defaults;
    use crate::types::Types;
    use serde_json::{Value, json};

    fn check(group: &str, version: &str, kind: &str, mut object: Value, expected: &[(&str, Value)]) {
        let types = Types::built_in();
        set_defaults(types.by_kind(group, version, kind).unwrap(), &mut object);
        for (pointer, value) in expected {
            assert_eq!(
                object.pointer(pointer).unwrap_or(&Value::Null),
                value,
                "{kind}{pointer} in {object:#}"
            );
        }
    }

    #[test]
    fn workloads() {
        check(
            "apps",
            "v1",
            "Deployment",
            json!({}),
            &[
                ("/spec/replicas", json!(1)),
                ("/spec/revisionHistoryLimit", json!(10)),
                ("/spec/progressDeadlineSeconds", json!(600)),
                (
                    "/spec/strategy",
                    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } }),
                ),
                ("/spec/template/spec/restartPolicy", json!("Always")),
                ("/spec/template/metadata", json!({})),
                ("/status", json!({})),
            ],
        );
        check(
            "apps",
            "v1",
            "Deployment",
            json!({ "spec": { "strategy": { "type": "Recreate" } } }),
            &[("/spec/strategy", json!({ "type": "Recreate" }))],
        );
        check(
            "apps",
            "v1",
            "DaemonSet",
            json!({}),
            &[
                (
                    "/spec/updateStrategy",
                    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 1 } }),
                ),
                ("/status/numberReady", json!(0)),
            ],
        );
        check(
            "apps",
            "v1",
            "StatefulSet",
            json!({}),
            &[
                (
                    "/spec/updateStrategy",
                    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 1, "partition": 0 } }),
                ),
                ("/spec/podManagementPolicy", json!("OrderedReady")),
                (
                    "/spec/persistentVolumeClaimRetentionPolicy",
                    json!({ "whenDeleted": "Retain", "whenScaled": "Retain" }),
                ),
            ],
        );
        check(
            "apps",
            "v1",
            "StatefulSet",
            json!({ "spec": { "updateStrategy": { "type": "RollingUpdate" } } }),
            &[("/spec/updateStrategy", json!({ "type": "RollingUpdate" }))],
        );
        check(
            "apps",
            "v1",
            "ReplicaSet",
            json!({}),
            &[("/spec/replicas", json!(1)), ("/status/replicas", json!(0))],
        );
    }

    #[test]
    fn jobs() {
        let template = json!({ "metadata": { "labels": { "a": "b" } } });
        check(
            "batch",
            "v1",
            "Job",
            json!({ "spec": { "template": template } }),
            &[
                ("/metadata/labels", json!({ "a": "b" })),
                ("/spec/completions", json!(1)),
                ("/spec/parallelism", json!(1)),
                ("/spec/backoffLimit", json!(6)),
                ("/spec/completionMode", json!("NonIndexed")),
                ("/spec/suspend", json!(false)),
                ("/spec/podReplacementPolicy", json!("TerminatingOrFailed")),
                ("/spec/manualSelector", json!(false)),
            ],
        );
        check(
            "batch",
            "v1",
            "Job",
            json!({ "spec": { "parallelism": 3, "podFailurePolicy": { "rules": [] } } }),
            &[
                ("/spec/completions", Value::Null),
                ("/spec/parallelism", json!(3)),
                ("/spec/podReplacementPolicy", json!("Failed")),
            ],
        );
        check(
            "batch",
            "v1",
            "CronJob",
            json!({ "spec": { "schedule": "* * * * *" } }),
            &[
                ("/spec/concurrencyPolicy", json!("Allow")),
                ("/spec/suspend", json!(false)),
                ("/spec/successfulJobsHistoryLimit", json!(3)),
                ("/spec/jobTemplate/spec/backoffLimit", Value::Null),
                ("/spec/jobTemplate/spec/template/spec/dnsPolicy", json!("ClusterFirst")),
            ],
        );
    }

    #[test]
    fn services() {
        let ports = json!([{ "port": 80 }, { "port": 443, "targetPort": "https", "protocol": "UDP" }]);
        check(
            "",
            "v1",
            "Service",
            json!({ "spec": { "ports": ports } }),
            &[
                ("/spec/type", json!("ClusterIP")),
                ("/spec/sessionAffinity", json!("None")),
                ("/spec/internalTrafficPolicy", json!("Cluster")),
                ("/spec/externalTrafficPolicy", Value::Null),
                ("/spec/ports/0", json!({ "port": 80, "protocol": "TCP", "targetPort": 80 })),
                ("/spec/ports/1", json!({ "port": 443, "protocol": "UDP", "targetPort": "https" })),
                ("/status", json!({ "loadBalancer": {} })),
            ],
        );
        check(
            "",
            "v1",
            "Service",
            json!({ "spec": { "type": "LoadBalancer", "sessionAffinity": "ClientIP" } }),
            &[
                ("/spec/externalTrafficPolicy", json!("Cluster")),
                ("/spec/allocateLoadBalancerNodePorts", json!(true)),
                ("/spec/sessionAffinityConfig/clientIP/timeoutSeconds", json!(10_800)),
            ],
        );
        check(
            "",
            "v1",
            "Service",
            json!({ "spec": { "type": "ExternalName" } }),
            &[("/spec/internalTrafficPolicy", Value::Null)],
        );
    }

    #[test]
    fn small_kinds() {
        check(
            "",
            "v1",
            "Namespace",
            json!({ "metadata": { "name": "a" } }),
            &[
                ("/metadata/labels", json!({ "kubernetes.io/metadata.name": "a" })),
                ("/status/phase", json!("Active")),
            ],
        );
        check(
            "",
            "v1",
            "Namespace",
            json!({ "metadata": { "generateName": "a-" } }),
            &[("/metadata/labels", Value::Null)],
        );
        check("", "v1", "Secret", json!({}), &[("/type", json!("Opaque"))]);
        check(
            "",
            "v1",
            "PersistentVolumeClaim",
            json!({}),
            &[("/spec/volumeMode", json!("Filesystem")), ("/status/phase", json!("Pending"))],
        );
        check(
            "discovery.k8s.io",
            "v1",
            "EndpointSlice",
            json!({ "ports": [{ "port": 1 }] }),
            &[("/ports/0", json!({ "name": "", "port": 1, "protocol": "TCP" }))],
        );
        let binding = json!({ "roleRef": { "kind": "Role", "name": "r" }, "subjects": [{ "kind": "User", "name": "u" }, { "kind": "ServiceAccount", "name": "s" }] });
        check(
            "rbac.authorization.k8s.io",
            "v1",
            "RoleBinding",
            binding,
            &[
                ("/roleRef/apiGroup", json!("rbac.authorization.k8s.io")),
                ("/subjects/0/apiGroup", json!("rbac.authorization.k8s.io")),
                ("/subjects/1/apiGroup", Value::Null),
            ],
        );
        check(
            "networking.k8s.io",
            "v1",
            "NetworkPolicy",
            json!({ "spec": { "egress": [{}] } }),
            &[("/spec/policyTypes", json!(["Ingress", "Egress"])), ("/spec/podSelector", json!({}))],
        );
        check(
            "storage.k8s.io",
            "v1",
            "StorageClass",
            json!({}),
            &[("/reclaimPolicy", json!("Delete")), ("/volumeBindingMode", json!("Immediate"))],
        );
        check(
            "",
            "v1",
            "LimitRange",
            json!({ "spec": { "limits": [{ "type": "Container", "max": { "cpu": "2" }, "min": { "memory": "1Mi" } }] } }),
            &[
                ("/spec/limits/0/default", json!({ "cpu": "2" })),
                ("/spec/limits/0/defaultRequest", json!({ "cpu": "2", "memory": "1Mi" })),
            ],
        );
        check(
            "autoscaling",
            "v2",
            "HorizontalPodAutoscaler",
            json!({ "spec": { "behavior": { "scaleDown": { "selectPolicy": "Min" } } } }),
            &[
                ("/spec/minReplicas", json!(1)),
                ("/spec/metrics/0/resource/target/averageUtilization", json!(80)),
                ("/spec/behavior/scaleUp/stabilizationWindowSeconds", json!(0)),
                ("/spec/behavior/scaleDown/selectPolicy", json!("Min")),
            ],
        );
    }
}
