//! Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers.

use serde_json::{Map, Value};

use super::formats::{at_most_100_percent, check_dns_label, count_or_percent, is_nothing};
use super::pods::check_template;
use super::selectors::{self, check_selector};
use super::storage::check_claim_spec;
use super::values::{
    Errors, all_nonnegative, at_most, immutable, list, nonnegative, number, object_at, one_of_if_set, put,
    required, text,
};
use crate::field::{FieldError, FieldPath};
use crate::object;

/// How often the template of a DaemonSet has changed is kept in an annotation.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

const STATEFUL_SET_UPDATABLE: [&str; 7] = [
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
];

/// Counts the changes of a DaemonSet's template.
pub(super) fn prepare_daemon_set(new: &mut Map<String, Value>, old: Option<&Value>) {
    let counted = |set: &Value| object::annotation(set, TEMPLATE_GENERATION)?.parse::<i64>().ok();
    let generation = match old {
        None => counted(&Value::Object(new.clone())).unwrap_or(1).max(1),
        Some(old) => {
            let template = new.get("spec").map_or(&Value::Null, |spec| &spec["template"]);
            let changed = *template != old["spec"]["template"];
            counted(old).unwrap_or(1).saturating_add(i64::from(changed))
        }
    };
    let annotations = object_at(new, "metadata").and_then(|metadata| object_at(metadata, "annotations"));
    if let Some(annotations) = annotations {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), generation.to_string().into());
    }
}

/// What all four ask of their selector and template.
fn check_template_and_selector(errors: &mut Errors, spec: &Value, name: &str) {
    let path = FieldPath::of("spec");
    let (selector, template) = (&spec["selector"], &spec["template"]);
    if selector.is_object() {
        check_selector(errors, &path.child("selector"), selector);
        if selectors::is_empty(selector) {
            let detail = format!("empty selector is invalid for {name}");
            errors.push(FieldError::invalid(&path.child("selector"), selector.clone(), detail));
        }
    } else {
        errors.push(FieldError::required(&path.child("selector"), ""));
    }
    let labels = &template["metadata"]["labels"];
    if !selectors::is_empty(selector) && selectors::excludes(selector, labels) {
        let path = path.child("template").child("metadata").child("labels");
        errors.push(FieldError::invalid(
            &path,
            labels.clone(),
            "`selector` does not match template `labels`",
        ));
    }
}

/// Pods that are to run for ever must be restarted for ever.
fn check_long_running(errors: &mut Errors, template: &Value, name: &str) {
    let path = FieldPath::of("spec.template.spec");
    if template["spec"]["restartPolicy"] != "Always" {
        let policy = &template["spec"]["restartPolicy"];
        errors.push(FieldError::not_supported(&path.child("restartPolicy"), policy.clone(), &["Always"]));
    }
    if template["spec"]["activeDeadlineSeconds"].is_number() {
        let detail = format!("activeDeadlineSeconds in {name} is not Supported");
        errors.push(FieldError::forbidden(&path.child("activeDeadlineSeconds"), detail));
    }
}

/// The rules of Deployments.
pub(super) fn check_deployment(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    nonnegative(errors, &path.child("replicas"), &spec["replicas"]);
    check_template_and_selector(errors, spec, "deployment");
    check_template(errors, &path.child("template"), &spec["template"]);
    check_long_running(errors, &spec["template"], "ReplicaSet");
    check_deployment_strategy(errors, &path.child("strategy"), &spec["strategy"]);
    all_nonnegative(
        errors,
        &path,
        spec,
        &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"],
    );
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64()
        && deadline <= number(&spec["minReadySeconds"])
    {
        let detail = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid(&path.child("progressDeadlineSeconds"), deadline, detail));
    }
    if let Some(old) = old {
        immutable(errors, &path.child("selector"), &spec["selector"], &old["spec"]["selector"]);
    }
}

fn check_deployment_strategy(errors: &mut Errors, path: &FieldPath, strategy: &Value) {
    let (rolling, rolling_path) = (&strategy["rollingUpdate"], path.child("rollingUpdate"));
    match text(&strategy["type"]) {
        "Recreate" if rolling.is_object() => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(FieldError::forbidden(&rolling_path, detail));
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            count_or_percent(errors, &rolling_path.child("maxUnavailable"), unavailable);
            count_or_percent(errors, &rolling_path.child("maxSurge"), surge);
            if is_nothing(unavailable) && is_nothing(surge) {
                let detail = "may not be 0 when `maxSurge` is 0";
                let path = rolling_path.child("maxUnavailable");
                errors.push(FieldError::invalid(&path, unavailable.clone(), detail));
            }
            at_most_100_percent(errors, &rolling_path.child("maxUnavailable"), unavailable);
        }
        _ => errors.push(FieldError::not_supported(path, strategy.clone(), &["Recreate", "RollingUpdate"])),
    }
}

