//! Requests with plausible paths and bodies, made by choices.

use serde_json::{Map, Value, json};
use windlass_model::protobuf::encode;

use crate::dice::Dice;
use crate::request::RawRequest;

const MAX_REQUESTS: usize = 16;
const MAX_DEPTH: usize = 4;

/// The collection, its `apiVersion`, its `kind`; `{}` stands for a namespace.
const RESOURCES: [(&str, &str, &str); 10] = [
    ("/api/v1/namespaces/{}/configmaps", "v1", "ConfigMap"),
    ("/api/v1/namespaces/{}/pods", "v1", "Pod"),
    ("/api/v1/namespaces/{}/services", "v1", "Service"),
    ("/api/v1/namespaces/{}/secrets", "v1", "Secret"),
    ("/api/v1/namespaces", "v1", "Namespace"),
    ("/apis/apps/v1/namespaces/{}/deployments", "apps/v1", "Deployment"),
    ("/apis/coordination.k8s.io/v1/namespaces/{}/leases", "coordination.k8s.io/v1", "Lease"),
    (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
    ),
    ("/apis/example.com/v1/namespaces/{}/pairs", "example.com/v1", "Pair"),
    ("/apis/nowhere.io/v9/things", "nowhere.io/v9", "Thing"),
];
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "BREW"];
const NAMESPACES: [&str; 4] = ["default", "other", "gone", ""];
const NAMES: [&str; 7] = ["a", "b", "pairs.example.com", "default", "A_B", "x.y-z", "%2e%2e"];
const SUBRESOURCES: [&str; 6] = ["", "", "/status", "/scale", "/finalize", "/nothing"];
const CONTENT_TYPES: [&str; 8] = [
    "application/json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/strategic-merge-patch+json",
    "application/yaml",
    "text/plain",
    PROTOBUF,
];
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const ACCEPTED: [&str; 4] = [
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf,application/json",
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/yaml",
];
const OPTIONS: [&str; 20] = [
    "dryRun=All",
    "dryRun=Some",
    "fieldManager=me",
    "fieldManager=you",
    "force=true",
    "fieldValidation=Strict",
    "fieldValidation=Ignore",
    "labelSelector=a%3Db",
    "labelSelector=a%20in%20(b%2Cc)%2C!d",
    "labelSelector=((",
    "fieldSelector=metadata.name%3Da",
    "fieldSelector=spec.nodeName!%3Dn",
    "limit=1",
    "limit=-1",
    "resourceVersion=1",
    "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    "propagationPolicy=Foreground",
    "propagationPolicy=Orphan",
    "gracePeriodSeconds=30",
    "continue=eyJ2IjoxfQ",
];
const KEYS: [&str; 14] = [
    "metadata",
    "spec",
    "status",
    "data",
    "name",
    "labels",
    "a",
    "items",
    "template",
    "containers",
    "replicas",
    "x-kubernetes-validations",
    "rule",
    "",
];
const POINTERS: [&str; 9] = [
    "/data/a",
    "/metadata/labels/a",
    "/metadata/finalizers/0",
    "/metadata/finalizers/-",
    "/spec",
    "",
    "/a~1b~0c",
    "/spec/x/99",
    "/metadata/resourceVersion",
];
const PATCH_VERBS: [&str; 7] = ["add", "remove", "replace", "test", "copy", "move", "jump"];

/// Makes requests until the bytes are used up.
pub(crate) fn make(bytes: &[u8]) -> Vec<RawRequest> {
    let mut dice = Dice::new(bytes);
    let mut requests = Vec::new();
    while !dice.is_empty() && requests.len() < MAX_REQUESTS {
        requests.push(request(&mut dice));
    }
    requests
}

fn request(dice: &mut Dice) -> RawRequest {
    let (collection, api_version, kind) = *dice.pick(&RESOURCES);
    let method = *dice.pick(&METHODS);
    let namespace = *dice.pick(&NAMESPACES);
    let name = *dice.pick(&NAMES);
    let mut path = collection.replace("{}", namespace);
    // A create goes to the collection, and now and then everything else does.
    if (method == "POST") == dice.once_in(8) {
        path = format!("{path}/{name}{}", dice.pick(&SUBRESOURCES));
    }
    if dice.once_in(16) {
        path.push_str(&dice.raw_text());
    }
    let content_type = *dice.pick(&CONTENT_TYPES);
    let body = body(dice, content_type, &Names { api_version, kind, namespace, name });
    RawRequest {
        method: method.to_owned(),
        path,
        query: query(dice),
        content_type: (!dice.once_in(8)).then(|| content_type.to_owned()),
        accept: dice.once_in(4).then(|| (*dice.pick(&ACCEPTED)).to_owned()),
        user_agent: dice.once_in(4).then(|| "fuzz/1.0 (linux)".to_owned()),
        body,
    }
}

/// What the object in a body says about itself.
struct Names {
    api_version: &'static str,
    kind: &'static str,
    namespace: &'static str,
    name: &'static str,
}

fn query(dice: &mut Dice) -> String {
    let count = dice.below(4);
    (0..count).map(|_| *dice.pick(&OPTIONS)).collect::<Vec<_>>().join("&")
}

