//! The rules for each part of `metadata` that do not depend on the kind.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::field::invalid_each;
use crate::field::{FieldError, FieldErrorKind, FieldPath, is_printable, quoted};
use crate::object::split_api_version;
use windlass_cel::formats::names;

/// Maximum total bytes of the keys and values of all annotations.
const ANNOTATION_BYTES_MAX: usize = 256 * 1024;
const FIELD_MANAGER_MAX: usize = 128;
const SUBRESOURCE_MAX: usize = 256;

/// Maximum number of errors about second controllers: each of them shows all references.
const CONTROLLER_ERRORS_MAX: usize = 8;
/// Keeps an object until its blocking dependents are gone.
pub(crate) const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
/// Keeps an object until its dependents have lost their owner.
pub(crate) const ORPHAN_FINALIZER: &str = "orphan";
/// Finalizers that need no domain.
pub(crate) const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", ORPHAN_FINALIZER, FOREGROUND_FINALIZER];

/// Annotations have qualified keys, in which case does not matter, and a limit on their sum.
pub(super) fn annotations(annotations: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut bytes = 0_usize;
    for (key, value) in entries(annotations) {
        errors.extend(invalid_each(path, key, names::is_qualified_name(&key.to_lowercase())));
        bytes = bytes.saturating_add(key.len()).saturating_add(value.as_str().map_or(0, str::len));
    }
    if bytes > ANNOTATION_BYTES_MAX {
        errors.push(FieldError::too_long(path, ANNOTATION_BYTES_MAX));
    }
    errors
}

/// Finalizers are qualified names, and dependents cannot be both orphaned and deleted.
pub(super) fn finalizers(finalizers: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in strings(finalizers) {
        errors.extend(invalid_each(path, name, names::is_qualified_name(name)));
    }
    if strings(finalizers).any(|name| name == ORPHAN_FINALIZER)
        && strings(finalizers).any(|name| name == FOREGROUND_FINALIZER)
    {
        let detail = format!("finalizer {ORPHAN_FINALIZER} and {FOREGROUND_FINALIZER} cannot be both set");
        errors.push(FieldError::invalid(path, finalizers.clone(), detail));
    }
    errors
}

/// Built-in types ask for a domain in front of every finalizer but the standard ones.
pub(super) fn built_in_finalizers(finalizers: &Value, path: &FieldPath) -> Vec<FieldError> {
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    strings(finalizers)
        .enumerate()
        .filter(|(_, name)| !name.contains('/') && !STANDARD_FINALIZERS.contains(name))
        .map(|(index, name)| FieldError::invalid(&path.index(index), name, detail))
        .collect()
}

/// While an object is being deleted, finalizers can only go.
pub(super) fn no_new_finalizers(new: &Value, old: &Value, path: &FieldPath) -> Option<FieldError> {
    let old: BTreeSet<&str> = strings(old).collect();
    let extra: BTreeSet<&str> = strings(new).filter(|name| !old.contains(name)).collect();
    if extra.is_empty() {
        return None;
    }
    let shown: Vec<String> = extra.iter().map(|name| quoted(name)).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        shown.join(", ")
    );
    Some(FieldError::forbidden(path, detail))
}

/// Owner references are complete, none is to an Event, and at most one is the controller.
pub(super) fn owner_references(references: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    let mut second_controllers = 0;
    let list = references.as_array().map_or(&[][..], Vec::as_slice);
    for reference in list {
        errors.extend(owner_reference(reference, path));
        if reference["controller"] != Value::Bool(true) {
            continue;
        }
        let this = format!("{}/{}", text(reference, "kind"), text(reference, "name"));
        match &controller {
            None => controller = Some(this),
            Some(_) if second_controllers == CONTROLLER_ERRORS_MAX => {}
            Some(first) => {
                second_controllers += 1;
                let shown: Vec<String> = list.iter().map(shown_owner).collect();
                let detail = format!(
                    "[{}]: Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}",
                    shown.join(",")
                );
                errors.push(invalid_without_value(path, detail));
            }
        }
    }
    errors
}

fn owner_reference(reference: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (api_version, kind) = (text(reference, "apiVersion"), text(reference, "kind"));
    // What is no group/version at all has no version either.
    let (group, version) =
        if api_version.matches('/').count() > 1 { ("", "") } else { split_api_version(api_version) };
    if version.is_empty() {
        let detail = "version must not be empty";
        errors.push(FieldError::invalid(&path.child("apiVersion"), api_version, detail));
    }
    for field in ["kind", "name", "uid"] {
        if text(reference, field).is_empty() {
            errors.push(FieldError::invalid(&path.child(field), "", "must not be empty"));
        }
    }
    if (group, version, kind) == ("", "v1", "Event") {
        let detail = format!("{}: /v1, Kind=Event is disallowed from being an owner", shown_owner(reference));
        errors.push(invalid_without_value(path, detail));
    }
    errors
}

/// An owner reference with its fields in the order in which Kubernetes prints them.
fn shown_owner(reference: &Value) -> String {
    let always = ["apiVersion", "kind", "name", "uid"];
    let mut parts: Vec<String> =
        always.iter().map(|field| format!("{field:?}:{}", Value::from(text(reference, field)))).collect();
    for field in ["controller", "blockOwnerDeletion"] {
        if let Some(flag) = reference[field].as_bool() {
            parts.push(format!("{field:?}:{flag}"));
        }
    }
    format!("{{{}}}", parts.join(","))
}

/// The value stands in the detail, since a JSON value would print with its fields sorted.
fn invalid_without_value(path: &FieldPath, detail: String) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, path, None, detail)
}