/// The rules of ReplicaSets.
pub(super) fn check_replica_set(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    all_nonnegative(errors, &path, spec, &["replicas", "minReadySeconds"]);
    check_template_and_selector(errors, spec, "deployment");
    check_template(errors, &path.child("template"), &spec["template"]);
    check_long_running(errors, &spec["template"], "ReplicaSet");
    if let Some(old) = old {
        immutable(errors, &path.child("selector"), &spec["selector"], &old["spec"]["selector"]);
    }
}

/// The rules of DaemonSets.
pub(super) fn check_daemon_set(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    if let Some(old) = old {
        immutable(errors, &path.child("selector"), &spec["selector"], &old["spec"]["selector"]);
    }
    check_template_and_selector(errors, spec, "daemonset");
    check_template(errors, &path.child("template"), &spec["template"]);
    check_long_running(errors, &spec["template"], "DaemonSet");
    nonnegative(errors, &path.child("minReadySeconds"), &spec["minReadySeconds"]);
    check_daemon_set_strategy(errors, &path.child("updateStrategy"), &spec["updateStrategy"]);
    nonnegative(errors, &path.child("revisionHistoryLimit"), &spec["revisionHistoryLimit"]);
}

fn check_daemon_set_strategy(errors: &mut Errors, path: &FieldPath, strategy: &Value) {
    let path_of = |field: &str| path.child("rollingUpdate").child(field);
    match text(&strategy["type"]) {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = &strategy["rollingUpdate"];
            for field in ["maxUnavailable", "maxSurge"] {
                count_or_percent(errors, &path_of(field), &rolling[field]);
                at_most_100_percent(errors, &path_of(field), &rolling[field]);
            }
            match (is_nothing(&rolling["maxUnavailable"]), is_nothing(&rolling["maxSurge"])) {
                (false, false) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    errors.push(FieldError::invalid(
                        &path_of("maxSurge"),
                        rolling["maxSurge"].clone(),
                        detail,
                    ));
                }
                (true, true) => {
                    let detail = "cannot be 0 when maxSurge is 0";
                    errors.push(FieldError::required(&path_of("maxUnavailable"), detail));
                }
                _ => {}
            }
        }
        _ => errors.push(FieldError::not_supported(path, strategy.clone(), &["RollingUpdate", "OnDelete"])),
    }
}

/// The rules of StatefulSets.
pub(super) fn check_stateful_set(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    check_pod_management(errors, &path, spec);
    check_stateful_set_strategy(errors, &path.child("updateStrategy"), &spec["updateStrategy"]);
    for field in ["whenDeleted", "whenScaled"] {
        let retention = "persistentVolumeClaimRetentionPolicy";
        let value = &spec[retention][field];
        one_of_if_set(errors, &path.child(retention).child(field), value, &["Retain", "Delete"]);
    }
    if old.is_none() {
        for (index, claim) in list(&spec["volumeClaimTemplates"]).iter().enumerate() {
            let path = path.child("volumeClaimTemplates").index(index).child("spec");
            check_claim_spec(errors, &path, &claim["spec"]);
        }
        if !text(&spec["serviceName"]).is_empty() {
            check_dns_label(errors, &path.child("serviceName"), &spec["serviceName"]);
        }
    }
    all_nonnegative(errors, &path, spec, &["replicas", "minReadySeconds"]);
    nonnegative(errors, &path.child("ordinals.start"), &spec["ordinals"]["start"]);
    check_template_and_selector(errors, spec, "statefulset");
    check_template(errors, &path.child("template"), &with_claims(spec));
    check_long_running(errors, &spec["template"], "StatefulSet");
    if old.is_some_and(|old| frozen(spec) != frozen(&old["spec"])) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
            'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' \
            are forbidden";
        errors.push(FieldError::forbidden(&path, detail));
    }
}

