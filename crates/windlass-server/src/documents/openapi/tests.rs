//! OpenAPI: what clients learn about the shapes of objects and the operations on them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use windlass_model::Origin;
use windlass_model::{Cluster, PatchKind, Request, ResourceId, TypeInfo, Types, Verb};

use super::document;
use crate::documents::Document;
use crate::documents::widgets::cluster;

fn got(types: &Types, path: &str, accept: Option<&str>) -> Document {
    document(types, path, accept).unwrap_or_else(|| panic!("{path} is not answered"))
}

fn json_of(types: &Types, path: &str) -> Value {
    let document = got(types, path, None);
    assert_eq!(document.code, 200, "{path}");
    serde_json::from_slice(&document.body).expect("JSON")
}

/// The path and address of every document of v3.
fn document_paths(types: &Types) -> Vec<(String, String)> {
    let index = json_of(types, "/openapi/v3");
    let paths = fields(&index["paths"]).iter();
    paths
        .map(|(path, at)| (path.clone(), at["serverRelativeURL"].as_str().expect("an address").to_owned()))
        .collect()
}

fn fields(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// The schemas that say they are of this kind.
fn of_kind<'a>(schemas: &'a Value, info: &TypeInfo, kind: &str) -> Vec<&'a Value> {
    let wanted = json!({ "group": info.resource.group, "version": info.resource.version, "kind": kind });
    let is_of = |schema: &&Value| {
        schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|kinds| kinds.contains(&wanted))
    };
    fields(schemas).values().filter(is_of).collect()
}

#[test]
fn every_reference_resolves_and_every_schema_is_used() {
    let cluster = cluster();
    let mut all: Vec<(Value, &str)> = document_paths(cluster.types())
        .iter()
        .map(|(_, address)| (json_of(cluster.types(), address), "/components/schemas"))
        .collect();
    all.push((json_of(cluster.types(), "/openapi/v2"), "/definitions"));
    for (document, at) in &all {
        let schemas = document.pointer(at).unwrap().as_object().unwrap();
        let mut found = BTreeSet::new();
        references(document, &mut found);
        let found: BTreeSet<&str> =
            found.into_iter().map(|target| target.strip_prefix(&format!("#{at}/")).unwrap()).collect();
        let there: BTreeSet<&str> = schemas.keys().map(String::as_str).collect();
        assert_eq!(found, there);
        let empty = schemas.iter().filter(|(_, schema)| **schema == json!({})).map(|(name, _)| name);
        let unknown: Vec<&String> = empty.filter(|name| !name.contains(".apiextensions.v1.JSON")).collect();
        assert_eq!(unknown, Vec::<&String>::new(), "only what holds any JSON has nothing to say");
    }
}

#[test]
fn every_served_type_is_found_by_its_kind() {
    let cluster = cluster();
    let mut documents = BTreeMap::new();
    for info in cluster.types().iter() {
        let (group, version) = (&info.resource.group, &info.resource.version);
        let path =
            if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
        let address = format!("/openapi/v3/{path}");
        let document = documents.entry(path).or_insert_with(|| json_of(cluster.types(), &address));
        let schemas = &document["components"]["schemas"];
        assert_eq!(of_kind(schemas, info, &info.kind).len(), 1, "{}", info.kind);
        let lists = of_kind(schemas, info, &info.list_kind).len();
        assert_eq!(lists, usize::from(info.is_stored()), "{}", info.list_kind);
        let mut described = fields(&document["paths"]).values().filter_map(|item| item.get("post"));
        assert!(
            described.any(|create| create["x-kubernetes-group-version-kind"]["kind"] == info.kind.as_str()),
            "{} cannot be created",
            info.kind
        );
    }
}

