//! What metadata of any object, and of the resources embedded in it, may hold.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::Schema;
use super::builtin;
use super::decode::decode;
use super::prune::join;
use crate::field::{FieldError, FieldPath};

static OBJECT_META: LazyLock<Arc<Schema>> =
    LazyLock::new(|| builtin::schema("meta.v1.ObjectMeta").unwrap_or_default());

/// Reads `metadata` of an object as `ObjectMeta`: drops unknown fields, returning their paths, and empty ones.
///
/// # Errors
/// The message of Kubernetes' decoder, if a field has the wrong JSON type.
pub(crate) fn decode_metadata(object: &mut Value) -> Result<Vec<String>, String> {
    decode_metadata_at(object, "")
}

fn decode_metadata_at(object: &mut Value, path: &str) -> Result<Vec<String>, String> {
    let Some(metadata) = object.get_mut("metadata") else { return Ok(Vec::new()) };
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    let unknown = decode(&OBJECT_META, metadata)?;
    drop_empty(metadata);
    Ok(unknown.into_iter().map(|field| join(&join(path, "metadata"), &field)).collect())
}

/// Like [`decode_metadata`], but drops what is malformed.
pub(super) fn drop_malformed(object: &mut Value) -> Vec<String> {
    if let Some(metadata) = object.get_mut("metadata") {
        if !metadata.is_object() {
            *metadata = Value::Object(Map::new());
        }
        if let Some(map) = metadata.as_object_mut() {
            map.retain(|name, value| {
                let field = OBJECT_META.field(name);
                field.is_none_or(|field| value.is_null() || decode(field, &mut value.clone()).is_ok())
            });
        }
    }
    decode_metadata(object).unwrap_or_default()
}

/// Fields of `ObjectMeta` are written only if they say something; those of owner references always.
fn drop_empty(metadata: &mut Value) {
    let Some(map) = metadata.as_object_mut() else { return };
    map.retain(|_, value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        other => other.as_i64() != Some(0),
    });
    let owners = map.get_mut("ownerReferences").and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten().filter_map(Value::as_object_mut) {
        for field in ["apiVersion", "kind", "name", "uid"] {
            owner.entry(field).or_insert_with(|| "".into());
        }
    }
}

/// Reads apiVersion, kind and metadata of all embedded resources; notes the unknown fields of metadata.
///
/// With `drop_invalid`, what is malformed is dropped instead of being an error.
pub(super) fn coerce_embedded(
    schema: &Schema,
    value: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
    drop_invalid: bool,
) -> Result<(), Box<FieldError>> {
    if schema.embedded_resource && value.is_object() {
        coerce_meta_fields(value, path, unknown, drop_invalid)?;
    }
    match value {
        Value::Object(map) => map.iter_mut().try_for_each(|(key, value)| match schema.child(key) {
            Some(below) => coerce_embedded(below, value, &join(path, key), unknown, drop_invalid),
            None => Ok(()),
        }),
        Value::Array(items) => {
            items.iter_mut().enumerate().try_for_each(|(index, item)| match schema.items() {
                Some(below) => {
                    coerce_embedded(below, item, &format!("{path}[{index}]"), unknown, drop_invalid)
                }
                None => Ok(()),
            })
        }
        _ => Ok(()),
    }
}

fn coerce_meta_fields(
    value: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
    drop_invalid: bool,
) -> Result<(), Box<FieldError>> {
    for field in ["apiVersion", "kind"] {
        let Some(found) = value.get(field).filter(|found| !found.is_string()) else { continue };
        if !drop_invalid {
            let path = FieldPath::of(&join(path, field));
            return Err(Box::new(FieldError::invalid(&path, found.clone(), "must be a string")));
        }
        if let Some(map) = value.as_object_mut() {
            map.remove(field);
        }
    }
    if drop_invalid {
        let dropped = drop_malformed(value);
        unknown.extend(dropped.into_iter().map(|field| join(path, &field)));
        return Ok(());
    }
    let before = value.get("metadata").cloned().unwrap_or_default();
    match decode_metadata_at(value, path) {
        Ok(mut fields) => unknown.append(&mut fields),
        Err(why) => {
            let path = FieldPath::of(&join(path, "metadata"));
            return Err(Box::new(FieldError::invalid(&path, before, why)));
        }
    }
    Ok(())
}

/// Whether metadata can be read as `ObjectMeta`.
///
/// # Errors
/// The message of Kubernetes' decoder.
pub(super) fn readable(metadata: &Value) -> Result<(), String> {
    decode(&OBJECT_META, &mut metadata.clone()).map(|_| ())
}