fn check_pod_management(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let (path, policy) = (path.child("podManagementPolicy"), &spec["podManagementPolicy"]);
    required(errors, &path, policy);
    if !matches!(text(policy), "" | "OrderedReady" | "Parallel") {
        errors.push(FieldError::invalid(&path, policy.clone(), "must be 'OrderedReady' or 'Parallel'"));
    }
}

fn check_stateful_set_strategy(errors: &mut Errors, path: &FieldPath, strategy: &Value) {
    let (rolling, rolling_path) = (&strategy["rollingUpdate"], path.child("rollingUpdate"));
    match text(&strategy["type"]) {
        "OnDelete" if rolling.is_object() => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push(FieldError::invalid(&rolling_path, rolling.clone(), detail));
        }
        "RollingUpdate" if rolling.is_object() => {
            nonnegative(errors, &rolling_path.child("partition"), &rolling["partition"]);
            let (path, unavailable) = (rolling_path.child("maxUnavailable"), &rolling["maxUnavailable"]);
            if !unavailable.is_null() {
                count_or_percent(errors, &path, unavailable);
                if is_nothing(unavailable) {
                    errors.push(FieldError::invalid(&path, unavailable.clone(), "cannot be 0"));
                }
                at_most_100_percent(errors, &path, unavailable);
            }
        }
        "OnDelete" | "RollingUpdate" => {}
        _ => {
            errors.push(FieldError::invalid(path, strategy.clone(), "must be 'RollingUpdate' or 'OnDelete'"))
        }
    }
}

/// What must not change in a StatefulSet.
fn frozen(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|field, _| !STATEFUL_SET_UPDATABLE.contains(&field.as_str()));
    }
    spec
}

/// The template with the claims as volumes, since containers may mount them, and without what is overwritten.
fn with_claims(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    let claims = list(&spec["volumeClaimTemplates"]);
    let names: std::collections::BTreeSet<&str> = claims.iter().map(object::name).collect();
    let mut volumes: Vec<Value> = list(&template["spec"]["volumes"]).to_vec();
    volumes.retain(|volume| !names.contains(text(&volume["name"])));
    let claimed = names
        .iter()
        .map(|name| serde_json::json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }));
    volumes.extend(claimed);
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        put(spec, "volumes", volumes.into());
        spec.retain(|field, _| field != "hostname" && field != "subdomain");
    }
    template
}

/// The rules of ReplicationControllers.
pub(super) fn check_replication_controller(errors: &mut Errors, new: &Value) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    all_nonnegative(errors, &path, spec, &["minReadySeconds", "replicas"]);
    if super::values::entries(&spec["selector"]).next().is_none() {
        errors.push(FieldError::required(&path.child("selector"), ""));
    }
    let template = &spec["template"];
    if !template.is_object() {
        errors.push(FieldError::required(&path.child("template"), ""));
        return;
    }
    let labels = &template["metadata"]["labels"];
    if selectors::excludes(&serde_json::json!({ "matchLabels": spec["selector"] }), labels) {
        let path = path.child("template").child("metadata").child("labels");
        errors.push(FieldError::invalid(
            &path,
            labels.clone(),
            "`selector` does not match template `labels`",
        ));
    }
    check_template(errors, &path.child("template"), template);
    check_long_running(errors, template, "ReplicationController");
}

