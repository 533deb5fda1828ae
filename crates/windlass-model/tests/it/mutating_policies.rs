//! MutatingAdmissionPolicies: behind their gate, on custom resources, on subresources, and in the order of their names.
//! What the conformance scripts show is not repeated here.

use crate::support::*;
use serde_json::{Value, json};
use windlass_model::FeatureGates;
use windlass_model::{Cluster, Request, ResourceId, Verb};

fn write(plural: &str, name: &str, spec: Value) -> Request {
    let resource = ResourceId::new("admissionregistration.k8s.io", "v1beta1", plural);
    let body = json!({ "metadata": { "name": name }, "spec": spec });
    Request::new(Verb::Create, resource).with_body(body).as_manager("tester")
}

/// Name, reinvocation policy, kind of patch and expression.
type Policy<'a> = (&'a str, &'a str, &'a str, &'a str);

/// A cluster with policies about some resources.
fn with_policies(resource: &str, policies: &[Policy<'_>]) -> Cluster {
    let mut cluster = cluster();
    cluster.open_gates(FeatureGates { mutating_admission_policy: true, ..FeatureGates::default() });
    for (name, reinvocation, kind, expression) in policies {
        let field = if *kind == "JSONPatch" { "jsonPatch" } else { "applyConfiguration" };
        let mut mutation = json!({ "patchType": kind });
        mutation[field] = json!({ "expression": expression });
        let spec = json!({
            "reinvocationPolicy": reinvocation,
            "matchConstraints": { "resourceRules": [{
                "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [resource],
            }] },
            "mutations": [mutation],
        });
        for create in [
            write("mutatingadmissionpolicies", name, spec),
            write("mutatingadmissionpolicybindings", name, json!({ "policyName": name })),
        ] {
            let made = cluster.request(&create);
            assert_eq!(made.code, 201, "{made:?}");
        }
    }
    cluster
}

#[test]
fn they_are_not_served_behind_a_closed_gate() {
    let create = write("mutatingadmissionpolicies", "a", json!({}));
    assert_eq!(cluster().request(&create).code, 404);
    let mut open = cluster();
    open.open_gates(FeatureGates { mutating_admission_policy: true, ..FeatureGates::default() });
    assert_eq!(open.request(&create).code, 422);
}

#[test]
fn they_are_asked_in_the_order_of_their_names() {
    let append = |letter: &str| {
        format!("[JSONPatch{{op: 'add', path: '/data/order', value: object.data.order + '{letter}'}}]")
    };
    let (a, b) = (append("a"), append("b"));
    let policies = [("b", "Never", "JSONPatch", b.as_str()), ("a", "IfNeeded", "JSONPatch", a.as_str())];
    let mut cluster = with_policies("configmaps", &policies);
    let made =
        cluster.request(&create("configmaps", json!({"metadata": {"name": "x"}, "data": {"order": ""}})));
    // The first is asked again, since the second has changed something.
    assert_eq!(made.to_value()["data"]["order"], "aba", "{made:?}");
}

#[test]
fn custom_resources_are_merged_by_their_schema_and_defaulted() {
    let apply = "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}";
    let mut cluster = with_policies("widgets", &[("a", "Never", "ApplyConfiguration", apply)]);
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"replicas": 1},
    });
    let made = cluster.request(&create("widgets", widget));
    assert_eq!(made.code, 201, "{made:?}");
    assert_eq!(made.to_value()["spec"], json!({"color": "blue", "replicas": 2}), "{made:?}");
}

#[test]
fn subresources_are_changed_if_a_rule_names_them() {
    let patch = "[JSONPatch{op: 'replace', path: '/status/replicas', value: 7}]";
    let mut cluster = with_policies("deployments/status", &[("a", "Never", "JSONPatch", patch)]);
    let deployment = json!({
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    });
    assert_eq!(cluster.request(&create("deployments", deployment.clone())).code, 201);
    let mut found = cluster.request(&get("deployments", "d")).to_value();
    found["status"] = json!({"replicas": 3});
    let mut request = update("deployments", found);
    request.subresource = Some("status".into());
    let written = cluster.request(&request);
    assert_eq!(written.to_value()["status"]["replicas"], 7, "{written:?}");
}

/// What a policy sets has no owner, so an applier that never sets it does not remove it.
#[test]
fn fields_set_by_a_policy_have_no_owner() {
    let apply = "Object{data: {'policy': 'set'}}";
    let mut cluster = with_policies("configmaps", &[("a", "Never", "ApplyConfiguration", apply)]);
    let made =
        cluster.request(&create("configmaps", json!({"metadata": {"name": "x"}, "data": {"own": "1"}})));
    let made = made.to_value();
    assert_eq!(made["data"], json!({"own": "1", "policy": "set"}));
    let fields = made["metadata"]["managedFields"].to_string();
    assert!(fields.contains("f:own") && !fields.contains("f:policy"), "{fields}");
}
