//! What clients learn about the API before they ask for objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windlass_model::Origin;
use windlass_model::{Cluster, Request, ResourceId, Types, Verb};

use super::{answer, not_found};
use crate::documents::Document;
use crate::documents::widgets::cluster;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn document(path: &str, accept: Option<&str>) -> Document {
    answer(cluster().types(), path, accept).unwrap_or_else(|| panic!("{path} is not answered"))
}

fn json_of(path: &str) -> Value {
    parsed(&document(path, None))
}

fn parsed(document: &Document) -> Value {
    serde_json::from_slice(&document.body).unwrap_or_else(|_| panic!("no JSON: {document:?}"))
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn names<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().into_iter().flatten().filter_map(|item| item[field].as_str()).collect()
}

#[test]
fn groups_come_in_the_order_of_kubernetes() {
    let groups = json_of("/apis");
    assert_eq!(
        names(&groups["groups"], "name"),
        [
            "apps",
            "events.k8s.io",
            "authentication.k8s.io",
            "authorization.k8s.io",
            "autoscaling",
            "batch",
            "networking.k8s.io",
            "policy",
            "rbac.authorization.k8s.io",
            "storage.k8s.io",
            "admissionregistration.k8s.io",
            "apiextensions.k8s.io",
            "scheduling.k8s.io",
            "coordination.k8s.io",
            "discovery.k8s.io",
            "example.com",
        ]
    );
    assert_eq!(
        json_of("/apis/example.com"),
        json!({
            "kind": "APIGroup", "apiVersion": "v1", "name": "example.com",
            "versions": [
                { "groupVersion": "example.com/v2", "version": "v2" },
                { "groupVersion": "example.com/v1", "version": "v1" },
            ],
            "preferredVersion": { "groupVersion": "example.com/v2", "version": "v2" },
        })
    );
    assert_eq!(json_of("/api")["versions"], json!(["v1"]));
}

/// One line per resource: name, kind, verbs, and what else is said.
fn shown(list: &Value) -> Vec<String> {
    let resources = list["resources"].as_array().unwrap_or_else(|| panic!("no resources in {list}"));
    let line = |resource: &Value| {
        let mut line = format!("{} {}", text(&resource["name"]), text(&resource["kind"]));
        if let Some(group) = resource["group"].as_str() {
            line += &format!(" of {group}/{}", text(&resource["version"]));
        }
        line += if resource["namespaced"] == true { " in namespaces:" } else { ":" };
        for verb in items(&resource["verbs"]) {
            line += &format!(" {}", text(verb));
        }
        for (name, mark) in [("shortNames", "short"), ("categories", "in"), ("storageVersionHash", "hash")] {
            if let Some(value) = resource.get(name) {
                line += &format!("; {mark} {value}");
            }
        }
        line
    };
    resources.iter().map(line).collect()
}

#[test]
fn resources_have_their_verbs_and_subresources() {
    let all = "create delete deletecollection get list patch update watch";
    assert_eq!(
        shown(&json_of("/apis/apps/v1"))[3..7],
        [
            format!(
                "deployments Deployment in namespaces: {all}; short [\"deploy\"]; in [\"all\"]; hash \"8aSe+NMegvE=\""
            ),
            "deployments/scale Scale of autoscaling/v1 in namespaces: get patch update".to_owned(),
            "deployments/status Deployment in namespaces: get patch update".to_owned(),
            format!(
                "replicasets ReplicaSet in namespaces: {all}; short [\"rs\"]; in [\"all\"]; hash \"P1RzHs8/mWQ=\""
            ),
        ]
    );
    let core = shown(&json_of("/api/v1"));
    for line in [
        "namespaces Namespace: create delete get list patch update watch; short [\"ns\"]; hash \"Q3oi5N2YM8M=\"",
        "namespaces/finalize Namespace: update",
        "pods/binding Binding in namespaces: create",
        "pods/eviction Eviction of policy/v1 in namespaces: create",
        "serviceaccounts/token TokenRequest of authentication.k8s.io/v1 in namespaces: create",
    ] {
        assert!(core.iter().any(|found| found == line), "{line} is not in {core:#?}");
    }
    for (path, hash) in
        [("/apis/events.k8s.io/v1", "r2yiGXH7wu8="), ("/apis/apiextensions.k8s.io/v1", "jfWCUB31mvA=")]
    {
        assert_eq!(json_of(path)["resources"][0]["storageVersionHash"], hash, "{path}");
    }
    let reviews = shown(&json_of("/apis/authentication.k8s.io/v1"));
    assert_eq!(reviews[1], "tokenreviews TokenReview: create", "reviews are not stored");
    assert_eq!(
        shown(&json_of("/apis/example.com/v1")),
        [
            "widgets Widget in namespaces: delete deletecollection get list patch create update watch; hash \"gIwvi5rymmg=\"",
            "widgets/status Widget in namespaces: get patch update",
            "widgets/scale Scale of autoscaling/v1 in namespaces: get patch update",
        ]
    );
}

