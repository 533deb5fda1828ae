//! What only one built-in type has: changes before a write, and rules that a write must keep.
//!
//! Rules of all types (names, labels, owner references, resource versions, what a status write may touch) are not here.

mod access;
mod cluster;
mod config;
mod containers;
mod cron;
mod events;
mod formats;
mod jobs;
mod mutating_policies;
mod networking;
mod pod_updates;
mod pods;
mod policies;
mod resources;
mod selectors;
mod service_addresses;
pub(crate) mod service_pool;
mod services;
mod storage;
mod values;
mod workloads;

use serde_json::Value;

use crate::field::FieldError;
use crate::types::{Origin, TypeInfo, defaults};
use values::Errors;

/// Changes an object as its type demands before it is validated: `old` is `None` on create.
///
/// On create, uid and name must be set, since jobs take their labels from them. Custom types are left alone.
///
/// Says whether something may have been put in or taken out.
pub(crate) fn prepare(
    info: &TypeInfo,
    old: Option<&Value>,
    new: &mut Value,
    subresource: Option<&str>,
) -> bool {
    if info.origin != Origin::BuiltIn {
        return false;
    }
    let prepared = new.as_object_mut().is_some_and(|fields| prepare_kind(info, old, fields, subresource));
    // The status of a type that has one is put in or taken out by whoever calls this.
    let changed = prepared || info.has_status;
    if changed {
        // That may leave structs that are always written.
        defaults::normalize(&info.schema, new);
    }
    changed
}

/// Says whether the kind is one for which there is something to do.
fn prepare_kind(
    info: &TypeInfo,
    old: Option<&Value>,
    new: &mut serde_json::Map<String, Value>,
    subresource: Option<&str>,
) -> bool {
    let is_main = subresource.is_none();
    match (info.resource.group.as_str(), info.kind.as_str(), old) {
        ("", "Pod", None) => pods::prepare_create(new),
        ("", "Pod", Some(old)) => pods::prepare_update(new, old, subresource),
        ("", "Namespace", old) => cluster::prepare_namespace(new, old, subresource),
        ("", "Service", old) if is_main => services::prepare(new, old),
        ("", "ServiceAccount", _) => cluster::prepare_service_account(new),
        ("", "PersistentVolumeClaim", _) if is_main => storage::prepare_claim(new),
        ("apps", "DaemonSet", old) if is_main => workloads::prepare_daemon_set(new, old),
        ("batch", "Job", None) => jobs::prepare_job(new),
        ("coordination.k8s.io", "Lease", old) => cluster::prepare_lease(new, old),
        _ => return false,
    }
    true
}

/// Validates an object of a built-in type, beyond the rules for all types. `old` is `None` on create.
pub(crate) fn validate(
    info: &TypeInfo,
    new: &Value,
    old: Option<&Value>,
    subresource: Option<&str>,
) -> Vec<FieldError> {
    let mut errors = Errors::new();
    if info.origin != Origin::BuiltIn {
        return errors;
    }
    match (subresource, old) {
        (Some("status"), Some(old)) => validate_status(&mut errors, info, new, old),
        (Some("ephemeralcontainers"), Some(old)) => pod_updates::check_ephemeral(&mut errors, new, old),
        (Some("resize"), Some(_)) => {
            pods::check_spec(&mut errors, &crate::field::FieldPath::of("spec"), &new["spec"], true)
        }
        (Some("finalize"), _) => {}
        _ => match info.resource.group.as_str() {
            "" => validate_core(&mut errors, info, new, old),
            _ => validate_other(&mut errors, info, new, old),
        },
    }
    errors
}

