//! The rules for `metadata`: what a new object must say, and what an update may change.

mod rules;

use serde_json::Value;

use crate::field::{FieldError, FieldPath};
use crate::labels;
use crate::object;
use crate::time::Timestamp;
use crate::types::{Origin, TypeInfo};

pub(crate) use rules::field_manager;
pub(crate) use rules::manager_of_user_agent;
pub(crate) use rules::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER, STANDARD_FINALIZERS};
use windlass_cel::formats::names::{self, NameRule};

/// Validates the metadata of an object that is to be created. Its name has already been generated.
pub(crate) fn validate(info: &TypeInfo, object: &Value) -> Vec<FieldError> {
    let mut errors = validate_with(info, object, name_rule(info));
    if has_qualified_finalizers(info) {
        let path = FieldPath::of("metadata.finalizers");
        errors.extend(rules::built_in_finalizers(&object["metadata"]["finalizers"], &path));
    }
    errors
}

/// Validates the metadata of an object that is to replace another.
///
/// Kubernetes checks an update twice, once for all types and once for the type at hand, and reports
/// what it finds twice; so does this, since clients see it in the causes.
pub(crate) fn validate_update(info: &TypeInfo, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = validate_with(info, new, names::path_segment_name);
    let changes = validate_changes(new, old);
    errors.extend(changes.iter().cloned());
    errors.extend(changes);
    if has_qualified_finalizers(info) {
        let path = FieldPath::of("metadata.finalizers");
        errors.extend(rules::built_in_finalizers(&new["metadata"]["finalizers"], &path));
    }
    errors
}

/// Rule for the names of this type. Types that derive their names from their spec check the rest themselves.
pub(crate) fn name_rule(info: &TypeInfo) -> NameRule {
    if info.origin == Origin::Custom {
        return names::subdomain_name;
    }
    match (info.resource.group.as_str(), info.resource.plural.as_str()) {
        ("", "namespaces") | ("apps", "statefulsets") => names::label_name,
        ("", "services") => names::dns1035_name,
        // Unlike other path segments, these are held to the rule of a whole name even as a prefix.
        ("rbac.authorization.k8s.io", _) => |name, _| names::is_path_segment(name),
        ("policy", "poddisruptionbudgets") | ("certificates.k8s.io", "certificatesigningrequests") => {
            names::path_segment_name
        }
        ("coordination.k8s.io", "leasecandidates") => |name, _| names::is_config_map_key(name),
        _ => names::subdomain_name,
    }
}

/// Most built-in types want a domain in front of finalizers; a few groups are validated without that rule.
fn has_qualified_finalizers(info: &TypeInfo) -> bool {
    info.origin == Origin::BuiltIn
        && !matches!(
            info.resource.group.as_str(),
            "coordination.k8s.io" | "admissionregistration.k8s.io" | "node.k8s.io" | "apiextensions.k8s.io"
        )
}

fn validate_with(info: &TypeInfo, object: &Value, name_rule: NameRule) -> Vec<FieldError> {
    let root = FieldPath::of("metadata");
    let metadata = &object["metadata"];
    let mut errors = validate_name(object, name_rule, &root);
    errors.extend(validate_namespace(info, object, &root));
    let generation = object::generation(object);
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(&root.child("generation"), generation, detail));
    }
    errors.extend(labels::validate(&metadata["labels"], &root.child("labels")));
    errors.extend(rules::annotations(&metadata["annotations"], &root.child("annotations")));
    errors.extend(rules::owner_references(&metadata["ownerReferences"], &root.child("ownerReferences")));
    errors.extend(rules::finalizers(&metadata["finalizers"], &root.child("finalizers")));
    errors.extend(rules::managed_fields(&metadata["managedFields"], &root.child("managedFields")));
    errors
}

fn validate_name(object: &Value, rule: NameRule, root: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, prefix) = (object::name(object), object::meta_str(object, "generateName"));
    if !prefix.is_empty() {
        let path = root.child("generateName");
        errors
            .extend(rule(prefix, true).into_iter().map(|detail| FieldError::invalid(&path, prefix, detail)));
    }
    let path = root.child("name");
    if name.is_empty() {
        errors.push(FieldError::required(&path, "name or generateName is required"));
    } else {
        errors.extend(rule(name, false).into_iter().map(|detail| FieldError::invalid(&path, name, detail)));
    }
    errors
}

