//! What an apply does to an object and to its owners.

use serde_json::{Value, json};

use super::*;
use crate::status::Reason;

#[test]
fn the_first_apply_creates_and_owns_what_it_says() {
    let config = with_spec(json!({"replicas": 1, "tags": ["a"], "args": null}));
    assert_eq!(apply(None, &config, "me", 5).unwrap_err().code, 500, "args is no field of spec");

    let config = with_spec(json!({
        "replicas": 1, "tags": ["a"], "selector": {"app": "a"}, "strategy": {},
        "containers": [{"name": "web", "ports": [{"port": 80}], "env": {"A": "1"}}],
        "extra": {"anything": {"list": [1]}, "nothing": null},
    }));
    let new = apply(None, &config, "me", 5).unwrap();
    let mut without_owners = new.clone();
    crate::object::remove_meta(&mut without_owners, "managedFields");
    assert_eq!(without_owners, config);
    let entry = json!([{
        "manager": "me", "operation": "Apply", "apiVersion": "apps.example.com/v1",
        "time": "1970-01-01T00:00:05Z", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": {},
            "f:tags": {"v:\"a\"": {}},
            "f:containers": {"k:{\"name\":\"web\"}": {
                ".": {},
                "f:name": {},
                "f:env": {"f:A": {}},
                "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
            }},
            "f:extra": {"f:anything": {".": {}, "f:list": {}}, "f:nothing": {}},
        }},
    }]);
    assert_eq!(new["metadata"]["managedFields"], entry);
}

#[test]
fn a_second_applier_adds_its_fields() {
    let live = apply(None, &with_spec(json!({"replicas": 1})), "one", 1).unwrap();
    let live = apply(Some(&live), &with_spec(json!({"paused": true})), "two", 2).unwrap();
    assert_eq!(live["spec"], json!({"replicas": 1, "paused": true}));
    assert_eq!(fields_of(&live, "one"), json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(fields_of(&live, "two"), json!({"f:spec": {"f:paused": {}}}));
}

#[test]
fn equal_values_are_shared_without_a_conflict() {
    let live = apply(None, &with_spec(json!({"replicas": 1})), "one", 1).unwrap();
    let live = apply(Some(&live), &with_spec(json!({"replicas": 1})), "two", 2).unwrap();
    // The second changed nothing, so there is no time at which it did; entries without one come first.
    let owned = json!({"f:spec": {"f:replicas": {}}});
    assert_eq!(
        owners(&live),
        [("two".into(), "Apply".into(), 0, owned.clone()), ("one".into(), "Apply".into(), 1, owned)]
    );
    let live = apply(Some(&live), &with_spec(json!({})), "one", 3).unwrap();
    assert_eq!(live["spec"], json!({"replicas": 1}), "it still has an owner");
    let live = apply(Some(&live), &with_spec(json!({})), "two", 4).unwrap();
    assert_eq!(live["spec"], json!(null), "what loses its last field becomes null");
}

#[test]
fn other_values_are_a_conflict() {
    let live = create(with_spec(json!({"replicas": 1, "paused": true})), "kubectl", 1);
    let status = apply(Some(&live), &with_spec(json!({"replicas": 2})), "me", 2).unwrap_err();
    assert_eq!((status.code, status.reason), (409, Some(Reason::Conflict)));
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"kubectl\" using apps.example.com/v1: .spec.replicas"
    );
    let causes = status.details.unwrap().causes;
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].reason.as_deref(), Some("FieldManagerConflict"));
    assert_eq!(causes[0].field.as_deref(), Some(".spec.replicas"));
    assert_eq!(causes[0].message.as_deref(), Some("conflict with \"kubectl\" using apps.example.com/v1"));

    let live = force(Some(&live), &with_spec(json!({"replicas": 2})), "me", 2);
    assert_eq!(live["spec"]["replicas"], 2);
    assert_eq!(fields_of(&live, "me"), json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(fields_of(&live, "kubectl"), json!({"f:spec": {".": {}, "f:paused": {}}}));
}

#[test]
fn several_conflicts_are_listed_by_manager() {
    let live = apply(None, &with_spec(json!({"replicas": 1, "paused": true})), "b", 1).unwrap();
    let config = with_spec(json!({"selector": {"a": "b"}}));
    let live = apply_with(Some(&live), &config, "a", 2, false, None).unwrap();
    let config = with_spec(json!({"replicas": 2, "paused": false, "selector": {"a": "c"}}));
    let status = apply(Some(&live), &config, "me", 3).unwrap_err();
    assert_eq!(
        status.message,
        "Apply failed with 3 conflicts: conflicts with \"a\":\n- .spec.selector\n\
         conflicts with \"b\":\n- .spec.paused\n- .spec.replicas"
    );
}

