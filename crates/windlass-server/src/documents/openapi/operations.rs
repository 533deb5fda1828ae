//! The paths of a type and the operations on each.

use serde_json::{Map, Value, json};

use super::components::reference;
use super::paths::{Operation, Paths};
use super::{names, parameters};
use crate::documents::discovery::{Endpoint, endpoints};
use windlass_model::{Origin, TypeInfo};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const EVENTS: &str = "application/json;stream=watch";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A kind of operation, as Kubernetes distinguishes them.
struct Action {
    /// How the verb is called in `x-kubernetes-action`.
    action: &'static str,
    method: &'static str,
    /// How the name of the operation begins.
    verb: &'static str,
    /// Codes of success.
    codes: &'static [u16],
    parameters: &'static [&'static str],
}

static LIST: Action =
    Action { action: "list", method: "get", verb: "list", codes: &[200], parameters: parameters::LIST };
static WATCH_LIST: Action =
    Action { action: "watchlist", method: "get", verb: "watch", codes: &[200], parameters: parameters::LIST };
static WATCH: Action =
    Action { action: "watch", method: "get", verb: "watch", codes: &[200], parameters: parameters::LIST };
static GET: Action =
    Action { action: "get", method: "get", verb: "read", codes: &[200], parameters: parameters::GET };
static CREATE: Action = Action {
    action: "post",
    method: "post",
    verb: "create",
    codes: &[200, 201, 202],
    parameters: parameters::WRITE,
};
static UPDATE: Action = Action {
    action: "put",
    method: "put",
    verb: "replace",
    codes: &[200, 201],
    parameters: parameters::WRITE,
};
static PATCH: Action = Action {
    action: "patch",
    method: "patch",
    verb: "patch",
    codes: &[200, 201],
    parameters: parameters::PATCH,
};
static DELETE: Action = Action {
    action: "delete",
    method: "delete",
    verb: "delete",
    codes: &[200, 202],
    parameters: parameters::DELETE,
};
static DELETE_COLLECTION: Action = Action {
    action: "deletecollection",
    method: "delete",
    verb: "delete",
    codes: &[200],
    parameters: parameters::DELETE_COLLECTION,
};

/// What an operation is about, besides its action.
struct Target<'a> {
    info: &'a TypeInfo,
    endpoint: Endpoint<'a>,
    path: String,
    /// The name of the operation without verb and version: `NamespacedPodStatus`.
    noun: String,
}

/// Adds the paths of a type.
pub(super) fn add(paths: &mut Paths, info: &TypeInfo) {
    for endpoint in endpoints(info) {
        let all = match endpoint.subresource {
            Some(part) => on_part(info, endpoint, part),
            None => on_resource(info, endpoint),
        };
        for (action, path, noun) in all {
            let target = Target { info, endpoint, path, noun };
            let operation = operation(action, &target);
            paths.entry(target.path).or_default().insert(action.method, operation);
        }
    }
}

