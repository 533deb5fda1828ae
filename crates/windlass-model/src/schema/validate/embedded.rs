//! Whether embedded resources are resources: apiVersion, kind and metadata.

use serde_json::{Map, Value};

use crate::field::{FieldError, FieldPath};
use crate::schema::Schema;
use crate::schema::object_meta;
use windlass_cel::formats::names;

/// Validates apiVersion, kind and metadata of the resources embedded in a value.
pub(in crate::schema) fn check(schema: &Schema, value: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, value, path, &mut errors);
    errors
}

fn walk(schema: &Schema, value: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(map) => {
            if schema.embedded_resource {
                check_resource(map, path, errors);
            }
            for (key, value) in map {
                if let Some(field) = schema.field(key) {
                    walk(field, value, &path.child(key), errors);
                } else if let Some(values) = schema.values() {
                    walk(values, value, &path.key(key), errors);
                }
            }
        }
        Value::Array(items) => {
            let Some(below) = schema.items() else { return };
            for (index, item) in items.iter().enumerate() {
                walk(below, item, &path.index(index), errors);
            }
        }
        _ => {}
    }
}

fn check_resource(map: &Map<String, Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for field in ["apiVersion", "kind"] {
        let path = path.child(field);
        match map.get(field) {
            None => errors.push(FieldError::required(&path, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&path, "", "must not be empty"));
            }
            Some(Value::String(text)) => errors.extend(check_text(field, text, &path)),
            Some(other) => errors.push(FieldError::invalid(&path, other.clone(), "must be a string")),
        }
    }
    let Some(metadata) = map.get("metadata") else { return };
    let path = path.child("metadata");
    match object_meta::readable(metadata) {
        Err(why) => errors.push(FieldError::invalid(&path, metadata.clone(), why)),
        Ok(()) => check_metadata(metadata, &path, errors),
    }
}

fn check_text(field: &str, text: &str, path: &FieldPath) -> Option<FieldError> {
    if field == "apiVersion" {
        let slashes = text.matches('/').count();
        let detail = format!("unexpected GroupVersion string: {text}");
        return (slashes > 1).then(|| FieldError::invalid(path, text, detail));
    }
    let broken = names::is_dns1035_label(&text.to_lowercase());
    let detail = format!("may have mixed case, but should otherwise match: {}", broken.join(","));
    (!broken.is_empty()).then(|| FieldError::invalid(path, text, detail))
}

fn check_metadata(metadata: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let text = |field: &str| metadata[field].as_str().unwrap_or("").to_owned();
    for field in ["generateName", "name"] {
        let name = text(field);
        if field == "name" && (name == "." || name == "..") {
            errors.push(FieldError::invalid(
                &path.child(field),
                name,
                format!("may not be '{}'", text(field)),
            ));
            continue;
        }
        for part in ["/", "%"].into_iter().filter(|part| name.contains(part)) {
            let detail = format!("may not contain '{part}'");
            errors.push(FieldError::invalid(&path.child(field), name.as_str(), detail));
        }
    }
    let namespace = text("namespace");
    if !namespace.is_empty() {
        let broken = names::is_dns1123_label(&namespace);
        let at = path.child("namespace");
        errors.extend(broken.into_iter().map(|why| FieldError::invalid(&at, namespace.as_str(), why)));
    }
    if metadata["generation"].as_i64().is_some_and(|generation| generation < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(&path.child("generation"), metadata["generation"].clone(), detail));
    }
}