fn validate_namespace(info: &TypeInfo, object: &Value, root: &FieldPath) -> Vec<FieldError> {
    let path = root.child("namespace");
    let namespace = object::namespace(object);
    match (info.namespaced, namespace.is_empty()) {
        (true, true) => vec![FieldError::required(&path, "")],
        (true, false) => {
            let violations = names::label_name(namespace, false).into_iter();
            violations.map(|detail| FieldError::invalid(&path, namespace, detail)).collect()
        }
        (false, true) => Vec::new(),
        (false, false) => vec![FieldError::forbidden(&path, "not allowed on this type")],
    }
}

/// Checks immutable fields, and what is checked again on every update.
fn validate_changes(new: &Value, old: &Value) -> Vec<FieldError> {
    let root = FieldPath::of("metadata");
    let (after, before) = (&new["metadata"], &old["metadata"]);
    let mut errors = Vec::new();
    if object::is_deleting(old) {
        let path = root.child("finalizers");
        errors.extend(rules::no_new_finalizers(&after["finalizers"], &before["finalizers"], &path));
    }
    if object::resource_version(new).is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid(&root.child("resourceVersion"), "", detail));
    }
    let generation = object::generation(new);
    if generation < object::generation(old) {
        let detail = "must not be decremented";
        errors.push(FieldError::invalid(&root.child("generation"), generation, detail));
    }
    for (field, same) in IMMUTABLE {
        if !same(&after[*field], &before[*field]) {
            errors.push(FieldError::invalid(&root.child(field), shown(field, after), "field is immutable"));
        }
    }
    errors.extend(labels::validate(&after["labels"], &root.child("labels")));
    errors.extend(rules::annotations(&after["annotations"], &root.child("annotations")));
    errors.extend(rules::owner_references(&after["ownerReferences"], &root.child("ownerReferences")));
    errors.extend(rules::managed_fields(&after["managedFields"], &root.child("managedFields")));
    errors
}

/// Whether two values of a field are the same.
type Same = fn(&Value, &Value) -> bool;

/// The fields that no update may change, and when two values of each are the same.
const IMMUTABLE: &[(&str, Same)] = &[
    ("name", same_text),
    ("namespace", same_text),
    ("uid", same_text),
    ("creationTimestamp", same_time),
    ("deletionTimestamp", same_time),
    ("deletionGracePeriodSeconds", |one, other| one.as_i64() == other.as_i64()),
];

fn same_text(one: &Value, other: &Value) -> bool {
    one.as_str().unwrap_or_default() == other.as_str().unwrap_or_default()
}

fn same_time(one: &Value, other: &Value) -> bool {
    let time = |value: &Value| value.as_str().and_then(Timestamp::parse).map(Timestamp::unix_seconds);
    one == other || time(one) == time(other)
}

