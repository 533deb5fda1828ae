//! Namespaces, leases, events, budgets, autoscalers, priorities and service accounts.

use serde_json::{Map, Value, json};

use super::formats::{at_most_100_percent, count_or_percent};
use super::selectors::check_selector;
use super::values::{
    Errors, all_nonnegative, immutable, invalid_all, list, number, object_at, one_of_if_set, put, required,
    text,
};
use crate::field::{FieldError, FieldPath};
use crate::object;
use windlass_cel::formats::names;
use windlass_cel::formats::quantity::Quantity;

const HIGHEST_USER_PRIORITY: i64 = 1_000_000_000;

/// A new namespace is active and waits for its content when it goes.
pub(super) fn prepare_namespace(
    namespace: &mut Map<String, Value>,
    old: Option<&Value>,
    subresource: Option<&str>,
) {
    match (old, subresource) {
        (None, _) => {
            namespace.insert("status".into(), json!({ "phase": "Active" }));
            let finalizers =
                object_at(namespace, "spec").map(|spec| spec.entry("finalizers").or_insert(json!([])));
            if let Some(finalizers) = finalizers.and_then(Value::as_array_mut)
                && !finalizers.contains(&"kubernetes".into())
            {
                finalizers.push("kubernetes".into());
            }
        }
        (Some(old), None | Some("status")) => {
            if let Some(spec) = object_at(namespace, "spec") {
                put(spec, "finalizers", old["spec"]["finalizers"].clone());
            }
        }
        (Some(old), _) => put(namespace, "status", old["status"].clone()),
    }
    label_with_name(namespace);
}

/// The label by which namespaces are selected by name.
fn label_with_name(namespace: &mut Map<String, Value>) {
    let Some(metadata) = object_at(namespace, "metadata") else { return };
    let name = metadata.get("name").cloned().unwrap_or_default();
    if text(&name).is_empty() {
        return;
    }
    if let Some(labels) = object_at(metadata, "labels") {
        labels.insert("kubernetes.io/metadata.name".into(), name);
    }
}

/// The phase of a namespace follows from whether it is being deleted.
pub(super) fn check_namespace_status(errors: &mut Errors, namespace: &Value) {
    let phase = text(&namespace["status"]["phase"]);
    let detail = match object::is_deleting(namespace) {
        false if phase != "Active" => "may only be 'Active' if `deletionTimestamp` is empty",
        true if phase != "Terminating" => "may only be 'Terminating' if `deletionTimestamp` is not empty",
        _ => return,
    };
    errors.push(FieldError::invalid(&FieldPath::of("status.Phase"), phase, detail));
}

/// Of the secrets that a service account lists only the names count.
pub(super) fn prepare_service_account(account: &mut Map<String, Value>) {
    let secrets = account.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten();
    for secret in secrets.filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}

/// Coordinated leader election is off, as it is by default: its fields are dropped unless they were there.
pub(super) fn prepare_lease(lease: &mut Map<String, Value>, old: Option<&Value>) {
    let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in ["strategy", "preferredHolder"] {
        if old.is_none_or(|old| old["spec"][field].is_null()) {
            spec.remove(field);
        }
    }
}

/// The rules of Leases.
pub(super) fn check_lease(errors: &mut Errors, lease: &Value) {
    let (path, spec) = (FieldPath::of("spec"), &lease["spec"]);
    if spec["leaseDurationSeconds"].as_i64().is_some_and(|seconds| seconds <= 0) {
        let (path, value) = (path.child("leaseDurationSeconds"), spec["leaseDurationSeconds"].clone());
        errors.push(FieldError::invalid(&path, value, "must be greater than 0"));
    }
    all_nonnegative(errors, &path, spec, &["leaseTransitions"]);
    one_of_if_set(errors, &path.child("strategy"), &spec["strategy"], &["OldestEmulationVersion"]);
}

