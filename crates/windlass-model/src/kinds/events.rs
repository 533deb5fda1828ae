//! Events, in the old words and in the new ones.

use serde_json::Value;

use super::values::{Errors, immutable, invalid_all, number, required, text};
use crate::field::{FieldError, FieldPath};
use crate::object;
use windlass_cel::formats::names;

/// The rules of Events; those with an event time are held to more.
pub(super) fn check_event(errors: &mut Errors, event: &Value) {
    let old_style = event["involvedObject"].is_object();
    let (about, reporter) = if old_style {
        ("involvedObject", "reportingComponent")
    } else {
        ("regarding", "reportingController")
    };
    let (namespace, its_namespace) = (object::namespace(event), text(&event[about]["namespace"]));
    let is_new = event["eventTime"].is_string();
    let matches = match (is_new, its_namespace) {
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
        (false, "") => matches!(namespace, "" | "default"),
        (false, its) => its == namespace,
    };
    if !matches {
        let path = FieldPath::of("involvedObject.namespace");
        errors.push(FieldError::invalid(&path, its_namespace, "does not match event.namespace"));
    }
    if !is_new {
        return;
    }
    required(errors, &FieldPath::of(reporter), &event[reporter]);
    invalid_all(
        errors,
        &FieldPath::of(reporter),
        &text(&event[reporter]).into(),
        names::is_qualified_name(text(&event[reporter])),
    );
    for (field, limit) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        required(errors, &FieldPath::of(field), &event[field]);
        check_length(errors, field, text(&event[field]), limit);
    }
    let message = if old_style { &event["message"] } else { &event["note"] };
    check_length(errors, "message", text(message), 1024);
}

/// The rules of events of the new group: what is old must not be set, and next to nothing changes.
pub(super) fn check_new_event(errors: &mut Errors, event: &Value, old: Option<&Value>) {
    check_event(errors, event);
    if old.is_none_or(|old| old["series"] != event["series"]) {
        check_series(errors, &event["series"]);
    }
    match old {
        None => check_created(errors, event),
        Some(old) => {
            for (field, name) in UNCHANGING {
                immutable(errors, &FieldPath::of(name), &event[*field], &old[*field]);
            }
        }
    }
}

/// Immutable fields, and the names under which errors report them.
const UNCHANGING: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reason", "reason"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
];

fn check_created(errors: &mut Errors, event: &Value) {
    required(errors, &FieldPath::of("eventTime"), &event["eventTime"]);
    if !matches!(text(&event["type"]), "Normal" | "Warning") {
        let detail = format!("has invalid value: {}", text(&event["type"]));
        errors.push(FieldError::invalid(&FieldPath::of("type"), "", detail));
    }
    let source = &event["deprecatedSource"];
    for (set, name) in [
        (event["deprecatedFirstTimestamp"].is_string(), "firstTimestamp"),
        (event["deprecatedLastTimestamp"].is_string(), "lastTimestamp"),
        (number(&event["deprecatedCount"]) != 0, "count"),
        (!text(&source["component"]).is_empty() || !text(&source["host"]).is_empty(), "source"),
    ] {
        if set {
            errors.push(FieldError::invalid(&FieldPath::of(name), "", "needs to be unset"));
        }
    }
}

fn check_series(errors: &mut Errors, series: &Value) {
    if !series.is_object() {
        return;
    }
    if number(&series["count"]) < 2 {
        errors.push(FieldError::invalid(&FieldPath::of("series.count"), "", "should be at least 2"));
    }
    required(errors, &FieldPath::of("series.lastObservedTime"), &series["lastObservedTime"]);
}

fn check_length(errors: &mut Errors, field: &str, value: &str, limit: usize) {
    if value.len() > limit {
        let detail = format!("can have at most {limit} characters");
        errors.push(FieldError::invalid(&FieldPath::of(field), "", detail));
    }
}