/// An action, its path, and the suffix of the name of the operation.
type Route = (&'static Action, String, String);

fn on_part(info: &TypeInfo, endpoint: Endpoint<'_>, part: &str) -> Vec<Route> {
    let (scope, scoped) = scope(info);
    let root = root(&info.resource.group, &info.resource.version);
    let path = format!("{root}{scope}/{}/{{name}}/{part}", info.resource.plural);
    let noun = format!("{scoped}{}{}", info.kind, names::upper_first(part));
    [("get", &GET), ("patch", &PATCH), ("update", &UPDATE), ("create", &CREATE)]
        .into_iter()
        .filter(|(verb, _)| endpoint.verbs.contains(verb))
        .map(|(_, action)| (action, path.clone(), noun.clone()))
        .collect()
}

fn on_resource(info: &TypeInfo, endpoint: Endpoint<'_>) -> Vec<Route> {
    let (scope, scoped) = scope(info);
    let (root, kind) = (root(&info.resource.group, &info.resource.version), &info.kind);
    let (everywhere, here) =
        (format!("/{}", info.resource.plural), format!("{scope}/{}", info.resource.plural));
    let one = format!("{here}/{{name}}");
    let mut all = vec![
        ("list", &LIST, format!("{root}{here}"), format!("{scoped}{kind}")),
        ("create", &CREATE, format!("{root}{here}"), format!("{scoped}{kind}")),
        (
            "deletecollection",
            &DELETE_COLLECTION,
            format!("{root}{here}"),
            format!("Collection{scoped}{kind}"),
        ),
        ("get", &GET, format!("{root}{one}"), format!("{scoped}{kind}")),
        ("update", &UPDATE, format!("{root}{one}"), format!("{scoped}{kind}")),
        ("patch", &PATCH, format!("{root}{one}"), format!("{scoped}{kind}")),
        ("delete", &DELETE, format!("{root}{one}"), format!("{scoped}{kind}")),
    ];
    if info.namespaced {
        all.push(("list", &LIST, format!("{root}{everywhere}"), format!("{kind}ForAllNamespaces")));
    }
    // Custom resources can be watched this way too, but Kubernetes does not document it.
    if info.origin == Origin::BuiltIn {
        all.push(("watch", &WATCH, format!("{root}/watch{one}"), format!("{scoped}{kind}")));
        all.push(("watch", &WATCH_LIST, format!("{root}/watch{here}"), format!("{scoped}{kind}List")));
        if info.namespaced {
            let noun = format!("{kind}ListForAllNamespaces");
            all.push(("watch", &WATCH_LIST, format!("{root}/watch{everywhere}"), noun));
        }
    }
    all.retain(|(verb, ..)| endpoint.verbs.contains(verb));
    all.into_iter().map(|(_, action, path, noun)| (action, path, noun)).collect()
}

/// How paths and names of operations say that objects live in a namespace.
fn scope(info: &TypeInfo) -> (&'static str, &'static str) {
    if info.namespaced { ("/namespaces/{namespace}", "Namespaced") } else { ("", "") }
}

/// `/api/v1`, `/apis/apps/v1`.
pub(super) fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// The one read operation on a path of discovery.
pub(super) fn discovery(id: &str, tag: &str, description: &str, component: &str) -> Map<String, Value> {
    // Everything but the version can be had as YAML.
    let media_types: &[&str] = if tag == "version" { &[JSON] } else { &[JSON, YAML] };
    let response = response("OK", media_types, component);
    Map::from_iter([
        ("description".to_owned(), description.into()),
        ("operationId".to_owned(), id.into()),
        ("tags".to_owned(), json!([tag])),
        ("responses".to_owned(), json!({ "200": response, "401": { "description": "Unauthorized" } })),
    ])
}

fn operation(action: &Action, target: &Target<'_>) -> Operation {
    let Target { info, endpoint, .. } = target;
    let (group, version) = (info.resource.group.as_str(), info.resource.version.as_str());
    // All operations on a custom resource are said to be about its own kind.
    let (kind_group, kind_version, kind) = match endpoint.foreign {
        Some((group, version)) if info.origin == Origin::BuiltIn => (group, version, endpoint.kind),
        Some(_) => (group, version, info.kind.as_str()),
        None => (group, version, endpoint.kind),
    };
    let (names, noun) = (names::group_in_operations(group), &target.noun);
    let id = format!("{}{names}{}{noun}", action.verb, names::upper_first(version));
    let kind = json!({ "group": kind_group, "version": kind_version, "kind": kind });
    let mut fields = Map::from_iter([
        ("description".to_owned(), description(action, target).into()),
        ("operationId".to_owned(), id.into()),
        ("tags".to_owned(), json!([names::tag(group, version)])),
        ("responses".to_owned(), responses(action, target)),
        ("x-kubernetes-action".to_owned(), action.action.into()),
        ("x-kubernetes-group-version-kind".to_owned(), kind),
    ]);
    fields.extend(body(action, target).map(|body| ("requestBody".to_owned(), body)));
    Operation { fields, query: query(action, target), kind: endpoint.kind.to_owned() }
}

fn description(action: &Action, target: &Target<'_>) -> String {
    let kind = &target.info.kind;
    let part = target.endpoint.subresource.map(|part| format!("{part} of ")).unwrap_or_default();
    match action.action {
        "list" => format!("list or watch objects of kind {kind}"),
        "watchlist" => format!("watch objects of kind {kind}; superseded by list with `watch`"),
        "watch" => format!("watch one {kind}; superseded by list with `watch` and `fieldSelector`"),
        "deletecollection" => format!("delete all objects of kind {kind} that match"),
        "post" => format!("create {part}a {kind}"),
        "patch" => format!("change some of {part}a {kind}"),
        _ => format!("{} {part}a {kind}", action.verb),
    }
}

fn query(action: &Action, target: &Target<'_>) -> &'static [&'static str] {
    match action.action {
        "deletecollection" if target.info.origin == Origin::Custom => parameters::LIST,
        _ => action.parameters,
    }
}

fn body(action: &Action, target: &Target<'_>) -> Option<Value> {
    let custom = target.info.origin == Origin::Custom;
    let (component, media_types, required): (String, &[&str], bool) = match action.action {
        "post" | "put" => (component(target), &[JSON, YAML], true),
        "patch" if custom => (meta("Patch"), &[APPLY, JSON_PATCH, MERGE_PATCH], true),
        "patch" => (meta("Patch"), &[APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH], true),
        "delete" => (meta("DeleteOptions"), &[JSON, YAML], false),
        "deletecollection" if !custom => (meta("DeleteOptions"), &[JSON, YAML], false),
        _ => return None,
    };
    let mut body = json!({ "content": content(media_types, &component) });
    if required {
        body["required"] = true.into();
    }
    Some(body)
}

fn responses(action: &Action, target: &Target<'_>) -> Value {
    let component = match action.action {
        "list" => names::list(target.info),
        "watch" | "watchlist" => meta("WatchEvent"),
        "deletecollection" => meta("Status"),
        "delete" if !target.info.returns_deleted_object() => meta("Status"),
        _ => component(target),
    };
    let media_types: &[&str] = match action.action {
        "list" | "watch" | "watchlist" if target.info.origin == Origin::BuiltIn => &[JSON, EVENTS, YAML],
        _ => &[JSON, YAML],
    };
    let described = |code: u16| match code {
        201 => "Created",
        202 => "Accepted",
        _ => "OK",
    };
    let mut responses: Map<String, Value> = action
        .codes
        .iter()
        .map(|code| (code.to_string(), response(described(*code), media_types, &component)))
        .collect();
    responses.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
    responses
        .insert("default".to_owned(), response("A refusal that says why", &[JSON, YAML], &meta("Status")));
    responses.into()
}

/// The schema of what an endpoint takes and gives.
fn component(target: &Target<'_>) -> String {
    match (target.endpoint.foreign, target.endpoint.kind) {
        (Some((group, version)), kind) => {
            let package = group.trim_end_matches(".k8s.io");
            names::component(&format!("{package}.{version}.{kind}"))
        }
        (None, kind) if *kind != target.info.kind => names::component(&format!("core.v1.{kind}")),
        _ => names::object(target.info),
    }
}

fn response(description: &str, media_types: &[&str], component: &str) -> Value {
    json!({ "description": description, "content": content(media_types, component) })
}

fn content(media_types: &[&str], component: &str) -> Map<String, Value> {
    let schema = json!({ "schema": reference(component) });
    media_types.iter().map(|media_type| ((*media_type).to_owned(), schema.clone())).collect()
}

fn meta(kind: &str) -> String {
    names::component(&format!("meta.v1.{kind}"))
}
