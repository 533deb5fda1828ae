//! What the types themselves refuse: names, immutable fields, unknown fields of built-in types.

use crate::support::*;
use serde_json::json;
use windlass_model::FieldValidation;

#[test]
fn broken_objects_are_refused() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("deployments", deployment("a")));
    let mut wrong_type = widget("b");
    wrong_type["spec"]["replicas"] = "many".into();
    let no_containers = json!({ "metadata": { "name": "b" }, "spec": {} });
    let bad_label = with_meta(config_map("b"), "labels", json!({ "not valid!": "x" }));
    let selector =
        merge("deployments", "a", json!({ "spec": { "selector": { "matchLabels": { "app": "b" } } } }));
    let both = with_meta(config_map("b"), "finalizers", json!(["orphan", "foregroundDeletion"]));
    for (request, message) in [
        (
            create("configmaps", config_map("Not_Valid")),
            "ConfigMap \"Not_Valid\" is invalid: metadata.name: Invalid value: \"Not_Valid\"",
        ),
        (
            create("widgets", wrong_type),
            "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
        ),
        (create("pods", no_containers), "Pod \"b\" is invalid: spec.containers: Required value"),
        (create("configmaps", bad_label), "metadata.labels: Invalid value: \"not valid!\""),
        (selector, "spec.selector: Invalid value"),
        (create("configmaps", both), "cannot be both set"),
    ] {
        refused(&cluster.request(&request), 422, "Invalid", message);
    }
}

#[test]
fn unknown_fields_of_built_in_types_are_warned_about_or_refused() {
    let mut cluster = cluster();
    let mut body = deployment("a");
    body["spec"]["foo"] = 1.into();
    let mut request = create("deployments", body);
    request.options.field_validation = FieldValidation::Strict;
    refused(
        &cluster.request(&request),
        400,
        "BadRequest",
        "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \"spec.foo\"",
    );
    request.options.field_validation = FieldValidation::Warn;
    let response = cluster.request(&request);
    assert_eq!(response.warnings, ["unknown field \"spec.foo\""]);
    assert!(response.as_object().unwrap()["spec"].get("foo").is_none());
}

#[test]
fn a_value_of_the_wrong_type_is_refused() {
    let mut cluster = cluster();
    let mut body = deployment("a");
    body["spec"]["replicas"] = "many".into();
    refused(
        &cluster.request(&create("deployments", body)),
        400,
        "BadRequest",
        "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field \
         DeploymentSpec.spec.replicas of type int32",
    );
}

#[test]
fn defaults_of_built_in_types_are_filled_in() {
    let mut cluster = cluster();
    let mut body = deployment("a");
    body["spec"].as_object_mut().unwrap().remove("replicas");
    let made = ok(&mut cluster, &create("deployments", body));
    assert_eq!(made["spec"]["replicas"], 1);
    assert_eq!(made["spec"]["strategy"]["type"], "RollingUpdate");
    assert_eq!(made["spec"]["template"]["spec"]["restartPolicy"], "Always");
}

#[test]
fn metadata_of_the_wrong_type_cannot_be_decoded() {
    let mut cluster = cluster();
    for (metadata, error) in [
        (
            json!({ "labels": { "a": 1 } }),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            json!({ "labels": [] }),
            "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            json!({ "name": true }),
            "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            json!({ "generation": 1.5 }),
            "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64",
        ),
        (
            json!({ "finalizers": [{}] }),
            "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.finalizers of type string",
        ),
        (
            json!({ "ownerReferences": [{ "uid": 1 }] }),
            "json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.uid of type types.UID",
        ),
        (
            json!({ "creationTimestamp": "x" }),
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
        ),
        (
            json!([]),
            "json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
    ] {
        let mut body = config_map("a");
        body["metadata"] = metadata;
        let response = cluster.request(&create("configmaps", body));
        let wanted = format!("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: {error}");
        refused(&response, 400, "BadRequest", &wanted);
    }
    let body = with_meta(widget("a"), "labels", json!({ "a": 1 }));
    refused(
        &cluster.request(&create("widgets", body)),
        400,
        "BadRequest",
        "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
    );
}

#[test]
fn metadata_may_have_nulls_and_unknown_fields() {
    let mut cluster = cluster();
    for metadata in [
        json!({ "labels": { "a": null }, "finalizers": null, "foo": 1, "generation": 3 }),
        json!({ "creationTimestamp": null }),
        json!({ "managedFields": [{ "fieldsV1": { "f:a": {} }, "time": "2026-01-01T00:00:00Z" }] }),
    ] {
        let mut body = widget("a");
        body["metadata"] = metadata;
        body["metadata"]["generateName"] = "a-".into();
        assert_eq!(cluster.request(&create("widgets", body.clone())).code, 201, "{body}");
    }
}

#[test]
fn a_version_that_is_still_to_come_is_refused() {
    let mut cluster = cluster();
    let made = ok(&mut cluster, &create("configmaps", config_map("a")));
    let version = made["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    let mut request = get("configmaps", "a");
    request.options.resource_version = Some(version);
    ok(&mut cluster, &request);
    request.options.resource_version = Some("999999".to_owned());
    refused(&cluster.request(&request), 504, "Timeout", "Too large resource version: 999999, current: ");
}
