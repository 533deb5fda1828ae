//! ValidatingAdmissionPolicies: what they match, what they see, and what becomes of their objections.

use std::sync::Arc;

use crate::support::*;
use serde_json::{Value, json};
use windlass_model::authentication::User;
use windlass_model::authorization::{Authorizer, Policy};
use windlass_model::{Caller, Cluster, PatchKind, Request, ResourceId, Response, Verb, handle_as};

const GROUP: &str = "admissionregistration.k8s.io";

fn write(plural: &str, body: Value) -> Request {
    let name = body["metadata"]["name"].as_str().unwrap_or("").to_owned();
    let resource = ResourceId::new(GROUP, "v1", plural);
    Request::new(Verb::Patch(PatchKind::Apply), resource).named(&name).with_body(body).as_manager("tester")
}

/// An object with further fields, or other values of those that it has.
fn with_fields(mut object: Value, fields: &Value) -> Value {
    for (field, value) in fields.as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    object
}

/// A policy about creations and changes of ConfigMaps, with further fields of its spec.
fn policy(name: &str, spec: Value) -> Value {
    let whole = json!({
        "matchConstraints": { "resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"],
        }] },
    });
    let whole = with_fields(whole, &spec);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": name }, "spec": whole,
    })
}

fn binding(name: &str, policy: &str, spec: Value) -> Value {
    let whole = with_fields(json!({ "policyName": policy, "validationActions": ["Deny"] }), &spec);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": name }, "spec": whole,
    })
}

/// A cluster with a policy `p` bound by `b`.
#[track_caller]
fn with_policy(spec: Value, bound: Value) -> Cluster {
    let mut cluster = cluster();
    ok(&mut cluster, &write("validatingadmissionpolicies", policy("p", spec)));
    ok(&mut cluster, &write("validatingadmissionpolicybindings", binding("b", "p", bound)));
    cluster
}

fn config(name: &str, data: Value) -> Request {
    let mut object = config_map(name);
    object["data"] = data;
    create("configmaps", object)
}

#[track_caller]
fn message(response: &Response) -> &str {
    &response.failure().unwrap_or_else(|| panic!("not refused: {response:?}")).message
}

#[test]
fn an_object_that_breaks_a_policy_is_refused_in_the_words_of_kubernetes() {
    let rule = json!([{ "expression": "object.data.size() < 2" }]);
    let mut cluster = with_policy(json!({ "validations": rule }), json!({}));
    ok(&mut cluster, &config("small", json!({ "a": "1" })));
    let response = cluster.request(&config("large", json!({ "a": "1", "b": "2" })));
    let status = response.failure().unwrap();
    assert_eq!(
        status.to_value(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "configmaps \"large\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied \
                        request: failed expression: object.data.size() < 2",
            "reason": "Invalid", "code": 422,
            "details": {
                "name": "large", "kind": "configmaps",
                "causes": [{ "message": "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed \
                                         expression: object.data.size() < 2" }],
            },
        })
    );
    assert!(!exists(&mut cluster, "configmaps", "large"));
    let response = cluster.request(&merge("configmaps", "small", json!({ "data": { "b": "2" } })));
    refused(&response, 422, "Invalid", "denied request");
}

#[test]
fn a_policy_holds_from_when_it_is_bound_until_it_is_not() {
    let mut cluster = cluster();
    let never = json!({ "validations": [{ "expression": "false", "message": "never" }] });
    ok(&mut cluster, &write("validatingadmissionpolicybindings", binding("b", "p", json!({}))));
    ok(&mut cluster, &config("before", json!({})));
    ok(&mut cluster, &write("validatingadmissionpolicies", policy("p", never)));
    refused(&cluster.request(&config("during", json!({}))), 422, "Invalid", "request: never");
    let resource = ResourceId::new(GROUP, "v1", "validatingadmissionpolicybindings");
    ok(&mut cluster, &Request::new(Verb::Delete, resource).named("b"));
    ok(&mut cluster, &config("after", json!({})));
}

