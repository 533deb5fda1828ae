//! Status, scale, binding and eviction: parts of an object with routes of their own.

use crate::support::*;
use serde_json::{Value, json};
use windlass_model::{PatchKind, Verb};

fn status_update(plural: &str, object: &Value) -> windlass_model::Request {
    update(plural, object.clone()).on("status")
}

#[test]
fn a_status_write_to_a_custom_resource_changes_status_only() {
    let mut cluster = cluster();
    let first = ok(&mut cluster, &create("widgets", widget("a")));
    let mut changed = (*first).clone();
    changed["status"] = json!({ "phase": "Ready" });
    changed["spec"]["color"] = "green".into();
    changed["metadata"]["labels"] = json!({ "a": "b" });
    let second = ok(&mut cluster, &status_update("widgets", &changed));
    assert_eq!(second["status"], json!({ "phase": "Ready" }));
    assert_eq!(second["spec"], first["spec"]);
    assert!(second["metadata"].get("labels").is_none());
    assert_eq!(second["metadata"]["generation"], 1);
    assert_ne!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_eq!(ok(&mut cluster, &get("widgets", "a").on("status")), second);
    let patched =
        ok(&mut cluster, &merge("widgets", "a", json!({ "status": { "phase": "Gone" } })).on("status"));
    assert_eq!(patched["status"]["phase"], "Gone");
    let stale = cluster.request(&status_update("widgets", &first));
    refused(&stale, 409, "Conflict", "the object has been modified");
    let ignored = ok(&mut cluster, &merge("widgets", "a", json!({ "status": { "phase": "Lost" } })));
    assert_eq!(ignored, patched, "the object's own route leaves status alone");
}

#[test]
fn a_status_write_to_a_built_in_type_takes_metadata_along() {
    let mut cluster = cluster();
    let first = ok(&mut cluster, &create("deployments", deployment("a")));
    let mut changed = (*first).clone();
    changed["status"]["observedGeneration"] = 1.into();
    changed["spec"]["replicas"] = 9.into();
    changed["metadata"]["annotations"] = json!({ "a": "b" });
    changed["metadata"]["labels"] = json!({ "a": "b" });
    let second = ok(&mut cluster, &status_update("deployments", &changed));
    assert_eq!(second["status"]["observedGeneration"], 1);
    assert_eq!(second["spec"]["replicas"], 2);
    assert_eq!(second["metadata"]["annotations"], json!({ "a": "b" }));
    // The labels of a deployment stay.
    assert!(second["metadata"].get("labels").is_none());
    // Pods are among the types that keep it.
    let pod = ok(&mut cluster, &create("pods", pod("a")));
    let mut changed = (*pod).clone();
    changed["metadata"]["labels"] = json!({ "a": "b" });
    changed["status"]["phase"] = "Running".into();
    let second = ok(&mut cluster, &status_update("pods", &changed));
    assert_eq!(second["status"]["phase"], "Running");
    assert!(second["metadata"].get("labels").is_none());
}

#[test]
fn parts_that_a_type_does_not_have_are_not_found() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("configmaps", config_map("a")));
    ok(&mut cluster, &create("widgets", widget("a")));
    for request in [
        get("configmaps", "a").on("status"),
        get("configmaps", "a").on("scale"),
        get("widgets", "a").on("finalize"),
        get("widgets", "a").on("log"),
    ] {
        assert_eq!(cluster.request(&request).code, 404, "{request:?}");
    }
    let creation = create("widgets", widget("a")).named("a").on("status");
    assert_eq!(cluster.request(&creation).code, 405);
    let missing = patch(PatchKind::Apply, "widgets", "none", widget("none")).on("status");
    refused(&cluster.request(&missing), 404, "NotFound", "widgets.example.com \"none\" not found");
}

#[test]
fn a_custom_resource_scales() {
    let mut cluster = cluster();
    let mut body = widget("a");
    body["spec"]["replicas"] = 3.into();
    let first = ok(&mut cluster, &create("widgets", body));
    let status = json!({ "status": { "replicas": 2, "selector": "app=a" } });
    ok(&mut cluster, &merge("widgets", "a", status).on("status"));
    let scale = ok(&mut cluster, &get("widgets", "a").on("scale"));
    assert_eq!((&scale["apiVersion"], &scale["kind"]), (&json!("autoscaling/v1"), &json!("Scale")));
    assert_eq!(scale["spec"], json!({ "replicas": 3 }));
    assert_eq!(scale["status"], json!({ "replicas": 2, "selector": "app=a" }));
    assert_eq!(scale["metadata"]["uid"], first["metadata"]["uid"]);

    let mut wanted = (*scale).clone();
    wanted["spec"]["replicas"] = 5.into();
    wanted["status"]["replicas"] = 9.into();
    let answer = ok(&mut cluster, &update("widgets", wanted.clone()).on("scale"));
    assert_eq!((&answer["spec"]["replicas"], &answer["status"]["replicas"]), (&json!(5), &json!(2)));
    let object = found(&mut cluster, "widgets", "a");
    assert_eq!((&object["spec"]["replicas"], &object["metadata"]["generation"]), (&json!(5), &json!(2)));
    refused(
        &cluster.request(&update("widgets", wanted).on("scale")),
        409,
        "Conflict",
        "the object has been modified",
    );
    ok(&mut cluster, &merge("widgets", "a", json!({ "spec": { "replicas": 0 } })).on("scale"));
    assert_eq!(ok(&mut cluster, &get("widgets", "a").on("scale"))["spec"], json!({}), "zero is left out");
    let negative = merge("widgets", "a", json!({ "spec": { "replicas": -1 } })).on("scale");
    refused(
        &cluster.request(&negative),
        422,
        "Invalid",
        ".spec.replicas: Invalid value: -1: should be a non-negative integer",
    );
}

