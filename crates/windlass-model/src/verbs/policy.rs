//! Where built-in types differ in how they may be written and deleted.

use crate::types::{Origin, TypeInfo};

/// What becomes of dependents if neither the request nor the object says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DependentsPolicy {
    /// They are deleted in the background.
    Delete,
    /// They stay.
    Orphan,
    /// The type has none: the collector's finalizers are never set.
    Unsupported,
}

/// Whether a PUT may create the object.
pub(super) fn allows_create_on_update(info: &TypeInfo) -> bool {
    matches!(
        built_in(info),
        Some(
            ("", "endpoints" | "events" | "limitranges" | "services")
                | ("events.k8s.io", "events")
                | ("coordination.k8s.io", "leases" | "leasecandidates")
                | ("node.k8s.io", "runtimeclasses")
                | (
                    "rbac.authorization.k8s.io",
                    "roles" | "rolebindings" | "clusterroles" | "clusterrolebindings"
                )
        )
    )
}

/// Whether an update without a resource version overwrites whatever is there.
pub(super) fn allows_unconditional_update(info: &TypeInfo) -> bool {
    match built_in(info) {
        None => false,
        Some(("apiextensions.k8s.io" | "apiregistration.k8s.io", _)) => false,
        Some(("admissionregistration.k8s.io" | "coordination.k8s.io" | "node.k8s.io", _)) => false,
        Some(("internal.apiserver.k8s.io" | "storagemigration.k8s.io", _)) => false,
        Some(("policy", "poddisruptionbudgets")) => false,
        Some(("certificates.k8s.io", plural)) => plural == "certificatesigningrequests",
        Some(("storage.k8s.io", plural)) => matches!(plural, "storageclasses" | "volumeattributesclasses"),
        Some(_) => true,
    }
}

impl TypeInfo {
    /// Whether a delete answers with the object instead of a `Status`.
    pub fn returns_deleted_object(&self) -> bool {
        match built_in(self) {
            Some(("", plural)) => matches!(
                plural,
                "namespaces"
                    | "persistentvolumeclaims"
                    | "persistentvolumes"
                    | "pods"
                    | "podtemplates"
                    | "resourcequotas"
                    | "serviceaccounts"
                    | "services"
            ),
            Some(("resource.k8s.io", _)) => true,
            Some(("storage.k8s.io", plural)) => plural != "csistoragecapacities",
            _ => false,
        }
    }
}

/// What becomes of dependents by default.
pub(super) fn dependents(info: &TypeInfo) -> DependentsPolicy {
    match built_in(info) {
        Some(("" | "events.k8s.io", "events")) => DependentsPolicy::Unsupported,
        Some(("", "replicationcontrollers") | ("batch", "jobs")) => DependentsPolicy::Orphan,
        _ => DependentsPolicy::Delete,
    }
}

/// Whether a write to the status subresource leaves labels, annotations, finalizers and owners alone.
pub(super) fn status_keeps_metadata(info: &TypeInfo) -> bool {
    match built_in(info) {
        None => true,
        Some((group, plural)) => matches!(
            (group, plural),
            ("", "pods")
                | ("admissionregistration.k8s.io", "validatingadmissionpolicies")
                | ("certificates.k8s.io", "podcertificaterequests")
                | ("internal.apiserver.k8s.io", "storageversions")
                | ("networking.k8s.io", "servicecidrs")
                | ("resource.k8s.io", "resourceclaims" | "devicetaintrules")
                | ("storage.k8s.io", "volumeattachments")
                | ("storagemigration.k8s.io", "storageversionmigrations")
        ),
    }
}

/// The key that etcd would have, which Kubernetes shows in failed preconditions.
pub(super) fn storage_path(info: &TypeInfo, namespace: &str, name: &str) -> String {
    let (group, plural) = (info.resource.group.as_str(), info.resource.plural.as_str());
    let prefix = match (built_in(info), group) {
        (None, _) | (_, "apiextensions.k8s.io") => format!("{group}/{plural}"),
        (Some(("", "replicationcontrollers")), _) => "controllers".to_owned(),
        (Some(("", "endpoints")), _) => "services/endpoints".to_owned(),
        (Some(("", "nodes")), _) => "minions".to_owned(),
        (Some(("", "services")), _) => "services/specs".to_owned(),
        (Some(("networking.k8s.io", "ingresses")), _) => "ingress".to_owned(),
        _ => plural.to_owned(),
    };
    if namespace.is_empty() {
        format!("/registry/{prefix}/{name}")
    } else {
        format!("/registry/{prefix}/{namespace}/{name}")
    }
}

fn built_in(info: &TypeInfo) -> Option<(&str, &str)> {
    (info.origin == Origin::BuiltIn).then_some((&info.resource.group, &info.resource.plural))
}