#[test]
fn policies_follow_their_changes() {
    let rule = |expression: &str| json!({ "validations": [{ "expression": expression }] });
    let mut cluster = with_policy(rule("false"), json!({}));
    refused(&cluster.request(&config("a", json!({}))), 422, "Invalid", "failed expression: false");
    ok(&mut cluster, &write("validatingadmissionpolicies", policy("p", rule("true"))));
    ok(&mut cluster, &config("a", json!({})));
}

#[test]
fn messages_come_from_the_expression_then_the_text_then_the_rule() {
    for (validation, expected) in [
        (json!({ "expression": " false " }), "failed expression: false"),
        (json!({ "expression": "false", "message": " plain " }), "plain"),
        (
            json!({ "expression": "false", "message": "plain", "messageExpression": "'made ' + object.metadata.name" }),
            "made a",
        ),
        (json!({ "expression": "false", "message": "plain", "messageExpression": "' '" }), "plain"),
        (json!({ "expression": "false", "message": "plain", "messageExpression": "'two\\nlines'" }), "plain"),
        (
            json!({ "expression": "false", "message": "plain", "messageExpression": "string(object.missing)" }),
            "plain",
        ),
    ] {
        let mut cluster = with_policy(json!({ "validations": [validation.clone()] }), json!({}));
        let response = cluster.request(&config("a", json!({})));
        let denied =
            "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
        assert_eq!(message(&response), format!("{denied}{expected}"), "{validation}");
    }
}

#[test]
fn reasons_have_their_codes() {
    for (reason, code) in [("Forbidden", 403), ("Invalid", 422), ("RequestEntityTooLarge", 413)] {
        let rule = json!({ "expression": "false", "message": "m", "reason": reason });
        let mut cluster = with_policy(json!({ "validations": [rule] }), json!({}));
        refused(&cluster.request(&config("a", json!({}))), code, reason, "request: m");
    }
}

#[test]
fn a_binding_says_what_becomes_of_an_objection() {
    let never = json!({ "validations": [{ "expression": "false", "message": "never" }] });
    let mut warned = with_policy(never.clone(), json!({ "validationActions": ["Warn"] }));
    let response = warned.request(&config("a", json!({})));
    assert_eq!(response.code, 201);
    let warning = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': never";
    assert_eq!(response.warnings, [warning]);
    let mut audited = with_policy(never.clone(), json!({ "validationActions": ["Audit"] }));
    let response = audited.request(&config("a", json!({})));
    assert_eq!((response.code, response.warnings.len()), (201, 0));
    // What one binding warns of is said although another refuses.
    ok(&mut warned, &write("validatingadmissionpolicybindings", binding("c", "p", json!({}))));
    let response = warned.request(&config("z", json!({})));
    refused(&response, 422, "Invalid", "with binding 'c' denied request");
    assert_eq!(response.warnings, [warning]);
}

#[test]
fn what_cannot_be_evaluated_refuses_or_is_ignored() {
    let rule = json!([{ "expression": "object.data.missing == 'x'" }]);
    let mut closed = with_policy(json!({ "validations": rule }), json!({}));
    assert_eq!(
        message(&closed.request(&config("a", json!({})))),
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: expression \
         'object.data.missing == 'x'' resulted in error: no such key: data"
    );
    let mut open = with_policy(json!({ "validations": rule, "failurePolicy": "Ignore" }), json!({}));
    ok(&mut open, &config("a", json!({})));
    refused(&open.request(&config("b", json!({ "missing": "y" }))), 422, "Invalid", "failed expression");
}

