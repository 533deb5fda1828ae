//! What changed in an object, as values: `spec.replicas: 2 -> 3`.

use std::collections::BTreeSet;

use serde_json::Value;

/// Fields that every write changes, or that say no more than others do.
const NOISE: [&str; 5] =
    ["resourceVersion", "managedFields", "lastTransitionTime", "generation", "observedGeneration"];
/// More changes than this are shown by their fields alone.
const MAX_VALUES: usize = 6;
/// Longer values are cut.
const VALUE_LENGTH: usize = 40;

/// The fields that differ, with their old and new values where these are short.
pub(crate) fn changed_values(before: &Value, after: &Value) -> String {
    let mut changes = Vec::new();
    compare("", Some(before), Some(after), &mut changes);
    if changes.len() <= MAX_VALUES {
        let shown: Vec<String> = changes.iter().map(Change::to_string).collect();
        return shown.join(", ");
    }
    let fields: BTreeSet<String> = changes.iter().map(|change| two_levels(&change.field)).collect();
    fields.into_iter().collect::<Vec<_>>().join(", ")
}

struct Change {
    field: String,
    /// The old and the new value, if they can be shown.
    values: Option<(String, String)>,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.values {
            // The whole value is another.
            Some((old, new)) if self.field.is_empty() => write!(f, "{old} -> {new}"),
            Some((old, new)) => write!(f, "{}: {old} -> {new}", self.field),
            None => f.write_str(if self.field.is_empty() { "all of it" } else { &self.field }),
        }
    }
}

fn compare(field: &str, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<Change>) {
    if before == after {
        return;
    }
    match (before.and_then(members), after.and_then(members)) {
        (Some(before), Some(after)) => {
            let mut names: BTreeSet<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
            names.extend(after.iter().map(|(name, _)| name.as_str()));
            for name in names.into_iter().filter(|name| !NOISE.contains(name)) {
                let of = |side: &[(String, &Value)]| {
                    side.iter().find(|(known, _)| known == name).map(|(_, value)| (*value).clone())
                };
                let (old, new) = (of(&before), of(&after));
                compare(&below(field, name), old.as_ref(), new.as_ref(), changes);
            }
        }
        _ => {
            let values = shown(before).zip(shown(after));
            changes.push(Change { field: field.to_owned(), values });
        }
    }
}

/// The parts of a value that can be compared one by one: fields, or items that have a type or a name.
fn members(value: &Value) -> Option<Vec<(String, &Value)>> {
    match value {
        Value::Object(fields) => Some(fields.iter().map(|(name, value)| (name.clone(), value)).collect()),
        Value::Array(items) if !items.is_empty() => items
            .iter()
            .map(|item| {
                let name = item.get("type").or_else(|| item.get("name"))?.as_str()?;
                Some((format!("[{name}]"), item))
            })
            .collect(),
        _ => None,
    }
}

fn below(field: &str, name: &str) -> String {
    match field {
        "" => name.to_owned(),
        _ if name.starts_with('[') => format!("{field}{name}"),
        _ => format!("{field}.{name}"),
    }
}

/// A value in a few characters; `None` for what has parts and is longer.
fn shown(value: Option<&Value>) -> Option<String> {
    let Some(value) = value else { return Some("none".to_owned()) };
    let text = value.to_string();
    match text.char_indices().nth(VALUE_LENGTH) {
        None => Some(text),
        Some(_) if value.is_object() || value.is_array() => None,
        Some((end, _)) => Some(format!("{}..", &text[..end])),
    }
}

/// `status.conditions[Ready].status` as `status.conditions`.
fn two_levels(field: &str) -> String {
    let plain = field.split('[').next().unwrap_or(field);
    plain.split('.').take(2).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn old_and_new_values_are_shown() {
        let before = json!({
            "metadata": { "resourceVersion": "1", "finalizers": ["a"] },
            "spec": { "replicas": 2, "image": "x" },
            "status": { "conditions": [{ "type": "Ready", "status": "False" }] },
        });
        let after = json!({
            "metadata": { "resourceVersion": "2" },
            "spec": { "replicas": 3, "paused": true },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }], "list": [1] },
        });
        assert_eq!(
            changed_values(&before, &after),
            "metadata.finalizers: [\"a\"] -> none, spec.image: \"x\" -> none, spec.paused: none -> true, \
             spec.replicas: 2 -> 3, status.conditions[Ready].status: \"False\" -> \"True\", status.list: none -> [1]"
        );
    }

    #[test]
    fn a_value_without_fields_is_shown_as_it_is() {
        let values = |before: Value, after: Value| changed_values(&before, &after);
        assert_eq!(values(json!(0), json!(1)), "0 -> 1");
        assert_eq!(values(json!([]), json!(["a", "b"])), "[] -> [\"a\",\"b\"]");
        assert_eq!(values(json!(["x".repeat(50)]), json!([])), "all of it");
        assert_eq!(values(json!({ "a": ["x".repeat(50)] }), json!({ "a": [] })), "a");
    }

    #[test]
    fn many_changes_are_shown_by_their_fields() {
        let numbered = |value: i32| {
            let data = (0..9).map(|number| (format!("k{number}"), json!({ "x": { "y": value } })));
            json!({ "data": data.collect::<serde_json::Map<_, _>>() })
        };
        assert_eq!(
            changed_values(&numbered(1), &numbered(2)),
            (0..9).map(|number| format!("data.k{number}")).collect::<Vec<_>>().join(", ")
        );
        let long = json!({ "a": "x".repeat(100) });
        assert_eq!(changed_values(&long, &json!({ "a": 1 })).len(), "a:  -> 1".len() + 42);
    }
}
