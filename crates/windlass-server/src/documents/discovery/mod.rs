//! Discovery: which groups, versions, resources and verbs the API has, as clients ask for it.

mod aggregated;
mod endpoints;
mod groups;
mod lists;
mod root;
#[cfg(test)]
mod tests;

use crate::documents::Document;
pub(crate) use endpoints::{Endpoint, endpoints};
pub(crate) use groups::groups;

use windlass_model::http::{DiscoveryForm, encode, negotiate_discovery};
use windlass_model::status::Status;
use windlass_model::{Origin, Types};

/// The document behind a path that describes the API: `/`, `/version`, `/api`, `/apis`, groups and versions.
///
/// `None` if the path is none of these; a group or version that is not served is answered with 404. Only reads
/// may be answered so: the caller has looked at the method.
pub fn answer(types: &Types, path: &str, accept: Option<&str>) -> Option<Document> {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let value = match parts.as_slice() {
        [""] => Some(root::paths(types)),
        ["version"] => Some(root::version()),
        ["api"] => Some(lists::core_versions(types)),
        ["apis"] => Some(lists::group_list(types)),
        ["apis", group] => lists::group(types, group),
        ["api", version] => lists::resources(types, "", version),
        ["apis", group, version] if !group.is_empty() => lists::resources(types, group, version),
        _ => return None,
    };
    let Some(value) = value else { return Some(not_found(types, path)) };
    let can_aggregate = matches!(parts.as_slice(), ["api" | "apis"]);
    Some(match negotiate_discovery(accept, can_aggregate) {
        // These two are no objects of the API: they are not negotiated.
        _ if matches!(parts.as_slice(), ["" | "version"]) => Document::json("application/json", &value),
        Err(status) => Document::refusal(&status),
        Ok(DiscoveryForm::Aggregated) => aggregated::document(types, parts == ["api"]),
        Ok(DiscoveryForm::Plain(format)) => match encode(&value, format) {
            Ok(body) => Document::of(200, format.media_type(), body),
            Err(status) => Document::refusal(&status),
        },
    })
}

/// The answer to a request for a path that names nothing: 404, and in a group of Kubernetes itself a `Status`.
pub fn not_found(types: &Types, path: &str) -> Document {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let built_in =
        |group: &str| types.iter().any(|info| info.origin == Origin::BuiltIn && info.resource.group == group);
    match parts.as_slice() {
        ["api" | "version", ..] => Document::refusal(&Status::no_such_resource()),
        ["apis", group, ..] if !group.is_empty() && built_in(group) => {
            Document::refusal(&Status::no_such_resource())
        }
        _ => Document::page_not_found(),
    }
}
