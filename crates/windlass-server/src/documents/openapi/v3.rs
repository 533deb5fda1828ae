//! OpenAPI v3: one document per group and version, and the list of these.

use serde_json::{Map, Value, json};

use super::paths::{self, Operation, Paths};
use super::schemas::Schemas;
use super::{names, operations};
use crate::documents::discovery::groups;
use windlass_model::{Origin, TypeInfo, Types};

/// The paths of all documents, relative to `/openapi/v3/`, in the order of discovery.
pub(super) fn document_paths(types: &Types) -> Vec<String> {
    let mut paths = vec!["api".to_owned(), "apis".to_owned(), "version".to_owned()];
    for group in groups(types) {
        let mut all = group.versions.iter().flat_map(|(_, all)| all);
        if !group.name.is_empty() && all.any(|info| info.origin == Origin::BuiltIn) {
            paths.push(format!("apis/{}", group.name));
        }
        let root = |version: &str| operations::root(group.name, version);
        paths.extend(
            group.versions.iter().map(|(version, _)| root(version).trim_start_matches('/').to_owned()),
        );
    }
    paths
}

/// Whether definitions have added types to a version of Kubernetes' own.
pub(super) fn is_extended(types: &Types, path: &str) -> bool {
    let mut custom = types.iter().filter(|info| info.origin == Origin::Custom);
    custom.any(|info| {
        operations::root(&info.resource.group, &info.resource.version).trim_start_matches('/') == path
    })
}

/// The document at a path; `None` if there is none.
pub(super) fn document(types: &Types, schemas: &Schemas<'_>, path: &str) -> Option<Value> {
    let parts: Vec<&str> = path.split('/').collect();
    Some(match parts.as_slice() {
        ["version"] => {
            single("/version/", "getCodeVersion", "version", "get the version", "version.Info", schemas)
        }
        ["api"] => {
            single("/api/", "getCoreAPIVersions", "core", "list the versions", "meta.v1.APIVersions", schemas)
        }
        ["apis"] => {
            single("/apis/", "getAPIVersions", "apis", "list the groups", "meta.v1.APIGroupList", schemas)
        }
        ["apis", group] => {
            if !document_paths(types).iter().any(|known| known == path) {
                return None;
            }
            let (path, tag) = (format!("/apis/{group}/"), names::group_tag(group));
            let id = format!("get{}APIGroup", names::group_in_operations(group));
            single(&path, &id, &tag, "describe the group", "meta.v1.APIGroup", schemas)
        }
        ["api", version] => of_version(types, schemas, "", version)?,
        ["apis", group, version] => of_version(types, schemas, group, version)?,
        _ => return None,
    })
}

fn of_version(types: &Types, schemas: &Schemas<'_>, group: &str, version: &str) -> Option<Value> {
    let all = types.iter().map(AsRef::as_ref);
    let paths = paths_of(all.filter(|info| info.resource.group == group && info.resource.version == version));
    (!paths.is_empty()).then(|| whole(paths::items(paths), schemas))
}

/// The paths of some types, and of what lists them.
fn paths_of<'a>(all: impl Iterator<Item = &'a TypeInfo>) -> Paths {
    let mut paths = Paths::new();
    for info in all {
        operations::add(&mut paths, info);
        let (group, version) = (info.resource.group.as_str(), info.resource.version.as_str());
        let root = format!("{}/", operations::root(group, version));
        if info.origin == Origin::BuiltIn && !paths.contains_key(&root) {
            let id = format!(
                "get{}{}APIResources",
                names::group_in_operations(group),
                names::upper_first(version)
            );
            let (tag, component) = (names::tag(group, version), names::component("meta.v1.APIResourceList"));
            let operation = operations::discovery(&id, &tag, "list the resources", &component);
            let operation = Operation { fields: operation, query: &[], kind: String::new() };
            paths.entry(root).or_default().insert("get", operation);
        }
    }
    paths
}

/// The paths and schemas of all documents.
pub(super) fn everything(types: &Types, schemas: &Schemas<'_>) -> (Map<String, Value>, Map<String, Value>) {
    let mut paths = paths::items(paths_of(types.iter().map(AsRef::as_ref)));
    for path in document_paths(types).iter().filter(|path| describes_no_types(path)) {
        let document = document(types, schemas, path).unwrap_or_default();
        paths.extend(document["paths"].as_object().cloned().unwrap_or_default());
    }
    let paths = Value::Object(paths);
    let schemas = schemas.closure(&paths);
    match paths {
        Value::Object(paths) => (paths, schemas),
        _ => (Map::new(), schemas),
    }
}

/// Whether a document has nothing but the way to others: `api`, `apis/apps`, `version`.
fn describes_no_types(path: &str) -> bool {
    matches!(path.split('/').collect::<Vec<_>>().as_slice(), ["api" | "apis" | "version"] | ["apis", _])
}

/// A document with one path that is read.
fn single(
    path: &str,
    id: &str,
    tag: &str,
    description: &str,
    component: &str,
    schemas: &Schemas<'_>,
) -> Value {
    let operation = operations::discovery(id, tag, description, &names::component(component));
    whole(paths::single(path, operation), schemas)
}

fn whole(paths: Map<String, Value>, schemas: &Schemas<'_>) -> Value {
    let paths = Value::Object(paths);
    let schemas = schemas.closure(&paths);
    json!({
        "openapi": "3.0.0",
        "info": super::info(),
        "paths": paths,
        "components": { "schemas": schemas, "securitySchemes": super::security() },
    })
}
