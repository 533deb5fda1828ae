//! What is stored but not enforced is said in a warning, on every write.

use crate::support::*;
use serde_json::{Value, json};
use windlass_model::{Request, ResourceId, Verb};

fn made(group: &str, plural: &str, namespace: &str, body: Value) -> Vec<String> {
    let request = Request::new(Verb::Create, ResourceId::new(group, "v1", plural)).in_namespace(namespace);
    let response = cluster().request(&request.with_body(body));
    assert_eq!(response.code, 201, "{response:?}");
    response.warnings
}

#[test]
fn whoever_writes_it_is_warned() {
    let hook = json!([{
        "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": { "url": "https://example.com" },
    }]);
    let definition = |strategy: Value| {
        let mut definition = widget_definition();
        definition["metadata"]["name"] = "gadgets.example.com".into();
        definition["spec"]["names"] = json!({ "plural": "gadgets", "kind": "Gadget" });
        definition["spec"]["conversion"] = strategy;
        definition
    };
    let webhook = json!({ "strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": { "url": "https://example.com" },
    }});
    let mut classed = pod("p");
    classed["spec"]["runtimeClassName"] = "gvisor".into();
    let named = |field: &str, value: Value| {
        let mut object = json!({ "metadata": { "name": "a" } });
        object[field] = value;
        object
    };
    let admission = "admissionregistration.k8s.io";
    let secured =
        with_meta(namespace("n"), "labels", json!({ "pod-security.kubernetes.io/enforce": "restricted" }));
    for (group, plural, space, body, expected) in [
        (
            admission,
            "validatingwebhookconfigurations",
            "",
            named("webhooks", hook.clone()),
            Some(
                "ValidatingWebhookConfiguration.webhooks: stored but not enforced by Windlass: admission webhooks are not called",
            ),
        ),
        (
            admission,
            "mutatingwebhookconfigurations",
            "",
            named("webhooks", hook),
            Some(
                "MutatingWebhookConfiguration.webhooks: stored but not enforced by Windlass: admission webhooks are not called",
            ),
        ),
        (admission, "validatingwebhookconfigurations", "", named("webhooks", json!([])), None),
        (
            "",
            "resourcequotas",
            "default",
            named("spec", json!({ "hard": { "pods": "1" } })),
            Some("spec.hard: stored but not enforced by Windlass: quotas are neither counted nor checked"),
        ),
        (
            "",
            "limitranges",
            "default",
            named("spec", json!({ "limits": [{ "type": "Pod", "max": { "cpu": "1" } }] })),
            Some("spec.limits: stored but not enforced by Windlass: limits are neither set nor checked"),
        ),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "",
            definition(webhook),
            Some(
                "spec.conversion: stored but not enforced by Windlass: conversion webhooks are not called, versions differ in apiVersion alone",
            ),
        ),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "",
            definition(json!({ "strategy": "None" })),
            None,
        ),
        (
            "",
            "namespaces",
            "",
            secured,
            Some(
                "metadata.labels[pod-security.kubernetes.io/enforce]: stored but not enforced by Windlass: pods are not checked against security standards",
            ),
        ),
        ("", "namespaces", "", namespace("n"), None),
        (
            "",
            "pods",
            "default",
            classed,
            Some("spec.runtimeClassName: stored but not enforced by Windlass: there are no runtime classes"),
        ),
        ("", "pods", "default", pod("p"), None),
    ] {
        let warnings = made(group, plural, space, body.clone());
        assert_eq!(warnings, expected.into_iter().collect::<Vec<_>>(), "{body}");
    }
}

#[test]
fn changes_are_warned_of_too() {
    let mut cluster = cluster();
    let quota = json!({ "metadata": { "name": "q" }, "spec": { "hard": { "pods": "1" } } });
    ok(&mut cluster, &create("resourcequotas", quota));
    let response =
        cluster.request(&merge("resourcequotas", "q", json!({ "metadata": { "labels": { "a": "b" } } })));
    assert_eq!(response.warnings.len(), 1, "{response:?}");
    // The status is a controller's.
    let response = cluster.request(&merge("resourcequotas", "q", json!({ "status": {} })).on("status"));
    assert_eq!((response.code, response.warnings.len()), (200, 0), "{response:?}");
}
