//! Discovery in one document: all groups with all their resources.

use serde_json::{Value, json};

use super::Document;
use super::endpoints::{Endpoint, endpoints};
use super::groups::{GroupVersions, groups};
use windlass_model::{Origin, TypeInfo, Types};

const CONTENT_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The core group, or all others.
pub(super) fn document(types: &Types, core: bool) -> Document {
    let groups = groups(types);
    let wanted = groups.iter().filter(|group| group.name.is_empty() == core);
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": wanted.map(group_item).collect::<Vec<Value>>(),
    });
    Document::json(CONTENT_TYPE, &list)
        .tagged()
        .with_header("Vary", "Accept")
        .with_header("Cache-Control", "public")
}

fn group_item(group: &GroupVersions<'_>) -> Value {
    let versions = group.versions.iter().map(|(version, all)| {
        let resources: Vec<Value> = all.iter().map(|info| resource(info)).collect();
        json!({ "version": version, "resources": resources, "freshness": "Current" })
    });
    let versions: Vec<Value> = versions.collect();
    let mut item = json!({ "metadata": {}, "versions": versions });
    if !group.name.is_empty() {
        item["metadata"]["name"] = group.name.into();
    }
    item
}

fn resource(info: &TypeInfo) -> Value {
    let mut fields = json!({
        "resource": info.resource.plural,
        "scope": if info.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": info.singular,
    });
    let mut subresources = Vec::new();
    for endpoint in endpoints(info) {
        let (kind, verbs) = (response_kind(info, endpoint), endpoint.verbs);
        match endpoint.subresource {
            None => {
                fields["responseKind"] = kind;
                fields["verbs"] = verbs.into();
            }
            Some(name) => {
                subresources.push(json!({ "subresource": name, "responseKind": kind, "verbs": verbs }));
            }
        }
    }
    for (name, list) in [("shortNames", &info.short_names), ("categories", &info.categories)] {
        if !list.is_empty() {
            fields[name] = list.as_slice().into();
        }
    }
    if !subresources.is_empty() {
        fields["subresources"] = subresources.into();
    }
    fields
}

/// Built-in types leave group and version open if they are those of the document that names them.
fn response_kind(info: &TypeInfo, endpoint: Endpoint<'_>) -> Value {
    let own = match info.origin {
        Origin::BuiltIn => ("", ""),
        Origin::Custom => (info.resource.group.as_str(), info.resource.version.as_str()),
    };
    let (group, version) = endpoint.foreign.unwrap_or(own);
    json!({ "group": group, "version": version, "kind": endpoint.kind })
}