/// Entries of `managedFields` have a known operation and format and a proper manager.
pub(super) fn managed_fields(entries: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
        let path = path.index(index);
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            let detail = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(&path.child("operation"), operation, detail));
        }
        let fields_type = text(entry, "fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push(FieldError::invalid(&path.child("fieldsType"), fields_type, "must be `FieldsV1`"));
        }
        errors.extend(field_manager(text(entry, "manager"), &path.child("manager")));
        if text(entry, "subresource").len() > SUBRESOURCE_MAX {
            errors.push(FieldError::too_long(&path.child("subresource"), SUBRESOURCE_MAX));
        }
    }
    errors
}

/// A field manager has at most 128 bytes, all of printable characters.
pub(crate) fn field_manager(manager: &str, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > FIELD_MANAGER_MAX {
        errors.push(FieldError::too_long(path, FIELD_MANAGER_MAX));
        // One error per bad character of a name this long would only repeat itself.
        return errors;
    }
    for (position, character) in manager.char_indices().filter(|(_, character)| !is_printable(*character)) {
        let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(character));
        errors.push(FieldError::invalid(path, manager, detail));
    }
    errors
}

/// The field manager of a client that names none: what its user agent has before the first slash.
pub(crate) fn manager_of_user_agent(user_agent: &str) -> Option<String> {
    let mut manager = String::new();
    let product = user_agent.split('/').next().unwrap_or_default();
    for character in product.chars().filter(|character| is_printable(*character)) {
        if manager.len() + character.len_utf8() > FIELD_MANAGER_MAX {
            break;
        }
        manager.push(character);
    }
    (!manager.is_empty()).then_some(manager)
}

fn entries(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flat_map(Map::iter)
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().map(|item| item.as_str().unwrap_or_default())
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn user_agents_become_managers() {
        for (agent, manager) in [
            ("kubectl/v1.35 (linux)", Some("kubectl")),
            ("curl", Some("curl")),
            ("", None),
            ("/x", None),
            ("a\u{7}b/1", Some("ab")),
        ] {
            assert_eq!(manager_of_user_agent(agent).as_deref(), manager, "{agent}");
        }
        assert_eq!(manager_of_user_agent(&"é".repeat(100)).unwrap().len(), 128);
    }

    #[test]
    fn managers_are_short_and_printable() {
        let path = FieldPath::of("fieldManager");
        assert!(field_manager("a b é", &path).is_empty());
        assert_eq!(
            shown(&field_manager("a\u{7}", &path)),
            ["fieldManager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)"]
        );
        assert_eq!(
            shown(&field_manager(&"a".repeat(129), &path)),
            ["fieldManager: Too long: may not be more than 128 bytes"]
        );
    }

    #[test]
    fn owners() {
        let path = FieldPath::of("metadata.ownerReferences");
        let owner = |name: &str| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": "u", "controller": true});
        assert!(owner_references(&json!([owner("a")]), &path).is_empty());
        assert_eq!(
            shown(&owner_references(&json!([owner("a"), owner("b")]), &path)),
            [
                r#"metadata.ownerReferences: Invalid value: [{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","uid":"u","controller":true},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"b","uid":"u","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for ReplicaSet/a and ReplicaSet/b"#
            ]
        );
        assert_eq!(
            shown(&owner_references(&json!([{}]), &path)),
            [
                "metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty",
                "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
                "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
                "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
            ]
        );
        let event = json!([{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}]);
        assert_eq!(
            shown(&owner_references(&event, &path)),
            [
                r#"metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: /v1, Kind=Event is disallowed from being an owner"#
            ]
        );
    }

    #[test]
    fn finalizer_rules() {
        let path = FieldPath::of("metadata.finalizers");
        assert!(finalizers(&json!(["a", "example.com/b"]), &path).is_empty());
        assert_eq!(
            shown(&finalizers(&json!(["orphan", "foregroundDeletion"]), &path)),
            [
                r#"metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set"#
            ]
        );
        assert_eq!(
            shown(&built_in_finalizers(&json!(["kubernetes", "bare"]), &path)),
            [
                "metadata.finalizers[1]: Invalid value: \"bare\": name is neither a standard finalizer name nor is it fully qualified"
            ]
        );
        let error = no_new_finalizers(&json!(["b", "c", "a"]), &json!(["c"]), &path).unwrap();
        assert_eq!(
            error.to_string(),
            r#"metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a", "b"}"#
        );
    }

    #[test]
    fn managed_fields_entries() {
        let path = FieldPath::of("metadata.managedFields");
        let good = json!([{"operation": "Apply", "manager": "m", "fieldsType": "FieldsV1"}]);
        assert!(managed_fields(&good, &path).is_empty());
        let bad = json!([{"operation": "Delete", "fieldsType": "V2", "subresource": "s".repeat(257)}]);
        assert_eq!(
            shown(&managed_fields(&bad, &path)),
            [
                "metadata.managedFields[0].operation: Invalid value: \"Delete\": must be `Apply` or `Update`",
                "metadata.managedFields[0].fieldsType: Invalid value: \"V2\": must be `FieldsV1`",
                "metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes",
            ]
        );
    }

    #[test]
    fn annotations_have_a_limit_and_ignore_case() {
        let path = FieldPath::of("metadata.annotations");
        assert!(annotations(&json!({"EXAMPLE.com/A": "x"}), &path).is_empty());
        assert_eq!(
            shown(&annotations(&json!({"a": "x".repeat(256 * 1024)}), &path)),
            ["metadata.annotations: Too long: may not be more than 262144 bytes"]
        );
    }
}
