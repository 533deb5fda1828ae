//! Who owns which field: what ordinary writes note, and what server-side apply makes of it.

use crate::support::*;
use serde_json::{Value, json};
use windlass_model::{PatchKind, Request};

fn entry<'a>(object: &'a Value, manager: &str, operation: &str) -> Option<&'a Value> {
    let entries = object["metadata"]["managedFields"].as_array()?;
    entries.iter().find(|entry| entry["manager"] == manager && entry["operation"] == operation)
}

fn apply(manager: &str, body: Value) -> Request {
    patch(PatchKind::Apply, "configmaps", "a", body).as_manager(manager)
}

#[test]
fn an_ordinary_write_is_noted() {
    let mut cluster = cluster();
    let made = ok(&mut cluster, &create("configmaps", config_map("a")));
    let noted = entry(&made, "tester", "Update").expect("an entry");
    assert_eq!(noted["apiVersion"], "v1");
    assert_eq!(noted["fieldsType"], "FieldsV1");
    assert_eq!(noted["time"], "2026-01-01T00:00:00Z");
    assert_eq!(noted["fieldsV1"]["f:data"]["f:key"], json!({}));
    let mut nameless = merge("configmaps", "a", json!({ "data": { "more": "x" } }));
    nameless.options.field_manager = None;
    let changed = ok(&mut cluster, &nameless);
    let noted = entry(&changed, "unknown", "Update").expect("an entry");
    assert_eq!(noted["fieldsV1"], json!({ "f:data": { "f:more": {} } }));
}

#[test]
fn a_status_write_is_noted_with_its_subresource() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("widgets", widget("a")));
    let patch = merge("widgets", "a", json!({ "status": { "phase": "Ready" } }))
        .on("status")
        .as_manager("controller");
    let object = ok(&mut cluster, &patch);
    let noted = entry(&object, "controller", "Update").expect("an entry");
    assert_eq!(noted["subresource"], "status");
    assert!(noted["fieldsV1"]["f:status"].is_object());
}

#[test]
fn the_fields_of_others_are_taken_by_force_only() {
    let mut cluster = cluster();
    ok(&mut cluster, &apply("one", config_map("a")));
    let mut other = config_map("a");
    other["data"]["key"] = "other".into();
    let response = cluster.request(&apply("two", other.clone()));
    refused(&response, 409, "Conflict", "Apply failed with 1 conflict: conflict with \"one\": .data.key");
    let mut forced = apply("two", other);
    forced.options.force = true;
    let object = ok(&mut cluster, &forced);
    assert_eq!(object["data"]["key"], "other");
    assert!(
        entry(&object, "one", "Apply").is_none_or(|entry| entry["fieldsV1"]["f:data"]["f:key"].is_null())
    );
}

#[test]
fn what_is_no_longer_applied_goes() {
    let mut cluster = cluster();
    let mut first = config_map("a");
    first["data"] = json!({ "keep": "x", "drop": "x" });
    ok(&mut cluster, &apply("one", first.clone()));
    first["data"] = json!({ "keep": "x" });
    assert_eq!(ok(&mut cluster, &apply("one", first))["data"], json!({ "keep": "x" }));
}

#[test]
fn scaling_is_noted_with_its_subresource() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("deployments", deployment("a")));
    let scale =
        merge("deployments", "a", json!({ "spec": { "replicas": 5 } })).on("scale").as_manager("scaler");
    ok(&mut cluster, &scale);
    let object = found(&mut cluster, "deployments", "a");
    let noted = entry(&object, "scaler", "Update").expect("an entry");
    assert_eq!(noted["subresource"], "scale");
    assert_eq!(noted["fieldsV1"], json!({ "f:spec": { "f:replicas": {} } }));
}
