//! POST: what the server adds to a new object, and what it refuses.

use crate::support::*;
use serde_json::json;
use windlass_model::FieldValidation;
use windlass_model::{Request, Verb};

#[test]
fn a_new_object_gets_its_system_fields() {
    let mut cluster = cluster();
    let mut body = widget("a");
    body["metadata"]["uid"] = "mine".into();
    body["metadata"]["generation"] = 7.into();
    body["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
    body["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
    body["metadata"]["deletionGracePeriodSeconds"] = 3.into();
    body["status"] = json!({ "phase": "Ready" });
    let response = cluster.request(&create("widgets", body));
    assert_eq!(response.code, 201);
    let object = response.as_object().unwrap();
    let metadata = &object["metadata"];
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["generation"], 1);
    assert_eq!(metadata["creationTimestamp"], "2026-01-01T00:00:00Z");
    assert!(
        metadata.get("deletionTimestamp").is_none() && metadata.get("deletionGracePeriodSeconds").is_none()
    );
    assert!(object.get("status").is_none(), "status is a part of its own");
    let uid = metadata["uid"].as_str().unwrap();
    let lengths: Vec<usize> = uid.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12], "{uid}");
    assert!(metadata["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(found(&mut cluster, "widgets", "a"), *object);
}

#[test]
fn a_config_map_has_no_generation() {
    let mut cluster = cluster();
    let object = ok(&mut cluster, &create("configmaps", config_map("a")));
    assert!(object["metadata"].get("generation").is_none());
}

#[test]
fn names_are_generated_and_differ() {
    let mut cluster = cluster();
    let mut body = config_map("");
    body["metadata"] = json!({ "generateName": "web-" });
    let mut names = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let object = ok(&mut cluster, &create("configmaps", body.clone()));
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        assert!(name.starts_with("web-") && name.len() == "web-".len() + 5, "{name}");
        assert_eq!(object["metadata"]["generateName"], "web-");
        assert!(names.insert(name));
    }
}

#[test]
fn a_taken_name_is_refused() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("configmaps", with_meta(config_map("a"), "finalizers", json!(["x.io/y"]))));
    let again = create("configmaps", config_map("a"));
    refused(&cluster.request(&again), 409, "AlreadyExists", "configmaps \"a\" already exists");
    ok(&mut cluster, &delete("configmaps", "a"));
    let response = cluster.request(&again);
    refused(&response, 409, "AlreadyExists", "object is being deleted: configmaps \"a\" already exists");
    let details = response.failure().unwrap().details.clone().unwrap();
    assert_eq!((details.name.as_deref(), details.kind.as_deref()), (Some("a"), Some("configmaps")));
}

#[test]
fn broken_requests_are_refused() {
    let mut cluster = cluster();
    let in_namespace = |namespace: &str| create("configmaps", config_map("a")).in_namespace(namespace);
    let other_kind = |kind: &str| {
        let mut body = config_map("a");
        body["kind"] = kind.into();
        create("configmaps", body)
    };
    let mut other_version = widget("a");
    other_version["apiVersion"] = "example.com/v7".into();
    let no_name = create("configmaps", json!({ "apiVersion": "v1", "kind": "ConfigMap" }));
    let versioned = create("configmaps", with_meta(config_map("a"), "resourceVersion", "5".into()));
    let long_manager = create("configmaps", config_map("a")).as_manager(&"m".repeat(129));
    for (request, code, reason, message) in [
        (in_namespace("nowhere"), 404, "NotFound", "namespaces \"nowhere\" not found"),
        (in_namespace(""), 405, "MethodNotAllowed", "does not allow this method"),
        (
            create("configmaps", with_meta(config_map("a"), "namespace", "other".into())),
            400,
            "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (other_kind("Thing"), 400, "BadRequest", "Thing in version \"v1\" cannot be handled as a ConfigMap"),
        (
            create("widgets", other_version),
            400,
            "BadRequest",
            "the API version in the data (example.com/v7) does not match the expected API version (example.com/v1)",
        ),
        (no_name, 422, "Invalid", "metadata.name: Required value: name or generateName is required"),
        (versioned, 500, "", "resourceVersion should not be set on objects to be created"),
        (create("configmaps", json!(3)), 400, "BadRequest", "must be of type ConfigMap"),
        (request(Verb::Create, "configmaps"), 400, "BadRequest", "must be of type ConfigMap"),
        (
            create("configmaps", with_meta(config_map("a"), "labels", json!("none"))),
            400,
            "BadRequest",
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal string",
        ),
        (
            long_manager,
            422,
            "Invalid",
            "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than 128 bytes",
        ),
        (
            Request::new(Verb::Create, windlass_model::ResourceId::new("no.io", "v1", "things"))
                .with_body(json!({})),
            404,
            "NotFound",
            "the server could not find the requested resource",
        ),
    ] {
        refused(&cluster.request(&request), code, reason, message);
    }
    assert!(!exists(&mut cluster, "configmaps", "a"));
}