#[test]
fn match_conditions_come_first() {
    let spec = |conditions: Value, failure: &str| {
        json!({
            "validations": [{ "expression": "false", "message": "never" }],
            "matchConditions": conditions, "failurePolicy": failure,
        })
    };
    let named = |name: &str, expression: &str| json!({ "name": name, "expression": expression });
    let broken = named("broken", "object.nothing == 1");
    for (conditions, failure, expected) in [
        (json!([named("skips", "object.metadata.name != 'a'")]), "Fail", None),
        (json!([named("holds", "object.metadata.name == 'a'")]), "Fail", Some("request: never")),
        // A condition that does not hold wins over one that fails.
        (json!([broken, named("skips", "false")]), "Fail", None),
        (
            json!([broken]),
            "Fail",
            Some("request: expression 'object.nothing == 1' resulted in error: no such key: nothing"),
        ),
        (json!([broken]), "Ignore", None),
        // They see no namespace.
        (json!([named("blind", "namespaceObject == null")]), "Fail", Some("request: never")),
    ] {
        let mut cluster = with_policy(spec(conditions.clone(), failure), json!({}));
        let response = cluster.request(&config("a", json!({})));
        match expected {
            None => assert_eq!(response.code, 201, "{conditions} {response:?}"),
            Some(text) => refused(&response, 422, "Invalid", text),
        }
    }
}

#[test]
fn variables_are_computed_when_they_are_needed() {
    let spec = json!({
        "variables": [
            { "name": "size", "expression": "object.data.size()" },
            { "name": "double", "expression": "variables.size * 2" },
            { "name": "broken", "expression": "object.metadata.nothing" },
        ],
        "validations": [
            { "expression": "has(variables.double) && variables.double < 4",
              "messageExpression": "'twice ' + string(variables.size) + ' is too much'" },
            { "expression": "object.metadata.name != 'b' || variables.broken == 1" },
        ],
    });
    let mut cluster = with_policy(spec, json!({}));
    ok(&mut cluster, &config("a", json!({ "x": "1" })));
    let response = cluster.request(&config("a2", json!({ "x": "1", "y": "2" })));
    refused(&response, 422, "Invalid", "request: twice 2 is too much");
    let response = cluster.request(&config("b", json!({ "x": "1" })));
    refused(
        &response,
        422,
        "Invalid",
        "resulted in error: composited variable \"broken\" fails to evaluate: no such key: nothing",
    );
}

/// Each variable waits for the one before it: the stack must not run out.
#[test]
fn long_chains_of_variables_are_refused() {
    let mut variables = vec![json!({ "name": "v0", "expression": "1" })];
    for index in 1..2_000 {
        let expression = format!("variables.v{} + 1", index - 1);
        variables.push(json!({ "name": format!("v{index}"), "expression": expression }));
    }
    let spec = json!({ "variables": variables, "validations": [{ "expression": "variables.v1999 > 0" }] });
    let mut cluster = with_policy(spec, json!({}));
    refused(&cluster.request(&config("a", json!({}))), 422, "Invalid", "depend on each other more deeply");
}

