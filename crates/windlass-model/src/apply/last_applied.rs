//! The annotation in which `kubectl apply` without `--server-side` keeps what it applied.
//!
//! It lets kubectl move an object from client-side to server-side apply without conflicts.

use serde_json::Value;

use super::compare::compare;
use super::field_set::FieldSet;
use super::ownership::fields_of;
use super::path_element::json;
use super::type_ref::TypeRef;
use super::validate;
use crate::object;

/// The field manager for which the annotation is honoured.
pub(super) const MANAGER: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Maximum total bytes of the annotations of an object.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// The fields that client-side apply set and that have not changed since; `None` if it never ran.
pub(super) fn unchanged_fields(root: TypeRef<'_>, live: &Value, api_version: &str) -> Option<FieldSet> {
    let text = object::annotation(live, ANNOTATION).filter(|text| !text.is_empty())?;
    let applied: Value = serde_json::from_str(text).ok()?;
    if applied["apiVersion"].as_str() != Some(api_version) || !validate::findings(root, &applied).is_empty() {
        return None;
    }
    let comparison = compare(root, &applied, live).ok()?;
    let mut fields = fields_of(root, &applied);
    let (written, removed) = comparison.into_written_and_removed();
    fields.subtract(&written);
    fields.subtract(&removed);
    Some(fields)
}

/// Brings the annotation up to date, if the object has it.
pub(super) fn refresh(new: &mut Value, config: &Value) {
    if object::annotation(new, ANNOTATION).is_none_or(str::is_empty) {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    let Some(annotations) = new.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), format!("{}\n", json(&config)).into());
    let bytes: usize =
        annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if bytes > MAX_ANNOTATION_BYTES {
        annotations.remove(ANNOTATION);
    }
}