fn validate_core(errors: &mut Errors, info: &TypeInfo, new: &Value, old: Option<&Value>) {
    match (info.kind.as_str(), old) {
        ("Pod", None) => pods::check_create(errors, new),
        ("Pod", Some(old)) => pod_updates::check_update(errors, new, old),
        ("PodTemplate", _) => {
            pods::check_template(errors, &crate::field::FieldPath::of("template"), &new["template"])
        }
        ("ConfigMap", _) => config::check_config_map(errors, new, old),
        ("Secret", _) => config::check_secret(errors, new, old),
        ("Service", _) => services::check(errors, new, old),
        ("Endpoints", _) => networking::check_subsets(errors, new, old),
        ("Event", _) => events::check_event(errors, new),
        ("LimitRange" | "ResourceQuota", _) => cluster::check_quota(errors, new),
        ("PersistentVolumeClaim", _) => storage::check_claim(errors, new, old),
        ("PersistentVolume", _) => storage::check_volume(errors, new, old),
        ("ReplicationController", _) => workloads::check_replication_controller(errors, new),
        _ => {}
    }
}

fn validate_other(errors: &mut Errors, info: &TypeInfo, new: &Value, old: Option<&Value>) {
    match info.kind.as_str() {
        "Deployment" => workloads::check_deployment(errors, new, old),
        "ReplicaSet" => workloads::check_replica_set(errors, new, old),
        "StatefulSet" => workloads::check_stateful_set(errors, new, old),
        "DaemonSet" => workloads::check_daemon_set(errors, new, old),
        "ControllerRevision" => cluster::check_revision(errors, new, old),
        "Job" => jobs::check_job(errors, new, old),
        "CronJob" => jobs::check_cron_job(errors, new, old),
        "HorizontalPodAutoscaler" => cluster::check_autoscaler(errors, new),
        "PodDisruptionBudget" => cluster::check_budget(errors, new),
        "Ingress" => networking::check_ingress(errors, new),
        "NetworkPolicy" => networking::check_network_policy(errors, new),
        "EndpointSlice" => networking::check_endpoint_slice(errors, new, old),
        "Lease" => cluster::check_lease(errors, new),
        "Event" => events::check_new_event(errors, new, old),
        "Role" | "ClusterRole" => access::check_role(errors, new, info.namespaced),
        "RoleBinding" | "ClusterRoleBinding" => access::check_binding(errors, new, old, info.namespaced),
        "PriorityClass" => cluster::check_priority(errors, new, old),
        "StorageClass" => storage::check_class(errors, new, old),
        "ValidatingAdmissionPolicy" => policies::check_policy(errors, new),
        "ValidatingAdmissionPolicyBinding" => policies::check_binding(errors, new),
        "MutatingAdmissionPolicy" => mutating_policies::check_policy(errors, new),
        "MutatingAdmissionPolicyBinding" => mutating_policies::check_binding(errors, new),
        _ => {}
    }
}

fn validate_status(errors: &mut Errors, info: &TypeInfo, new: &Value, old: &Value) {
    match info.kind.as_str() {
        "Pod" => pod_updates::check_status(errors, new, old),
        "Service" => services::check_status(errors, new),
        "Namespace" => cluster::check_namespace_status(errors, new),
        "ValidatingAdmissionPolicy" => policies::check_status(errors, new),
        "Job" => jobs::check_status(errors, new, old),
        kind @ ("Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "ReplicationController") => {
            workloads::check_status(errors, kind, new, old);
        }
        "PodDisruptionBudget" => {
            let counters = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
            values::all_nonnegative(
                errors,
                &crate::field::FieldPath::of("status"),
                &new["status"],
                &counters,
            );
        }
        _ => {}
    }
}

/// Warnings about an object of a built-in type that is accepted.
pub(crate) fn warnings(info: &TypeInfo, new: &Value) -> Vec<String> {
    match (info.resource.group.as_str(), info.kind.as_str()) {
        ("", "Service") => services::warnings(new),
        _ => Vec::new(),
    }
}

