//! The fields that no manager ever owns: those the server sets, and those a request may not change.

use std::sync::LazyLock;

use super::field_set::FieldSet;
use crate::types::{Origin, TypeInfo};

/// Fields that identify an object or that the server keeps; they are never in `managedFields`.
pub(super) static SERVER_FIELDS: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_names(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// Fields that a write to a resource or subresource leaves as they are, so that it cannot own them.
pub(super) fn unchangeable_fields(info: &TypeInfo, subresource: Option<&str>) -> FieldSet {
    if !info.has_status {
        return FieldSet::new();
    }
    FieldSet::of_names(match (info.origin, subresource) {
        (Origin::Custom, Some("status")) => &[&["spec"]],
        (Origin::BuiltIn, Some("status")) => by_built_in_status(info),
        (Origin::BuiltIn, Some("approval")) => &[&["spec"], &["status", "certificate"]],
        (Origin::BuiltIn, None) if info.resource.plural == "certificatesigningrequests" => {
            &[&["spec"], &["status"]]
        }
        _ => &[&["status"]],
    })
}

fn by_built_in_status(info: &TypeInfo) -> &'static [&'static [&'static str]] {
    match (info.resource.group.as_str(), info.resource.plural.as_str()) {
        ("", "pods") => &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
        ("apps", "deployments") => &[&["spec"], &["metadata", "labels"]],
        ("certificates.k8s.io", "certificatesigningrequests") => &[&["spec"], &["status", "conditions"]],
        ("apiextensions.k8s.io", "customresourcedefinitions")
        | ("admissionregistration.k8s.io", "validatingadmissionpolicies")
        | ("flowcontrol.apiserver.k8s.io", "flowschemas" | "prioritylevelconfigurations")
        | ("resource.k8s.io", "resourceclaims" | "devicetaintrules")
        | ("storage.k8s.io", "volumeattachments")
        | ("storagemigration.k8s.io", "storageversionmigrations")
        | ("internal.apiserver.k8s.io", "storageversions") => &[&["spec"], &["metadata"]],
        _ => &[&["spec"]],
    }
}
