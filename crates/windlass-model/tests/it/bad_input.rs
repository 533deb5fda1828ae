//! Bad input is answered with a `Status` that says why, from the bytes on the wire to the store.

use serde_json::{Value, json};
use windlass_model::http::{HttpParts, parse};
use windlass_model::{Cluster, Response};

/// Sends raw bytes, as a server would.
fn send(cluster: &mut Cluster, method: &str, path: &str, body: &[u8]) -> Response {
    let content_type = match method {
        "PATCH" => Some("application/merge-patch+json"),
        "GET" | "DELETE" => None,
        _ => Some("application/json"),
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts = HttpParts { method, path, query, content_type, body, ..HttpParts::default() };
    match parse(&parts, cluster.types()) {
        Ok(parsed) => cluster.request(&parsed.request),
        Err(status) => status.into(),
    }
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn nested(depth: usize) -> Vec<u8> {
    format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)).into_bytes()
}

fn definition(schema: Value) -> Vec<u8> {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": { "kind": "Thing", "plural": "things" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    definition.to_string().into_bytes()
}

/// What it is, method, path, body; the code and a part of the message that it is answered with.
type Row = (&'static str, &'static str, &'static str, Vec<u8>, u16, &'static str);

#[test]
fn bad_input_is_a_status() {
    let big = |bytes: usize| {
        json!({ "metadata": { "name": "big" }, "data": { "x": "x".repeat(bytes) } }).to_string().into_bytes()
    };
    let cyclic = json!({
        "type": "object",
        "properties": { "child": { "$ref": "#/definitions/Thing" } },
        "definitions": { "Thing": { "properties": { "child": { "$ref": "#/definitions/Thing" } } } },
    });
    let rows: Vec<Row> = vec![
        (
            "malformed JSON",
            "POST",
            CONFIG_MAPS,
            b"{\"metadata\": {\"name\": }".to_vec(),
            400,
            "looking for beginning of value",
        ),
        ("no JSON at all", "POST", CONFIG_MAPS, b"\xff\xfe\x00".to_vec(), 400, ""),
        ("an empty body", "POST", CONFIG_MAPS, Vec::new(), 400, ""),
        ("a list where an object is wanted", "POST", CONFIG_MAPS, b"[]".to_vec(), 400, ""),
        (
            "metadata that is a number",
            "POST",
            CONFIG_MAPS,
            b"{\"metadata\": 3}".to_vec(),
            400,
            "cannot unmarshal number",
        ),
        (
            "a label that is a number",
            "POST",
            CONFIG_MAPS,
            b"{\"metadata\": {\"name\": \"a\", \"labels\": {\"a\": 1}}}".to_vec(),
            400,
            "cannot unmarshal number",
        ),
        (
            "data that is a list",
            "POST",
            CONFIG_MAPS,
            b"{\"metadata\": {\"name\": \"a\"}, \"data\": []}".to_vec(),
            400,
            "data",
        ),
        (
            "another kind",
            "POST",
            CONFIG_MAPS,
            b"{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}".to_vec(),
            400,
            "converting (v1.Pod) to (core.ConfigMap): unknown conversion",
        ),
        (
            "an object of 2 MiB",
            "POST",
            CONFIG_MAPS,
            big(2 << 20),
            422,
            "[]: Too long: may not be more than 1048576 bytes",
        ),
        ("a body over the limit", "POST", CONFIG_MAPS, big(4 << 20), 413, "limit is 3145728"),
        ("deep nesting", "POST", CONFIG_MAPS, nested(100_000), 400, "exceeded max depth"),
        (
            "nesting just within the limit",
            "POST",
            CONFIG_MAPS,
            nested(100),
            422,
            "name or generateName is required",
        ),
        (
            "a name that is not UTF-8",
            "GET",
            "/api/v1/namespaces/default/configmaps/%ff%fe",
            Vec::new(),
            400,
            "",
        ),
        ("a name with a slash", "GET", "/api/v1/namespaces/default/configmaps/a%2fb", Vec::new(), 404, ""),
        ("half a percent escape", "GET", "/api/v1/namespaces/default/configmaps/a%4", Vec::new(), 400, ""),
        (
            "a path that leads nowhere",
            "GET",
            "/api/v1/nothing",
            Vec::new(),
            404,
            "could not find the requested resource",
        ),
        ("an unknown method", "BREW", CONFIG_MAPS, Vec::new(), 405, ""),
        (
            "a broken selector",
            "GET",
            "/api/v1/configmaps?labelSelector=a%20in%20(",
            Vec::new(),
            400,
            "unable to parse",
        ),
        (
            "a broken continue token",
            "GET",
            "/api/v1/configmaps?limit=1&continue=%21",
            Vec::new(),
            400,
            "continue key is not valid",
        ),
        (
            "an unknown field selector",
            "GET",
            "/api/v1/configmaps?fieldSelector=spec.x%3D1",
            Vec::new(),
            400,
            "is not a known field selector",
        ),
        ("a schema with a cycle", "POST", DEFINITIONS, definition(cyclic), 422, "$ref"),
        (
            "a schema with a broken pattern",
            "POST",
            DEFINITIONS,
            definition(
                json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "(" } } }),
            ),
            422,
            "pattern",
        ),
        (
            "a rule that does not parse",
            "POST",
            DEFINITIONS,
            definition(json!({ "type": "object", "x-kubernetes-validations": [{ "rule": "self.(" }] })),
            422,
            "Syntax error",
        ),
        (
            "a rule that nests too deeply",
            "POST",
            DEFINITIONS,
            definition(
                json!({ "type": "object", "x-kubernetes-validations": [{ "rule": "(".repeat(50_000) }] }),
            ),
            422,
            "",
        ),
    ];
    for (what, method, path, body, code, fragment) in rows {
        let mut cluster = Cluster::new();
        let before = cluster.store().clone();
        let response = send(&mut cluster, method, path, &body);
        let Some(status) = response.failure() else { panic!("{what}: accepted: {:?}", response.body) };
        assert_eq!(status.code, code, "{what}: {}", status.message);
        assert!(status.message.contains(fragment), "{what}: {}", status.message);
        assert!(!status.message.is_empty(), "{what}");
        assert_eq!(*cluster.store(), before, "{what}: something was stored");
    }
}

#[test]
fn a_bad_patch_leaves_the_object_as_it_was() {
    let mut cluster = Cluster::new();
    let created =
        send(&mut cluster, "POST", CONFIG_MAPS, br#"{"metadata": {"name": "a"}, "data": {"x": "1"}}"#);
    assert_eq!(created.code, 201, "{created:?}");
    let before = cluster.store().clone();
    let path = format!("{CONFIG_MAPS}/a");
    for body in [
        &br#"{"data": {"x": 3}}"#[..],
        br#"{"metadata": {"name": "b"}}"#,
        br#"{"metadata": {"resourceVersion": "999"}}"#,
        br#"{"metadata": {"labels": {"not valid": "x"}}}"#,
        br#"{"data": {"not/valid": "x"}}"#,
        b"3",
        b"{",
    ] {
        let response = send(&mut cluster, "PATCH", &path, body);
        assert!(response.failure().is_some(), "{}", String::from_utf8_lossy(body));
        assert_eq!(*cluster.store(), before);
    }
}
