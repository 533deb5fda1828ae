//! Whether a custom resource fits its schema, in the words of Kubernetes.

pub(super) mod checker;
mod combinators;
mod constraints;
mod correlate;
pub(super) mod embedded;
pub(super) mod formats;
mod lists;
pub(super) mod rules;
mod types;
mod uri;

use serde_json::Value;

use super::Schema;
use crate::field::{FieldError, FieldErrorKind, FieldPath};
use checker::Checker;
use correlate::Correlated;

/// Validates a new object, or a change of an old one. Errors have paths below `path`.
///
/// Of a change, an invalid part that has not changed is tolerated. Rules are checked only if the object
/// is sound otherwise.
pub(crate) fn validate(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    path: &FieldPath,
) -> Vec<FieldError> {
    let checker = Checker::new(path);
    let mut errors = match old {
        None => checker.check_new(schema, new),
        Some(old) => checker.check_update(&Correlated::root(schema, new, old)),
    };
    errors.extend(embedded::check(schema, new, path));
    errors.extend(list_errors(schema, new, old, path));
    append_rules(&mut errors, schema, new, old, path);
    errors
}

/// Validates a change that went through the status subresource. The shape is checked in status only, lists and
/// rules in the whole object.
pub(crate) fn validate_status(schema: &Schema, new: &Value, old: &Value) -> Vec<FieldError> {
    let root = FieldPath::root();
    let path = root.child("status");
    let mut errors = match (new.get("status"), schema.child("status")) {
        (Some(status), Some(below)) => match Correlated::root(schema, new, old).key("status") {
            Some(correlated) => Checker::new(&path).check_update(&correlated),
            None => Checker::new(&path).check_new(below, status),
        },
        _ => Vec::new(),
    };
    errors.extend(list_errors(schema, new, Some(old), &root));
    append_rules(&mut errors, schema, new, Some(old), &root);
    errors
}

/// Lists that were not unique before need not become so.
fn list_errors(schema: &Schema, new: &Value, old: Option<&Value>, path: &FieldPath) -> Vec<FieldError> {
    let errors = lists::check(schema, new, path);
    if !errors.is_empty() && old.is_some_and(|old| !lists::check(schema, old, path).is_empty()) {
        return Vec::new();
    }
    errors
}

fn append_rules(
    errors: &mut Vec<FieldError>,
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    path: &FieldPath,
) {
    if !rules::has_rules(schema) {
        return;
    }
    let blocking = |error: &FieldError| {
        use FieldErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
        matches!(error.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid)
    };
    if errors.iter().any(blocking) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        errors.push(FieldError::invalid(&FieldPath::root(), Value::Null, detail));
    } else {
        errors.extend(rules::check(schema, new, old, path, true));
    }
}

#[cfg(test)]
mod tests;
