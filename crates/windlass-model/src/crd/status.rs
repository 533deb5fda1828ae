//! The status of a CRD: which names it got, whether it is served, whether it is being removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::validate::{Approval, approval};
use super::{CLEANUP_FINALIZER, condition, list, text};
use crate::field::quoted;
use crate::object;
use crate::time::Timestamp;

/// The status that a CRD should have next, or `None` if it has it.
///
/// A CRD that asks for a name which another one of its group has got is not established. The names of a
/// CRD that goes become free, so the others of its group must be asked again.
pub(crate) fn next_status(crd: &Value, all_crds: &[Arc<Value>], now: Timestamp) -> Option<Value> {
    let mut status = crd["status"].as_object().cloned().unwrap_or_default();
    if crd["spec"]["names"] != crd["status"]["acceptedNames"] {
        accept_names(crd, all_crds, &mut status, now);
    }
    let next = Value::Object(status.clone());
    let probe = json!({ "status": next });
    if condition(&probe, "NamesAccepted") == "True" && condition(&probe, "Established") != "True" {
        let message = "the initial names have been accepted";
        set_condition(&mut status, "Established", "True", "InitialNamesAccepted", message, now);
    }
    approve(crd, &mut status, now);
    let cleaning = object::finalizers(crd).any(|finalizer| finalizer == CLEANUP_FINALIZER);
    if object::is_deleting(crd) && cleaning && condition(crd, "Terminating").is_empty() {
        let message = "CustomResource deletion is in progress";
        set_condition(&mut status, "Terminating", "True", "InstanceDeletionInProgress", message, now);
    }
    let next = Value::Object(status);
    (next != crd["status"]).then_some(next)
}

/// The names that CRDs of a group have got.
#[derive(Default)]
struct Taken<'a> {
    resources: BTreeSet<&'a str>,
    kinds: BTreeSet<&'a str>,
}

fn taken<'a>(group: &str, all_crds: &'a [Arc<Value>]) -> Taken<'a> {
    let mut taken = Taken::default();
    for crd in all_crds.iter().filter(|crd| text(&crd["spec"], "group") == group) {
        let names = &crd["status"]["acceptedNames"];
        taken.resources.extend([text(names, "plural"), text(names, "singular")]);
        taken.resources.extend(list(names, "shortNames").iter().filter_map(Value::as_str));
        taken.kinds.extend([text(names, "kind"), text(names, "listKind")]);
    }
    taken
}

fn accept_names(crd: &Value, all_crds: &[Arc<Value>], status: &mut Map<String, Value>, now: Timestamp) {
    let wanted = &crd["spec"]["names"];
    let had = &crd["status"]["acceptedNames"];
    let taken = taken(text(&crd["spec"], "group"), all_crds);
    let mut names = had.as_object().cloned().unwrap_or_default();
    let mut conflict: Option<(&str, String)> = None;
    let in_use = |name: &str| format!("{} is already in use", quoted(name));
    let fields = [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ];
    for (field, reason, taken) in fields {
        let clash = match field {
            "shortNames" => short_name_clash(wanted, had, taken),
            _ => {
                let name = text(wanted, field);
                (name != text(had, field) && taken.contains(name)).then(|| in_use(name))
            }
        };
        match clash {
            Some(message) => conflict = Some((reason, message)),
            None => take(&mut names, field, &wanted[field]),
        }
    }
    take(&mut names, "categories", &wanted["categories"]);
    status.insert("acceptedNames".to_owned(), Value::Object(names));
    match conflict {
        Some((reason, message)) => {
            set_condition(status, "NamesAccepted", "False", reason, &message, now);
            if condition(crd, "Established").is_empty() {
                let message = "not all names are accepted";
                set_condition(status, "Established", "False", "NotAccepted", message, now);
            }
        }
        None => set_condition(status, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now),
    }
}

