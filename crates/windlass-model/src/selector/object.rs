//! Selectors that stand in objects: `matchLabels` and `matchExpressions`.

use serde_json::{Value, json};

use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;

use crate::labels;
use crate::selector::label::{LabelSelector, Operator, Requirement};

/// Reads a `LabelSelector` object that stands at `path`. Null selects nothing, `{}` everything.
pub(crate) fn from_label_selector_object(
    selector: &Value,
    path: &FieldPath,
) -> Result<LabelSelector, Vec<FieldError>> {
    if selector.is_null() {
        return Ok(LabelSelector::Nothing);
    }
    let mut errors = labels::validate(&selector["matchLabels"], &path.child("matchLabels"));
    let mut requirements = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        let values = vec![value.as_str().unwrap_or_default().to_owned()];
        requirements.push(Requirement { key: key.clone(), operator: Operator::Equals, values });
    }
    let expressions = selector["matchExpressions"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, expression) in expressions.iter().enumerate() {
        match read_expression(expression, &path.child("matchExpressions").index(index)) {
            Ok(requirement) => requirements.push(requirement),
            Err(invalid) => errors.extend(invalid),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    requirements.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(LabelSelector::All(requirements))
}

/// The written form of a selector in an object: a `LabelSelector`, a plain map of labels, or already text.
///
/// A selector that makes no sense has none.
pub(crate) fn selector_text(selector: &Value) -> String {
    if let Some(text) = selector.as_str() {
        return text.to_owned();
    }
    let read = |selector: &Value| from_label_selector_object(selector, &FieldPath::root());
    let selector = if selector["matchLabels"].is_object() || selector["matchExpressions"].is_array() {
        read(selector)
    } else {
        read(&json!({ "matchLabels": selector }))
    };
    selector.map(|selector| selector.to_string()).unwrap_or_default()
}

fn read_expression(expression: &Value, path: &FieldPath) -> Result<Requirement, Vec<FieldError>> {
    let mut errors = Vec::new();
    let key = expression["key"].as_str().unwrap_or_default();
    let values: Vec<String> = expression["values"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|value| value.as_str().unwrap_or_default().to_owned())
        .collect();
    let operator = match read_operator(expression, &values, path) {
        Ok(operator) => Some(operator),
        Err(error) => {
            errors.push(error);
            None
        }
    };
    let key_path = path.child("key");
    errors.extend(
        names::is_qualified_name(key).into_iter().map(|detail| FieldError::invalid(&key_path, key, detail)),
    );
    for (index, value) in values.iter().enumerate() {
        let path = path.child("values").index(index);
        let violations = names::is_valid_label_value(value);
        errors
            .extend(violations.into_iter().map(|detail| FieldError::invalid(&path, value.as_str(), detail)));
    }
    match operator {
        Some(operator) if errors.is_empty() => Ok(Requirement { key: key.to_owned(), operator, values }),
        _ => Err(errors),
    }
}

fn read_operator(expression: &Value, values: &[String], path: &FieldPath) -> Result<Operator, FieldError> {
    let (operator, takes_values) = match expression["operator"].as_str().unwrap_or_default() {
        "In" => (Operator::In, true),
        "NotIn" => (Operator::NotIn, true),
        "Exists" => (Operator::Exists, false),
        "DoesNotExist" => (Operator::DoesNotExist, false),
        other => {
            let path = path.child("operator");
            return Err(FieldError::invalid(&path, other, "not a valid selector operator"));
        }
    };
    let path = path.child("values");
    match (takes_values, values.is_empty()) {
        (true, true) => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            Err(FieldError::required(&path, detail))
        }
        (false, false) => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            Err(FieldError::forbidden(&path, detail))
        }
        _ => Ok(operator),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(selector: Value) -> Result<LabelSelector, Vec<String>> {
        from_label_selector_object(&selector, &FieldPath::of("spec.selector"))
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn prints_as_text() {
        for (selector, printed) in [
            (json!({}), ""),
            (json!({"matchLabels": {"b": "2", "a": "1"}}), "a=1,b=2"),
            (
                json!({"matchLabels": {"b": ""}, "matchExpressions": [
                    {"key": "c", "operator": "In", "values": ["y", "x"]},
                    {"key": "a", "operator": "NotIn", "values": ["z"]},
                    {"key": "d", "operator": "Exists"},
                    {"key": "e", "operator": "DoesNotExist", "values": []},
                ]}),
                "a notin (z),b=,c in (x,y),d,!e",
            ),
        ] {
            assert_eq!(read(selector).unwrap().to_string(), printed);
        }
        assert_eq!(read(Value::Null), Ok(LabelSelector::Nothing));
        assert!(read(json!({})).unwrap().is_everything());
    }

    #[test]
    fn selectors_read_as_kubectl_writes_them() {
        for (selector, text) in [
            (json!("app=web,tier in (a,b)"), "app=web,tier in (a,b)"),
            (json!({"matchLabels": {"b": "2", "a": "1"}}), "a=1,b=2"),
            (json!({"app": "web"}), "app=web"),
            (
                json!({"matchLabels": {"a": "1"}, "matchExpressions": [
                    {"key": "z", "operator": "Exists"},
                    {"key": "b", "operator": "In", "values": ["y", "x"]},
                    {"key": "c", "operator": "NotIn", "values": ["n"]},
                    {"key": "d", "operator": "DoesNotExist"},
                ]}),
                "a=1,b in (x,y),c notin (n),!d,z",
            ),
            (Value::Null, ""),
        ] {
            assert_eq!(selector_text(&selector), text);
        }
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for (expression, error) in [
            (
                json!({"key": "a", "operator": "In"}),
                "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ),
            (
                json!({"key": "a", "operator": "Exists", "values": ["b"]}),
                "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
            (
                json!({"key": "a", "operator": "Gt", "values": ["1"]}),
                "spec.selector.matchExpressions[0].operator: Invalid value: \"Gt\": not a valid selector operator",
            ),
        ] {
            assert_eq!(read(json!({"matchExpressions": [expression]})), Err(vec![error.to_owned()]));
        }
        let errors =
            read(json!({"matchLabels": {"-": "-"}, "matchExpressions": [{"key": ""}, 3]})).unwrap_err();
        assert_eq!(errors.len(), 2 + 3 + 3, "{errors:#?}");
        assert!(errors[1].starts_with("spec.selector.matchLabels: Invalid value: \"-\": a valid label"));
    }
}
