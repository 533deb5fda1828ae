//! Whether an apply would change nothing, by what the live object alone says.
//!
//! A client has no schema, but it needs none: the `fieldsV1` of its own entry say how each list is merged.

use serde_json::{Map, Value};

/// What an apply may name and nobody owns: it says which object is meant, and of which type.
const TYPE: [&str; 2] = ["apiVersion", "kind"];
const IDENTITY: [&str; 4] = ["name", "namespace", "uid", "resourceVersion"];

/// Whether this manager's apply of `config` leaves the live object as it is: its last apply named exactly these
/// fields, and all of them still have these values.
///
/// `true` is certain. `false` may only mean that it cannot be told: the server writes some values in another way, and
/// fills in parts of keys.
pub fn is_unchanged(live: &Value, config: &Value, manager: &str) -> bool {
    let same = |live: &Value, config: &Value, names: &[&str]| {
        names.iter().all(|name| config.get(name).is_none_or(|value| live[name] == *value))
    };
    let (config_metadata, live_metadata) = (&config["metadata"], &live["metadata"]);
    if !same(live, config, &TYPE) || !same(live_metadata, config_metadata, &IDENTITY) {
        return false;
    }
    let (Some(fields), Some(config), Some(metadata)) =
        (applied_fields(live, manager), config.as_object(), config_metadata.as_object())
    else {
        return false;
    };
    let empty = Map::new();
    let metadata_fields = fields.get("f:metadata").and_then(Value::as_object).unwrap_or(&empty);
    let is_owned = |(name, _): &(&String, &Value)| !TYPE.contains(&name.as_str()) && *name != "metadata";
    let in_metadata = |(name, _): &(&String, &Value)| !IDENTITY.contains(&name.as_str());
    let others = fields.iter().filter(|(name, _)| *name != "f:metadata").count();
    config.iter().filter(is_owned).count() == others
        && config.iter().filter(is_owned).all(|field| is_same_field(fields, field, live))
        && metadata.iter().filter(in_metadata).count() == metadata_fields.len()
        && metadata
            .iter()
            .filter(in_metadata)
            .all(|field| is_same_field(metadata_fields, field, live_metadata))
}

/// The fields that this manager has applied, in the version of the object.
fn applied_fields<'a>(live: &'a Value, manager: &str) -> Option<&'a Map<String, Value>> {
    let entries = live["metadata"]["managedFields"].as_array()?;
    let ours = entries.iter().find(|entry| {
        entry["operation"] == "Apply" && entry["manager"] == manager && entry.get("subresource").is_none()
    })?;
    ours["fieldsV1"].as_object().filter(|_| ours["apiVersion"] == live["apiVersion"])
}

fn is_same_field(fields: &Map<String, Value>, (name, value): (&String, &Value), live: &Value) -> bool {
    let owned = fields.get(&format!("f:{name}")).and_then(Value::as_object);
    match (owned, live.get(name)) {
        (Some(owned), Some(live)) => is_same(owned, value, live),
        _ => false,
    }
}

/// Whether a value names exactly the fields that are owned below its place, and the live value has all of them.
fn is_same(owned: &Map<String, Value>, config: &Value, live: &Value) -> bool {
    // A dot says that the place itself is owned, besides what is below it.
    let below = owned.len() - usize::from(owned.contains_key("."));
    match config {
        _ if owned.is_empty() => config == live,
        Value::Object(fields) => {
            below == fields.len() && fields.iter().all(|field| is_same_field(owned, field, live))
        }
        Value::Array(items) => {
            let live = live.as_array().map_or(&[][..], Vec::as_slice);
            below == items.len() && is_same_list(owned, items, live)
        }
        _ => false,
    }
}

/// Whether each item is owned and is there, in the same order: an apply moves items that stand in another one.
fn is_same_list(owned: &Map<String, Value>, items: &[Value], live: &[Value]) -> bool {
    let mut rest = live.iter();
    items.iter().all(|item| {
        let mut matching = owned.iter().filter(|(element, _)| names_item(element, item, true));
        // An item that leaves parts of its key to the server may fit several.
        let (Some((element, below)), None) = (matching.next(), matching.next()) else { return false };
        let found = rest.by_ref().find(|live| names_item(element, live, false));
        match (below.as_object(), found) {
            (Some(below), Some(live)) => is_same(below, item, live),
            _ => false,
        }
    })
}

