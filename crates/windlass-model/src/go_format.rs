//! Values as Go prints them, for messages that Kubernetes makes with `%v` and its like.

use serde_json::Value;

use crate::field::quoted;

/// A value as Go's `%v` prints it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(name, value)| format!("{name}:{}", plain(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}

/// A value as Go's `%#v` prints it.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quoted(text),
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(name, value)| format!("{}:{}", quoted(name), go_syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// The Go type that a JSON value is decoded into.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
