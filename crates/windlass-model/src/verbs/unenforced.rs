//! What is stored without the effect that it has in Kubernetes: whoever writes it is warned.

use serde_json::Value;

use crate::types::{Origin, TypeInfo};

use super::body::is_definition;

/// The labels by which a namespace asks for pods to be checked.
const POD_SECURITY: [&str; 3] = [
    "pod-security.kubernetes.io/enforce",
    "pod-security.kubernetes.io/warn",
    "pod-security.kubernetes.io/audit",
];

/// What a written object asks for and does not get, if anything.
pub(super) fn warning(info: &TypeInfo, new: &Value) -> Option<String> {
    if info.origin != Origin::BuiltIn {
        return None;
    }
    let has_items = |value: &Value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    };
    let (what, why) = match (info.resource.group.as_str(), info.kind.as_str()) {
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) if has_items(&new["webhooks"]) => {
            (format!("{}.webhooks", info.kind), "admission webhooks are not called")
        }
        ("", "ResourceQuota") if has_items(&new["spec"]["hard"]) => {
            ("spec.hard".to_owned(), "quotas are neither counted nor checked")
        }
        ("", "LimitRange") if has_items(&new["spec"]["limits"]) => {
            ("spec.limits".to_owned(), "limits are neither set nor checked")
        }
        ("", "Namespace") => {
            let asked = |label: &&&str| !new["metadata"]["labels"][**label].is_null();
            let label = POD_SECURITY.iter().find(asked)?;
            (format!("metadata.labels[{label}]"), "pods are not checked against security standards")
        }
        ("", "Pod") if new["spec"]["runtimeClassName"].is_string() => {
            ("spec.runtimeClassName".to_owned(), "there are no runtime classes")
        }
        _ if is_definition(info) && new["spec"]["conversion"]["strategy"] == "Webhook" => {
            let why = "conversion webhooks are not called, versions differ in apiVersion alone";
            ("spec.conversion".to_owned(), why)
        }
        _ => return None,
    };
    Some(format!("{what}: stored but not enforced by Windlass: {why}"))
}
