//! What Go's JSON decoder says about a value that does not fit its type.

use serde_json::Value;

use crate::field::quoted;

/// A value that is no field of a struct: `json: cannot unmarshal array into Go value of type v1.ObjectMeta`.
pub(crate) fn into_value(value: &Value, go_type: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {go_type}", found(value, go_type))
}

/// A field of a struct: `json: cannot unmarshal number into Go struct field ObjectMeta.name of type string`.
pub(crate) fn into_field(value: &Value, field: &str, go_type: &str) -> String {
    format!("json: cannot unmarshal {} into Go struct field {field} of type {go_type}", found(value, go_type))
}

/// The JSON type of a value, as the decoder names it.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A number that is no integer of the right size is shown itself.
fn found(value: &Value, go_type: &str) -> String {
    match value {
        Value::Number(number) if matches!(go_type, "int32" | "int64") => format!("number {number}"),
        _ => json_type(value).to_owned(),
    }
}

/// The parts of a time, as Go writes them.
pub(crate) const TIME: &[&str] = &["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00"];
/// The same with microseconds.
pub(crate) const MICRO_TIME: &[&str] =
    &["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", ".000000", "Z07:00"];

/// The message of Go's `time.Parse` for the first part of a text that is no RFC 3339 time.
pub(crate) fn into_time(text: &str, layout: &[&str]) -> String {
    let mut rest = text;
    let mut part = "";
    for wanted in layout.iter().copied() {
        part = wanted;
        let fits = |head: &str| {
            wanted.bytes().zip(head.bytes()).all(|(want, got)| match want.is_ascii_digit() {
                true => got.is_ascii_digit(),
                false => want == got,
            })
        };
        match rest.split_at_checked(wanted.len()) {
            Some((head, tail)) if wanted != "Z07:00" && fits(head) => rest = tail,
            _ => break,
        }
    }
    format!(
        "parsing time {} as {}: cannot parse {} as {}",
        quoted(text),
        quoted(&layout.concat()),
        quoted(rest),
        quoted(part)
    )
}