/// The counters that all workloads have in their status.
pub(super) fn check_status(errors: &mut Errors, kind: &str, new: &Value, old: &Value) {
    let (path, status) = (FieldPath::of("status"), &new["status"]);
    let counters = super::values::entries(status).filter(|(_, value)| value.is_number());
    for (field, value) in counters {
        nonnegative(errors, &path.child(field), value);
    }
    let limited: &[&str] = match kind {
        "Deployment" => &["updatedReplicas", "readyReplicas", "availableReplicas"],
        "ReplicaSet" | "ReplicationController" => {
            &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]
        }
        "StatefulSet" => &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
        _ => &[],
    };
    for field in limited {
        at_most(errors, &path, status, field, "replicas", "cannot be greater than status.replicas");
    }
    if !limited.is_empty() {
        let detail = match kind {
            "StatefulSet" => "cannot be greater than status.readyReplicas",
            _ => "cannot be greater than readyReplicas",
        };
        at_most(errors, &path, status, "availableReplicas", "readyReplicas", detail);
    }
    let collisions = |set: &Value| set["status"]["collisionCount"].as_i64();
    if collisions(old).is_some_and(|old| collisions(new).is_none_or(|new| new < old)) {
        let count = collisions(new).unwrap_or(0);
        errors.push(FieldError::invalid(&path.child("collisionCount"), count, "cannot be decremented"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_on, prepared};
    use serde_json::{Value, json};

    fn workload(more: Value) -> Value {
        let mut spec = json!({
            "selector": { "matchLabels": { "app": "a" } },
            "template": { "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } },
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "metadata": { "name": "w" }, "spec": spec })
    }

    #[test]
    fn selectors_are_required_and_match() {
        for kind in ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"] {
            check(kind, None, workload(json!({})), &[]);
            check(
                kind,
                None,
                workload(json!({ "selector": null })),
                &[
                    "spec.selector: Required value",
                    "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
                ],
            );
            check(
                kind,
                None,
                workload(json!({ "selector": { "matchLabels": { "app": "b" } } })),
                &[
                    "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
                ],
            );
        }
        check(
            "Deployment",
            None,
            workload(json!({ "selector": {} })),
            &["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        );
    }

    #[test]
    fn selectors_do_not_change() {
        let changed = workload(json!({
            "selector": { "matchLabels": { "app": "b" } },
            "template": { "metadata": { "labels": { "app": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } },
        }));
        for kind in ["Deployment", "ReplicaSet", "DaemonSet"] {
            check(
                kind,
                Some(workload(json!({}))),
                changed.clone(),
                &["spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable"],
            );
        }
    }

    #[test]
    fn counts_and_strategies() {
        check(
            "Deployment",
            None,
            workload(json!({ "replicas": -1 })),
            &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        );
        check(
            "Deployment",
            None,
            workload(json!({ "minReadySeconds": 600 })),
            &["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
        );
        check(
            "Deployment",
            None,
            workload(json!({ "strategy": { "rollingUpdate": { "maxSurge": 0, "maxUnavailable": "0%" } } })),
            &[
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
            ],
        );
        check(
            "Deployment",
            None,
            workload(json!({ "strategy": { "type": "Recreate", "rollingUpdate": {} } })),
            &[
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            ],
        );
        check(
            "DaemonSet",
            None,
            workload(json!({ "updateStrategy": { "rollingUpdate": { "maxSurge": 1 } } })),
            &[
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
            ],
        );
    }

    #[test]
    fn templates_run_for_ever() {
        let mut never = workload(json!({}));
        never["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
        check(
            "Deployment",
            None,
            never,
            &["spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""],
        );
    }

    #[test]
    fn stateful_sets_change_little() {
        let mount = json!({ "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [{ "name": "c", "image": "i", "volumeMounts": [{ "name": "data", "mountPath": "/d" }] }] } });
        let claims = json!([{ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }]);
        let old = workload(json!({ "serviceName": "s", "template": mount, "volumeClaimTemplates": claims }));
        check("StatefulSet", None, old.clone(), &[]);
        let mut scaled = old.clone();
        scaled["spec"]["replicas"] = 5.into();
        check("StatefulSet", Some(old.clone()), scaled, &[]);
        let mut renamed = old.clone();
        renamed["spec"]["serviceName"] = "t".into();
        check(
            "StatefulSet",
            Some(old),
            renamed,
            &[
                "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
            ],
        );
    }

    #[test]
    fn daemon_sets_count_their_templates() {
        let annotation = "/metadata/annotations/deprecated.daemonset.template.generation";
        let first = prepared("DaemonSet", None, workload(json!({})), None);
        assert_eq!(first.pointer(annotation), Some(&json!("1")));
        let same =
            prepared("DaemonSet", Some(first.clone()), workload(json!({ "minReadySeconds": 1 })), None);
        assert_eq!(same.pointer(annotation), Some(&json!("1")));
        let mut changed = first.clone();
        changed["spec"]["template"]["spec"]["containers"][0]["image"] = "j".into();
        assert_eq!(prepared("DaemonSet", Some(first), changed, None).pointer(annotation), Some(&json!("2")));
    }

    #[test]
    fn status_counters_add_up() {
        let mut new = workload(json!({}));
        new["status"] = json!({ "replicas": 1, "readyReplicas": 2, "observedGeneration": -1 });
        check_on(
            "Deployment",
            Some("status"),
            Some(workload(json!({}))),
            new,
            &[
                "status.observedGeneration: Invalid value: -1: must be greater than or equal to 0",
                "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
            ],
        );
    }
}
