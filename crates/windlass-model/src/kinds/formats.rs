//! Fields that have a form: names of ports, counts that may be shares, DNS labels.

use serde_json::Value;

use super::values::{Errors, invalid_all, number, port_number, text};
use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;

/// A number of a port, or the name of one.
pub(super) fn port_number_or_name(errors: &mut Errors, path: &FieldPath, port: &Value) {
    match port {
        Value::String(name) => invalid_all(errors, path, port, names::is_valid_port_name(name)),
        _ => port_number(errors, path, port),
    }
}

/// A count, or a share such as `25%`.
pub(super) fn count_or_percent(errors: &mut Errors, path: &FieldPath, value: &Value) {
    match value {
        Value::String(share) => invalid_all(errors, path, value, names::is_valid_percent(share)),
        _ => super::values::nonnegative(errors, path, value),
    }
}

/// A share must not be more than all.
pub(super) fn at_most_100_percent(errors: &mut Errors, path: &FieldPath, value: &Value) {
    if percent(text(value)).is_some_and(|share| share > 100) {
        errors.push(FieldError::invalid(path, value.clone(), "must not be greater than 100%"));
    }
}

/// Whether a count or share is zero.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::String(share) => percent(share).unwrap_or(0) == 0,
        _ => number(value) == 0,
    }
}

fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%').filter(|_| names::is_valid_percent(text).is_empty())?;
    // A number too large for the type is certainly more than 100.
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// A string must be a DNS label.
pub(super) fn check_dns_label(errors: &mut Errors, path: &FieldPath, value: &Value) {
    invalid_all(errors, path, value, names::is_dns1123_label(text(value)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_and_shares() {
        for (value, ok, nothing) in [
            (json!(0), true, true),
            (json!(-1), false, false),
            (json!("25%"), true, false),
            (json!("0%"), true, true),
            (json!("x"), false, true),
        ] {
            let mut errors = Errors::new();
            count_or_percent(&mut errors, &FieldPath::of("x"), &value);
            assert_eq!(errors.is_empty(), ok, "{value}");
            assert_eq!(is_nothing(&value), nothing, "{value}");
        }
        let mut errors = Errors::new();
        at_most_100_percent(&mut errors, &FieldPath::of("x"), &json!("101%"));
        assert_eq!(errors.len(), 1);
    }
}
