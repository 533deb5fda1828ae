//! What creates, updates and other patches do to the owners of an object.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::apply::keep_times;

fn seen(object: &Value) -> Vec<(String, i64)> {
    owners(object).into_iter().map(|(manager, _, seconds, _)| (manager, seconds)).collect()
}

#[test]
fn a_create_owns_all_but_what_the_server_sets() {
    let mut new = with_spec(json!({"replicas": 1, "containers": [{"name": "web"}]}));
    new["metadata"]["labels"] = json!({"a": "b"});
    new["metadata"]["uid"] = json!("u");
    new["metadata"]["finalizers"] = json!(["x/y"]);
    new["metadata"]["ownerReferences"] = json!([{"uid": "u", "name": "o"}]);
    new["status"] = json!({"ready": 1});
    let new = create(new, "kubectl-create", 3);
    let expected = json!([{
        "manager": "kubectl-create", "operation": "Update", "apiVersion": "apps.example.com/v1",
        "time": "1970-01-01T00:00:03Z", "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {
                "f:labels": {".": {}, "f:a": {}},
                "f:finalizers": {".": {}, "v:\"x/y\"": {}},
                "f:ownerReferences": {".": {}, "k:{\"uid\":\"u\"}": {}},
            },
            "f:spec": {
                ".": {},
                "f:replicas": {},
                "f:containers": {".": {}, "k:{\"name\":\"web\"}": {".": {}, "f:name": {}}},
            },
        },
    }]);
    assert_eq!(new["metadata"]["managedFields"], expected);
}

#[test]
fn built_in_structs_have_no_owner() {
    let mut info = web();
    info.origin = Origin::BuiltIn;
    let text = of(Shape::String);
    let by_value = Schema { default: Some(json!({})), ..object(&[("type", text.clone())]) };
    let metadata = object(&[("name", text.clone()), ("labels", map(text.clone()))]);
    let items = keyed(object(&[("name", text.clone())]), &["name"]);
    // In Go a list that is never left out is null if it is not set.
    let items = Schema { default: Some(Value::Null), ..items };
    let spec =
        object(&[("strategy", by_value), ("pointer", object(&[("type", text.clone())])), ("items", items)]);
    info.schema = Arc::new(object(&[
        ("apiVersion", text.clone()),
        ("kind", text),
        ("metadata", metadata),
        ("spec", spec),
    ]));
    let filled = json!({"strategy": {"type": "a"}, "pointer": {"type": "a"}, "items": [{"name": "a"}]});
    let mut new = with_spec(filled);
    track_update(&info, None, &mut new, "me", None, at(1));
    assert_eq!(
        fields_of(&new, "me"),
        json!({"f:spec": {
            "f:strategy": {"f:type": {}},
            "f:pointer": {".": {}, "f:type": {}},
            "f:items": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}},
        }})
    );
}

#[test]
fn changed_fields_change_hands() {
    let live = create(with_spec(json!({"replicas": 1, "paused": true, "tags": ["a"]})), "one", 1);
    let new = update(
        &live,
        {
            let mut new = live.clone();
            new["spec"] = json!({"replicas": 2, "paused": true, "strategy": {"type": "x"}});
            new
        },
        "two",
        2,
    );
    assert_eq!(fields_of(&new, "one"), json!({"f:spec": {".": {}, "f:paused": {}}}));
    assert_eq!(
        fields_of(&new, "two"),
        json!({"f:spec": {"f:replicas": {}, "f:strategy": {".": {}, "f:type": {}}}})
    );
    assert_eq!(seen(&new), [("one".into(), 1), ("two".into(), 2)]);
}

#[test]
fn an_update_that_changes_nothing_leaves_the_entries_alone() {
    let live = create(with_spec(json!({"replicas": 1})), "one", 1);
    let mut new = live.clone();
    crate::object::remove_meta(&mut new, "managedFields");
    new["metadata"]["resourceVersion"] = json!("9");
    let new = update(&live, new, "two", 2);
    assert_eq!(new["metadata"]["managedFields"], live["metadata"]["managedFields"]);
}

#[test]
fn an_entry_that_owns_nothing_is_dropped() {
    let live = create(with_spec(json!({"replicas": 1})), "one", 1);
    let mut new = live.clone();
    new.as_object_mut().unwrap().remove("spec");
    assert_eq!(seen(&update(&live, new, "two", 2)), []);
}