fn body(dice: &mut Dice, content_type: &str, names: &Names) -> Vec<u8> {
    if dice.once_in(16) {
        return dice.raw().to_vec();
    }
    let body = match (content_type, dice.below(8)) {
        ("application/json-patch+json", _) => json_patch(dice),
        (_, 6) => {
            json!({ "kind": "DeleteOptions", "preconditions": { "uid": value(dice, 0) }, "propagationPolicy": "Foreground" })
        }
        (_, 7) => value(dice, 0),
        _ => object(dice, names),
    };
    match content_type {
        // What has no message goes as JSON, which is then no protobuf.
        PROTOBUF => encode(&body).unwrap_or_else(|| body.to_string().into_bytes()),
        _ => body.to_string().into_bytes(),
    }
}

fn json_patch(dice: &mut Dice) -> Value {
    let steps = (0..dice.below(5)).map(|_| {
        json!({ "op": dice.pick(&PATCH_VERBS), "path": dice.pick(&POINTERS), "from": dice.pick(&POINTERS), "value": value(dice, 1) })
    });
    steps.collect()
}

fn object(dice: &mut Dice, names: &Names) -> Value {
    let mut object = json!({
        "apiVersion": names.api_version,
        "kind": names.kind,
        "metadata": { "name": names.name, "namespace": names.namespace },
    });
    for (key, chance, fragment) in fragments() {
        if dice.once_in(chance) {
            merge(&mut object, key, fragment);
        }
    }
    if names.kind == "CustomResourceDefinition" {
        merge(&mut object, "spec", definition(dice));
    } else if dice.once_in(2) {
        let part = *dice.pick(&["data", "spec", "status"]);
        merge(&mut object, part, value(dice, 0));
    }
    object
}

/// Pieces that make rules fire, each with how seldom it appears.
fn fragments() -> [(&'static str, usize, Value); 9] {
    [
        ("metadata", 4, json!({ "labels": { "a": "b" }, "annotations": { "x": "y" } })),
        ("metadata", 4, json!({ "finalizers": ["example.com/hold"] })),
        ("metadata", 6, json!({ "generateName": "g-", "name": "" })),
        ("metadata", 6, json!({ "resourceVersion": "1", "uid": "u", "generation": 7 })),
        (
            "metadata",
            6,
            json!({ "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u", "blockOwnerDeletion": true }] }),
        ),
        (
            "metadata",
            8,
            json!({ "managedFields": [{ "manager": "me", "operation": "Apply", "fieldsV1": { "f:data": { "f:a": {} } } }] }),
        ),
        ("spec", 4, json!({ "replicas": 3, "selector": { "matchLabels": { "a": "b" } } })),
        (
            "spec",
            4,
            json!({ "containers": [{ "name": "c", "image": "i", "ports": [{ "containerPort": 80 }] }] }),
        ),
        ("data", 4, json!({ "a": "1", "b": null })),
    ]
}

/// The spec of a CRD with a schema that may or may not make sense.
fn definition(dice: &mut Dice) -> Value {
    let rule = *dice.pick(&[
        "self.x > 0",
        "self.all(k, k == 'a')",
        "oldSelf == self",
        "self.",
        "size(self.y) < 5 && has(self.x)",
    ]);
    let schema = if dice.once_in(3) {
        value(dice, 0)
    } else {
        json!({ "type": "object", "properties": {
            "spec": {
                "type": "object",
                "x-kubernetes-validations": [{ "rule": rule, "message": "m" }],
                "x-kubernetes-preserve-unknown-fields": dice.once_in(2),
                "properties": { "x": { "type": "integer", "default": value(dice, 3), "minimum": 1 }, "y": { "type": "string", "pattern": "^a+$" } },
            },
            "status": { "type": "object" },
        } })
    };
    json!({
        "group": "example.com",
        "scope": dice.pick(&["Namespaced", "Cluster", "Nowhere"]),
        "names": { "plural": "pairs", "singular": "pair", "kind": "Pair", "listKind": "PairList" },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} } }],
    })
}

fn merge(object: &mut Value, key: &str, fragment: Value) {
    let Some(value) = object.as_object_mut().map(|object| object.entry(key).or_insert(Value::Null)) else {
        return;
    };
    match (value.as_object_mut(), fragment) {
        (Some(there), Value::Object(fragment)) => there.extend(fragment),
        (_, fragment) => *value = fragment,
    }
}

/// Any JSON.
fn value(dice: &mut Dice, depth: usize) -> Value {
    let kinds = if depth < MAX_DEPTH { 10 } else { 7 };
    match dice.below(kinds) {
        0 => Value::Null,
        1 => Value::Bool(dice.once_in(2)),
        2 => json!(dice.byte()),
        3 => dice
            .pick(&[json!(-1), json!(i64::MIN), json!(u64::MAX), json!(1e300), json!(0.5), json!(-0.0)])
            .clone(),
        4 => json!(dice.pick(&NAMES)),
        5 => json!(dice.raw_text()),
        6 => json!(dice.pick(&[
            "100m",
            "2Gi",
            "2024-01-01T00:00:00Z",
            "string",
            "object",
            "array",
            "30s",
            "10%"
        ])),
        7 => (0..dice.below(4)).map(|_| value(dice, depth + 1)).collect(),
        _ => {
            let mut map = Map::new();
            for _ in 0..dice.below(5) {
                map.insert((*dice.pick(&KEYS)).to_owned(), value(dice, depth + 1));
            }
            Value::Object(map)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_make_requests() {
        assert!(make(&[]).is_empty());
        assert_eq!(make(&[255; 10_000]).len(), MAX_REQUESTS);
        let bytes: Vec<u8> = (0..=255).cycle().take(4000).collect();
        let requests = make(&bytes);
        assert_eq!(requests, make(&bytes));
        assert!(requests.iter().any(|request| serde_json::from_slice::<Value>(&request.body).is_ok()));
    }
}
