//! One controller, one field manager: what it has written with plain requests must not stand in the way of its applies.
//!
//! Kubernetes keeps the fields of an applier and of an updater apart even if both have one name, so an apply can
//! conflict with an earlier create or update by the same controller.

use serde_json::{Value, json};
use windlass_model::{Reason, Status, object};

/// The patch that turns `manager`'s Update entry in `managedFields` into an Apply entry, so that a later apply removes
/// the fields that it no longer lists. `None` if that is not needed.
pub(crate) fn take_over_creation(live: &Value, manager: &str) -> Option<Value> {
    let entries = live["metadata"]["managedFields"].as_array()?;
    let has = |operation: &str| entries.iter().position(|entry| is_of(entry, manager, operation));
    if has("Apply").is_some() {
        return None;
    }
    let created = has("Update")?;
    let mut entries = entries.clone();
    entries[created]["operation"] = "Apply".into();
    let version = object::resource_version(live);
    Some(json!({ "metadata": { "resourceVersion": version, "managedFields": entries } }))
}

/// Whether an object carries fields that `manager` has written, with whatever request.
pub(crate) fn has_written(object: &Value, manager: &str) -> bool {
    let mut entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.any(|entry| is_of(entry, manager, "Apply") || is_of(entry, manager, "Update"))
}

/// Whether `manager` is the only one that has written to an object.
pub(crate) fn is_only_writer(object: &Value, manager: &str) -> bool {
    let entries = object["metadata"]["managedFields"].as_array().map_or(&[][..], Vec::as_slice);
    !entries.is_empty() && entries.iter().all(|entry| entry["manager"] == manager)
}

/// Whether an apply failed on fields of `manager` alone.
pub(crate) fn is_conflict_with(status: &Status, manager: &str) -> bool {
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    let rival = format!("conflict with {manager:?}");
    let is_own = |message: &Option<String>| {
        let rest = message.as_deref().and_then(|message| message.strip_prefix(&rival));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    status.reason == Some(Reason::Conflict)
        && !causes.is_empty()
        && causes.iter().all(|cause| is_own(&cause.message))
}

/// Whether an entry is about the whole object: what was written to a subresource is somebody's status.
fn is_of(entry: &Value, manager: &str, operation: &str) -> bool {
    entry["manager"] == manager && entry["operation"] == operation && entry["subresource"].as_str().is_none()
}
