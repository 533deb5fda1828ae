//! Whether sets have no equal items, and lists with keys no two items of the same keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::field::{FieldError, FieldPath};
use crate::schema::{ListKind, Schema, Shape};

/// What is not unique although its list says so.
pub(super) fn check(schema: &Schema, value: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, value, path, &mut errors);
    errors
}

fn walk(schema: &Schema, value: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    match (value, &schema.shape) {
        (Value::Array(items), Shape::List { items: below, kind }) => {
            match kind {
                ListKind::Atomic => {}
                ListKind::Set => errors.extend(duplicates(items.iter().cloned(), path)),
                ListKind::Map(keys) => errors.extend(check_keys(keys, items, path)),
            }
            for (index, item) in items.iter().enumerate() {
                walk(below, item, &path.index(index), errors);
            }
        }
        (Value::Object(map), Shape::Map { values, .. }) => {
            for (key, value) in map {
                walk(values, value, &path.key(key), errors);
            }
        }
        (Value::Object(map), Shape::Object { fields, .. }) => {
            for (key, value) in map {
                if let Some(field) = fields.get(key.as_str()) {
                    walk(field, value, &path.child(key), errors);
                }
            }
        }
        _ => {}
    }
}

fn check_keys(keys: &[Box<str>], items: &[Value], path: &FieldPath) -> Vec<FieldError> {
    let misfit = items.iter().position(|item| !item.is_object() && !item.is_null());
    if let Some((index, item)) = misfit.and_then(|index| Some((index, items.get(index)?))) {
        let detail = "must be an object for an array of list-type map";
        return vec![FieldError::invalid(&path.index(index), item.clone(), detail)];
    }
    let key_of = |item: &Value| {
        let given = keys.iter().filter_map(|key| Some((key.to_string(), item.get(&**key)?.clone())));
        Value::Object(given.collect::<Map<_, _>>())
    };
    duplicates(items.iter().map(key_of), path)
}

/// The second occurrence of each value that occurs more than once.
fn duplicates(values: impl Iterator<Item = Value>, path: &FieldPath) -> Vec<FieldError> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut errors = Vec::new();
    for (index, value) in values.enumerate() {
        let times = seen.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            errors.push(FieldError::duplicate(&path.index(index), value));
        }
    }
    errors
}