/// The rules of PodDisruptionBudgets.
pub(super) fn check_budget(errors: &mut Errors, budget: &Value) {
    let (path, spec) = (FieldPath::of("spec"), &budget["spec"]);
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid(&path, spec.clone(), detail));
    }
    for field in ["minAvailable", "maxUnavailable"].into_iter().filter(|field| !spec[*field].is_null()) {
        count_or_percent(errors, &path.child(field), &spec[field]);
        at_most_100_percent(errors, &path.child(field), &spec[field]);
    }
    check_selector(errors, &path.child("selector"), &spec["selector"]);
    let policy = "unhealthyPodEvictionPolicy";
    one_of_if_set(errors, &path.child(policy), &spec[policy], &["AlwaysAllow", "IfHealthyBudget"]);
}

/// The rules of HorizontalPodAutoscalers.
pub(super) fn check_autoscaler(errors: &mut Errors, autoscaler: &Value) {
    let (path, spec) = (FieldPath::of("spec"), &autoscaler["spec"]);
    let (least, most) = (&spec["minReplicas"], number(&spec["maxReplicas"]));
    if least.as_i64().is_some_and(|least| least < 1) {
        let detail = "must be greater than or equal to 1";
        errors.push(FieldError::invalid(&path.child("minReplicas"), least.clone(), detail));
    }
    if most < 1 {
        errors.push(FieldError::invalid(&path.child("maxReplicas"), most, "must be greater than 0"));
    }
    if least.as_i64().is_some_and(|least| most < least) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid(&path.child("maxReplicas"), most, detail));
    }
    for field in ["kind", "name"] {
        let (path, value) = (path.child("scaleTargetRef").child(field), &spec["scaleTargetRef"][field]);
        required(errors, &path, value);
        invalid_all(errors, &path, value, names::is_path_segment(text(value)));
    }
    let version = &spec["scaleTargetRef"]["apiVersion"];
    let kind = text(&spec["scaleTargetRef"]["kind"]);
    // Only replication controllers are in the group without a name.
    if object::split_api_version(text(version)).0.is_empty() && kind != "ReplicationController" {
        let path = path.child("scaleTargetRef").child("apiVersion");
        errors.push(FieldError::invalid(&path, text(version), "apiVersion must specify API group"));
    }
}

/// The rules of PriorityClasses.
pub(super) fn check_priority(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, value) = (FieldPath::of("value"), number(&new["value"]));
    if let Some(old) = old {
        if value != number(&old["value"]) {
            errors.push(FieldError::forbidden(&path, "may not be changed in an update."));
        }
        let policy = "preemptionPolicy";
        immutable(errors, &FieldPath::of(policy), &new[policy], &old[policy]);
        return;
    }
    if value > HIGHEST_USER_PRIORITY && !object::name(new).starts_with("system-") {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
        errors.push(FieldError::forbidden(&path, detail));
    }
    let policies = ["PreemptLowerPriority", "Never"];
    one_of_if_set(errors, &FieldPath::of("preemptionPolicy"), &new["preemptionPolicy"], &policies);
}

/// The rules of ControllerRevisions.
pub(super) fn check_revision(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    all_nonnegative(errors, &FieldPath::root(), new, &["revision"]);
    let path = FieldPath::of("data");
    match old {
        Some(old) => immutable(errors, &path, &new["data"], &old["data"]),
        None if new["data"].is_null() => errors.push(FieldError::required(&path, "data is mandatory")),
        None if !new["data"].is_object() => {
            errors.push(FieldError::required(&path, "data must be a valid JSON object"));
        }
        None => {}
    }
}

/// The rules of LimitRanges and ResourceQuotas: amounts are amounts.
pub(super) fn check_quota(errors: &mut Errors, quota: &Value) {
    for (name, amount) in super::values::entries(&quota["spec"]["hard"]) {
        super::resources::check_amount(errors, &FieldPath::of("spec.hard").key(name), name, amount);
    }
    for (index, item) in list(&quota["spec"]["limits"]).iter().enumerate() {
        for field in ["max", "min", "default", "defaultRequest"] {
            let path = FieldPath::of("spec.limits").index(index).child(field);
            for (name, amount) in super::values::entries(&item[field]) {
                super::resources::check_amount(errors, &path.key(name), name, amount);
            }
        }
        check_bounds(errors, &FieldPath::of("spec.limits").index(index), item);
    }
}

