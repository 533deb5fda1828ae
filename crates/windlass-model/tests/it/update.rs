//! PUT: versions, conflicts, what cannot be changed, and writes that change nothing.

use crate::support::*;
use serde_json::{Value, json};
use windlass_model::object;

fn edited(object: &Value, edit: impl FnOnce(&mut Value)) -> Value {
    let mut object = object.clone();
    edit(&mut object);
    object
}

fn version(object: &Value) -> u64 {
    object::resource_version(object).parse().expect("a number")
}

#[test]
fn an_update_moves_version_and_generation() {
    let mut cluster = cluster();
    let first = ok(&mut cluster, &create("widgets", widget("a")));
    let second =
        ok(&mut cluster, &update("widgets", edited(&first, |o| o["spec"]["color"] = "green".into())));
    assert!(version(&second) > version(&first));
    assert_eq!(second["metadata"]["generation"], 2);
    let labelled = edited(&second, |o| o["metadata"]["labels"] = json!({ "a": "b" }));
    let third = ok(&mut cluster, &update("widgets", labelled));
    assert!(version(&third) > version(&second));
    assert_eq!(third["metadata"]["generation"], 2, "labels are not what generation counts");
    let with_status = edited(&third, |o| o["status"] = json!({ "phase": "Ready" }));
    let fourth = ok(&mut cluster, &update("widgets", with_status));
    assert_eq!(fourth, third, "status is a part of its own, so nothing has changed");
}

#[test]
fn annotations_of_a_deployment_count() {
    let mut cluster = cluster();
    let first = ok(&mut cluster, &create("deployments", deployment("a")));
    assert_eq!(first["metadata"]["generation"], 1);
    let annotated = edited(&first, |o| o["metadata"]["annotations"] = json!({ "a": "b" }));
    assert_eq!(ok(&mut cluster, &update("deployments", annotated))["metadata"]["generation"], 2);
}

#[test]
fn a_write_that_changes_nothing_keeps_the_version() {
    let mut cluster = cluster();
    for (plural, body) in
        [("configmaps", config_map("a")), ("widgets", widget("a")), ("deployments", deployment("a"))]
    {
        let first = ok(&mut cluster, &create(plural, body));
        cluster.set_now(cluster.now().plus_seconds(60));
        let effect = cluster.handle(&update(plural, (*first).clone()));
        assert!(effect.changes.is_empty(), "{plural}: {effect:?}");
        assert_eq!(effect.response.as_object().unwrap(), &first);
    }
    let first = found(&mut cluster, "configmaps", "a");
    let empty = edited(&first, |o| {
        o["metadata"]["labels"] = json!({});
        o["metadata"]["finalizers"] = json!([]);
        o["metadata"]["annotations"] = Value::Null;
    });
    assert!(cluster.handle(&update("configmaps", empty)).changes.is_empty(), "empty is absent");
}

#[test]
fn versions_and_uids_are_preconditions() {
    let mut cluster = cluster();
    for (plural, body) in [("configmaps", config_map("a")), ("widgets", widget("a")), ("leases", lease("a"))]
    {
        ok(&mut cluster, &create(plural, body));
    }
    let stale = |body: Value| with_meta(body, "resourceVersion", "99999".into());
    let unset = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    let modified =
        "the object has been modified; please apply your changes to the latest version and try again";
    for (request, code, reason, message) in [
        (
            update("configmaps", stale(config_map("a"))),
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on configmaps \"a\": {modified}"),
        ),
        (
            update("widgets", stale(widget("a"))),
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on widgets.example.com \"a\": {modified}"),
        ),
        (update("widgets", widget("a")), 422, "Invalid", format!("widgets.example.com \"a\" is invalid: {unset}")),
        (update("leases", lease("a")), 422, "Invalid", format!("leases.coordination.k8s.io \"a\" is invalid: {unset}")),
        (
            update("configmaps", with_meta(config_map("a"), "uid", "other".into())),
            409,
            "Conflict",
            "Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
             UID in precondition: other, UID in object meta: "
                .to_owned(),
        ),
        (
            update("widgets", with_meta(widget("a"), "uid", "other".into())),
            409,
            "Conflict",
            "Key: /registry/example.com/widgets/default/a, ".to_owned(),
        ),
        (
            update("configmaps", with_meta(config_map("a"), "resourceVersion", "abc".into())),
            500,
            "",
            "strconv.ParseUint: parsing \"abc\": invalid syntax".to_owned(),
        ),
    ] {
        refused(&cluster.request(&request), code, reason, &message);
    }
    // Most built-in types overwrite without a version.
    let mut body = config_map("a");
    body["data"]["key"] = "other".into();
    assert_eq!(ok(&mut cluster, &update("configmaps", body))["data"]["key"], "other");
}