#[test]
fn the_list_of_the_core_group_is_older() {
    assert_eq!(json_of("/api/v1").get("apiVersion"), None);
    assert_eq!(json_of("/apis/apps/v1")["apiVersion"], "v1");
    assert_eq!(json_of("/apis/apps/v1/")["groupVersion"], "apps/v1");
}

/// Verbs by group, version and name with subresource.
type Served = BTreeMap<(String, String, String), BTreeSet<String>>;

fn served_piece_by_piece(types: &Types) -> Served {
    let mut served = Served::new();
    for info in types.iter() {
        let (group, version) = (&info.resource.group, &info.resource.version);
        let path =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        for resource in items(&json_of(&path)["resources"]) {
            let name = text(&resource["name"]).to_owned();
            served.insert((group.clone(), version.clone(), name), verbs(resource));
        }
    }
    served
}

fn verbs(resource: &Value) -> BTreeSet<String> {
    items(&resource["verbs"]).iter().map(|verb| text(verb).to_owned()).collect()
}

#[test]
fn one_document_says_the_same_as_all_pieces() {
    let mut served = Served::new();
    for path in ["/api", "/apis"] {
        for group in items(&parsed(&document(path, Some(AGGREGATED)))["items"]) {
            let name = group["metadata"]["name"].as_str().unwrap_or("").to_owned();
            for version in items(&group["versions"]) {
                for resource in items(&version["resources"]) {
                    let mut add = |part: &str, verbs: BTreeSet<String>| {
                        let resource = format!("{}{part}", text(&resource["resource"]));
                        served.insert((name.clone(), text(&version["version"]).to_owned(), resource), verbs)
                    };
                    add("", verbs(resource));
                    for part in resource["subresources"].as_array().into_iter().flatten() {
                        add(&format!("/{}", text(&part["subresource"])), verbs(part));
                    }
                }
            }
        }
    }
    assert_eq!(served, served_piece_by_piece(cluster().types()));
}

#[test]
fn exactly_the_served_types_are_listed_and_every_verb_is_known() {
    let cluster = cluster();
    let served = served_piece_by_piece(cluster.types());
    let listed: BTreeSet<_> = served.keys().filter(|(.., name)| !name.contains('/')).cloned().collect();
    let types: BTreeSet<_> = cluster
        .types()
        .iter()
        .map(|info| {
            (info.resource.group.clone(), info.resource.version.clone(), info.resource.plural.clone())
        })
        .collect();
    assert_eq!(listed, types);
    for info in cluster.types().iter().filter(|info| info.is_stored()) {
        let resource = &info.resource;
        for part in
            ["", "status", "scale", "finalize", "binding", "eviction", "ephemeralcontainers", "resize"]
        {
            let name =
                if part.is_empty() { resource.plural.clone() } else { format!("{}/{part}", resource.plural) };
            let key = (resource.group.clone(), resource.version.clone(), name);
            let known = served.get(&key).cloned().unwrap_or_default();
            // A missing subresource of a custom resource cannot be distinguished from a missing object.
            if info.origin == Origin::Custom && known.is_empty() {
                continue;
            }
            check_verbs(&cluster, &Request::new(Verb::Get, resource.clone()), info.namespaced, part, &known);
        }
    }
}