/// Operations by path, as `discovery` has them by verb.
#[test]
fn operations_are_those_of_discovery() {
    let cluster = cluster();
    for (path, address) in document_paths(cluster.types()).iter().filter(|(path, _)| path.ends_with("/v1")) {
        let document = json_of(cluster.types(), address);
        let listed = crate::documents::discovery::answer(cluster.types(), &format!("/{path}"), None).unwrap();
        let listed: Value = serde_json::from_slice(&listed.body).unwrap();
        for resource in listed["resources"].as_array().unwrap() {
            let (name, part) = resource["name"].as_str().unwrap().split_once('/').map_or_else(
                || (resource["name"].as_str().unwrap(), None),
                |(name, part)| (name, Some(part)),
            );
            let scope = if resource["namespaced"] == true { "/namespaces/{namespace}" } else { "" };
            let collection = format!("/{path}{scope}/{name}");
            let object = part.map_or_else(
                || format!("{collection}/{{name}}"),
                |part| format!("{collection}/{{name}}/{part}"),
            );
            for verb in resource["verbs"].as_array().unwrap().iter().filter_map(Value::as_str) {
                let (path, method) = match (verb, part) {
                    ("create", Some(_)) => (&object, "post"),
                    ("create", None) => (&collection, "post"),
                    ("list" | "watch", _) => (&collection, "get"),
                    ("deletecollection", _) => (&collection, "delete"),
                    ("update", _) => (&object, "put"),
                    (same, _) => (&object, same),
                };
                let operation = &document["paths"][path][method];
                assert!(operation["operationId"].is_string(), "{method} {path} is missing");
            }
        }
    }
}

#[test]
fn operations_have_names_of_their_own_and_all_parameters_of_their_path() {
    let types = cluster();
    let document = json_of(types.types(), "/openapi/v2");
    let mut names = BTreeSet::new();
    for (path, item) in fields(&document["paths"]) {
        let shared = item["parameters"].as_array().cloned().unwrap_or_default();
        for (method, operation) in fields(item).iter().filter(|(name, _)| *name != "parameters") {
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
            let own = operation["parameters"].as_array().cloned().unwrap_or_default();
            let named_in = |location: &str| {
                let all = shared.iter().chain(&own).filter(|parameter| parameter["in"] == location);
                all.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
            };
            let wanted: BTreeSet<String> = path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .map(str::to_owned)
                .collect();
            assert_eq!(named_in("path"), wanted, "{method} {path}");
            assert_eq!(
                named_in("body").len(),
                own.iter().filter(|parameter| parameter["in"] == "body").count()
            );
        }
    }
}

#[test]
fn lists_say_how_they_are_merged() {
    let cluster = cluster();
    for (path, container) in [
        ("/openapi/v3/apis/apps/v1", "/components/schemas/io.k8s.api.core.v1.Container"),
        ("/openapi/v2", "/definitions/io.k8s.api.core.v1.Container"),
    ] {
        let document = json_of(cluster.types(), path);
        let ports = &document.pointer(container).unwrap()["properties"]["ports"];
        assert_eq!(ports["x-kubernetes-patch-merge-key"], "containerPort");
        assert_eq!(ports["x-kubernetes-patch-strategy"], "merge");
        assert_eq!(ports["x-kubernetes-list-type"], "map");
        assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
    }
}

#[test]
fn built_in_schemas_are_those_of_kubernetes() {
    let cluster = cluster();
    let v3 = json_of(cluster.types(), "/openapi/v3/apis/apps/v1");
    let v2 = json_of(cluster.types(), "/openapi/v2");
    let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let spec = &v3["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"];
    assert_eq!(spec["required"], json!(["selector", "template"]));
    for (field, expected) in [
        ("replicas", json!({ "type": "integer", "format": "int32" })),
        ("selector", reference("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector")),
        (
            "strategy",
            json!({ "allOf": [reference("io.k8s.api.apps.v1.DeploymentStrategy")], "default": {},
                "x-kubernetes-patch-strategy": "retainKeys" }),
        ),
    ] {
        assert_eq!(spec["properties"][field], expected, "{field}");
    }
    let port = "io.k8s.api.core.v1.ContainerPort";
    let protocol = json!({ "type": "string", "enum": ["SCTP", "TCP", "UDP"] });
    assert_eq!(v2["definitions"][port]["properties"]["protocol"], protocol, "v2 has no defaults");
    let mut with_default = protocol;
    with_default["default"] = "TCP".into();
    assert_eq!(v3["components"]["schemas"][port]["properties"]["protocol"], with_default);
    let quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
    assert_eq!(v2["definitions"][quantity], json!({ "type": "string" }));
    assert_eq!(
        v3["components"]["schemas"][quantity],
        json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] })
    );
    let strategy = &v2["definitions"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"];
    assert_eq!(strategy["$ref"], "#/definitions/io.k8s.api.apps.v1.DeploymentStrategy");
    let nested = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    let definition = &v2["definitions"][nested]["properties"];
    assert_eq!(definition["not"]["$ref"], format!("#/definitions/{nested}"), "a schema in a schema");
    assert!(definition["default"].is_object() && definition["oneOf"].is_object(), "fields, not keywords");
}

