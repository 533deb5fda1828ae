//! The schema of the fields that every object has: apiVersion, kind and metadata.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use crate::object;
use crate::schema::{Schema, Shape};
use crate::schema::{builtin, is_zero};
use crate::types::{Origin, TypeInfo};

static STRING: LazyLock<Schema> = LazyLock::new(|| Schema { shape: Shape::String, ..Schema::default() });
static METADATA: LazyLock<Arc<Schema>> =
    LazyLock::new(|| builtin::schema("meta.v1.ObjectMeta").unwrap_or_default());

/// The schema of a field that every object has.
pub(super) fn field_of_any_object(name: &str) -> Option<&'static Schema> {
    match name {
        "apiVersion" | "kind" => Some(&STRING),
        "metadata" => Some(&METADATA),
        _ => None,
    }
}

/// What an object is compared with when it has no history.
///
/// An object of a built-in type is never without what its Go type holds by value and always writes, so the
/// zero values of these have no owner.
pub(super) fn blank(info: &TypeInfo) -> Value {
    let mut blank = unspecified(info);
    if let (Origin::BuiltIn, Some(fields)) = (info.origin, blank.as_object_mut()) {
        fields.extend(blank_fields(&info.schema, true));
    }
    blank
}

/// An object of a type that says nothing but its type.
pub(super) fn unspecified(info: &TypeInfo) -> Value {
    serde_json::json!({"apiVersion": api_version(info), "kind": info.kind})
}

/// `apps/v1`, as it stands in objects and in `managedFields`.
pub(super) fn api_version(info: &TypeInfo) -> String {
    object::api_version(&info.resource.group, &info.resource.version)
}

fn blank_fields(schema: &Schema, at_root: bool) -> Map<String, Value> {
    let Shape::Object { fields, .. } = &schema.shape else { return Map::new() };
    let by_value = |name: &str, field: &Schema| {
        let main_part = at_root && matches!(name, "metadata" | "spec" | "status");
        main_part
            || !field.nullable && field.default.as_ref().and_then(Value::as_object).is_some_and(Map::is_empty)
    };
    let mut blank = Map::new();
    for (name, field) in fields {
        match &field.shape {
            Shape::Object { .. } if by_value(name, field) => {
                blank.insert(name.to_string(), Value::Object(blank_fields(field, false)));
            }
            Shape::Object { .. } => {}
            _ => {
                let zero = field.default.as_ref().filter(|zero| !field.nullable && is_zero(zero));
                blank.extend(zero.map(|zero| (name.to_string(), zero.clone())));
            }
        }
    }
    blank
}
