//! Claims, volumes and storage classes.

use serde_json::{Map, Value};

use super::resources::check_amount;
use super::selectors::check_selector;
use super::values::{Errors, entries, immutable, invalid_all, list, one_of_if_set, put, required, text};
use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;
use windlass_cel::formats::quantity::Quantity;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// Keeps `dataSource` and `dataSourceRef` of a claim in step.
pub(super) fn prepare_claim(claim: &mut Map<String, Value>) {
    let Some(spec) = claim.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let (source, reference) = (spec.get("dataSource").cloned(), spec.get("dataSourceRef").cloned());
    match (source, reference) {
        (Some(source), None) => put(spec, "dataSourceRef", source),
        (None, Some(reference)) if text(&reference["namespace"]).is_empty() => {
            put(spec, "dataSource", reference)
        }
        _ => {}
    }
}

/// The rules of PersistentVolumeClaims.
pub(super) fn check_claim(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let path = FieldPath::of("spec");
    check_claim_spec(errors, &path, &new["spec"]);
    let Some(old) = old else { return };
    if frozen(new, old, &new["spec"]) != frozen(new, old, &old["spec"]) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.push(FieldError::forbidden(&path, detail));
    }
    let size = |size: &Value| Quantity::parse(text(size)).ok();
    let asked = |claim: &Value| size(&claim["spec"]["resources"]["requests"]["storage"]);
    let has = size(&old["status"]["capacity"]["storage"]);
    let shrinks = asked(new).zip(asked(old)).is_some_and(|(new, old)| new < old);
    if shrinks && asked(new).zip(has).is_none_or(|(new, has)| new <= has) {
        let path = FieldPath::of("spec.resources.requests.storage");
        errors.push(FieldError::forbidden(&path, "field can not be less than status.capacity"));
    }
    immutable(errors, &FieldPath::of("volumeMode"), &new["spec"]["volumeMode"], &old["spec"]["volumeMode"]);
}

/// The part of a claim's spec that must not change: all but what binding and growing change.
fn frozen(new: &Value, old: &Value, spec: &Value) -> Value {
    let mut spec = spec.clone();
    let Some(fields) = spec.as_object_mut() else { return spec };
    if text(&old["spec"]["volumeName"]).is_empty() {
        fields.remove("volumeName");
    }
    if old["spec"]["storageClassName"].is_null() {
        fields.remove("storageClassName");
    }
    if new["status"]["phase"] == "Bound" {
        fields.remove("volumeAttributesClassName");
        let requests = fields.get_mut("resources").and_then(|resources| resources.get_mut("requests"));
        requests.and_then(Value::as_object_mut).map(|requests| requests.remove("storage"));
    }
    spec
}

/// The rules of a claim's spec, also in a StatefulSet.
pub(super) fn check_claim_spec(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let modes = list(&spec["accessModes"]);
    if modes.is_empty() {
        errors.push(FieldError::required(&path.child("accessModes"), "at least 1 access mode is required"));
    }
    check_selector(errors, &path.child("selector"), &spec["selector"]);
    check_access_modes(errors, &path.child("accessModes"), modes);
    let (storage_path, storage) =
        (path.child("resources").key("storage"), &spec["resources"]["requests"]["storage"]);
    match Quantity::parse(text(storage)) {
        _ if storage.is_null() => errors.push(FieldError::required(&storage_path, "")),
        Ok(size) if size.is_zero() || size.is_negative() => {
            errors.push(FieldError::invalid(&storage_path, storage.clone(), "must be greater than zero"));
        }
        _ => check_amount(errors, &storage_path, "storage", storage),
    }
    for field in ["storageClassName", "volumeAttributesClassName"]
        .into_iter()
        .filter(|it| !text(&spec[*it]).is_empty())
    {
        invalid_all(
            errors,
            &path.child(field),
            &spec[field],
            names::is_dns1123_subdomain(text(&spec[field])),
        );
    }
    one_of_if_set(errors, &path.child("volumeMode"), &spec["volumeMode"], &["Block", "Filesystem"]);
}