/// Texts print as the empty text where they are absent, everything else as null; times print in UTC.
fn shown(field: &str, metadata: &Value) -> Value {
    match (field, &metadata[field]) {
        ("name" | "namespace" | "uid", Value::Null) => "".into(),
        ("creationTimestamp" | "deletionTimestamp", Value::String(text)) => {
            Timestamp::parse(text).map_or_else(|| text.as_str().into(), |time| time.to_string().into())
        }
        (_, value) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::fixtures::{built_in, custom};

    fn shown(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_plain_object_is_fine() {
        let object = json!({"metadata": {
            "name": "a", "namespace": "default", "labels": {"app": "x"}, "annotations": {"Any.Case/key": "y"},
            "finalizers": ["example.com/f"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
        }});
        assert!(validate(&built_in("", "v1", "configmaps", "ConfigMap"), &object).is_empty());
        assert!(validate(&custom("example.com", "v1", "widgets", "Widget"), &object).is_empty());
    }

    #[test]
    fn names_follow_the_kind() {
        for (group, plural, name, good) in [
            ("", "configmaps", "a.b", true),
            ("", "configmaps", "A", false),
            ("", "namespaces", "a.b", false),
            ("", "services", "1a", false),
            ("", "services", "a1", true),
            ("apps", "statefulsets", "a.b", false),
            ("apps", "deployments", "a.b", true),
            ("rbac.authorization.k8s.io", "roles", "system:Node", true),
            ("rbac.authorization.k8s.io", "roles", "..", false),
            ("coordination.k8s.io", "leases", "A", false),
        ] {
            let info = built_in(group, "v1", plural, "Kind");
            let object = json!({"metadata": {"name": name, "namespace": "default"}});
            assert_eq!(validate(&info, &object).is_empty(), good, "{group} {plural} {name}");
        }
    }

    #[test]
    fn name_and_namespace_must_be_there() {
        let info = custom("example.com", "v1", "widgets", "Widget");
        assert_eq!(
            shown(&validate(&info, &json!({}))),
            [
                "metadata.name: Required value: name or generateName is required",
                "metadata.namespace: Required value",
            ]
        );
        let mut cluster = info;
        cluster.namespaced = false;
        let object =
            json!({"metadata": {"name": "a", "namespace": "b", "generateName": "Bad", "generation": -1}});
        let errors = shown(&validate(&cluster, &object));
        assert!(errors[0].starts_with("metadata.generateName: Invalid value: \"Bad\": a lowercase RFC 1123"));
        assert_eq!(errors[1], "metadata.namespace: Forbidden: not allowed on this type");
        assert_eq!(errors[2], "metadata.generation: Invalid value: -1: must be greater than or equal to 0");
    }

    #[test]
    fn bare_finalizers_are_refused_or_warned_about() {
        let object = json!({"metadata": {"name": "a", "namespace": "b", "finalizers": ["bare"]}});
        let built_in = built_in("", "v1", "configmaps", "ConfigMap");
        let custom = custom("example.com", "v1", "widgets", "Widget");
        assert_eq!(validate(&built_in, &object).len(), 1);
        assert_eq!(validate(&custom, &object).len(), 0);
    }

    fn update(change: &[(&str, Value)]) -> Vec<String> {
        let old = json!({"metadata": {
            "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "5", "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-02T00:00:00Z",
            "deletionGracePeriodSeconds": 0, "finalizers": ["example.com/old"],
        }});
        let mut new = old.clone();
        for (field, value) in change {
            object::set_meta(&mut new, field, value.clone());
        }
        let errors = validate_update(&custom("example.com", "v1", "widgets", "Widget"), &new, &old);
        let mut shown = shown(&errors);
        shown.dedup();
        shown
    }

    #[test]
    fn updates_keep_what_is_immutable() {
        assert!(update(&[]).is_empty());
        assert!(update(&[("creationTimestamp", json!("2026-01-01T01:00:00+01:00"))]).is_empty());
        for (field, value, error) in [
            ("name", json!("c"), "metadata.name: Invalid value: \"c\": field is immutable"),
            ("uid", json!("v"), "metadata.uid: Invalid value: \"v\": field is immutable"),
            (
                "creationTimestamp",
                Value::Null,
                "metadata.creationTimestamp: Invalid value: null: field is immutable",
            ),
            (
                "deletionGracePeriodSeconds",
                json!(5),
                "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
            ),
            (
                "resourceVersion",
                json!(""),
                "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
            ),
            ("generation", json!(2), "metadata.generation: Invalid value: 2: must not be decremented"),
            (
                "finalizers",
                json!(["example.com/new", "example.com/old"]),
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"example.com/new\"}",
            ),
        ] {
            assert_eq!(update(&[(field, value)]), [error], "{field}");
        }
        assert!(update(&[("finalizers", json!([]))]).is_empty());
    }

    #[test]
    fn updates_validate_labels_three_times() {
        let info = custom("example.com", "v1", "widgets", "Widget");
        let object =
            json!({"metadata": {"name": "a", "namespace": "b", "resourceVersion": "1", "labels": {"-": ""}}});
        assert_eq!(validate_update(&info, &object, &object).len(), 3);
    }
}
