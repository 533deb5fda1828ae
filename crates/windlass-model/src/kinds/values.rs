//! Reading fields of an object whatever their type, and the errors that many rules share.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;

/// The errors in an object.
pub(super) type Errors = Vec<FieldError>;

/// A string; anything else is the empty string, as in Go.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// A number; anything else is 0.
pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// The items of a list; anything else has none.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The entries of a map; anything else has none.
pub(super) fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The items of a list by name.
pub(super) fn named(items: &[Value]) -> BTreeMap<&str, &Value> {
    items.iter().map(|item| (text(&item["name"]), item)).collect()
}

/// A field that can be written to; made an object if it is something else.
pub(super) fn object_at<'a>(
    object: &'a mut Map<String, Value>,
    field: &str,
) -> Option<&'a mut Map<String, Value>> {
    let value = object.entry(field).or_insert_with(|| Map::new().into());
    if !value.is_object() {
        *value = Map::new().into();
    }
    value.as_object_mut()
}

/// Puts a value at a field, or removes the field if the value is null.
pub(super) fn put(object: &mut Map<String, Value>, field: &str, value: Value) {
    if value.is_null() {
        object.remove(field);
    } else {
        object.insert(field.to_owned(), value);
    }
}

/// Adds one `Invalid` error per message.
pub(super) fn invalid_all(errors: &mut Errors, path: &FieldPath, value: &Value, messages: Vec<String>) {
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path, value.clone(), message)));
}

/// A string must be one of a few.
pub(super) fn one_of(errors: &mut Errors, path: &FieldPath, value: &Value, allowed: &[&str]) {
    match text(value) {
        "" => errors.push(FieldError::required(path, "")),
        given if allowed.contains(&given) => {}
        _ => errors.push(FieldError::not_supported(path, value.clone(), allowed)),
    }
}

/// As [`one_of`], for a field that may be absent.
pub(super) fn one_of_if_set(errors: &mut Errors, path: &FieldPath, value: &Value, allowed: &[&str]) {
    if value.is_string() && !allowed.contains(&text(value)) {
        errors.push(FieldError::not_supported(path, value.clone(), allowed));
    }
}

/// A string must not be empty.
pub(super) fn required(errors: &mut Errors, path: &FieldPath, value: &Value) {
    if text(value).is_empty() {
        errors.push(FieldError::required(path, ""));
    }
}

/// A number must not be negative; an absent one is not.
pub(super) fn nonnegative(errors: &mut Errors, path: &FieldPath, value: &Value) {
    if number(value) < 0 {
        errors.push(FieldError::invalid(path, value.clone(), "must be greater than or equal to 0"));
    }
}

/// Several fields of an object must not be negative.
pub(super) fn all_nonnegative(errors: &mut Errors, path: &FieldPath, object: &Value, fields: &[&str]) {
    for field in fields {
        nonnegative(errors, &path.child(field), &object[*field]);
    }
}

/// A value must not change.
pub(super) fn immutable(errors: &mut Errors, path: &FieldPath, new: &Value, old: &Value) {
    if new != old {
        errors.push(FieldError::invalid(path, new.clone(), "field is immutable"));
    }
}

/// A number must be a port.
pub(super) fn port_number(errors: &mut Errors, path: &FieldPath, value: &Value) {
    let number = number(value);
    invalid_all(errors, path, &number.into(), names::is_valid_port_number(number));
}

/// What one counter of a status must not exceed.
pub(super) fn at_most(
    errors: &mut Errors,
    path: &FieldPath,
    status: &Value,
    field: &str,
    limit: &str,
    message: &str,
) {
    if number(&status[field]) > number(&status[limit]) {
        errors.push(FieldError::invalid(&path.child(field), number(&status[field]), message));
    }
}
