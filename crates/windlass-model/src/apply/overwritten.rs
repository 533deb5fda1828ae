//! Which fields an apply gave another value, and who had them before.

use serde_json::Value;

use super::field_set::{FieldSet, show_path};
use super::path_element::PathElement;

/// A field that an apply changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Overwritten {
    /// As conflicts show it: `.spec.ports[port=80].name`.
    pub field: String,
    /// The managers who owned it before, but for the one that applied.
    pub managers: Vec<String>,
}

/// The fields that this manager's apply changed, by what the object was before it and is after it.
///
/// Only fields that the manager has applied count: whatever else differs was changed by others in between. It needs no
/// schema, as the `fieldsV1` say how each list is merged. Empty if they cannot be read.
pub fn overwritten(before: &Value, after: &Value, manager: &str) -> Vec<Overwritten> {
    let Some(applied) = entries(after).find(|entry| is_apply_of(entry, manager)).and_then(fields) else {
        return Vec::new();
    };
    let changed = applied.leaves().paths().into_iter().filter(|path| at(before, path) != at(after, path));
    let others: Vec<(&str, FieldSet)> = entries(before)
        .filter(|entry| !is_apply_of(entry, manager))
        .filter_map(|entry| Some((entry["manager"].as_str()?, fields(entry)?)))
        .collect();
    let owners = |path: &[PathElement]| {
        let owners = others.iter().filter(|(_, fields)| fields.contains(path));
        let mut owners: Vec<String> = owners.map(|(manager, _)| (*manager).to_owned()).collect();
        owners.sort();
        owners.dedup();
        owners
    };
    changed.map(|path| Overwritten { field: show_path(&path), managers: owners(&path) }).collect()
}

fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["managedFields"].as_array().into_iter().flatten()
}

fn is_apply_of(entry: &Value, manager: &str) -> bool {
    entry["operation"] == "Apply" && entry["manager"] == manager && entry.get("subresource").is_none()
}

fn fields(entry: &Value) -> Option<FieldSet> {
    FieldSet::from_fields_v1(&entry["fieldsV1"]).ok()
}

/// The value that a path leads to.
fn at<'a>(object: &'a Value, path: &[PathElement]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, element| match element {
        PathElement::Field(name) => value.get(&**name),
        PathElement::Index(index) => value.get(usize::try_from(*index).ok()?),
        PathElement::Value(wanted) => value.as_array()?.iter().find(|item| *item == wanted),
        PathElement::Key(keys) => {
            let has_keys = |item: &&Value| keys.iter().all(|(name, key)| item.get(&**name) == Some(key));
            value.as_array()?.iter().find(has_keys)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::Cluster;
    use crate::request::{PatchKind, Request, ResourceId, Verb};

    fn send(cluster: &mut Cluster, verb: Verb, manager: &str, body: Value) -> Value {
        let mut request = Request::new(verb, ResourceId::new("", "v1", "services"))
            .in_namespace("default")
            .named("a")
            .with_body(body)
            .as_manager(manager);
        request.options.force = verb == Verb::Patch(PatchKind::Apply);
        let response = cluster.request(&request);
        (**response.as_object().unwrap_or_else(|| panic!("{response:?}"))).clone()
    }

    fn ours() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "labels": {"x": "1"}},
            "spec": {"selector": {"app": "a"}, "ports": [{"port": 80, "protocol": "TCP", "name": "web"}]},
        })
    }

    fn shown(overwritten: &[Overwritten]) -> Vec<String> {
        overwritten.iter().map(|one| format!("{} {}", one.field, one.managers.join(","))).collect()
    }

    #[test]
    fn names_the_fields_and_their_owners() {
        let apply = Verb::Patch(PatchKind::Apply);
        let mut cluster = Cluster::new();
        send(&mut cluster, apply, "me", ours());
        let mut theirs = ours();
        theirs["spec"]["ports"][0]["name"] = "other".into();
        send(&mut cluster, apply, "intruder", theirs);
        let patch = json!({"metadata": {"labels": {"x": "2", "theirs": "1"}}});
        let before = send(&mut cluster, Verb::Patch(PatchKind::Merge), "editor", patch);
        let after = send(&mut cluster, apply, "me", ours());
        let found = shown(&overwritten(&before, &after, "me"));
        let port = ".spec.ports[port=80,protocol=\"TCP\"].name intruder";
        assert_eq!(found, [".metadata.labels.x editor", port]);
    }

    #[test]
    fn a_field_that_was_taken_away_has_no_owner() {
        let mut cluster = Cluster::new();
        send(&mut cluster, Verb::Patch(PatchKind::Apply), "me", ours());
        let patch = json!({"metadata": {"labels": {"x": null}}});
        let before = send(&mut cluster, Verb::Patch(PatchKind::Merge), "editor", patch);
        let after = send(&mut cluster, Verb::Patch(PatchKind::Apply), "me", ours());
        assert_eq!(shown(&overwritten(&before, &after, "me")), [".metadata.labels.x "]);
    }

    #[test]
    fn what_others_changed_elsewhere_does_not_count() {
        let mut cluster = Cluster::new();
        send(&mut cluster, Verb::Patch(PatchKind::Apply), "me", ours());
        let patch = json!({"spec": {"sessionAffinity": "ClientIP"}, "metadata": {"labels": {"theirs": "1"}}});
        let before = send(&mut cluster, Verb::Patch(PatchKind::Merge), "editor", patch);
        let after = send(&mut cluster, Verb::Patch(PatchKind::Apply), "me", ours());
        assert_eq!(overwritten(&before, &after, "me"), []);
        assert_eq!(overwritten(&json!({}), &json!({}), "me"), []);
    }
}
