//! The life of a CRD: established, served, cleared of its instances, gone.

use crate::support::*;
use serde_json::json;
use windlass_model::{Cluster, definitions, types_after};

#[test]
fn a_definition_is_served_once_it_is_established() {
    let mut cluster = Cluster::new();
    let response = cluster.request(&create("widgets", widget("a")));
    refused(&response, 404, "NotFound", "the server could not find the requested resource");
    ok(&mut cluster, &create("customresourcedefinitions", widget_definition()));
    assert!(!cluster.serves("example.com", "v1", "Widget"), "nobody has established it");
    assert!(cluster.settle());
    assert!(cluster.serves("example.com", "v1", "Widget") && cluster.serves("example.com", "v2", "Widget"));
    assert!(definitions::next_requests(cluster.store(), cluster.types(), cluster.now()).is_empty());
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