#[test]
fn the_object_before_and_after_and_the_request_are_seen() {
    let all = |rule: &str| {
        json!({
            "validations": [{ "expression": rule }],
            "matchConstraints": { "resourceRules": [{
                "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["configmaps", "deployments/*"],
            }] },
        })
    };
    let mut cluster = cluster();
    ok(&mut cluster, &config("old", json!({ "a": "1" })));
    ok(&mut cluster, &create("deployments", deployment("web")));
    ok(&mut cluster, &write("validatingadmissionpolicybindings", binding("b", "p", json!({}))));
    let change = merge("configmaps", "old", json!({ "data": { "a": "2" } }));
    let scale = merge("deployments", "web", json!({ "spec": { "replicas": 5 } })).on("scale");
    let status = merge("deployments", "web", json!({ "status": { "replicas": 1 } })).on("status");
    let mut dry = config("new", json!({}));
    dry.options.dry_run = true;
    for (rule, request) in [
        ("object.metadata.name == 'new' && oldObject == null", config("new", json!({}))),
        (
            "request.operation == 'CREATE' && !request.dryRun && request.name == 'new'",
            config("new", json!({})),
        ),
        ("request.dryRun && request.options.dryRun == ['All']", dry),
        ("request.operation == 'UPDATE' && oldObject.data.a == '1' && object.data.a == '2'", change.clone()),
        (
            "request.kind.group == '' && request.kind.version == 'v1' && request.kind.kind == 'ConfigMap'",
            change.clone(),
        ),
        (
            "request.requestResource.resource == 'configmaps' && request.namespace == 'default'",
            change.clone(),
        ),
        ("!has(request.subResource) && request.options.kind == 'UpdateOptions'", change.clone()),
        (
            "namespaceObject.metadata.name == 'default' && namespaceObject.status.phase == 'Active'",
            change.clone(),
        ),
        ("request.userInfo.username == 'system:apiserver'", change),
        (
            "request.operation == 'DELETE' && object == null && oldObject.data.a == '1'",
            delete("configmaps", "old"),
        ),
        ("request.options.kind == 'DeleteOptions'", delete("configmaps", "old")),
        (
            "request.kind.kind == 'Scale' && request.subResource == 'scale' && object.spec.replicas == 5",
            scale.clone(),
        ),
        ("object.kind == 'Scale' && oldObject.spec.replicas == 2", scale),
        ("object.kind == 'Deployment' && request.requestSubResource == 'status'", status),
    ] {
        let mut kept = cluster.clone();
        ok(&mut kept, &write("validatingadmissionpolicies", policy("p", all(rule))));
        ok(&mut kept, &request);
        // The same rule the other way round shows that it was asked for.
        let mut broken = cluster.clone();
        ok(&mut broken, &write("validatingadmissionpolicies", policy("p", all(&format!("!({rule})")))));
        refused(&broken.request(&request), 422, "Invalid", "failed expression");
    }
}

#[test]
fn only_what_matches_is_evaluated() {
    let constraints = |fields: Value| {
        let constraints = json!({ "resourceRules": [{
            "apiGroups": ["", "example.com"], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": ["configmaps", "widgets", "namespaces"],
        }] });
        let constraints = with_fields(constraints, &fields);
        json!({ "matchConstraints": constraints, "validations": [{ "expression": "false" }] })
    };
    let rule = |fields: Value| {
        let rule = json!({ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] });
        json!([with_fields(rule, &fields)])
    };
    let labelled = create("configmaps", with_meta(config_map("a"), "labels", json!({ "app": "web" })));
    let plain = config("a", json!({}));
    let second = ResourceId::new("example.com", "v2", "widgets");
    let mut other = widget("w");
    other["apiVersion"] = "example.com/v2".into();
    let equivalent = Request::new(Verb::Create, second).in_namespace("default").with_body(other);
    let space = create("namespaces", namespace("n"));
    for (fields, request, matches) in [
        (json!({}), plain.clone(), true),
        (json!({}), space.clone(), true),
        (json!({}), create("pods", pod("p")), false),
        (json!({}), equivalent.clone(), true),
        (json!({ "matchPolicy": "Exact" }), equivalent, false),
        (json!({ "objectSelector": { "matchLabels": { "app": "web" } } }), labelled, true),
        (json!({ "objectSelector": { "matchLabels": { "app": "web" } } }), plain.clone(), false),
        (
            json!({ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "default" } } }),
            plain.clone(),
            true,
        ),
        (
            json!({ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "x" } } }),
            plain.clone(),
            false,
        ),
        (json!({ "excludeResourceRules": rule(json!({})) }), plain.clone(), false),
        (json!({ "excludeResourceRules": rule(json!({ "resourceNames": ["b"] })) }), plain.clone(), true),
        (json!({ "resourceRules": rule(json!({ "resourceNames": ["a"] })) }), plain.clone(), true),
        (json!({ "resourceRules": rule(json!({ "operations": ["UPDATE"] })) }), plain.clone(), false),
        (json!({ "resourceRules": rule(json!({ "apiVersions": ["v2"] })) }), plain.clone(), false),
        (
            json!({ "resourceRules": rule(json!({ "scope": "Cluster", "resources": ["*"] })) }),
            plain.clone(),
            false,
        ),
        (
            json!({ "resourceRules": rule(json!({ "scope": "Cluster", "resources": ["*"] })) }),
            space.clone(),
            true,
        ),
        (
            json!({ "resourceRules": rule(json!({ "scope": "Namespaced", "resources": ["*"] })) }),
            space,
            false,
        ),
        (json!({ "resourceRules": rule(json!({ "scope": "Namespaced", "resources": ["*"] })) }), plain, true),
    ] {
        let mut as_policy = with_policy(constraints(fields.clone()), json!({}));
        let expected = if matches { 422 } else { 201 };
        assert_eq!(as_policy.request(&request).code, expected, "{fields} {request:?}");
        // A binding narrows the policy by the same rules.
        let resources = constraints(fields.clone())["matchConstraints"].clone();
        let mut bound = with_policy(
            json!({
                "matchConstraints": { "resourceRules": [{
                    "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"] }] },
                "validations": [{ "expression": "false" }],
            }),
            json!({ "matchResources": resources }),
        );
        assert_eq!(bound.request(&request).code, expected, "bound: {fields} {request:?}");
    }
}

#[test]
fn equivalent_objects_are_shown_in_the_version_of_the_rule() {
    let spec = json!({
        "matchConstraints": { "resourceRules": [{
            "apiGroups": ["example.com"], "apiVersions": ["v2"], "operations": ["CREATE"], "resources": ["widgets"],
        }] },
        "validations": [{ "expression":
            "object.apiVersion == 'example.com/v2' && request.kind.version == 'v2' && request.requestKind.version == 'v1'" }],
    });
    let mut cluster = with_policy(spec, json!({}));
    ok(&mut cluster, &create("widgets", widget("a")));
}

#[test]
fn parameters_come_from_where_the_binding_says() {
    let spec = json!({
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "matchConstraints": { "resourceRules": [{
            "apiGroups": ["", "example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets", "nodes"],
        }] },
        "validations": [{ "expression": "params == null || string(object.spec.replicas) == params.data.replicas",
                          "messageExpression": "params.kind + ' ' + params.metadata.name + ' wants ' + params.data.replicas" }],
    });
    let reference = |fields: Value| json!({ "paramRef": with_fields(json!({ "parameterNotFoundAction": "Deny" }), &fields) });
    let request = create("widgets", widget("w"));
    for (bound, request, expected) in [
        (json!({}), request.clone(), None),
        (reference(json!({ "name": "one" })), request.clone(), None),
        (reference(json!({ "name": "two" })), request.clone(), Some("request: ConfigMap two wants 2")),
        (reference(json!({ "name": "two", "namespace": "kube-public" })), request.clone(), None),
        (
            reference(json!({ "name": "none" })),
            request.clone(),
            Some(
                "'b' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
            ),
        ),
        (reference(json!({ "name": "none", "parameterNotFoundAction": "Allow" })), request.clone(), None),
        (
            reference(json!({ "selector": { "matchLabels": { "for": "widgets" } } })),
            request.clone(),
            Some("request: ConfigMap two wants 2"),
        ),
        (
            reference(json!({ "selector": { "matchLabels": { "for": "nothing" } } })),
            request.clone(),
            Some("no params found"),
        ),
        (
            reference(json!({ "name": "one" })),
            create("nodes", json!({ "metadata": { "name": "n" } })),
            Some("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"),
        ),
    ] {
        let mut cluster = cluster();
        let param = |name: &str, replicas: &str| {
            let object = with_meta(config_map(name), "labels", json!({ "for": "widgets" }));
            let mut object = object;
            object["data"] = json!({ "replicas": replicas });
            create("configmaps", object)
        };
        ok(&mut cluster, &param("one", "1"));
        ok(&mut cluster, &param("two", "2"));
        ok(&mut cluster, &param("two", "1").in_namespace("kube-public"));
        ok(&mut cluster, &write("validatingadmissionpolicies", policy("p", spec.clone())));
        ok(&mut cluster, &write("validatingadmissionpolicybindings", binding("b", "p", bound.clone())));
        let response = cluster.request(&request);
        match expected {
            None => assert_eq!(response.code, 201, "{bound} {response:?}"),
            Some(text) => refused(&response, 422, "Invalid", text),
        }
    }
}

#[test]
fn a_policy_whose_parameters_have_no_type_refuses() {
    let spec = json!({
        "paramKind": { "apiVersion": "example.com/v1", "kind": "Nothing" },
        "validations": [{ "expression": "true" }],
    });
    let mut cluster = with_policy(spec.clone(), json!({}));
    assert_eq!(
        message(&cluster.request(&config("a", json!({})))),
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: \
         failed to find resource referenced by paramKind: 'example.com/v1, Kind=Nothing'"
    );
    let mut ignoring = spec;
    ignoring["failurePolicy"] = "Ignore".into();
    ok(&mut with_policy(ignoring, json!({})), &config("a", json!({})));
}

#[test]
fn policies_cannot_lock_themselves_in() {
    let everything = json!({
        "matchConstraints": { "resourceRules": [{
            "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"] }] },
        "validations": [{ "expression": "false" }],
    });
    let mut cluster = with_policy(everything, json!({}));
    refused(
        &cluster.request(&create("namespaces", namespace("n"))),
        422,
        "Invalid",
        "failed expression: false",
    );
    let resource = ResourceId::new(GROUP, "v1", "validatingadmissionpolicies");
    ok(&mut cluster, &Request::new(Verb::Delete, resource).named("p"));
    ok(&mut cluster, &create("namespaces", namespace("n")));
}

#[test]
fn deletions_of_collections_stop_at_what_may_not_go() {
    let spec = json!({
        "matchConstraints": { "resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"] }] },
        "validations": [{ "expression": "oldObject.metadata.name != 'b' && !has(request.name)" }],
    });
    let mut cluster = with_policy(spec, json!({}));
    for name in ["a", "b", "c"] {
        ok(&mut cluster, &config(name, json!({})));
    }
    let response = cluster.request(&request(Verb::DeleteCollection, "configmaps"));
    refused(&response, 422, "Invalid", "configmaps \"Unknown\" is forbidden");
    assert!(!exists(&mut cluster, "configmaps", "a") && exists(&mut cluster, "configmaps", "b"));
}

#[test]
fn who_asks_and_what_they_may_do_is_seen() {
    let user = Arc::new(User::authenticated("ann", &["builders"]));
    for (rule, allowed) in [
        ("request.userInfo.username == 'ann' && 'builders' in request.userInfo.groups", true),
        ("!has(request.userInfo.uid)", true),
        ("authorizer.requestResource.check('create').allowed()", true),
        ("authorizer.group('').resource('pods').namespace('default').check('create').allowed()", true),
        (
            "authorizer.path('/healthz').check('get').allowed() && !authorizer.path('/x').check('get').errored()",
            true,
        ),
        (
            "authorizer.serviceAccount('default', 'robot').group('apps').resource('deployments').check('get').reason() == ''",
            true,
        ),
        ("authorizer.serviceAccount('default', 'Robot').path('/').check('get').allowed()", false),
        (
            "authorizer.group('apps').resource('deployments').subresource('scale').name('x').check('get').error() != ''",
            false,
        ),
    ] {
        let cluster = with_policy(json!({ "validations": [{ "expression": rule }] }), json!({}));
        let caller = Caller { user: &user, authorizer: Authorizer::AlwaysAllow };
        let effect =
            handle_as(cluster.store(), cluster.types(), cluster.now(), caller, &config("a", json!({})));
        assert_eq!(effect.response.code == 201, allowed, "{rule} {:?}", effect.response);
    }
}

#[test]
fn audit_annotations_that_fail_refuse_the_request() {
    let spec = |value: &str| json!({ "auditAnnotations": [{ "key": "k", "valueExpression": value }] });
    ok(&mut with_policy(spec("'x'"), json!({ "validationActions": ["Audit"] })), &config("a", json!({})));
    let mut failing = with_policy(spec("string(object.nothing)"), json!({ "validationActions": ["Audit"] }));
    refused(&failing.request(&config("a", json!({}))), 422, "Invalid", "no such key: nothing");
}

#[test]
fn policies_and_bindings_are_checked_when_they_are_written() {
    let with = |spec: Value| write("validatingadmissionpolicies", policy("p", spec));
    let rule = |expression: &str| json!({ "validations": [{ "expression": expression }] });
    for (request, expected) in [
        (
            with(json!({})),
            "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
        ),
        (
            with(rule("object.metadata.name")),
            "spec.validations[0].expression: Invalid value: \"object.metadata.name\": must evaluate to bool but got dyn",
        ),
        (
            with(rule("nothing == 1")),
            "spec.validations[0].expression: Invalid value: \"nothing == 1\": compilation failed: ERROR: \
             <input>:1:1: undeclared reference to 'nothing' (in container '')\n | nothing == 1\n | ^",
        ),
        (with(rule("params == null")), "undeclared reference to 'params' (in container '')"),
        (with(rule("variables.x == 1")), "undeclared reference to 'variables' (in container '')"),
        (with(rule("request.uid == ''")), "undefined field 'uid'"),
        (with(rule("request.name == 1")), "found no matching overload for '_==_' applied to '(string, int)'"),
        (with(rule("request == 1")), "applied to '(kubernetes.AdmissionRequest, int)'"),
        (
            with(
                json!({ "variables": [{ "name": "a", "expression": "1" }], "validations": [{ "expression": "variables.b == 1" }] }),
            ),
            "undefined field 'b'",
        ),
        (
            with(
                json!({ "variables": [{ "name": "a", "expression": "1" }], "validations": [{ "expression": "variables.a == 'x'" }] }),
            ),
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            with(
                json!({ "variables": [{ "name": "in", "expression": "1" }], "validations": [{ "expression": "true" }] }),
            ),
            "spec.variables[0].name: Invalid value: \"in\": must be a valid CEL identifier",
        ),
        (
            with(json!({ "validations": [{ "expression": "true", "messageExpression": "1" }] })),
            "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string but got int",
        ),
        (
            with(
                json!({ "validations": [{ "expression": "true", "messageExpression": "authorizer.path('/').check('get').reason()" }] }),
            ),
            "undeclared reference to 'authorizer'",
        ),
        (
            with(json!({ "validations": [{ "expression": "true", "reason": "Because" }] })),
            "spec.validations[0].reason: Unsupported value: \"Because\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"",
        ),
        (
            with(json!({ "auditAnnotations": [{ "key": "k", "valueExpression": "1" }] })),
            "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int",
        ),
        (
            with(
                json!({ "matchConditions": [{ "name": "a", "expression": "variables.x" }], "validations": [{ "expression": "true" }] }),
            ),
            "spec.matchConditions[0].expression",
        ),
        (
            with(
                json!({ "matchConstraints": { "resourceRules": [{ "operations": ["READ"], "apiGroups": ["*", "a"], "apiVersions": ["v1"], "resources": ["a", "*"] }] }, "validations": [{ "expression": "true" }] }),
            ),
            "spec.matchConstraints.resourceRules[0].operations[0]: Unsupported value: \"READ\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
        ),
        (
            write(
                "validatingadmissionpolicybindings",
                binding("b", "p", json!({ "validationActions": ["Deny", "Warn"] })),
            ),
            "must not contain both Deny and Warn",
        ),
        (
            write(
                "validatingadmissionpolicybindings",
                binding("b", "p", json!({ "paramRef": { "parameterNotFoundAction": "Deny" } })),
            ),
            "spec.paramRef: Required value: one of name or selector must be specified",
        ),
        (
            write("validatingadmissionpolicybindings", binding("b", "P_", json!({}))),
            "spec.policyName: Invalid value: \"P_\"",
        ),
    ] {
        refused(&cluster().request(&request), 422, "Invalid", expected);
    }
}

#[test]
fn who_gives_parameters_must_be_able_to_read_them() {
    let mut cluster = cluster();
    let rbac = |plural: &str, body: Value| {
        let resource = ResourceId::new("rbac.authorization.k8s.io", "v1", plural);
        Request::new(Verb::Create, resource).with_body(body)
    };
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] },
            { "apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["create"] },
        ],
    });
    let bound = json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann" }],
    });
    ok(&mut cluster, &rbac("clusterroles", role));
    ok(&mut cluster, &rbac("clusterrolebindings", bound));
    let spec = |kind: &str| json!({ "paramKind": { "apiVersion": "v1", "kind": kind }, "validations": [{ "expression": "params == null" }] });
    ok(&mut cluster, &write("validatingadmissionpolicies", policy("maps", spec("ConfigMap"))));
    let refer = |policy: &str, reference: Value| {
        let spec = json!({ "paramRef": reference });
        write("validatingadmissionpolicybindings", binding("b", policy, spec))
    };
    let named = json!({ "name": "a", "parameterNotFoundAction": "Deny" });
    let selected = json!({ "selector": {}, "parameterNotFoundAction": "Deny" });
    let user = Arc::new(User::authenticated("ann", &[]));
    for (request, expected) in [
        (write("validatingadmissionpolicies", policy("p", spec("ConfigMap"))), None),
        (
            write("validatingadmissionpolicies", policy("p", spec("Secret"))),
            Some(
                "spec.paramKind: Forbidden: user &{ann  [system:authenticated] map[]} must have \"get\" permission on \
                 all objects of the referenced paramKind (kind=Secret, apiVersion=v1)",
            ),
        ),
        (refer("maps", named.clone()), None),
        (
            refer("maps", selected),
            Some(
                "spec.paramRef: Forbidden: user &{ann  [system:authenticated] map[]} does not have \"list\" \
                 permission on the object referenced by paramRef",
            ),
        ),
        (refer("none", named), Some("unable to get policy none to determine minimum required permissions")),
    ] {
        let roles = Policy::of(cluster.store());
        let caller = Caller { user: &user, authorizer: Authorizer::Rbac(&roles) };
        let effect = handle_as(cluster.store(), cluster.types(), cluster.now(), caller, &request);
        match expected {
            None => assert_eq!(effect.response.code, 201, "{:?}", effect.response),
            Some(text) => refused(&effect.response, 422, "Invalid", text),
        }
    }
}

/// The checker puts other contents into a cluster: their policies hold, not those of before.
#[test]
fn other_contents_bring_their_policies() {
    let never = json!({ "validations": [{ "expression": "false" }] });
    let with = with_policy(never, json!({}));
    let resource = ResourceId::new(GROUP, "v1", "validatingadmissionpolicies");
    let mut without = with.clone();
    ok(&mut without, &Request::new(Verb::Delete, resource).named("p"));
    assert_eq!(with.with_store(without.store().clone()).request(&config("a", json!({}))).code, 201);
    assert_eq!(without.with_store(with.store().clone()).request(&config("a", json!({}))).code, 422);
    assert!(Arc::ptr_eq(with.with_store(with.store().clone()).types(), with.types()));
}

/// The types, and with them what is remembered of them, change only when a policy's spec does.
#[test]
fn policies_are_compiled_once() {
    let mut cluster = with_policy(json!({ "validations": [{ "expression": "true" }] }), json!({}));
    let before = Arc::clone(cluster.types());
    ok(&mut cluster, &config("a", json!({})));
    let labelled = with_meta(
        policy("p", json!({ "validations": [{ "expression": "true" }] })),
        "labels",
        json!({ "a": "b" }),
    );
    ok(&mut cluster, &write("validatingadmissionpolicies", labelled));
    assert!(Arc::ptr_eq(&before, cluster.types()));
}
