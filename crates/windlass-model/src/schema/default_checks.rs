//! Whether the defaults of a schema fit the schema.

use super::validate::checker::Checker;
use super::validate::{embedded, rules};
use super::{Schema, Shape, object_meta, prune};
use crate::field::{FieldError, FieldPath};

/// Validates the defaults of the schema of a resource at `path`.
///
/// Each default must be pruned and valid, and must pass the rules both as a new value and as an old one.
pub(super) fn check(schema: &Schema, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // The root is a resource, whatever it says about itself.
    walk(&Schema { embedded_resource: true, ..schema.clone() }, path, &mut errors);
    errors
}

/// Values of maps are not visited: a default there has nothing to stand in for.
fn walk(schema: &Schema, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if schema.default.is_some() {
        errors.extend(check_default(schema, &path.child("default")));
    }
    match &schema.shape {
        Shape::List { items, .. } => walk(items, &path.child("items"), errors),
        Shape::Object { fields, .. } => {
            for (name, field) in fields {
                walk(field, &path.child("properties").key(name), errors);
            }
        }
        _ => {}
    }
}

fn check_default(schema: &Schema, path: &FieldPath) -> Vec<FieldError> {
    let Some(default) = &schema.default else { return Vec::new() };
    let mut errors = Vec::new();
    let mut pruned = default.clone();
    prune::prune_unknown(schema, &mut pruned);
    if pruned != *default {
        errors.push(FieldError::invalid(path, default.clone(), "must not have unknown fields"));
    }
    let coerced =
        object_meta::coerce_embedded(schema, &mut default.clone(), path.as_str(), &mut Vec::new(), false);
    let mut invalid = match coerced {
        Err(error) => vec![*error],
        Ok(()) => embedded::check(schema, default, path),
    };
    if invalid.is_empty() {
        invalid = Checker::new(path).check_new(schema, default);
    }
    if invalid.is_empty() {
        invalid = rules::check(schema, default, Some(default), path, false);
    }
    if invalid.is_empty() {
        invalid = rules::check(schema, default, None, path, false);
    }
    errors.append(&mut invalid);
    errors
}
