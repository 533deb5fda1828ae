//! What Go says when a map, put together from an object and a patch, does not become the object's type again.

use serde_json::Value;

use super::{Schema, Shape};
use crate::go_format::go_type;

/// The first value that does not fit the Go type behind a schema; `None` if all do.
///
/// What has a notation of its own, such as a quantity or a time, is left to the ordinary decoder.
pub(crate) fn restore_problem(schema: &Schema, value: &Value) -> Option<String> {
    let kind = || match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => go_type(other),
    };
    match (&schema.shape, value) {
        (_, Value::Null) | (Shape::Any | Shape::IntOrString, _) => None,
        _ if has_notation(schema) => None,
        (Shape::Object { .. }, Value::Object(map)) => map
            .iter()
            .find_map(|(name, value)| schema.child(name).and_then(|field| restore_problem(field, value))),
        (Shape::Map { values, .. }, Value::Object(map)) => {
            map.values().find_map(|value| restore_problem(values, value))
        }
        (Shape::List { items, .. }, Value::Array(list)) => {
            list.iter().find_map(|item| restore_problem(items, item))
        }
        (Shape::Object { .. }, _) => Some(format!("cannot restore struct from: {}", kind())),
        (Shape::Map { .. }, _) => Some(format!("cannot restore map from {}", kind())),
        (Shape::List { .. }, _) => Some(format!("cannot restore slice from {}", kind())),
        (Shape::Boolean, Value::Bool(_)) | (Shape::String, Value::String(_)) => None,
        (Shape::Integer | Shape::Number, Value::Number(_)) => None,
        // Go has a conversion from numbers to text, which the converter does not use.
        (Shape::String, Value::Number(number)) if !number.is_f64() => {
            Some("cannot convert int64 to string".to_owned())
        }
        (Shape::Boolean, _) => Some("unrecognized type: bool".to_owned()),
        (Shape::String, _) => Some("unrecognized type: string".to_owned()),
        (Shape::Integer, _) => Some(format!("unrecognized type: {}", integer_type(schema))),
        (Shape::Number, _) => Some("unrecognized type: float64".to_owned()),
    }
}

fn format(schema: &Schema) -> &str {
    schema.constraints.as_ref().and_then(|constraints| constraints.format.as_deref()).unwrap_or_default()
}

fn has_notation(schema: &Schema) -> bool {
    !matches!(format(schema), "" | "int32" | "int64" | "double")
}

fn integer_type(schema: &Schema) -> &'static str {
    if format(schema) == "int32" { "int32" } else { "int64" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::builtin;

    #[test]
    fn problems_are_reported_as_in_go() {
        let schema = builtin::schema("core.v1.Service").expect("services are built in");
        for (object, expected) in [
            (json!({"metadata": {"labels": {"a": "b"}}, "spec": {"ports": [{"port": 80}]}}), None),
            (json!({"metadata": {"labels": ["a"]}}), Some("cannot restore map from slice")),
            (json!({"metadata": {"labels": "a"}}), Some("cannot restore map from string")),
            (json!({"metadata": {"finalizers": {}}}), Some("cannot restore slice from map")),
            (json!({"spec": true}), Some("cannot restore struct from: bool")),
            (json!({"spec": {"ports": [{"port": "80"}]}}), Some("unrecognized type: int32")),
            (json!({"spec": {"clusterIP": 1}}), Some("cannot convert int64 to string")),
            (json!({"spec": {"ports": [{"targetPort": "http"}]}, "unknown": 1}), None),
        ] {
            assert_eq!(restore_problem(&schema, &object).as_deref(), expected, "{object}");
        }
    }
}