fn check_access_modes(errors: &mut Errors, path: &FieldPath, modes: &[Value]) {
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(&text(mode))) {
        errors.push(FieldError::not_supported(path, mode.clone(), &ACCESS_MODES));
    }
    let exclusive = |mode: &&Value| **mode == "ReadWriteOncePod";
    if modes.iter().any(|mode| exclusive(&mode)) && !modes.iter().all(|mode| exclusive(&mode)) {
        errors.push(FieldError::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
}

/// What a volume can be on.
const VOLUME_SOURCES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "glusterfs",
    "hostPath",
    "iscsi",
    "local",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// The rules of PersistentVolumes.
pub(super) fn check_volume(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    let modes = list(&spec["accessModes"]);
    if modes.is_empty() {
        errors.push(FieldError::required(&path.child("accessModes"), ""));
    }
    check_access_modes(errors, &path.child("accessModes"), modes);
    let capacity: Vec<&str> = entries(&spec["capacity"]).map(|(name, _)| name.as_str()).collect();
    if capacity.is_empty() {
        errors.push(FieldError::required(&path.child("capacity"), ""));
    }
    if capacity != ["storage"] {
        let path = path.child("capacity");
        errors.push(FieldError::not_supported(&path, spec["capacity"].clone(), &["storage"]));
    }
    for (name, amount) in entries(&spec["capacity"]) {
        check_amount(errors, &path.child("capacity").key(name), name, amount);
    }
    let is_source = |name: &str| VOLUME_SOURCES.contains(&name);
    if !entries(spec).any(|(name, source)| is_source(name) && source.is_object()) {
        errors.push(FieldError::required(&path, "must specify a volume type"));
    }
    let policies = ["Delete", "Recycle", "Retain"];
    let policy = "persistentVolumeReclaimPolicy";
    one_of_if_set(errors, &path.child(policy), &spec[policy], &policies);
    one_of_if_set(errors, &path.child("volumeMode"), &spec["volumeMode"], &["Block", "Filesystem"]);
    if let Some(old) = old {
        immutable(errors, &FieldPath::of("volumeMode"), &spec["volumeMode"], &old["spec"]["volumeMode"]);
    }
}

/// The rules of StorageClasses.
pub(super) fn check_class(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let path = FieldPath::of;
    if let Some(old) = old {
        for field in
            ["parameters", "provisioner", "reclaimPolicy"].into_iter().filter(|it| new[*it] != old[*it])
        {
            errors.push(FieldError::forbidden(&path(field), format!("updates to {field} are forbidden.")));
        }
        immutable(errors, &path("volumeBindingMode"), &new["volumeBindingMode"], &old["volumeBindingMode"]);
        return;
    }
    let provisioner = &new["provisioner"];
    required(errors, &path("provisioner"), provisioner);
    if !text(provisioner).is_empty() {
        let lower = text(provisioner).to_lowercase();
        invalid_all(errors, &path("provisioner"), &lower.as_str().into(), names::is_qualified_name(&lower));
    }
    one_of_if_set(errors, &path("reclaimPolicy"), &new["reclaimPolicy"], &["Delete", "Retain"]);
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of_if_set(errors, &path("volumeBindingMode"), &new["volumeBindingMode"], &modes);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, prepared};
    use serde_json::{Value, json};

    fn claim(more: Value) -> Value {
        let mut spec =
            json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "2Gi" } } });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "spec": spec })
    }

    #[test]
    fn claims_ask_for_something() {
        check("PersistentVolumeClaim", None, claim(json!({})), &[]);
        check(
            "PersistentVolumeClaim",
            None,
            json!({}),
            &[
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        );
        check(
            "PersistentVolumeClaim",
            None,
            claim(json!({ "accessModes": ["RWO"] })),
            &[
                "spec.accessModes: Unsupported value: \"RWO\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"",
            ],
        );
    }

    #[test]
    fn claims_are_bound_once_and_only_grow() {
        check("PersistentVolumeClaim", Some(claim(json!({}))), claim(json!({ "volumeName": "v" })), &[]);
        check(
            "PersistentVolumeClaim",
            Some(claim(json!({ "volumeName": "v" }))),
            claim(json!({ "volumeName": "w" })),
            &[
                "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
            ],
        );
        let bound = |size: &str| {
            let mut claim = claim(json!({ "resources": { "requests": { "storage": size } } }));
            claim["status"] = json!({ "phase": "Bound", "capacity": { "storage": "2Gi" } });
            claim
        };
        check("PersistentVolumeClaim", Some(bound("2Gi")), bound("3Gi"), &[]);
        check(
            "PersistentVolumeClaim",
            Some(bound("2Gi")),
            bound("1Gi"),
            &["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
        );
    }

    #[test]
    fn data_sources_stay_in_step() {
        let source = json!({ "kind": "PersistentVolumeClaim", "name": "a" });
        let claim = prepared("PersistentVolumeClaim", None, claim(json!({ "dataSource": source })), None);
        // The group of a reference is written even where there is none.
        let shown = json!({ "apiGroup": null, "kind": "PersistentVolumeClaim", "name": "a" });
        assert_eq!((&claim["spec"]["dataSource"], &claim["spec"]["dataSourceRef"]), (&shown, &shown));
    }

    #[test]
    fn classes_do_not_change() {
        let class = |provisioner: &str| json!({ "provisioner": provisioner });
        check("StorageClass", None, json!({}), &["provisioner: Required value"]);
        check(
            "StorageClass",
            Some(class("a")),
            class("b"),
            &["provisioner: Forbidden: updates to provisioner are forbidden."],
        );
    }
}