/// A verb that is listed is answered somehow; one that is not is no method, or the part does not exist.
fn check_verbs(cluster: &Cluster, request: &Request, namespaced: bool, part: &str, known: &BTreeSet<String>) {
    let all = [
        ("get", Verb::Get),
        ("list", Verb::List),
        ("create", Verb::Create),
        ("update", Verb::Update),
        ("patch", Verb::Patch(windlass_model::PatchKind::Merge)),
        ("delete", Verb::Delete),
        ("deletecollection", Verb::DeleteCollection),
    ];
    for (name, verb) in all {
        let on_object = !matches!(verb, Verb::List | Verb::DeleteCollection)
            && (verb != Verb::Create || !part.is_empty());
        if !part.is_empty() && !on_object {
            continue;
        }
        let mut request = Request { verb, ..request.clone() }.with_body(json!({}));
        if namespaced {
            request = request.in_namespace("default");
        }
        if on_object {
            request = request.named("absent");
        }
        if !part.is_empty() {
            request = request.on(part);
        }
        let status = cluster.handle(&request).response.failure().cloned();
        let unknown = status.is_some_and(|status| {
            status.code == 405
                || status.code == 404 && status.message.starts_with("the server could not find")
        });
        assert_eq!(known.contains(name), !unknown, "{name} on {:?} {part}", request.resource);
    }
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

#[test]
fn the_form_is_negotiated() {
    let kubectl = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
        application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    for (path, accept, code, content_type) in [
        ("/apis", Some(kubectl), 200, AGGREGATED),
        ("/api", Some(AGGREGATED), 200, AGGREGATED),
        ("/apis", Some("application/json, */*"), 200, "application/json"),
        ("/apis", None, 200, "application/json"),
        ("/apis", Some("application/vnd.kubernetes.protobuf, application/json"), 200, PROTOBUF),
        ("/apis/apps", Some(kubectl), 200, "application/json"),
        ("/apis", Some("application/yaml"), 200, "application/yaml"),
        (
            "/apis",
            Some("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"),
            406,
            "application/json",
        ),
        ("/apis/apps/v1", Some("text/html"), 406, "application/json"),
        ("/version", Some("text/html"), 200, "application/json"),
        ("/version?timeout=5s", None, 200, "application/json"),
    ] {
        let document = document(path, accept);
        assert_eq!(
            (document.code, document.content_type.as_str()),
            (code, content_type),
            "{path} {accept:?}"
        );
        assert_eq!(document.etag.is_some(), content_type == AGGREGATED, "{path} {accept:?}");
    }
}

#[test]
fn the_tag_changes_with_the_types() {
    let tag = |cluster: &Cluster| answer(cluster.types(), "/apis", Some(AGGREGATED)).unwrap().etag;
    let mut other = cluster();
    assert_eq!(tag(&other), tag(&cluster()));
    let definitions = ResourceId::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let delete = Request::new(Verb::Delete, definitions).named("widgets.example.com");
    assert_eq!(other.request(&delete).code, 200);
    assert!(other.settle());
    assert_ne!(tag(&other), tag(&cluster()));
    assert_eq!(tag(&other), tag(&Cluster::new()));
}

#[test]
fn what_is_not_there_is_said_in_two_ways() {
    let cluster = cluster();
    for (path, status) in [
        ("/apis/apps/v9", true),
        ("/api/v2", true),
        ("/apis/apps/v9/deployments", true),
        ("/version/x", true),
        ("/apis/nothing", false),
        ("/apis/example.com/v9", false),
        ("/apis/example.com/v1/nothing", false),
        ("/nothing", false),
    ] {
        let document = not_found(cluster.types(), path);
        assert_eq!(document.code, 404, "{path}");
        assert_eq!(document.content_type == "application/json", status, "{path}");
        if let Some(answered) = answer(cluster.types(), path, None) {
            assert_eq!(answered, document, "{path}");
        }
    }
    for path in ["/healthz", "/api/v1/pods", "/apis/apps/v1/deployments", "/openapi/v3", "/apis//v1"] {
        assert_eq!(answer(cluster.types(), path, None), None, "{path}");
    }
}

#[test]
fn the_version_is_that_of_kubernetes() {
    let version = json_of("/version");
    assert_eq!((version["major"].as_str(), version["minor"].as_str()), (Some("1"), Some("35")));
    assert!(text(&version["gitVersion"]).starts_with("v1.35.0+windlass"));
    let paths = json_of("/");
    let paths: Vec<&str> = items(&paths["paths"]).iter().filter_map(Value::as_str).collect();
    assert!(paths.is_sorted() && paths.contains(&"/apis/example.com/v2") && paths.contains(&"/api/v1"));
}