#[test]
fn a_deployment_scales() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("deployments", deployment("a")));
    let scale = ok(&mut cluster, &get("deployments", "a").on("scale"));
    assert_eq!(scale["status"]["selector"], "app=a");
    let plain = json!({ "metadata": { "name": "a" }, "spec": { "replicas": 4 } });
    ok(&mut cluster, &update("deployments", plain).on("scale"));
    let object = found(&mut cluster, "deployments", "a");
    assert_eq!((&object["spec"]["replicas"], &object["metadata"]["generation"]), (&json!(4), &json!(2)));
    let json_patch = json!([{ "op": "replace", "path": "/spec/replicas", "value": 6 }]);
    ok(&mut cluster, &patch(PatchKind::Json, "deployments", "a", json_patch).on("scale"));
    assert_eq!(found(&mut cluster, "deployments", "a")["spec"]["replicas"], 6);
    for (body, code, reason, message) in [
        (
            json!({ "spec": { "replicas": -1 } }),
            422,
            "Invalid",
            "Scale.autoscaling \"a\" is invalid: spec.replicas: Invalid value: -1",
        ),
        (
            json!({ "spec": { "replicas": "many" } }),
            400,
            "BadRequest",
            "ScaleSpec.spec.replicas of type int32",
        ),
        (
            json!({ "metadata": { "uid": "other" } }),
            409,
            "Conflict",
            "deployments/scale.apps \"a\": Precondition failed",
        ),
        (json!({ "kind": "Deployment" }), 400, "BadRequest", "cannot be handled as a Scale"),
    ] {
        refused(&cluster.request(&merge("deployments", "a", body).on("scale")), code, reason, message);
    }
    refused(
        &cluster.request(&get("deployments", "none").on("scale")),
        404,
        "NotFound",
        "deployments.apps \"none\" not found",
    );
}

#[test]
fn a_binding_gives_a_pod_its_node_once() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("pods", pod("a")));
    let binding = json!({ "metadata": { "name": "a" }, "target": { "kind": "Node", "name": "node-1" } });
    let bind = create("pods", binding).named("a").on("binding");
    assert_eq!(cluster.request(&bind).code, 201);
    let bound = found(&mut cluster, "pods", "a");
    assert_eq!(bound["spec"]["nodeName"], "node-1");
    assert!(
        bound["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|condition| condition["type"] == "PodScheduled" && condition["status"] == "True")
    );
    let response = cluster.request(&bind);
    refused(
        &response,
        409,
        "Conflict",
        "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node \"node-1\"",
    );
    let nowhere = json!({ "metadata": { "name": "a" }, "target": {} });
    let response = cluster.request(&create("pods", nowhere).named("a").on("binding"));
    refused(&response, 500, "", "target.name: Required value");
}

#[test]
fn an_eviction_says_why_and_deletes() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("pods", pod_on_node("a")));
    let evict = create("pods", json!({ "metadata": { "name": "a" } })).named("a").on("eviction");
    assert_eq!(cluster.request(&evict).code, 201);
    let pod = found(&mut cluster, "pods", "a");
    assert!(pod["metadata"]["deletionTimestamp"].is_string());
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    let target = conditions.iter().find(|condition| condition["type"] == "DisruptionTarget").unwrap();
    assert_eq!(target["reason"], "EvictionByEvictionAPI");
    let now = json!({ "metadata": { "name": "a" }, "deleteOptions": { "gracePeriodSeconds": 0 } });
    assert_eq!(cluster.request(&create("pods", now).named("a").on("eviction")).code, 201);
    assert!(!exists(&mut cluster, "pods", "a"));
    refused(&cluster.request(&evict), 404, "NotFound", "pods \"a\" not found");
    assert_eq!(cluster.request(&request(Verb::Get, "pods").named("a").on("eviction")).code, 405);
}
