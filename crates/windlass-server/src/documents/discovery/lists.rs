//! Discovery piece by piece: the groups, then the resources of one version.

use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};
use windlass_model::base64::Base64;

use super::endpoints::{Endpoint, endpoints};
use super::groups::{GroupVersions, groups};
use windlass_model::object::api_version;
use windlass_model::{TypeInfo, Types};

/// `/api`: the versions of the core group. Which address to use is known to whoever could ask.
pub(super) fn core_versions(types: &Types) -> Value {
    let groups = groups(types);
    let core = groups.iter().filter(|group| group.name.is_empty());
    let versions: Vec<&str> = core.flat_map(|group| group.versions.iter().map(|(name, _)| *name)).collect();
    json!({ "kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": [] })
}

/// `/apis`: all groups but the core group.
pub(super) fn group_list(types: &Types) -> Value {
    let groups = groups(types);
    let named = groups.iter().filter(|group| !group.name.is_empty());
    let groups: Vec<Value> = named.map(|group| Value::Object(group_fields(group))).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `/apis/apps`: one group.
pub(super) fn group(types: &Types, name: &str) -> Option<Value> {
    let groups = groups(types);
    let group = groups.iter().find(|group| group.name == name && !name.is_empty())?;
    let mut fields = group_fields(group);
    fields.insert("kind".to_owned(), "APIGroup".into());
    fields.insert("apiVersion".to_owned(), "v1".into());
    Some(fields.into())
}

fn group_fields(group: &GroupVersions<'_>) -> Map<String, Value> {
    let version = |name: &str| json!({ "groupVersion": api_version(group.name, name), "version": name });
    let versions: Vec<Value> = group.versions.iter().map(|(name, _)| version(name)).collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    Map::from_iter([
        ("name".to_owned(), group.name.into()),
        ("versions".to_owned(), versions.into()),
        ("preferredVersion".to_owned(), preferred),
    ])
}

/// `/apis/apps/v1`: the resources and subresources of one version.
pub(super) fn resources(types: &Types, group: &str, version: &str) -> Option<Value> {
    let served = types
        .iter()
        .filter(|info| info.resource.group == group && info.resource.version == version)
        .flat_map(|info| endpoints(info).into_iter().map(|endpoint| resource(info, endpoint)));
    let resources: Vec<Value> = served.collect();
    if resources.is_empty() {
        return None;
    }
    // The list of the core group is older than `apiVersion` in such lists.
    let mut list = json!({ "kind": "APIResourceList", "groupVersion": api_version(group, version),
        "resources": resources });
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn resource(info: &TypeInfo, endpoint: Endpoint<'_>) -> Value {
    let plural = &info.resource.plural;
    let mut fields = json!({
        "name": endpoint.subresource.map_or_else(|| plural.clone(), |part| format!("{plural}/{part}")),
        "singularName": if endpoint.subresource.is_none() { info.singular.as_str() } else { "" },
        "namespaced": info.namespaced,
        "kind": endpoint.kind,
        "verbs": endpoint.verbs,
    });
    if let Some((group, version)) = endpoint.foreign {
        fields["group"] = group.into();
        fields["version"] = version.into();
    }
    if endpoint.subresource.is_none() {
        if !info.short_names.is_empty() {
            fields["shortNames"] = info.short_names.as_slice().into();
        }
        if !info.categories.is_empty() {
            fields["categories"] = info.categories.as_slice().into();
        }
        if info.is_stored() {
            fields["storageVersionHash"] = storage_version_hash(info).into();
        }
    }
    fields
}

/// Changes if objects begin to be stored in another version.
fn storage_version_hash(info: &TypeInfo) -> String {
    let (group, version) = match (info.resource.group.as_str(), info.resource.plural.as_str()) {
        // Kubernetes keeps both kinds of events as one, and definitions as they were at first.
        ("events.k8s.io", "events") => ("", "v1"),
        ("apiextensions.k8s.io", "customresourcedefinitions") => ("apiextensions.k8s.io", "v1beta1"),
        (group, _) => (group, info.storage_version.as_str()),
    };
    let digest = digest(&SHA256, format!("{group}/{version}/{}", info.kind).as_bytes());
    Base64::Standard.encode(digest.as_ref().get(..8).unwrap_or_default())
}