#[test]
fn names_must_agree() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("configmaps", config_map("a")));
    let unnamed = update("configmaps", json!({ "metadata": {} })).named("a");
    refused(
        &cluster.request(&unnamed),
        400,
        "BadRequest",
        "the name of the object (a based on URL) was undeterminable: name must be provided",
    );
    let other = update("configmaps", config_map("b")).named("a");
    refused(
        &cluster.request(&other),
        400,
        "BadRequest",
        "the name of the object (b) does not match the name on the URL (a)",
    );
}

#[test]
fn only_some_types_are_created_by_an_update() {
    let mut cluster = cluster();
    refused(
        &cluster.request(&update("configmaps", config_map("a"))),
        404,
        "NotFound",
        "configmaps \"a\" not found",
    );
    let missing = update("widgets", widget("a"));
    refused(&cluster.request(&missing), 404, "NotFound", "widgets.example.com \"a\" not found");
    let response = cluster.request(&update("leases", lease("a")));
    assert_eq!(response.code, 201);
    assert!(exists(&mut cluster, "leases", "a"));
    let elsewhere = update("leases", lease("b")).in_namespace("nowhere");
    refused(&cluster.request(&elsewhere), 404, "NotFound", "namespaces \"nowhere\" not found");
}

#[test]
fn system_metadata_stays() {
    let mut cluster = cluster();
    let first = ok(&mut cluster, &create("widgets", widget("a")));
    let changed = edited(&first, |o| {
        o["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
        o["metadata"]["generation"] = 9.into();
        o["metadata"].as_object_mut().unwrap().remove("uid");
    });
    assert_eq!(ok(&mut cluster, &update("widgets", changed)), first);
}

#[test]
fn while_deleting_finalizers_only_go_and_the_last_one_takes_the_object_along() {
    let mut cluster = cluster();
    let body = with_meta(config_map("a"), "finalizers", json!(["x.io/one", "x.io/two"]));
    ok(&mut cluster, &create("configmaps", body));
    let deleting = ok(&mut cluster, &delete("configmaps", "a"));
    assert_eq!(deleting["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    let more =
        edited(&deleting, |o| o["metadata"]["finalizers"] = json!(["x.io/one", "x.io/two", "x.io/three"]));
    refused(
        &cluster.request(&update("configmaps", more)),
        422,
        "Invalid",
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, \
         found new finalizers []string{\"x.io/three\"}",
    );
    let undeleted = edited(&deleting, |o| {
        o["metadata"].as_object_mut().unwrap().remove("deletionTimestamp");
        o["metadata"]["finalizers"] = json!(["x.io/two"]);
    });
    let fewer = ok(&mut cluster, &update("configmaps", undeleted));
    assert_eq!(fewer["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z", "cannot be unset");
    let none = edited(&fewer, |o| o["metadata"]["finalizers"] = json!([]));
    let request = update("configmaps", none);
    let mut dry = request.clone();
    dry.options.dry_run = true;
    assert!(cluster.handle(&dry).changes.is_empty());
    let last = ok(&mut cluster, &request);
    assert_eq!(last["metadata"]["name"], "a", "the answer is still the object");
    assert!(!exists(&mut cluster, "configmaps", "a"));
}

#[test]
fn a_dry_run_of_an_update_keeps_the_version() {
    let mut cluster = cluster();
    let first = ok(&mut cluster, &create("configmaps", config_map("a")));
    let mut request = update("configmaps", edited(&first, |o| o["data"]["key"] = "other".into()));
    request.options.dry_run = true;
    let answer = ok(&mut cluster, &request);
    assert_eq!(answer["data"]["key"], "other");
    assert_eq!(version(&answer), version(&first));
    assert_eq!(found(&mut cluster, "configmaps", "a"), first);
}

#[test]
fn an_update_in_another_version_is_stored_in_one() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("widgets", widget("a")));
    let mut read = get("widgets", "a");
    read.resource.version = "v2".to_owned();
    let object = ok(&mut cluster, &read);
    assert_eq!(object["apiVersion"], "example.com/v2");
    let mut write = update("widgets", edited(&object, |o| o["spec"]["color"] = "green".into()));
    write.resource.version = "v2".to_owned();
    let written = ok(&mut cluster, &write);
    assert_eq!(written["apiVersion"], "example.com/v2");
    assert_eq!(written["metadata"]["generation"], 2);
    let stored = found(&mut cluster, "widgets", "a");
    assert_eq!(
        (&stored["apiVersion"], &stored["spec"]["color"]),
        (&json!("example.com/v1"), &json!("green"))
    );
}