#[test]
fn status_writes_own_status_only() {
    let live = create(with_spec(json!({"replicas": 1})), "one", 1);
    let mut new = live.clone();
    new["status"] = json!({"ready": 1});
    new["spec"]["replicas"] = json!(4);
    track_update(&web(), Some(&live), &mut new, "controller", Some("status"), at(2));
    let entries = new["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries[1]["subresource"], "status");
    assert_eq!(entries[1]["fieldsV1"], json!({"f:status": {".": {}, "f:ready": {}}}));
    assert_eq!(entries[0], live["metadata"]["managedFields"][0]);
}

#[test]
fn a_scale_has_no_time() {
    let live = create(with_spec(json!({"replicas": 1})), "one", 1);
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(4);
    track_update(&web(), Some(&live), &mut new, "scaler", Some("scale"), at(2));
    let entries = new["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(
        entries[0],
        json!({"manager": "scaler", "operation": "Update", "apiVersion": "apps.example.com/v1",
               "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}, "subresource": "scale"})
    );
}

#[test]
fn clients_may_write_entries() {
    let live = create(with_spec(json!({"replicas": 1})), "one", 1);
    let with_entries = |entries: Value| {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = entries;
        update(&live, new, "two", 2)
    };
    let entry = json!({"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                       "fieldsV1": {"f:spec": {"f:replicas": {}}}});
    assert_eq!(seen(&with_entries(json!([entry]))), [("x".into(), 0)]);
    for reset in [json!([]), json!([{}]), json!([{"manager": ""}])] {
        let new = with_entries(reset);
        assert!(new["metadata"].get("managedFields").is_none());
        // Without an apply, nothing is tracked any more.
        let mut changed = new.clone();
        changed["spec"]["replicas"] = json!(2);
        assert_eq!(seen(&update(&new, changed, "two", 3)), []);
    }
    for ignored in [
        json!(null),
        json!(1),
        json!([1]),
        json!([entry, {}]),
        json!([{"manager": "x", "operation": "Update", "apiVersion": "v1"}]),
        json!([{"manager": "x", "operation": "Erase", "apiVersion": "v1", "fieldsType": "FieldsV1"}]),
        json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV2"}]),
        json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"spec": {}}}]),
        json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "time": "now"}]),
    ] {
        assert_eq!(with_entries(ignored.clone()), live, "{ignored}");
    }
}

#[test]
fn subresources_cannot_write_entries() {
    let live = create(with_spec(json!({"replicas": 1})), "one", 1);
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([]);
    track_update(&web(), Some(&live), &mut new, "two", Some("status"), at(2));
    assert_eq!(new, live);
}

#[test]
fn old_updaters_are_merged() {
    let mut live = create(with_spec(json!({"extra": {}})), "m00", 0);
    for i in 1..=12 {
        let mut new = live.clone();
        new["spec"]["extra"][format!("f{i}")] = json!(i);
        live = update(&live, new, &format!("m{i:02}"), i);
    }
    let seen = seen(&live);
    assert_eq!(seen.len(), 10);
    assert_eq!(seen[0], ("ancient-changes".into(), 3));
    assert_eq!(seen[1], ("m04".into(), 4));
    let merged = fields_of(&live, "ancient-changes");
    assert_eq!(merged["f:spec"]["f:extra"], json!({".": {}, "f:f1": {}, "f:f2": {}, "f:f3": {}}));
}

#[test]
fn entries_are_sorted_by_operation_time_and_manager() {
    let live = create(with_spec(json!({"replicas": 1})), "z-update", 1);
    let live = apply(Some(&live), &with_spec(json!({"paused": true})), "late", 9).unwrap();
    let live = apply(Some(&live), &with_spec(json!({"tags": ["b"]})), "b", 5).unwrap();
    let live = apply(Some(&live), &with_spec(json!({"tags": ["a"]})), "a", 5).unwrap();
    let order: Vec<String> = owners(&live).into_iter().map(|owner| owner.0).collect();
    assert_eq!(order, ["a", "b", "late", "z-update"]);
}

#[test]
fn an_object_that_cannot_be_tracked_loses_its_entries() {
    let live = create(with_spec(json!({"replicas": 1})), "one", 1);
    let mut new = live.clone();
    new["spec"]["containers"] = json!([{"image": "no name"}]);
    assert_eq!(seen(&update(&live, new, "two", 2)), []);

    let mut deep = json!(1);
    for _ in 0..122 {
        deep = json!({"a": deep});
    }
    assert_eq!(seen(&create(with_spec(json!({"extra": deep})), "one", 1)), []);
}

#[test]
fn times_alone_are_no_change() {
    let live = create(with_spec(json!({"replicas": 1})), "one", 1);
    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["time"] = json!("2020-01-01T00:00:00Z");
    let touched = new.clone();
    keep_times(&live, &mut new);
    assert_eq!(new, live);

    let mut changed = touched;
    changed["spec"]["replicas"] = json!(2);
    let expected = changed.clone();
    keep_times(&live, &mut changed);
    assert_eq!(changed, expected);
}
