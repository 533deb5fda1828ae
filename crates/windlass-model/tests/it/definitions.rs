//! The life of a CRD: established, served, cleared of its instances, gone.

use crate::support::*;
use serde_json::json;
use windlass_model::{Cluster, types_after};

#[test]
fn a_definition_is_served_once_it_is_established() {
    let mut cluster = Cluster::new();
    let response = cluster.request(&create("widgets", widget("a")));
    refused(&response, 404, "NotFound", "the server could not find the requested resource");
    ok(&mut cluster, &create("customresourcedefinitions", widget_definition()));
    assert!(!cluster.serves("example.com", "v1", "Widget"), "not yet established");
    assert!(cluster.settle());
    assert!(cluster.serves("example.com", "v1", "Widget") && cluster.serves("example.com", "v2", "Widget"));
    assert!(requests_of_controllers(&cluster).is_empty());
    ok(&mut cluster, &create("widgets", widget("a")));
    let twice = cluster.install_crd(&widget_definition()).unwrap_err();
    assert_eq!(twice.code, 409);
}

#[test]
fn types_follow_changes() {
    let mut cluster = cluster();
    let effect = cluster.handle(&create("configmaps", config_map("a")));
    assert_eq!(types_after(cluster.types(), &effect.changes), None, "nothing to do with types");
    let definition = found(&mut cluster, "customresourcedefinitions", "widgets.example.com");
    let mut narrowed = (*definition).clone();
    narrowed["spec"]["versions"][1]["served"] = false.into();
    let effect = cluster.handle(&update("customresourcedefinitions", narrowed));
    let types = types_after(cluster.types(), &effect.changes).unwrap();
    assert!(types.by_kind("example.com", "v1", "Widget").is_some());
    assert!(types.by_kind("example.com", "v2", "Widget").is_none());
}

#[test]
fn a_deleted_definition_takes_its_instances_along() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("namespaces", namespace("other")));
    ok(&mut cluster, &create("widgets", widget("a")));
    ok(
        &mut cluster,
        &create("widgets", with_meta(widget("held"), "finalizers", json!(["x.io/y"]))).in_namespace("other"),
    );
    let deleting = ok(&mut cluster, &delete("customresourcedefinitions", "widgets.example.com"));
    assert_eq!(deleting["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    let response = cluster.request(&create("widgets", widget("late")));
    refused(
        &response,
        405,
        "MethodNotAllowed",
        "create not allowed while custom resource definition is terminating",
    );
    assert!(cluster.settle());
    assert_eq!(cluster.request(&get("widgets", "a")).code, 404);
    assert!(cluster.serves("example.com", "v1", "Widget"), "an instance is left");
    let free = merge("widgets", "held", json!({ "metadata": { "finalizers": null } })).in_namespace("other");
    ok(&mut cluster, &free);
    assert!(cluster.settle());
    assert!(!cluster.serves("example.com", "v1", "Widget"));
    assert!(!exists(&mut cluster, "customresourcedefinitions", "widgets.example.com"));
    cluster.install_crd(&widget_definition()).unwrap();
    ok(&mut cluster, &create("widgets", widget("a")));
}

#[test]
fn a_cluster_forks() {
    let mut one = cluster();
    let mut two = one.clone();
    ok(&mut one, &create("widgets", widget("a")));
    assert!(exists(&mut one, "widgets", "a") && !exists(&mut two, "widgets", "a"));
    ok(&mut two, &create("widgets", widget("a")));
    assert_eq!(one.store(), two.store(), "the same requests lead to the same objects");
}

#[test]
fn defaults_of_a_status_are_shown_before_it_is_written() {
    let mut cluster = cluster();
    let mut definition = widget_definition();
    definition["metadata"]["name"] = "gauges.example.com".into();
    definition["spec"]["names"] = json!({ "plural": "gauges", "singular": "gauge", "kind": "Gauge" });
    definition["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": { "size": { "type": "integer" } } },
        "status": { "type": "object", "default": { "level": 0 }, "properties": {
            "level": { "type": "integer" }, "phase": { "type": "string", "default": "Pending" } } },
    } });
    definition["spec"]["versions"].as_array_mut().expect("versions").truncate(1);
    cluster.install_crd(&definition).expect("a valid definition");
    let gauges = |verb| {
        let resource = windlass_model::ResourceId::new("example.com", "v1", "gauges");
        windlass_model::Request::new(verb, resource).in_namespace("default")
    };
    let body = json!({ "apiVersion": "example.com/v1", "kind": "Gauge", "metadata": { "name": "a" },
                       "spec": { "size": 1 }, "status": { "level": 9 } });
    let made = ok(&mut cluster, &gauges(windlass_model::Verb::Create).with_body(body));
    let expected = json!({ "level": 0, "phase": "Pending" });
    assert_eq!(made["status"], expected);
    let read = ok(&mut cluster, &gauges(windlass_model::Verb::Get).named("a"));
    assert_eq!(read, made);
    // The first write stores them, though it changes nothing that is shown; the next one changes nothing.
    let same = gauges(windlass_model::Verb::Patch(windlass_model::PatchKind::Merge)).named("a");
    let same = same.with_body(json!({ "spec": { "size": 1 } }));
    let written = ok(&mut cluster, &same);
    assert_eq!(written["status"], expected);
    assert_ne!(written["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    assert_eq!(ok(&mut cluster, &same), written);
}
