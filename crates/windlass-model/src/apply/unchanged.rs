//! Whether an apply would change nothing, decided by the live object only.
//!
//! A client has no schema of custom kinds, and mostly needs none: the `fieldsV1` of its own entry say how each list is
//! merged. Only where they end at a list or a map is the schema needed, to distinguish a value that is owned as a
//! whole from an empty one that others have filled since.

use serde_json::{Map, Value};

use super::last_applied;
use super::object_meta::field_of_any_object;
use super::type_ref::{Form, TypeRef};
use crate::object;
use crate::types::Types;

/// Fields that an apply may name and that have no owner: they identify the object and its type.
const TYPE: [&str; 2] = ["apiVersion", "kind"];
const IDENTITY: [&str; 4] = ["name", "namespace", "uid", "resourceVersion"];

/// Whether this manager's apply of `config` leaves the live object as it is: its last apply named exactly these
/// fields, and all of them still have these values.
///
/// `true` is certain. `false` may only mean that it cannot be decided: the server writes some values in another way,
/// fills in parts of keys, and knows which lists and maps of a custom kind are atomic.
pub fn is_unchanged(live: &Value, config: &Value, manager: &str) -> bool {
    let same = |live: &Value, config: &Value, names: &[&str]| {
        names.iter().all(|name| config.get(name).is_none_or(|value| live[name] == *value))
    };
    let (config_metadata, live_metadata) = (&config["metadata"], &live["metadata"]);
    if !same(live, config, &TYPE) || !same(live_metadata, config_metadata, &IDENTITY) {
        return false;
    }
    // An apply by kubectl may refresh an annotation that it does not name.
    if manager == last_applied::MANAGER {
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
    let types = Types::built_in();
    let (group, version) = object::split_api_version(live["apiVersion"].as_str().unwrap_or_default());
    let info = types.by_kind(group, version, live["kind"].as_str().unwrap_or_default());
    let type_ref = info.map(|info| TypeRef::of_objects(info));
    let metadata_type = field_of_any_object("metadata").map(TypeRef::root);
    config.iter().filter(is_owned).count() == others
        && config.iter().filter(is_owned).all(|field| is_same_field(type_ref, fields, field, live))
        && metadata.iter().filter(in_metadata).count() == metadata_fields.len()
        && metadata
            .iter()
            .filter(in_metadata)
            .all(|field| is_same_field(metadata_type, metadata_fields, field, live_metadata))
}

/// The fields that this manager has applied, in the version of the object.
fn applied_fields<'a>(live: &'a Value, manager: &str) -> Option<&'a Map<String, Value>> {
    let entries = live["metadata"]["managedFields"].as_array()?;
    let ours = entries.iter().find(|entry| {
        entry["operation"] == "Apply" && entry["manager"] == manager && entry.get("subresource").is_none()
    })?;
    ours["fieldsV1"].as_object().filter(|_| ours["apiVersion"] == live["apiVersion"])
}

fn is_same_field(
    type_ref: Option<TypeRef<'_>>,
    fields: &Map<String, Value>,
    (name, value): (&String, &Value),
    live: &Value,
) -> bool {
    let owned = fields.get(&format!("f:{name}")).and_then(Value::as_object);
    match (owned, live.get(name)) {
        (Some(owned), Some(live)) => {
            is_same(type_ref.map(|type_ref| type_ref.field(name).type_ref), owned, value, live)
        }
        _ => false,
    }
}

/// Whether a value names exactly the fields that are owned below its path, and the live value has all of them. The
/// type is `None` where the schema is not known.
fn is_same(type_ref: Option<TypeRef<'_>>, owned: &Map<String, Value>, config: &Value, live: &Value) -> bool {
    // A dot says that the path itself is owned, besides what is below it.
    let below = owned.len() - usize::from(owned.contains_key("."));
    match config {
        _ if owned.is_empty() => config == live && is_leaf(type_ref, config),
        Value::Object(fields) => {
            below == fields.len() && fields.iter().all(|field| is_same_field(type_ref, owned, field, live))
        }
        Value::Array(items) => {
            let live = live.as_array().map_or(&[][..], Vec::as_slice);
            below == items.len() && is_same_list(type_ref, owned, items, live)
        }
        _ => false,
    }
}