/// What is the least must not be more than the most.
fn check_bounds(errors: &mut Errors, path: &FieldPath, item: &Value) {
    for (low, high) in
        [("min", "max"), ("defaultRequest", "max"), ("min", "default"), ("defaultRequest", "default")]
    {
        for (name, least) in super::values::entries(&item[low]) {
            let (Ok(least), Ok(most)) =
                (Quantity::parse(text(least)), Quantity::parse(text(&item[high][name])))
            else {
                continue;
            };
            if least > most {
                let shown = |field: &str| match field {
                    "defaultRequest" => "default request".to_owned(),
                    other => other.to_owned(),
                };
                let detail =
                    format!("{} value {least} is greater than {} value {most}", shown(low), shown(high));
                let path = path.child(low).key(name);
                errors.push(FieldError::invalid(&path, least.to_string(), detail));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_on, prepared};
    use serde_json::json;

    #[test]
    fn namespaces_wait_for_their_content() {
        let new = prepared("Namespace", None, json!({ "metadata": { "name": "n" } }), None);
        assert_eq!(new["spec"]["finalizers"], json!(["kubernetes"]));
        assert_eq!(new["status"]["phase"], "Active");
        assert_eq!(new["metadata"]["labels"], json!({ "kubernetes.io/metadata.name": "n" }));
        let updated = prepared(
            "Namespace",
            Some(new.clone()),
            json!({ "metadata": { "name": "n" }, "spec": {} }),
            None,
        );
        assert_eq!(updated["spec"]["finalizers"], json!(["kubernetes"]));
        let finalized = prepared(
            "Namespace",
            Some(new.clone()),
            json!({ "metadata": { "name": "n" }, "spec": {} }),
            Some("finalize"),
        );
        assert_eq!(finalized["spec"].get("finalizers"), None);
        let mut ending = new.clone();
        ending["status"]["phase"] = "Terminating".into();
        check_on(
            "Namespace",
            Some("status"),
            Some(new),
            ending,
            &[
                "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
            ],
        );
    }

    #[test]
    fn small_kinds() {
        check(
            "Lease",
            None,
            json!({ "spec": { "leaseDurationSeconds": 0, "leaseTransitions": -1 } }),
            &[
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ],
        );
        check(
            "PodDisruptionBudget",
            None,
            json!({ "spec": { "minAvailable": "150%" } }),
            &["spec.minAvailable: Invalid value: \"150%\": must not be greater than 100%"],
        );
        check(
            "HorizontalPodAutoscaler",
            None,
            json!({ "spec": { "maxReplicas": 0, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" } } }),
            &[
                "spec.maxReplicas: Invalid value: 0: must be greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            ],
        );
        check(
            "PriorityClass",
            Some(json!({ "value": 1 })),
            json!({ "value": 2 }),
            &["value: Forbidden: may not be changed in an update."],
        );
        check(
            "PriorityClass",
            None,
            json!({ "value": 1_000_000_001 }),
            &["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
        );
        check(
            "ControllerRevision",
            Some(json!({ "revision": 1, "data": {} })),
            json!({ "revision": 2, "data": { "a": 1 } }),
            &["data: Invalid value: {\"a\":1}: field is immutable"],
        );
        let account =
            prepared("ServiceAccount", None, json!({ "secrets": [{ "name": "s", "uid": "u" }] }), None);
        assert_eq!(account["secrets"], json!([{ "name": "s" }]));
    }

    #[test]
    fn events_belong_to_the_namespace_of_their_object() {
        let event = |namespace: &str| json!({ "metadata": { "namespace": "a" }, "involvedObject": { "namespace": namespace } });
        check("Event", None, event("a"), &[]);
        check(
            "Event",
            None,
            event("b"),
            &["involvedObject.namespace: Invalid value: \"b\": does not match event.namespace"],
        );
    }
}