#[test]
fn kind_and_version_may_be_left_out_for_built_in_types() {
    let mut cluster = cluster();
    let object = ok(&mut cluster, &create("configmaps", json!({ "metadata": { "name": "a" } })));
    assert_eq!((&object["apiVersion"], &object["kind"]), (&json!("v1"), &json!("ConfigMap")));
    let response = cluster.request(&create("widgets", json!({ "metadata": { "name": "a" } })));
    refused(&response, 400, "BadRequest", "Object 'Kind' is missing");
}

#[test]
fn unknown_fields_are_dropped_warned_about_or_refused() {
    let mut cluster = cluster();
    let mut body = widget("a");
    body["spec"]["foo"] = 1.into();
    body["bar"] = 2.into();
    for (validation, warnings) in [
        (FieldValidation::Ignore, vec![]),
        (FieldValidation::Warn, vec!["unknown field \"bar\"", "unknown field \"spec.foo\""]),
    ] {
        let mut request = create("widgets", body.clone());
        request.options.field_validation = validation;
        request.options.dry_run = true;
        let response = cluster.request(&request);
        let object = response.as_object().unwrap();
        assert!(object.get("bar").is_none() && object["spec"].get("foo").is_none());
        let mut given = response.warnings.clone();
        given.sort();
        assert_eq!(given, warnings, "{validation:?}");
    }
    let mut request = create("widgets", body);
    request.options.field_validation = FieldValidation::Strict;
    let response = cluster.request(&request);
    refused(
        &response,
        400,
        "BadRequest",
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: ",
    );
    refused(&response, 400, "BadRequest", "unknown field \"spec.foo\"");
}

#[test]
fn a_dry_run_answers_and_changes_nothing() {
    let mut cluster = cluster();
    let mut request = create("configmaps", config_map("a"));
    request.options.dry_run = true;
    let response = cluster.request(&request);
    assert_eq!(response.code, 201);
    let object = response.as_object().unwrap();
    assert!(object["metadata"]["uid"].is_string() && object["metadata"].get("resourceVersion").is_none());
    assert!(!exists(&mut cluster, "configmaps", "a"));
    ok(&mut cluster, &create("configmaps", config_map("a")));
    refused(&cluster.request(&request), 409, "AlreadyExists", "already exists");
}

#[test]
fn duplicate_owner_references_are_dropped_with_a_warning() {
    let mut cluster = cluster();
    let owner = ok(&mut cluster, &create("configmaps", config_map("owner")));
    let references = json!([owned_by(&owner), owned_by(&owner)]);
    let response =
        cluster.request(&create("configmaps", with_meta(config_map("a"), "ownerReferences", references)));
    assert_eq!(response.as_object().unwrap()["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    assert!(
        response.warnings.iter().any(|warning| warning.contains("contains duplicate entries")),
        "{response:?}"
    );
}

#[test]
fn what_etcd_would_not_take_is_refused() {
    let mut cluster = cluster();
    let mut large = widget("large");
    large["spec"]["size"] = "x".repeat(1_500_000).into();
    ok(&mut cluster, &create("widgets", large));
    let mut big = widget("big");
    big["spec"]["size"] = "x".repeat(1_600_000).into();
    refused(&cluster.request(&create("widgets", big)), 500, "", "etcdserver: request is too large");
}

#[test]
fn a_new_object_reads_the_same_in_every_served_version() {
    let mut cluster = cluster();
    let mut body = widget("a");
    body["apiVersion"] = "example.com/v2".into();
    let mut request = create("widgets", body);
    request.resource.version = "v2".to_owned();
    let made = ok(&mut cluster, &request);
    assert_eq!(made["apiVersion"], "example.com/v2");
    let read = found(&mut cluster, "widgets", "a");
    assert_eq!(read["apiVersion"], "example.com/v1");
    assert_eq!(read["spec"], made["spec"]);
    assert_eq!(read["metadata"]["uid"], made["metadata"]["uid"]);
}

#[test]
fn defaults_of_a_schema_are_filled_in() {
    let mut cluster = cluster();
    let mut body = widget("a");
    body["spec"] = json!({});
    assert_eq!(ok(&mut cluster, &create("widgets", body))["spec"]["color"], "blue");
}

#[test]
fn finalizers_of_custom_resources_should_say_whose_they_are() {
    let mut cluster = cluster();
    let finalizers = json!(["plain", "x.io", "x.io/y", "orphan"]);
    let response = cluster.request(&create("widgets", with_meta(widget("a"), "finalizers", finalizers)));
    assert_eq!(response.code, 201);
    assert_eq!(
        response.warnings,
        [
            "metadata.finalizers: \"plain\": prefer a domain-qualified finalizer name to avoid accidental conflicts \
             with other finalizer writers",
            "metadata.finalizers: \"x.io\": prefer a domain-qualified finalizer name including a path (/) to avoid \
             accidental conflicts with other finalizer writers",
        ]
    );
}
