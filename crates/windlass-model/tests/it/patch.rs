//! PATCH: the four kinds, their preconditions, and what they refuse.

use crate::support::*;
use serde_json::json;
use windlass_model::FieldValidation;
use windlass_model::PatchKind;

#[test]
fn each_kind_changes_what_it_says() {
    for (kind, body) in [
        (PatchKind::Json, json!([{ "op": "add", "path": "/data/more", "value": "x" }])),
        (PatchKind::Merge, json!({ "data": { "more": "x" } })),
        (PatchKind::Strategic, json!({ "data": { "more": "x" } })),
    ] {
        let mut cluster = cluster();
        let first = ok(&mut cluster, &create("configmaps", config_map("a")));
        let request = patch(kind, "configmaps", "a", body);
        let second = ok(&mut cluster, &request);
        assert_eq!(second["data"], json!({ "key": "value", "more": "x" }), "{kind:?}");
        assert_ne!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
        cluster.set_now(cluster.now().plus_seconds(60));
        let again = cluster.handle(&request);
        assert!(again.changes.is_empty(), "{kind:?} twice changes nothing");
        assert_eq!(again.response.as_object(), Some(&second));
    }
}

#[test]
fn only_apply_creates() {
    let mut cluster = cluster();
    for (kind, body) in [
        (PatchKind::Json, json!([])),
        (PatchKind::Merge, json!({ "data": {} })),
        (PatchKind::Strategic, json!({ "data": {} })),
    ] {
        let response = cluster.request(&patch(kind, "configmaps", "a", body));
        refused(&response, 404, "NotFound", "configmaps \"a\" not found");
    }
    let response = cluster.request(&patch(PatchKind::Apply, "configmaps", "a", config_map("a")));
    assert_eq!(response.code, 201, "{response:?}");
    let made = found(&mut cluster, "configmaps", "a");
    assert_eq!(made["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
    let again = cluster.handle(&patch(PatchKind::Apply, "configmaps", "a", config_map("a")));
    assert_eq!((again.response.code, again.changes.len()), (200, 0));
    let elsewhere = patch(PatchKind::Apply, "configmaps", "a", config_map("a")).in_namespace("nowhere");
    refused(&cluster.request(&elsewhere), 404, "NotFound", "namespaces \"nowhere\" not found");
}

#[test]
fn options_must_go_with_the_kind() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("widgets", widget("a")));
    let mut nameless = patch(PatchKind::Apply, "widgets", "a", widget("a"));
    nameless.options.field_manager = None;
    refused(
        &cluster.request(&nameless),
        422,
        "Invalid",
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
    );
    let mut forced = merge("widgets", "a", json!({}));
    forced.options.force = true;
    refused(
        &cluster.request(&forced),
        422,
        "Invalid",
        "force: Forbidden: may not be specified for non-apply patch",
    );
    refused(
        &cluster.request(&patch(PatchKind::Strategic, "widgets", "a", json!({}))),
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    );
}

#[test]
fn metadata_in_a_patch_is_a_precondition_or_refused() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("configmaps", config_map("a")));
    ok(&mut cluster, &create("widgets", widget("a")));
    for (request, code, reason, message) in [
        (
            merge("configmaps", "a", json!({ "metadata": { "resourceVersion": "99999" } })),
            409,
            "Conflict",
            "the object has been modified",
        ),
        (
            merge("widgets", "a", json!({ "metadata": { "resourceVersion": null } })),
            422,
            "Invalid",
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
        ),
        (
            merge("configmaps", "a", json!({ "metadata": { "name": "b" } })),
            400,
            "BadRequest",
            "the name of the object (b) does not match the name on the URL (a)",
        ),
        (
            merge("configmaps", "a", json!({ "metadata": { "namespace": "other" } })),
            400,
            "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            merge("configmaps", "a", json!({ "metadata": { "uid": "other" } })),
            422,
            "Invalid",
            "metadata.uid: Invalid value: \"other\": field is immutable",
        ),
        (merge("configmaps", "a", json!([])), 400, "BadRequest", ""),
        (
            patch(PatchKind::Json, "configmaps", "a", json!([{ "op": "remove", "path": "/data/none" }])),
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        ),
    ] {
        refused(&cluster.request(&request), code, reason, message);
    }
    let unconditional =
        merge("configmaps", "a", json!({ "metadata": { "resourceVersion": null }, "data": { "b": "c" } }));
    assert_eq!(ok(&mut cluster, &unconditional)["data"]["b"], "c");
    let current = found(&mut cluster, "configmaps", "a")["metadata"]["resourceVersion"].clone();
    let exact =
        merge("configmaps", "a", json!({ "metadata": { "resourceVersion": current }, "data": { "b": "d" } }));
    assert_eq!(ok(&mut cluster, &exact)["data"]["b"], "d");
}

#[test]
fn an_applied_version_or_uid_is_a_precondition() {
    let mut cluster = cluster();
    let with_uid = with_meta(config_map("a"), "uid", "other".into());
    refused(
        &cluster.request(&patch(PatchKind::Apply, "configmaps", "a", with_uid)),
        409,
        "Conflict",
        "uid mismatch: the provided object specified uid other, and no existing object was found",
    );
    ok(&mut cluster, &patch(PatchKind::Apply, "configmaps", "a", config_map("a")));
    let stale = with_meta(config_map("a"), "resourceVersion", "99999".into());
    let response = cluster.request(&patch(PatchKind::Apply, "configmaps", "a", stale));
    refused(&response, 409, "Conflict", "the object has been modified");
}

#[test]
fn unknown_fields_in_a_patch_are_warned_about_or_refused() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("widgets", widget("a")));
    let mut request = merge("widgets", "a", json!({ "spec": { "foo": 1, "size": "big" } }));
    request.options.field_validation = FieldValidation::Strict;
    let response = cluster.request(&request);
    refused(&response, 422, "Invalid", " \"\" is invalid: patch: Invalid value: ");
    refused(&response, 422, "Invalid", "strict decoding error: unknown field \"spec.foo\"");
    request.options.field_validation = FieldValidation::Warn;
    let response = cluster.request(&request);
    assert_eq!(response.warnings, ["unknown field \"spec.foo\""]);
    let object = response.as_object().unwrap();
    assert_eq!((object["spec"].get("foo"), &object["spec"]["size"]), (None, &json!("big")));
    assert_eq!(object["metadata"]["generation"], 2);
}

#[test]
fn a_patch_can_take_the_last_finalizer() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("widgets", with_meta(widget("a"), "finalizers", json!(["x.io/y"]))));
    ok(&mut cluster, &delete("widgets", "a"));
    ok(&mut cluster, &merge("widgets", "a", json!({ "metadata": { "finalizers": null } })));
    assert!(!exists(&mut cluster, "widgets", "a"));
}
