//! Whether a value has the JSON type that its schema wants.

use serde_json::Value;

use super::checker::{Checker, Findings};
use super::formats;
use crate::field::{FieldError, quoted};
use crate::schema::{Schema, Shape};

/// Beyond this, floating-point numbers cannot be distinguished from integers.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Checks the type, and counts it if it matches.
pub(super) fn check(
    checker: &Checker<'_>,
    schema: &Schema,
    value: &Value,
    name: &str,
    findings: &mut Findings,
) {
    let wanted = wanted_types(schema);
    let format = formats::known(schema).unwrap_or("");
    if wanted.is_empty() && format.is_empty() {
        return;
    }
    findings.matches += usize::from(!value.is_null());
    let (found, found_format) = json_type(value);
    let failure = if value.is_null() {
        (!wanted.is_empty() && !schema.nullable).then_some((wanted, "null"))
    } else if accepts(wanted, value, found) {
        None
    } else if format.is_empty() {
        Some((wanted, found))
    } else if matches!(value, Value::String(_) | Value::Array(_)) {
        // With a format, strings and lists are left to the check of the format.
        (wanted.contains("integer") || wanted.contains("number")).then_some((wanted, found))
    } else {
        Some((format, found_format))
    };
    match failure {
        None => findings.matches += 1,
        Some((wanted, found)) => {
            let detail = format!("{name} in body must be of type {wanted}: {}", quoted(found));
            findings.errors.push(FieldError::type_invalid(&checker.path(name), found, detail));
        }
    }
}

/// The types that OpenAPI allows, separated by commas; empty for any.
fn wanted_types(schema: &Schema) -> &'static str {
    if schema.shape == Shape::IntOrString { "integer,string" } else { schema.type_keyword() }
}

fn accepts(wanted: &str, value: &Value, found: &str) -> bool {
    wanted.is_empty()
        || wanted.split(',').any(|wanted| {
            wanted == found
                || wanted == "number" && found == "integer"
                || wanted == "integer" && value.as_f64().is_some_and(is_whole)
        })
}

/// The OpenAPI type and format of a value.
fn json_type(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        number if number.is_i64() => ("integer", "int64"),
        _ => ("number", "float64"),
    }
}

/// Whether a number has no fraction, within the precision of JSON numbers.
pub(super) fn is_whole(number: f64) -> bool {
    if !number.is_finite() || number.abs() > MAX_SAFE_INTEGER {
        return false;
    }
    let whole = number.trunc();
    let difference = (number - whole).abs();
    number == whole || whole != 0.0 && difference / (number.abs() + whole.abs()) < 1e-9
}
