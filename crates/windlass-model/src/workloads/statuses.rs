//! Fields of a status: counts that leave zero out, and conditions that say when they changed.

use serde_json::{Map, Value, json};

use crate::time::Timestamp;

/// Sets a count. One of zero is left out, unless the API shows it.
pub(super) fn set_count(status: &mut Map<String, Value>, field: &str, count: usize) {
    if count > 0 {
        status.insert(field.to_owned(), count.into());
    } else if status.get(field).is_some_and(|known| *known != 0) {
        status.remove(field);
    }
}

/// Sets a count that the API always shows.
pub(super) fn set_shown_count(status: &mut Map<String, Value>, field: &str, count: usize) {
    status.insert(field.to_owned(), count.into());
}

/// Sets a field, or leaves it out if it is empty.
pub(super) fn set_text(status: &mut Map<String, Value>, field: &str, text: &str) {
    if text.is_empty() {
        status.remove(field);
    } else {
        status.insert(field.to_owned(), text.into());
    }
}

/// A condition to be set.
pub(super) struct Condition<'a> {
    pub(super) kind: &'static str,
    pub(super) status: bool,
    pub(super) reason: &'static str,
    pub(super) message: &'a str,
}

/// Sets a condition. `touched` is the field that says when it was last written, if the kind has one.
pub(super) fn set_condition(
    status: &mut Map<String, Value>,
    condition: &Condition<'_>,
    touched: Option<&str>,
    now: Timestamp,
) {
    let text = if condition.status { "True" } else { "False" };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else { return };
    let at = conditions.iter().position(|known| known["type"] == condition.kind);
    let known = at.and_then(|at| conditions.get(at)).unwrap_or(&Value::Null);
    if known["status"] == text && known["reason"] == condition.reason && known["message"] == condition.message
    {
        return;
    }
    let since =
        if known["status"] == text { known["lastTransitionTime"].clone() } else { now.to_string().into() };
    let mut changed = json!({
        "type": condition.kind, "status": text, "reason": condition.reason,
        "message": condition.message, "lastTransitionTime": since,
    });
    if let Some(field) = touched {
        changed[field] = now.to_string().into();
    }
    match at.and_then(|at| conditions.get_mut(at)) {
        Some(known) => *known = changed,
        None => conditions.push(changed),
    }
}

/// Whether a condition of an object is true.
pub(super) fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.filter(|condition| condition["type"] == kind).any(|condition| condition["status"] == "True")
}
