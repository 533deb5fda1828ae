//! Whether the numbers that the scale subresource reads are numbers of replicas.

use serde_json::Value;

use crate::field::{FieldError, FieldPath};
use crate::types::Scale;

/// Validates the fields that the scale subresource of a custom resource shows.
pub(crate) fn validate_scale(scale: &Scale, object: &Value) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = [&scale.spec_replicas, &scale.status_replicas]
        .into_iter()
        .filter_map(|path| check_replicas(path, object))
        .collect();
    if let Some(path) = &scale.label_selector
        && let Some(value) = find(path, object).filter(|value| !value.is_string())
    {
        errors.push(FieldError::invalid(&FieldPath::of(path), "", type_mismatch(path, value, "string")));
    }
    errors
}

fn check_replicas(path: &str, object: &Value) -> Option<FieldError> {
    let at = FieldPath::of(path);
    if let Some(obstacle) = obstacle(path, object) {
        let why = type_mismatch(path, obstacle, "map[string]interface{}");
        return Some(FieldError::invalid(&at, 0, why));
    }
    let value = find(path, object)?;
    match value.as_i64() {
        None => Some(FieldError::invalid(&at, 0, type_mismatch(path, value, "int64"))),
        Some(count) if count < 0 => Some(FieldError::invalid(&at, count, "should be a non-negative integer")),
        Some(count) if count > i64::from(i32::MAX) => {
            Some(FieldError::invalid(&at, count, format!("should be less than or equal to {}", i32::MAX)))
        }
        Some(_) => None,
    }
}

/// What stands on the way and is no object.
fn obstacle<'a>(path: &str, object: &'a Value) -> Option<&'a Value> {
    let mut value = object;
    for name in path.strip_prefix('.').unwrap_or(path).split('.') {
        if !value.is_object() {
            return Some(value);
        }
        value = value.get(name)?;
    }
    None
}

/// Follows the names between the dots.
fn find<'a>(path: &str, object: &'a Value) -> Option<&'a Value> {
    path.strip_prefix('.').unwrap_or(path).split('.').try_fold(object, |value, name| value.get(name))
}

fn type_mismatch(path: &str, value: &Value, wanted: &str) -> String {
    let found = match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let path = path.strip_prefix('.').unwrap_or(path);
    format!(".{path} accessor error: {shown} is of the type {found}, expected {wanted}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replicas_must_be_numbers() {
        let scale = Scale {
            spec_replicas: ".spec.replicas".to_owned(),
            status_replicas: ".status.replicas".to_owned(),
            label_selector: Some(".status.selector".to_owned()),
        };
        let cases = [
            (json!({"spec": {"replicas": 1}, "status": {"replicas": 0, "selector": "a=b"}}), None),
            (json!({}), None),
            (
                json!({"spec": {"replicas": -1}}),
                Some(".spec.replicas: Invalid value: -1: should be a non-negative integer"),
            ),
            (
                json!({"status": {"replicas": 3_000_000_000_u32}}),
                Some(
                    ".status.replicas: Invalid value: 3000000000: should be less than or equal to 2147483647",
                ),
            ),
            (
                json!({"spec": {"replicas": "1"}}),
                Some(
                    ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1 is of the type string, expected int64",
                ),
            ),
            (
                json!({"status": {"selector": 1}}),
                Some(
                    ".status.selector: Invalid value: \"\": .status.selector accessor error: 1 is of the type int64, expected string",
                ),
            ),
        ];
        for (object, wanted) in cases {
            let found: Vec<String> =
                validate_scale(&scale, &object).iter().map(ToString::to_string).collect();
            assert_eq!(found, wanted.into_iter().collect::<Vec<_>>(), "{object}");
        }
    }
}