/// Whether an element of `fieldsV1` names this item: `k:{"name":"a"}` by its keys, `v:"a"` by its value. A key that an
/// item leaves out may be any, if it is `partial`.
fn names_item(element: &str, item: &Value, partial: bool) -> bool {
    let Some((kind, text)) = element.split_once(':') else { return false };
    let Ok(key) = serde_json::from_str::<Value>(text) else { return false };
    match (kind, key) {
        ("k", Value::Object(keys)) => {
            keys.iter().all(|(name, value)| item.get(name).map_or(partial, |given| given == value))
        }
        ("v", value) => value == *item,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::cluster::Cluster;
    use crate::object;
    use crate::request::{PatchKind, Request, ResourceId, Verb};

    fn apply(cluster: &mut Cluster, resource: &ResourceId, config: &Value, manager: &str) -> Value {
        let mut request = Request::new(Verb::Patch(PatchKind::Apply), resource.clone())
            .in_namespace("default")
            .named(object::name(config))
            .with_body(config.clone())
            .as_manager(manager);
        request.options.force = true;
        let response = cluster.request(&request);
        (**response.as_object().unwrap_or_else(|| panic!("{response:?}"))).clone()
    }

    fn config_maps() -> ResourceId {
        ResourceId::new("", "v1", "configmaps")
    }

    fn config_map(data: Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "default", "labels": {"x": "1"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true}],
            },
            "data": data,
        })
    }

    #[test]
    fn the_same_again_changes_nothing() {
        let mut cluster = Cluster::new();
        let config = config_map(json!({"a": "1", "b": "2"}));
        let live = apply(&mut cluster, &config_maps(), &config, "me");
        assert!(is_unchanged(&live, &config, "me"));
        assert!(!is_unchanged(&live, &config, "you"));
        let mut with_uid = config.clone();
        object::set_meta(&mut with_uid, "uid", object::uid(&live));
        assert!(is_unchanged(&live, &with_uid, "me"));
        object::set_meta(&mut with_uid, "uid", "another");
        assert!(!is_unchanged(&live, &with_uid, "me"));
        for data in [json!({"a": "1"}), json!({"a": "1", "b": "3"}), json!({"a": "1", "b": "2", "c": "3"})] {
            assert!(!is_unchanged(&live, &config_map(data.clone()), "me"), "{data}");
        }
    }

    #[test]
    fn what_others_own_does_not_matter() {
        let mut cluster = Cluster::new();
        let config = config_map(json!({"a": "1"}));
        apply(&mut cluster, &config_maps(), &config, "me");
        let mut theirs = config_map(json!({"z": "9"}));
        object::remove_meta(&mut theirs, "ownerReferences");
        let live = apply(&mut cluster, &config_maps(), &theirs, "you");
        assert!(is_unchanged(&live, &config, "me"));
        assert!(is_unchanged(&live, &theirs, "you"));
        let live = apply(&mut cluster, &config_maps(), &config_map(json!({"a": "2"})), "you");
        assert!(!is_unchanged(&live, &config, "me"));
    }

    fn deployment(containers: Value) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": {"app": "d"}},
                "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": containers}},
            },
        })
    }

    #[test]
    fn lists_with_keys_and_defaults() {
        let deployments = ResourceId::new("apps", "v1", "deployments");
        let mut cluster = Cluster::new();
        let one = json!({"name": "one", "image": "i", "ports": [{"containerPort": 80}], "args": ["a", "b"]});
        let two = json!({"name": "two", "image": "i", "env": [{"name": "K", "value": "V"}]});
        let config = deployment(json!([one, two]));
        let live = apply(&mut cluster, &deployments, &config, "me");
        assert!(is_unchanged(&live, &config, "me"));
        let mut other = one.clone();
        other["args"] = json!(["b", "a"]);
        for containers in [json!([one]), json!([two, one]), json!([other, two])] {
            assert!(!is_unchanged(&live, &deployment(containers.clone()), "me"), "{containers}");
        }
        // The server writes quantities in its own way, so this one cannot be told.
        let mut limited = one.clone();
        limited["resources"] = json!({"limits": {"cpu": "1000m"}});
        let config = deployment(json!([limited]));
        let live = apply(&mut cluster, &deployments, &config, "me");
        assert!(!is_unchanged(&live, &config, "me"));
    }

    prop_compose! {
        fn any_config()(
            data in proptest::collection::btree_map("[ab]", "[12]", 0..3),
            labels in proptest::option::of(proptest::collection::btree_map("[ab]", "[12]", 0..3)),
            finalizers in proptest::option::of(proptest::sample::subsequence(vec!["x/a", "x/b", "x/c"], 0..=3)),
            owners in proptest::sample::subsequence(vec!["u", "v"], 0..=2),
        ) -> Value {
            let mut config = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"},
                "data": data,
            });
            if let Some(labels) = labels {
                object::set_meta(&mut config, "labels", json!(labels));
            }
            if let Some(finalizers) = finalizers {
                object::set_meta(&mut config, "finalizers", finalizers);
            }
            if !owners.is_empty() {
                let owner = |uid: &&str| json!({"apiVersion": "v1", "kind": "Pod", "name": uid, "uid": uid});
                object::set_meta(&mut config, "ownerReferences", owners.iter().map(owner).collect::<Vec<Value>>());
            }
            config
        }
    }

    proptest! {
        /// What is said to change nothing changes nothing, and what was just applied mostly is said to.
        #[test]
        fn unchanged_means_unchanged(
            writes in proptest::collection::vec((any_config(), proptest::sample::select(vec!["me", "you"])), 1..5),
            (config, manager) in (any_config(), proptest::sample::select(vec!["me", "you"])),
            again in any::<bool>(),
        ) {
            let mut cluster = Cluster::new();
            let mut live = Value::Null;
            for (config, manager) in &writes {
                live = apply(&mut cluster, &config_maps(), config, manager);
            }
            let (config, manager) = if again { writes[0].clone() } else { (config, manager) };
            if is_unchanged(&live, &config, manager) {
                let after = apply(&mut cluster, &config_maps(), &config, manager);
                prop_assert_eq!(object::resource_version(&after), object::resource_version(&live));
                prop_assert_eq!(after, live);
            }
        }
    }
}