#[test]
fn given_up_fields_go_unless_they_have_another_owner() {
    let first = json!({
        "replicas": 1, "tags": ["a", "b"], "strategy": {"type": "Fast"}, "extra": {"x": {"y": 1}},
        "containers": [{"name": "web", "image": "i"}, {"name": "side"}],
    });
    let live = apply(None, &with_spec(first), "one", 1).unwrap();
    let second = json!({"tags": ["b", "c"], "containers": [{"name": "side", "image": "s"}]});
    let live = apply(Some(&live), &with_spec(second), "two", 2).unwrap();
    assert_eq!(live["spec"]["tags"], json!(["a", "b", "c"]));
    let live = apply(Some(&live), &with_spec(json!({"containers": [{"name": "web"}]})), "one", 3).unwrap();
    assert_eq!(
        live["spec"],
        json!({"tags": ["b", "c"], "containers": [{"name": "web"}, {"name": "side", "image": "s"}]})
    );
    assert_eq!(
        fields_of(&live, "one"),
        json!({"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}}}}})
    );
}

#[test]
fn an_item_goes_with_all_inside_unless_another_owns_it() {
    let config = with_spec(json!({"containers": [{"name": "web", "image": "i"}]}));
    let one = apply(None, &config, "one", 1).unwrap();
    let mut changed = one.clone();
    changed["spec"]["containers"][0]["args"] = json!(["x"]);
    let live = update(&one, changed, "updater of a field", 2);
    let new = apply(Some(&live), &with_spec(json!({})), "one", 3).unwrap();
    assert_eq!(new["spec"], json!({"containers": null}));

    let config = with_spec(json!({"containers": [{"name": "web", "args": ["x"]}]}));
    let live = apply(Some(&one), &config, "applier of the item", 2).unwrap();
    let new = apply(Some(&live), &with_spec(json!({})), "one", 3).unwrap();
    assert_eq!(new["spec"]["containers"], json!([{"name": "web", "args": ["x"]}]));
    assert_eq!(fields_of(&new, "one"), json!({"f:spec": {}}));
}

#[test]
fn an_item_may_lose_its_keys_on_the_way() {
    let mut live = with_spec(json!({"containers": [{"name": "web"}, {"name": "x"}]}));
    let entry = |manager: &str, item: Value| {
        json!({"manager": manager, "operation": "Apply", "apiVersion": "apps.example.com/v1",
               "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:containers": item}}})
    };
    live["metadata"]["managedFields"] = json!([
        entry("one", json!({"k:{\"name\":\"web\"}": {"f:name": {}}})),
        entry("two", json!({"k:{\"name\":\"web\"}": {".": {}, "f:name": {}}})),
    ]);
    // Without the fields of the first the item would be nothing; the second still owns it.
    let new = apply(Some(&live), &with_spec(json!({"replicas": 1})), "one", 2).unwrap();
    assert_eq!(new["spec"], json!({"replicas": 1, "containers": [{"name": "web"}, {"name": "x"}]}));
}