/// A definition that uses what v2 cannot say.
fn gadgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "gadgets.stable.example.com" },
        "spec": {
            "group": "stable.example.com", "scope": "Cluster",
            "names": { "plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList" },
            "versions": [
                { "name": "v1", "served": true, "storage": true,
                  "selectableFields": [{ "jsonPath": ".spec.mode" }],
                  "schema": { "openAPIV3Schema": {
                    "type": "object", "description": "A gadget.", "required": ["spec"],
                    "properties": { "spec": { "type": "object", "required": ["mode", "maybe"], "properties": {
                        "mode": { "type": "string", "description": "How.", "enum": ["a", "b"], "default": "a" },
                        "maybe": { "type": "string", "nullable": true },
                        "port": { "x-kubernetes-int-or-string": true },
                        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                        "object": { "type": "object", "x-kubernetes-embedded-resource": true,
                            "properties": { "spec": { "type": "string", "example": "x" } } },
                        "either": { "type": "object", "oneOf": [{ "required": ["x"] }],
                            "properties": { "x": { "type": "string" } } },
                    }, "x-kubernetes-validations": [{ "rule": "self.mode != ''" }] } },
                  } } },
                { "name": "v1beta1", "served": true, "storage": false, "schema": { "openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true } } },
            ],
        },
    })
}

#[test]
fn custom_schemas_are_what_their_authors_wrote_and_what_that_means() {
    let mut cluster = Cluster::new();
    cluster.install_crd(&gadgets()).unwrap();
    let document = json_of(cluster.types(), "/openapi/v3/apis/stable.example.com/v1");
    let schema = &document["components"]["schemas"]["com.example.stable.v1.Gadget"];
    let meta = json!({ "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" });
    assert_eq!(schema["description"], "A gadget.");
    assert_eq!(schema["x-kubernetes-selectable-fields"], json!([{ "fieldPath": "spec.mode" }]));
    assert_eq!(schema["properties"]["metadata"], meta);
    let spec = &schema["properties"]["spec"];
    assert_eq!(spec["x-kubernetes-validations"], json!([{ "rule": "self.mode != ''" }]));
    for (field, expected) in [
        ("mode", json!({ "type": "string", "description": "How.", "enum": ["a", "b"], "default": "a" })),
        (
            "port",
            json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        ),
        (
            "object",
            json!({ "type": "object", "x-kubernetes-embedded-resource": true, "required": ["kind", "apiVersion"],
                "properties": { "apiVersion": { "type": "string" }, "kind": { "type": "string" },
                    "metadata": meta, "spec": { "type": "string" } } }),
        ),
    ] {
        assert_eq!(spec["properties"][field], expected, "{field}");
    }
}

#[test]
fn version_2_leaves_out_what_it_cannot_say() {
    let mut cluster = Cluster::new();
    cluster.install_crd(&gadgets()).unwrap();
    let document = json_of(cluster.types(), "/openapi/v2");
    let kind =
        |version: &str| json!([{ "group": "stable.example.com", "version": version, "kind": "Gadget" }]);
    assert_eq!(
        document["definitions"]["com.example.stable.v1beta1.Gadget"],
        json!({ "type": "object", "x-kubernetes-group-version-kind": kind("v1beta1") }),
        "a list of fields would forbid all others"
    );
    let schema = &document["definitions"]["com.example.stable.v1.Gadget"];
    assert_eq!(schema["x-kubernetes-group-version-kind"], kind("v1"));
    let spec = &schema["properties"]["spec"];
    assert_eq!(spec["required"], json!(["mode"]), "what may be null need not be there");
    for (field, expected) in [
        ("mode", json!({ "type": "string", "description": "How.", "enum": ["a", "b"] })),
        ("maybe", json!({})),
        ("port", json!({ "x-kubernetes-int-or-string": true })),
        ("free", json!({ "x-kubernetes-preserve-unknown-fields": true })),
        ("either", json!({ "type": "object", "properties": { "x": { "type": "string" } } })),
    ] {
        assert_eq!(spec["properties"][field], expected, "{field}");
    }
}