/// Whether an apply of this value owns its path and nothing below. A filled list or map whose type is not atomic has
/// owned items or fields: an entry without them was made when the applied value was empty.
fn is_leaf(type_ref: Option<TypeRef<'_>>, config: &Value) -> bool {
    let is_filled = match config {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    !is_filled
        || type_ref.is_some_and(|type_ref| match type_ref.form(Some(config)) {
            Form::Scalar => true,
            Form::Map { atomic } => atomic,
            Form::List(items) => items.is_atomic(),
        })
}

/// Whether each item is owned and is there, in the same order: an apply moves items that stand in another one.
fn is_same_list(
    type_ref: Option<TypeRef<'_>>,
    owned: &Map<String, Value>,
    items: &[Value],
    live: &[Value],
) -> bool {
    let item_type = type_ref.and_then(|type_ref| match type_ref.form(Some(&Value::Array(Vec::new()))) {
        Form::List(items) => Some(items.type_ref),
        _ => None,
    });
    let mut rest = live.iter();
    items.iter().all(|item| {
        let mut matching = owned.iter().filter(|(element, _)| names_item(element, item, true));
        // An item that leaves parts of its key to the server may fit several.
        let (Some((element, below)), None) = (matching.next(), matching.next()) else { return false };
        let found = rest.by_ref().find(|live| names_item(element, live, false));
        match (below.as_object(), found) {
            (Some(below), Some(live)) => is_same(item_type, below, item, live),
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
        // The server normalizes quantities, so this one cannot be recognized as unchanged.
        let mut limited = one.clone();
        limited["resources"] = json!({"limits": {"cpu": "1000m"}});
        let config = deployment(json!([limited]));
        let live = apply(&mut cluster, &deployments, &config, "me");
        assert!(!is_unchanged(&live, &config, "me"));
    }

    #[test]
    fn a_map_that_was_applied_empty_and_filled_by_another_is_not_owned() {
        let mut cluster = Cluster::new();
        let full = config_map(json!({"a": "1", "b": "2"}));
        apply(&mut cluster, &config_maps(), &full, "you");
        let live = apply(&mut cluster, &config_maps(), &config_map(json!({})), "me");
        assert_eq!(live["data"], full["data"]);
        assert!(!is_unchanged(&live, &full, "me"));
        let after = apply(&mut cluster, &config_maps(), &full, "me");
        assert_ne!(after["metadata"]["managedFields"], live["metadata"]["managedFields"]);
        assert!(is_unchanged(&after, &full, "me"));
    }

    #[test]
    fn atomic_values_are_owned_as_a_whole() {
        let mut cluster = Cluster::new();
        let config = network_policy(&["Ingress"], json!({"app": "a"}));
        let live = apply(&mut cluster, &network_policies(), &config, "me");
        assert!(is_unchanged(&live, &config, "me"));
        let other = network_policy(&["Egress"], json!({"app": "a"}));
        assert!(!is_unchanged(&live, &other, "me"));
    }

    /// Without its schema, a list of a custom kind may be one value or may have been empty when it was applied.
    #[test]
    fn filled_leaves_of_unknown_kinds_cannot_be_decided() {
        let config = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
            "spec": {"parts": ["a"], "size": 1}});
        let mut live = config.clone();
        live["metadata"]["managedFields"] = json!([{"manager": "me", "operation": "Apply",
            "apiVersion": "example.com/v1", "fieldsV1": {"f:spec": {"f:parts": {}, "f:size": {}}}}]);
        assert!(!is_unchanged(&live, &config, "me"));
        let mut emptied = config.clone();
        emptied["spec"]["parts"] = json!([]);
        live["spec"]["parts"] = json!([]);
        assert!(is_unchanged(&live, &emptied, "me"));
    }

    fn network_policies() -> ResourceId {
        ResourceId::new("networking.k8s.io", "v1", "networkpolicies")
    }

    fn network_policy(types: &[&str], labels: Value) -> Value {
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"podSelector": {"matchLabels": labels}, "policyTypes": types},
        })
    }

    prop_compose! {
        /// A map with fields of their own owners. There are few, so that two managers often name the same.
        fn any_config_map()(data in proptest::collection::btree_map("[ab]", "1|1|1|2", 0..3)) -> Value {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"},
                "data": data,
            })
        }
    }

    prop_compose! {
        /// Atomic lists and maps.
        fn any_network_policy()(
            types in proptest::sample::subsequence(vec!["Ingress", "Egress"], 0..=2),
            labels in proptest::collection::btree_map("[ab]", "[12]", 0..2),
        ) -> Value {
            network_policy(&types, json!(labels))
        }
    }

    prop_compose! {
        fn with_metadata(object: BoxedStrategy<Value>)(
            mut config in object,
            labels in proptest::option::weighted(0.2, proptest::collection::btree_map("[ab]", "[12]", 0..3)),
            finalizers in proptest::option::weighted(0.2, proptest::sample::subsequence(vec!["x/a", "x/b", "x/c"], 0..=3)),
            owners in proptest::option::weighted(0.2, proptest::sample::subsequence(vec!["u", "v"], 0..=2)),
        ) -> Value {
            if let Some(labels) = labels {
                object::set_meta(&mut config, "labels", json!(labels));
            }
            if let Some(finalizers) = finalizers {
                object::set_meta(&mut config, "finalizers", finalizers);
            }
            if let Some(owners) = owners {
                let owner = |uid: &&str| json!({"apiVersion": "v1", "kind": "Pod", "name": uid, "uid": uid});
                object::set_meta(&mut config, "ownerReferences", owners.iter().map(owner).collect::<Vec<Value>>());
            }
            config
        }
    }

    /// One write, by an apply or by another patch, which leaves an entry of its own kind.
    #[derive(Clone, Debug)]
    struct Write {
        config: Value,
        manager: &'static str,
        kind: PatchKind,
    }

    impl Write {
        fn perform(&self, cluster: &mut Cluster, resource: &ResourceId) -> Option<Value> {
            let mut request = Request::new(Verb::Patch(self.kind), resource.clone())
                .in_namespace("default")
                .named(object::name(&self.config))
                .with_body(self.config.clone())
                .as_manager(self.manager);
            request.options.force = self.kind == PatchKind::Apply;
            cluster.request(&request).as_object().map(|object| (**object).clone())
        }
    }

    /// Some writes, and then an apply: a new one, or the last apply of the others again.
    fn any_writes(object: BoxedStrategy<Value>) -> impl Strategy<Value = (Vec<Write>, Write, bool)> {
        let write = |kinds: Vec<PatchKind>| {
            let managers = proptest::sample::select(vec!["me", "you"]);
            (with_metadata(object.clone()), managers, proptest::sample::select(kinds))
                .prop_map(|(config, manager, kind)| Write { config, manager, kind })
        };
        // Two applies to one merge patch.
        let kinds = vec![PatchKind::Apply, PatchKind::Apply, PatchKind::Merge];
        (proptest::collection::vec(write(kinds), 1..5), write(vec![PatchKind::Apply]), any::<bool>())
    }

    fn unchanged_means_unchanged(
        resource: &ResourceId,
        (writes, last, again): (Vec<Write>, Write, bool),
    ) -> Result<(), TestCaseError> {
        let mut cluster = Cluster::new();
        let mut live = None;
        for write in &writes {
            live = write.perform(&mut cluster, resource).or(live);
        }
        let earlier = writes.iter().rev().find(|write| write.kind == PatchKind::Apply).cloned();
        let last = earlier.filter(|_| again).unwrap_or(last);
        let Some(live) = live else { return Ok(()) };
        if is_unchanged(&live, &last.config, last.manager) {
            let after = last.perform(&mut cluster, resource);
            prop_assert_eq!(after, Some(live));
        }
        Ok(())
    }

    proptest! {
        /// An apply that is reported as unchanged changes nothing: neither values nor owners nor the version.
        #[test]
        fn unchanged_means_unchanged_with_owners_of_each_field(
            writes in any_writes(any_config_map().boxed()),
        ) {
            unchanged_means_unchanged(&config_maps(), writes)?;
        }

        #[test]
        fn unchanged_means_unchanged_with_atomic_values(writes in any_writes(any_network_policy().boxed())) {
            unchanged_means_unchanged(&network_policies(), writes)?;
        }
    }
}