fn short_name_clash(wanted: &Value, had: &Value, taken: &BTreeSet<&str>) -> Option<String> {
    let own: BTreeSet<&str> = list(had, "shortNames").iter().filter_map(Value::as_str).collect();
    let clashes: Vec<String> = list(wanted, "shortNames")
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| !own.contains(name) && taken.contains(name))
        .map(|name| format!("{} is already in use", quoted(name)))
        .collect();
    match &clashes[..] {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

/// Copies a name, or its absence.
fn take(names: &mut Map<String, Value>, field: &str, value: &Value) {
    match value {
        Value::Null => names.remove(field),
        value => names.insert(field.to_owned(), value.clone()),
    };
}

/// CRDs in groups of the Kubernetes project say whether they have been approved.
fn approve(crd: &Value, status: &mut Map<String, Value>, now: Timestamp) {
    let Some((approval, message)) = approval(crd) else { return };
    let (value, reason) = match approval {
        Approval::Invalid => ("False", "InvalidAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    set_condition(status, "KubernetesAPIApprovalPolicyConformant", value, reason, &message, now);
}

/// Sets a condition; its time changes only with its status.
fn set_condition(
    status: &mut Map<String, Value>,
    kind: &str,
    value: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let existing = conditions.iter_mut().find(|condition| condition["type"] == kind);
    let time = existing
        .as_ref()
        .filter(|existing| existing["status"] == value)
        .and_then(|existing| existing["lastTransitionTime"].as_str().map(str::to_owned))
        .unwrap_or_else(|| now.to_string());
    let condition = json!({
        "type": kind, "status": value, "lastTransitionTime": time, "reason": reason, "message": message,
    });
    match existing {
        Some(existing) => *existing = condition,
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(plural: &str, kind: &str) -> Value {
        json!({
            "metadata": {"name": format!("{plural}.g.io")},
            "spec": {"group": "g.io", "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List"), "shortNames": ["s"]}},
            "status": {"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]},
        })
    }

    fn shown(crd: &Value) -> Vec<String> {
        let conditions = list(&crd["status"], "conditions").iter();
        conditions
            .map(|c| format!("{}={} {}", text(c, "type"), text(c, "status"), text(c, "reason")))
            .collect()
    }

    fn settle(mut crd: Value, others: &[Value]) -> Value {
        let mut all: Vec<Arc<Value>> = others.iter().cloned().map(Arc::new).collect();
        all.push(Arc::new(crd.clone()));
        crd["status"] = next_status(&crd, &all, Timestamp::from_unix_seconds(0)).unwrap();
        all.pop();
        all.push(Arc::new(crd.clone()));
        assert_eq!(next_status(&crd, &all, Timestamp::from_unix_seconds(9)), None, "one step is enough");
        crd
    }

    #[test]
    fn names_without_conflict_are_accepted() {
        let first = settle(crd("foos", "Foo"), &[]);
        assert_eq!(
            shown(&first),
            ["NamesAccepted=True NoConflicts", "Established=True InitialNamesAccepted"]
        );
        assert_eq!(first["status"]["acceptedNames"], first["spec"]["names"]);
        assert_eq!(first["status"]["storedVersions"], json!(["v1"]));
        assert_eq!(first["status"]["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
    }

    #[test]
    fn names_of_others_are_refused() {
        let first = settle(crd("foos", "Foo"), &[]);
        let cases = [
            (crd("bars", "Bar"), "ShortNamesConflict", "\"s\" is already in use"),
            (crd("foo", "Bar"), "ShortNamesConflict", "\"s\" is already in use"),
            (crd("bars", "Foo"), "ListKindConflict", "\"FooList\" is already in use"),
        ];
        for (second, reason, message) in cases {
            let second = settle(second, std::slice::from_ref(&first));
            let wanted =
                [format!("NamesAccepted=False {reason}"), "Established=False NotAccepted".to_owned()];
            assert_eq!(shown(&second), wanted);
            assert_eq!(second["status"]["conditions"][0]["message"], message);
        }
        let mut elsewhere = crd("bars", "Foo");
        elsewhere["spec"]["group"] = "other.io".into();
        assert_eq!(shown(&settle(elsewhere, &[first]))[0], "NamesAccepted=True NoConflicts");
    }

    #[test]
    fn an_established_crd_keeps_its_names() {
        let first = settle(crd("foos", "Foo"), &[]);
        let mut other = crd("bars", "Bar");
        other["spec"]["names"]["shortNames"] = json!(["b"]);
        let mut second = settle(other, std::slice::from_ref(&first));
        second["spec"]["names"]["shortNames"] = json!(["s"]);
        let second = settle(second, &[first]);
        assert_eq!(
            shown(&second),
            ["NamesAccepted=False ShortNamesConflict", "Established=True InitialNamesAccepted"]
        );
        assert_eq!(second["status"]["acceptedNames"]["shortNames"], json!(["b"]));
    }

    #[test]
    fn deletion_is_announced() {
        let mut going = settle(crd("foos", "Foo"), &[]);
        going["metadata"]["deletionTimestamp"] = "1970-01-01T00:00:00Z".into();
        going["metadata"]["finalizers"] = json!([CLEANUP_FINALIZER]);
        let going = settle(going, &[]);
        assert_eq!(shown(&going)[2], "Terminating=True InstanceDeletionInProgress");
    }

    #[test]
    fn groups_of_the_project_need_approval() {
        let mut protected = crd("foos", "Foo");
        protected["spec"]["group"] = "x.k8s.io".into();
        let missing = settle(protected.clone(), &[]);
        assert_eq!(shown(&missing)[2], "KubernetesAPIApprovalPolicyConformant=False MissingAnnotation");
        protected["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "https://example.com/1"});
        assert_eq!(
            shown(&settle(protected, &[]))[2],
            "KubernetesAPIApprovalPolicyConformant=True ApprovedAnnotation"
        );
    }
}
