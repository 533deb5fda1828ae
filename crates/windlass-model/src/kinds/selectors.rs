//! Label selectors: whether they are well-formed, and what they match.

use serde_json::Value;

use super::values::Errors;
use crate::field::FieldPath;
use crate::labels;
use crate::selector::from_label_selector_object;

/// Checks the keys and values of a map of labels.
pub(super) fn check_labels(errors: &mut Errors, path: &FieldPath, labels: &Value) {
    errors.extend(labels::validate(labels, path));
}

/// Checks a label selector; an absent one is fine.
pub(super) fn check_selector(errors: &mut Errors, path: &FieldPath, selector: &Value) {
    errors.extend(from_label_selector_object(selector, path).err().into_iter().flatten());
}

/// Whether a label selector asks for nothing in particular. An absent one is not empty: it matches nothing.
pub(super) fn is_empty(selector: &Value) -> bool {
    from_label_selector_object(selector, &FieldPath::root()).is_ok_and(|selector| selector.is_everything())
}

/// Whether labels do not match a selector that can be read. An absent selector matches nothing, an empty one
/// everything.
pub(super) fn excludes(selector: &Value, labels: &Value) -> bool {
    from_label_selector_object(selector, &FieldPath::root()).is_ok_and(|selector| !selector.matches(labels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_match_labels() {
        let labels = json!({ "a": "1", "b": "2" });
        for (selector, expected) in [
            (json!(null), false),
            (json!({}), true),
            (json!({ "matchLabels": { "a": "1" } }), true),
            (json!({ "matchLabels": { "a": "2" } }), false),
            (json!({ "matchExpressions": [{ "key": "a", "operator": "In", "values": ["1", "3"] }] }), true),
            (json!({ "matchExpressions": [{ "key": "a", "operator": "NotIn", "values": ["1"] }] }), false),
            (json!({ "matchExpressions": [{ "key": "c", "operator": "NotIn", "values": ["1"] }] }), true),
            (json!({ "matchExpressions": [{ "key": "c", "operator": "Exists" }] }), false),
            (json!({ "matchExpressions": [{ "key": "c", "operator": "DoesNotExist" }] }), true),
        ] {
            assert_eq!(excludes(&selector, &labels), !expected, "{selector}");
        }
    }

    #[test]
    fn broken_selectors_are_named() {
        for (expression, expected) in [
            (
                json!({ "key": "a", "operator": "In" }),
                "spec.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ),
            (
                json!({ "key": "a", "operator": "Exists", "values": ["x"] }),
                "spec.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
            (
                json!({ "key": "a", "operator": "Equals" }),
                "spec.matchExpressions[0].operator: Invalid value: \"Equals\": not a valid selector operator",
            ),
        ] {
            let mut errors = Errors::new();
            check_selector(&mut errors, &FieldPath::of("spec"), &json!({ "matchExpressions": [expression] }));
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
        }
    }
}