#[test]
fn addresses_have_the_hash_of_their_document() {
    let cluster = cluster();
    for (path, address) in document_paths(cluster.types()) {
        let plain = got(cluster.types(), &format!("/openapi/v3/{path}"), Some("application/json"));
        let named = got(cluster.types(), &address, Some("application/json, */*"));
        let tag = plain.etag.clone().unwrap();
        assert_eq!(address, format!("/openapi/v3/{path}?hash={tag}"));
        assert_eq!(named.body, plain.body);
        assert!(named.headers.contains(&("Cache-Control", "public, immutable".to_owned())), "{path}");
        let stale = got(cluster.types(), &format!("/openapi/v3/{path}?hash=OLD&timeout=32s"), None);
        assert_eq!((stale.code, &stale.headers), (301, &vec![("Location", address)]), "{path}");
    }
}

#[test]
fn a_definition_changes_no_document_but_its_own() {
    let before: BTreeSet<_> = document_paths(Cluster::new().types()).into_iter().collect();
    let after: BTreeSet<_> = document_paths(cluster().types()).into_iter().collect();
    assert!(before.is_subset(&after));
    let new: Vec<&str> = after.difference(&before).map(|(path, _)| path.as_str()).collect();
    assert_eq!(new, ["apis/example.com/v1", "apis/example.com/v2"]);

    let mut described = cluster();
    let described_before = document_paths(described.types());
    let description = json!([{ "op": "add",
        "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "A widget." }]);
    let definitions = ResourceId::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let patch = Request::new(Verb::Patch(PatchKind::Json), definitions).named("widgets.example.com");
    assert_eq!(described.request(&patch.with_body(description)).code, 200);
    let changed: Vec<String> = document_paths(described.types())
        .into_iter()
        .zip(described_before)
        .filter_map(|(after, before)| (after != before).then_some(after.0))
        .collect();
    assert_eq!(changed, ["apis/example.com/v1"], "for people only, but that is what explain is for");
}

#[test]
fn a_type_added_to_a_group_of_kubernetes_is_described() {
    let mut types = Types::built_in();
    let widget = cluster().types().by_kind("example.com", "v1", "Widget").unwrap().clone();
    let mut extra = (*widget).clone();
    extra.resource.group = "apps".to_owned();
    assert_eq!(extra.origin, Origin::Custom);
    types.insert(extra);
    let (_, address) = document_paths(&types).into_iter().find(|(path, _)| path == "apis/apps/v1").unwrap();
    let document = json_of(&types, &address);
    assert!(document["paths"]["/apis/apps/v1/namespaces/{namespace}/widgets"].is_object());
}

#[test]
fn the_form_is_negotiated() {
    const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    const NAMED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    let types = Types::built_in();
    for (path, accept, code, content_type) in [
        ("/openapi/v2", None, 200, "application/json"),
        ("/openapi/v2", Some("application/json, */*"), 200, "application/json"),
        ("/openapi/v2", Some(PROTOBUF), 200, NAMED),
        (
            "/openapi/v2",
            Some("application/json;q=0.5, application/com.github.proto-openapi.spec.v2@v1.0+protobuf"),
            200,
            NAMED,
        ),
        ("/openapi/v2?timeout=32s", Some(NAMED), 200, NAMED),
        ("/openapi/v2", Some("application/yaml"), 406, "text/plain; charset=utf-8"),
        ("/openapi/v3/version", Some("application/json"), 200, "application/json"),
        ("/openapi/v3/version", Some("text/html"), 406, "text/plain; charset=utf-8"),
        ("/openapi/v3/version/", None, 404, "text/plain; charset=utf-8"),
        ("/openapi/v3/apis/nothing", None, 404, "text/plain; charset=utf-8"),
        ("/openapi/v3/apis/apps/v9", None, 404, "text/plain; charset=utf-8"),
    ] {
        let document = got(&types, path, accept);
        assert_eq!(
            (document.code, document.content_type.as_str()),
            (code, content_type),
            "{path} {accept:?}"
        );
    }
    for path in ["/openapi", "/openapi/v4", "/openapi/v2/x", "/apis", "/openapi/v33"] {
        assert_eq!(document(&types, path, None), None, "{path}");
    }
}

#[test]
fn nothing_at_all_can_be_described() {
    let types = Types::empty();
    let paths: Vec<String> = document_paths(&types).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["api", "apis", "version"]);
    assert_eq!(json_of(&types, "/openapi/v2")["swagger"], "2.0");
}