#[test]
fn applied_order_wins_and_others_stay_in_place() {
    let names = |names: &[&str]| {
        let items: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        with_spec(json!({"containers": items}))
    };
    for (live, config, expected) in [
        (&["a", "b", "c"][..], &["c", "a"][..], &["b", "c", "a"][..]),
        (&["a", "b", "c"], &["a", "x", "c"], &["a", "b", "x", "c"]),
        (&["a", "b"], &["x", "y"], &["a", "b", "x", "y"]),
        (&["a", "b", "c", "d"], &["d", "b"], &["a", "c", "d", "b"]),
        (&["a"], &["x", "a"], &["x", "a"]),
        (&["a", "b", "c"], &["c", "x", "a"], &["b", "c", "x", "a"]),
    ] {
        let live = create(names(live), "one", 1);
        let new = apply(Some(&live), &names(config), "two", 2).unwrap();
        let found: Vec<&str> = new["spec"]["containers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["name"].as_str().unwrap())
            .collect();
        assert_eq!(found, expected, "{config:?}");
    }
}

#[test]
fn absent_keys_have_their_default() {
    let live = with_spec(json!({"containers": [{"name": "web", "ports": [
        {"port": 80, "protocol": "TCP", "name": "http"}, {"port": 80, "protocol": "UDP"}]}]}));
    let live = create(live, "one", 1);
    let config = with_spec(json!({"containers": [{"name": "web", "ports": [{"port": 80, "name": "web"}]}]}));
    let new = force(Some(&live), &config, "two", 2);
    assert_eq!(
        new["spec"]["containers"][0]["ports"],
        json!([{"port": 80, "protocol": "TCP", "name": "web"}, {"port": 80, "protocol": "UDP"}])
    );
}

#[test]
fn atomic_values_are_replaced_whole() {
    let live = apply(None, &with_spec(json!({"selector": {"a": "1", "b": "2"}})), "one", 1).unwrap();
    let live = force(Some(&live), &with_spec(json!({"selector": {"c": "3"}})), "two", 2);
    assert_eq!(live["spec"]["selector"], json!({"c": "3"}));
    assert_eq!(fields_of(&live, "one"), Value::Null);
}

#[test]
fn null_and_empty_remove_nothing_granular() {
    let live = create(with_spec(json!({"containers": [{"name": "a"}], "replicas": 1, "tags": []})), "one", 1);
    let config = with_spec(json!({"containers": null, "replicas": null, "tags": null}));
    let new = force(Some(&live), &config, "two", 2);
    assert_eq!(new["spec"], json!({"containers": [{"name": "a"}], "replicas": null, "tags": null}));
    assert_eq!(
        fields_of(&new, "two"),
        json!({"f:spec": {"f:containers": {}, "f:replicas": {}, "f:tags": {}}})
    );
    let new = force(Some(&live), &with_spec(json!({"containers": []})), "two", 2);
    assert_eq!(new["spec"], live["spec"]);
    assert_eq!(fields_of(&new, "two"), Value::Null, "an empty list is nothing to own");
}

#[test]
fn an_object_without_owners_gets_one_of_the_past() {
    let mut live = with_spec(json!({"replicas": 1, "paused": true}));
    live["metadata"]["uid"] = json!("u");
    let new = force(Some(&live), &with_spec(json!({"replicas": 2})), "me", 7);
    assert_eq!(
        owners(&new),
        [
            ("me".into(), "Apply".into(), 7, json!({"f:spec": {"f:replicas": {}}})),
            ("before-first-apply".into(), "Update".into(), 7, json!({"f:spec": {".": {}, "f:paused": {}}})),
        ]
    );
    let status = apply(Some(&live), &with_spec(json!({"replicas": 2})), "me", 7).unwrap_err();
    assert!(status.message.contains("\"before-first-apply\" using apps.example.com/v1: .spec.replicas"));
}

#[test]
fn nothing_new_is_no_write() {
    let config = with_spec(json!({"replicas": 1, "containers": [{"name": "web"}], "extra": {"a": [1]}}));
    let live = apply(None, &config, "me", 1).unwrap();
    assert_eq!(apply(Some(&live), &config, "me", 9).unwrap(), live);
}

#[test]
fn status_has_appliers_of_its_own() {
    let live = apply(None, &with_spec(json!({"replicas": 1})), "me", 1).unwrap();
    let mut config = with_spec(json!({"replicas": 5}));
    config["status"] = json!({"ready": 1});
    let new = apply_with(Some(&live), &config, "me", 2, false, Some("status")).unwrap();
    let entries = new["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(entries[1]["subresource"], "status");
    assert_eq!(entries[1]["fieldsV1"], json!({"f:status": {"f:ready": {}}}));

    config["status"] = json!({"ready": 2});
    let status = apply_with(Some(&new), &config, "you", 3, false, Some("status")).unwrap_err();
    assert!(status.message.ends_with("conflict with \"me\" with subresource \"status\": .status.ready"));
    // Through the object itself, status has no owner.
    let new = apply(Some(&live), &config, "you", 3);
    assert!(new.is_err(), "replicas conflict");
    let new = force(Some(&live), &config, "you", 3);
    assert_eq!(fields_of(&new, "you"), json!({"f:spec": {"f:replicas": {}}}));
}

#[test]
fn refuses_configurations_that_make_no_sense() {
    for (config, code, message) in [
        (json!([]), 400, "error decoding YAML: expected an object, got []interface {}"),
        (json!({}), 400, "invalid object type: /, Kind="),
        (json!({"apiVersion": "v1", "kind": "Web"}), 400, "invalid object type: /v1, Kind=Web"),
        (
            json!({"apiVersion": "apps.example.com/v1", "kind": "Web", "metadata": {"managedFields": []}}),
            400,
            "metadata.managedFields must be nil",
        ),
        (with_spec(json!({"x": 1})), 500, ".spec.x: field not declared in schema"),
        (
            with_spec(json!({"replicas": "1"})),
            500,
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (with_spec(json!({"paused": "yes"})), 500, ".spec.paused: expected boolean, got &{yes}"),
        (
            with_spec(json!({"strategy": {"type": true}})),
            500,
            ".spec.strategy.type: expected string, got &value.valueUnstructured{Value:true}",
        ),
        (with_spec(json!({"strategy": [1]})), 500, ".spec.strategy: expected map, got &{[1]}"),
        (with_spec(json!({"tags": {"a": 1}})), 500, ".spec.tags: expected list, got &{map[a:1]}"),
        (with_spec(json!({"tags": ["a", "a"]})), 500, ".spec.tags: duplicate entries for key [=\"a\"]"),
        (
            with_spec(
                json!({"containers": [{"name": "w", "ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}]}),
            ),
            500,
            ".spec.containers[name=\"w\"].ports: duplicate entries for key [port=1,protocol=\"TCP\"]",
        ),
        (
            with_spec(json!({"containers": [{"image": "w"}]})),
            500,
            ".spec.containers: element 0: associative list with keys has an element that omits all key fields \
             [\"name\"] (and doesn't have default values for any key fields)",
        ),
        (
            with_spec(json!({"tags": [null]})),
            500,
            ".spec.tags: element 0: associative list without keys has an element that's an explicit null",
        ),
    ] {
        let status = apply(None, &config, "me", 1).unwrap_err();
        let prefix = "failed to create typed patch object (default/a; apps.example.com/v1, Kind=Web): ";
        let expected = if code == 500 { format!("{prefix}{message}") } else { message.to_owned() };
        assert_eq!((status.code, status.message), (code, expected));
    }
}

#[test]
fn live_duplicates_are_replaced_by_the_applied_item() {
    let live = create(with_spec(json!({"tags": ["a", "a", "b"]})), "one", 1);
    assert_eq!(fields_of(&live, "one")["f:spec"]["f:tags"], json!({".": {}, "v:\"a\"": {}, "v:\"b\"": {}}));
    let new = force(Some(&live), &with_spec(json!({"tags": ["a"]})), "two", 2);
    assert_eq!(new["spec"]["tags"], json!(["a", "b"]));
}

#[test]
fn a_schema_that_became_atomic_moves_ownership_up() {
    let mut live = apply(None, &with_spec(json!({"selector": {"a": "1"}})), "one", 1).unwrap();
    live["metadata"]["managedFields"][0]["fieldsV1"] =
        json!({"f:spec": {"f:selector": {".": {}, "f:a": {}}}});
    let new = apply(Some(&live), &with_spec(json!({"selector": {"a": "1"}})), "one", 1).unwrap();
    assert_eq!(fields_of(&new, "one"), json!({"f:spec": {"f:selector": {}}}));
}

#[test]
fn unreadable_owners_are_refused() {
    let mut live = with_spec(json!({"replicas": 1}));
    live["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Update"}]);
    let status = apply(Some(&live), &with_spec(json!({})), "me", 1).unwrap_err();
    assert_eq!(
        (status.code, status.message.as_str()),
        (500, "failed to decode managed fields: apiVersion must not be empty")
    );
}

#[test]
fn kubectl_takes_over_from_its_client_side_self() {
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let applied = with_spec(json!({"replicas": 1, "paused": true}));
    let mut live = applied.clone();
    live["metadata"]["annotations"] = json!({annotation: applied.to_string()});
    let live = create(live, "kubectl-client-side-apply", 1);
    let config = with_spec(json!({"replicas": 2, "paused": true}));
    assert!(apply(Some(&live), &config, "somebody", 2).is_err());
    let new = apply(Some(&live), &config, "kubectl", 2).unwrap();
    assert_eq!(new["spec"], json!({"replicas": 2, "paused": true}));
    assert_eq!(new["metadata"]["annotations"][annotation], json!(format!("{config}\n")));

    // Somebody changed the field since: it is theirs.
    let mut changed = live.clone();
    changed["spec"]["replicas"] = json!(7);
    let live = update(&live, changed, "somebody", 2);
    let status = apply(Some(&live), &config, "kubectl", 3).unwrap_err();
    assert!(status.message.contains("1 conflict: conflict with \"somebody\" using"), "{}", status.message);
}
