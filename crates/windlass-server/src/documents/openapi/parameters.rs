//! The parameters of operations.

use serde_json::{Value, json};

/// One parameter: its name, its JSON type, and what it does.
struct Parameter(&'static str, &'static str, &'static str);

const ALL: &[Parameter] = &[
    Parameter(
        "allowWatchBookmarks",
        "boolean",
        "Whether the watch may send bookmarks, which report its progress.",
    ),
    Parameter("continue", "string", "The token of the page before: the list goes on behind it."),
    Parameter("dryRun", "string", "`All`: answer as if the change were made, but do not make it."),
    Parameter("fieldManager", "string", "Who makes the change, for the record of who set which field."),
    Parameter("fieldSelector", "string", "Only objects whose fields match."),
    Parameter(
        "fieldValidation",
        "string",
        "What becomes of unknown and duplicate fields: `Ignore`, `Warn` or `Strict`.",
    ),
    Parameter("force", "boolean", "Whether to take fields over from other managers. Only for apply."),
    Parameter("gracePeriodSeconds", "integer", "How long the object may take to end."),
    Parameter(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether to delete an object that cannot be read.",
    ),
    Parameter("labelSelector", "string", "Only objects whose labels match."),
    Parameter("limit", "integer", "The most objects that one page may have."),
    Parameter("orphanDependents", "boolean", "Whether dependents stay. Superseded by propagationPolicy."),
    Parameter("pretty", "string", "`true`: indent the answer."),
    Parameter(
        "propagationPolicy",
        "string",
        "What becomes of dependents: `Orphan`, `Background` or `Foreground`.",
    ),
    Parameter("resourceVersion", "string", "The version that the answer is based on."),
    Parameter("resourceVersionMatch", "string", "How resourceVersion is meant: `Exact` or `NotOlderThan`."),
    Parameter("sendInitialEvents", "boolean", "Whether the watch begins with the objects that are there."),
    Parameter("timeoutSeconds", "integer", "When the server ends the list or watch."),
    Parameter("watch", "boolean", "Whether to watch for changes instead of listing."),
];

/// Those of lists and watches.
pub(super) const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "pretty",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];
pub(super) const GET: &[&str] = &["pretty"];
/// Those of create and update.
pub(super) const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "pretty"];
pub(super) const PATCH: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force", "pretty"];
pub(super) const DELETE: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
];
pub(super) const DELETE_COLLECTION: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "limit",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
];

/// A parameter of the query.
pub(super) fn query(name: &str) -> Value {
    let known = ALL.iter().find(|parameter| parameter.0 == name);
    let Parameter(name, kind, description) = known.unwrap_or(&Parameter("", "string", ""));
    json!({ "name": name, "in": "query", "description": description, "schema": schema(kind) })
}

/// The name of an object, as part of the path.
pub(super) fn name(kind: &str) -> Value {
    path("name", &format!("The name of the {kind}."))
}

/// The namespace, as part of the path.
pub(super) fn namespace() -> Value {
    path("namespace", "The namespace of the objects.")
}

fn path(name: &str, description: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema("string") })
}

/// Given twice, the first one counts.
fn schema(kind: &str) -> Value {
    json!({ "type": kind, "uniqueItems": true })
}
