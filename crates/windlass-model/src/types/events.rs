//! Events, which two groups serve: `v1` in old words and `events.k8s.io/v1` in new ones. They are kept in the old ones.

use serde_json::{Map, Value, json};

/// The fields that the two groups call differently: first the old name, then the new one.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];
/// The group with the new words.
pub(crate) const NEW_GROUP: &str = "events.k8s.io";

/// Shows an event in the words of a group.
pub(crate) fn convert(event: &mut Value, group: &str) {
    let Some(fields) = event.as_object_mut() else { return };
    let to_new = group == NEW_GROUP;
    for (old, new) in NAMES {
        let (from, to) = if to_new { (old, new) } else { (new, old) };
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
    if to_new { drop_old_blanks(fields) } else { add_old_blanks(fields) }
}

/// What the old words always say, though it be nothing.
fn add_old_blanks(fields: &mut Map<String, Value>) {
    for (name, blank) in [
        ("eventTime", Value::Null),
        ("firstTimestamp", Value::Null),
        ("involvedObject", json!({})),
        ("lastTimestamp", Value::Null),
        ("reportingComponent", "".into()),
        ("reportingInstance", "".into()),
        ("source", json!({})),
    ] {
        fields.entry(name).or_insert(blank);
    }
}

fn drop_old_blanks(fields: &mut Map<String, Value>) {
    for name in ["reportingController", "reportingInstance"] {
        if fields.get(name).is_some_and(|value| value == "") {
            fields.remove(name);
        }
    }
}

/// The name by which events are selected, for a field in the words of a group.
pub(crate) fn selectable(field: &str) -> String {
    match field.strip_prefix("regarding.") {
        Some(rest) => format!("involvedObject.{rest}"),
        None if field == "reportingController" => "reportingComponent".to_owned(),
        None => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_change_there_and_back() {
        let old = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "message": "hello", "reason": "Made",
            "involvedObject": {"kind": "Pod"}, "source": {}, "eventTime": null, "firstTimestamp": null,
            "lastTimestamp": null, "reportingComponent": "", "reportingInstance": "",
        });
        let mut event = old.clone();
        convert(&mut event, NEW_GROUP);
        assert_eq!((&event["note"], &event["regarding"]["kind"]), (&json!("hello"), &json!("Pod")));
        assert!(event.get("message").is_none() && event.get("reportingController").is_none());
        convert(&mut event, "");
        assert_eq!(event, old);
    }

    #[test]
    fn both_words_select() {
        for (field, expected) in [
            ("regarding.name", "involvedObject.name"),
            ("reportingController", "reportingComponent"),
            ("reason", "reason"),
        ] {
            assert_eq!(selectable(field), expected);
        }
    }
}