/// Whether an update to the main resource of a built-in type raises `metadata.generation`.
pub(crate) fn raises_generation(info: &TypeInfo, new: &Value, old: &Value) -> bool {
    let differs = |field: &str| new[field] != old[field];
    let metadata_differs = |field: &str| new["metadata"][field] != old["metadata"][field];
    if !info.has_generation {
        return false;
    }
    match info.kind.as_str() {
        "PriorityClass" => false,
        // Annotations are copied to the replica sets.
        "Deployment" => differs("spec") || metadata_differs("annotations"),
        "EndpointSlice" => {
            metadata_differs("labels") || ["addressType", "endpoints", "ports"].into_iter().any(differs)
        }
        "PodTemplate" => differs("template"),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => differs("webhooks"),
        _ => differs("spec"),
    }
}

/// Whether the status that a client sends on create is kept: nodes register themselves with theirs.
pub(crate) fn keeps_status_on_create(info: &TypeInfo) -> bool {
    info.origin == Origin::BuiltIn && info.kind == "Node"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Types;
    use serde_json::json;
    use std::sync::Arc;

    fn info(kind: &str) -> Arc<TypeInfo> {
        Types::built_in().iter().find(|info| info.kind == kind).cloned().unwrap_or_else(|| panic!("{kind}"))
    }

    fn defaulted(info: &TypeInfo, mut object: Value) -> Value {
        defaults::set_defaults(info, &mut object);
        object
    }

    /// Sets defaults on both objects and prepares the new one.
    pub(super) fn prepared(kind: &str, old: Option<Value>, new: Value, subresource: Option<&str>) -> Value {
        let info = info(kind);
        let old = old.map(|old| defaulted(&info, old));
        let mut new = defaulted(&info, new);
        prepare(&info, old.as_ref(), &mut new, subresource);
        new
    }

    /// Sets defaults on both objects and compares the errors of the new one.
    pub(super) fn check(kind: &str, old: Option<Value>, new: Value, expected: &[&str]) {
        check_on(kind, None, old, new, expected);
    }

    /// As [`check`], for a write to a subresource.
    pub(super) fn check_on(
        kind: &str,
        subresource: Option<&str>,
        old: Option<Value>,
        new: Value,
        expected: &[&str],
    ) {
        let info = info(kind);
        let old = old.map(|old| defaulted(&info, old));
        let new = defaulted(&info, new);
        let errors: Vec<String> =
            validate(&info, &new, old.as_ref(), subresource).iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected, "{kind} {new:#}");
    }

    #[test]
    fn generation_counts_what_it_should() {
        let object =
            |spec: i32, note: &str| json!({ "metadata": { "annotations": { "a": note } }, "spec": spec });
        for (kind, new, expected) in [
            ("Deployment", object(2, "x"), true),
            ("Deployment", object(1, "y"), true),
            ("Deployment", object(1, "x"), false),
            ("StatefulSet", object(1, "y"), false),
            ("ConfigMap", object(2, "x"), false),
        ] {
            assert_eq!(raises_generation(&info(kind), &new, &object(1, "x")), expected, "{kind}");
        }
    }

    #[test]
    fn nothing_panics_on_broken_objects() {
        let odd = [
            json!(null),
            json!([]),
            json!({ "metadata": [], "spec": "x", "status": 1, "data": [1] }),
            json!({ "spec": { "template": [], "containers": [1, []], "ports": [null], "selector": 3, "schedule": "1/2/3 ä - , *" } }),
        ];
        let subresources =
            [None, Some("status"), Some("resize"), Some("ephemeralcontainers"), Some("finalize")];
        for info in Types::built_in().iter() {
            for (new, old) in odd.iter().flat_map(|new| odd.iter().map(move |old| (new, old))) {
                for subresource in subresources {
                    let mut new = new.clone();
                    prepare(info, Some(old), &mut new, subresource);
                    validate(info, &new, Some(old), subresource);
                    prepare(info, None, &mut new, subresource);
                    validate(info, &new, None, subresource);
                }
            }
        }
    }
}
