//! Bounds, lengths, patterns, enums: what one keyword says about one value.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::checker::{Checker, Findings};
use super::formats;
use super::types::is_whole;
use crate::field::{FieldError, quoted, shown_float};
use crate::schema::Constraints;

/// What strings and numbers must be.
pub(super) fn check_scalar(
    checker: &Checker<'_>,
    limits: &Constraints,
    value: &Value,
    name: &str,
    findings: &mut Findings,
) {
    match value {
        Value::String(text) => {
            findings.errors.extend(check_string(checker, limits, text, name));
            let format = limits.format.as_deref().unwrap_or("");
            if let Some(accepts) = formats::find(format) {
                findings.matches += 1;
                if !accepts(text) {
                    let detail = format!("{name} in body must be of type {format}: {}", quoted(text));
                    findings.errors.push(FieldError::type_invalid(
                        &checker.path(name),
                        text.as_str(),
                        detail,
                    ));
                }
            }
        }
        Value::Number(number) => match number.as_i64() {
            Some(number) => check_integer(checker, limits, number, name, findings),
            None => check_float(checker, limits, number.as_f64().unwrap_or(0.0), name, findings),
        },
        _ => {}
    }
}

/// Only the first failure is reported.
fn check_string(checker: &Checker<'_>, limits: &Constraints, text: &str, name: &str) -> Option<FieldError> {
    let length = text.chars().count() as u64;
    if let Some(max) = limits.max_length.filter(|max| length > *max) {
        return Some(FieldError::too_long(&checker.path(name), usize::try_from(max).unwrap_or(usize::MAX)));
    }
    if let Some(min) = limits.min_length.filter(|min| length < *min) {
        return Some(checker.invalid(name, text, format!("should be at least {min} chars long")));
    }
    let pattern = limits.pattern.as_ref().filter(|pattern| !pattern.matches(text))?;
    Some(checker.invalid(name, text, format!("should match '{}'", pattern.source)))
}

/// For integers the bounds are cut to integers too, as Kubernetes does.
fn check_integer(
    checker: &Checker<'_>,
    limits: &Constraints,
    number: i64,
    name: &str,
    findings: &mut Findings,
) {
    let mut fail = |value: i64, detail: String| findings.errors.push(checker.invalid(name, value, detail));
    if let Some(factor) = limits.multiple_of.map(|factor| factor as i64) {
        if factor > 0 && number % factor != 0 {
            fail(number, format!("should be a multiple of {factor}"));
        }
        if factor <= 0 {
            findings.errors.push(not_positive(checker, name, factor.into(), factor.to_string()));
        }
    }
    let mut fail = |detail: String| findings.errors.push(checker.invalid(name, number, detail));
    if let Some(min) = limits.minimum.map(|min| min as i64) {
        match limits.exclusive_minimum {
            true if number <= min => fail(format!("should be greater than {min}")),
            false if number < min => fail(format!("should be greater than or equal to {min}")),
            _ => {}
        }
    }
    if let Some(max) = limits.maximum.map(|max| max as i64) {
        match limits.exclusive_maximum {
            true if number >= max => fail(format!("should be less than {max}")),
            false if number > max => fail(format!("should be less than or equal to {max}")),
            _ => {}
        }
    }
}

fn check_float(
    checker: &Checker<'_>,
    limits: &Constraints,
    number: f64,
    name: &str,
    findings: &mut Findings,
) {
    if let Some(factor) = limits.multiple_of {
        let quotient = if factor < 1.0 { 1.0 / factor * number } else { number / factor };
        let shown = shown_float(factor);
        if factor <= 0.0 {
            findings.errors.push(not_positive(checker, name, factor.into(), shown));
        } else if !is_whole(quotient) {
            findings.errors.push(checker.invalid(name, number, format!("should be a multiple of {shown}")));
        }
    }
    let mut fail = |detail: String| findings.errors.push(checker.invalid(name, number, detail));
    if let Some(min) = limits.minimum {
        let shown = shown_float(min);
        match limits.exclusive_minimum {
            true if number <= min => fail(format!("should be greater than {shown}")),
            false if number < min => fail(format!("should be greater than or equal to {shown}")),
            _ => {}
        }
    }
    if let Some(max) = limits.maximum {
        let shown = shown_float(max);
        match limits.exclusive_maximum {
            true if number >= max => fail(format!("should be less than {shown}")),
            false if number > max => fail(format!("should be less than or equal to {shown}")),
            _ => {}
        }
    }
}

fn not_positive(checker: &Checker<'_>, name: &str, factor: Value, shown: String) -> FieldError {
    let detail = format!("factor MultipleOf declared for {name} must be positive: {shown}");
    FieldError::invalid(&checker.path(name), factor, detail)
}

/// How many items a list has, and whether they differ.
pub(super) fn check_list(
    checker: &Checker<'_>,
    limits: &Constraints,
    items: &[Value],
    name: &str,
    findings: &mut Findings,
) {
    let size = items.len();
    if let Some(min) = limits.min_items.filter(|min| (size as u64) < *min) {
        findings.errors.push(checker.invalid(name, size, format!("should have at least {min} items")));
    }
    if let Some(max) = limits.max_items.filter(|max| size as u64 > *max) {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        findings.errors.push(FieldError::too_many(&checker.path(name), size, max));
    }
    if limits.unique_items && items.iter().map(Value::to_string).collect::<BTreeSet<_>>().len() < size {
        findings.errors.push(checker.invalid(name, "", "shouldn't contain duplicates".to_owned()));
    }
}

/// How many fields an object has, and whether it may have any.
pub(super) fn check_properties(
    checker: &Checker<'_>,
    limits: &Constraints,
    map: &Map<String, Value>,
    name: &str,
    findings: &mut Findings,
) {
    let size = map.len();
    if let Some(min) = limits.min_properties.filter(|min| (size as u64) < *min) {
        findings.errors.push(checker.invalid(name, size, format!("should have at least {min} properties")));
    }
    if let Some(max) = limits.max_properties.filter(|max| size as u64 > *max) {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        findings.errors.push(FieldError::too_many(&checker.path(name), size, max));
    }
    for key in map.keys().filter(|_| limits.closed) {
        let detail = format!("{name}.{key} in body is a forbidden property");
        findings.errors.push(FieldError::invalid(&checker.path(name), key.as_str(), detail));
    }
}

/// Whether a value is one of those allowed. Null never is, even if it is listed.
pub(super) fn check_enum(
    checker: &Checker<'_>,
    limits: &Constraints,
    value: &Value,
    name: &str,
) -> Option<FieldError> {
    if limits.allowed.is_empty() || limits.allowed.iter().any(|allowed| same(value, allowed)) {
        return None;
    }
    let shown: Vec<String> = limits
        .allowed
        .iter()
        .map(|allowed| allowed.as_str().map_or_else(|| allowed.to_string(), str::to_owned))
        .collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    Some(FieldError::not_supported(&checker.path(name), value.clone(), &shown))
}

/// Numbers are compared as numbers of the kind that the enum lists.
fn same(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) => false,
        (Value::Number(value), Value::Number(allowed)) => match allowed.as_i64() {
            Some(allowed) => {
                value.as_i64().or_else(|| value.as_f64().map(|value| value as i64)) == Some(allowed)
            }
            None => value.as_f64() == allowed.as_f64(),
        },
        _ => value == allowed,
    }
}
