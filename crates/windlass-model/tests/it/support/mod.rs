//! What the tests of the API share: a cluster, objects that are valid, and short ways to ask for things.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use windlass_model::{Body, Cluster, PatchKind, Request, ResourceId, Response, Timestamp, Verb, controllers};

/// A cluster at a fixed time, with the custom resource `widgets` of `example.com`.
pub(crate) fn cluster() -> Cluster {
    static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
        let mut cluster = Cluster::new();
        cluster.set_now(time("2026-01-01T00:00:00Z"));
        cluster.install_crd(&widget_definition()).expect("a valid definition");
        cluster
    });
    CLUSTER.clone()
}

pub(crate) fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("RFC 3339")
}

/// The resource of a plural, in the version that the tests use.
pub(crate) fn resource(plural: &str) -> ResourceId {
    let (group, version) = match plural {
        "controllerrevisions" | "daemonsets" | "deployments" | "replicasets" | "statefulsets" => {
            ("apps", "v1")
        }
        "jobs" => ("batch", "v1"),
        "leases" => ("coordination.k8s.io", "v1"),
        "customresourcedefinitions" => ("apiextensions.k8s.io", "v1"),
        "widgets" => ("example.com", "v1"),
        _ => ("", "v1"),
    };
    ResourceId::new(group, version, plural)
}

/// A request for a resource; in the namespace `default` unless the resource has none.
pub(crate) fn request(verb: Verb, plural: &str) -> Request {
    let namespaced =
        !matches!(plural, "namespaces" | "nodes" | "persistentvolumes" | "customresourcedefinitions");
    Request::new(verb, resource(plural))
        .in_namespace(if namespaced { "default" } else { "" })
        .as_manager("tester")
}

pub(crate) fn create(plural: &str, body: Value) -> Request {
    request(Verb::Create, plural).with_body(body)
}

pub(crate) fn get(plural: &str, name: &str) -> Request {
    request(Verb::Get, plural).named(name)
}

pub(crate) fn update(plural: &str, body: Value) -> Request {
    let name = body["metadata"]["name"].as_str().unwrap_or("").to_owned();
    request(Verb::Update, plural).named(&name).with_body(body)
}

pub(crate) fn patch(kind: PatchKind, plural: &str, name: &str, body: Value) -> Request {
    request(Verb::Patch(kind), plural).named(name).with_body(body)
}

pub(crate) fn merge(plural: &str, name: &str, body: Value) -> Request {
    patch(PatchKind::Merge, plural, name, body)
}

pub(crate) fn delete(plural: &str, name: &str) -> Request {
    request(Verb::Delete, plural).named(name)
}

/// Does a request that must succeed and returns the object.
#[track_caller]
pub(crate) fn ok(cluster: &mut Cluster, request: &Request) -> Arc<Value> {
    let response = cluster.request(request);
    match &response.body {
        Body::Object(object) => object.clone(),
        Body::List(list) => Arc::new(list.to_value()),
        Body::Status(status) if status.is_success() => Arc::new(response.to_value()),
        Body::Status(status) => panic!("{request:?}\nrefused: {status:?}"),
    }
}

/// What the cluster's own controllers would do now.
pub(crate) fn requests_of_controllers(cluster: &Cluster) -> Vec<Request> {
    let steps = controllers::next_requests(cluster.store(), cluster.types(), cluster.now());
    steps.into_iter().map(|step| step.request).collect()
}

/// The object, which must be there.
#[track_caller]
pub(crate) fn found(cluster: &mut Cluster, plural: &str, name: &str) -> Arc<Value> {
    ok(cluster, &get(plural, name))
}

pub(crate) fn exists(cluster: &mut Cluster, plural: &str, name: &str) -> bool {
    cluster.request(&get(plural, name)).code == 200
}

/// Checks that a request is refused with this code and reason, and a message that contains a text.
#[track_caller]
pub(crate) fn refused(response: &Response, code: u16, reason: &str, message: &str) {
    let status = response.failure().unwrap_or_else(|| panic!("not refused: {response:?}")).clone();
    let given = status.reason.map_or_else(String::new, |reason| format!("{reason:?}"));
    assert_eq!((status.code, given.as_str()), (code, reason), "{}", status.message);
    assert!(status.message.contains(message), "{:?} lacks {message:?}", status.message);
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "key": "value" } })
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

pub(crate) fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": { "name": name }, "spec": { "replicas": 1, "color": "red" },
    })
}

pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "terminationGracePeriodSeconds": 30, "containers": [{ "name": "main", "image": "busybox" }] },
    })
}

pub(crate) fn pod_on_node(name: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["nodeName"] = "node-1".into();
    pod
}

pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "busybox" }] },
            },
        },
    })
}

pub(crate) fn lease(name: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name },
        "spec": { "holderIdentity": "me", "leaseDurationSeconds": 15 },
    })
}

pub(crate) fn with_meta(mut object: Value, field: &str, value: Value) -> Value {
    object["metadata"][field] = value;
    object
}

/// A reference to an owner that is there.
pub(crate) fn owned_by(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    })
}

/// `widgets.example.com`: two served versions, v1 stored; status and scale subresources.
pub(crate) fn widget_definition() -> Value {
    let schema = json!({ "openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": { "type": "integer" },
                    "color": { "type": "string", "default": "blue" },
                    "size": { "type": "string" },
                },
            },
            "status": {
                "type": "object",
                "properties": {
                    "replicas": { "type": "integer" },
                    "selector": { "type": "string" },
                    "phase": { "type": "string" },
                },
            },
        },
    }});
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage, "schema": schema,
            "subresources": {
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                },
            },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [version("v1", true), version("v2", false)],
        },
    })
}
