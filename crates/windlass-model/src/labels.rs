//! The rule for labels, which objects and selectors share.

use serde_json::Value;
use windlass_cel::formats::names;

use crate::field::{FieldError, FieldPath, invalid_each};

/// Labels have qualified keys and values of at most 63 bytes.
pub(crate) fn validate(labels: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        errors.extend(invalid_each(path, key, names::is_qualified_name(key)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(invalid_each(path, value, names::is_valid_label_value(value)));
    }
    errors
}
