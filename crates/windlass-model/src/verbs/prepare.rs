//! What the server sets, keeps and resets before it validates an object.

use serde_json::{Value, json};

use crate::crd;
use crate::kinds;
use crate::object;
use crate::time::Timestamp;
use crate::types::{self, Origin, TypeInfo};

use super::body::is_definition;
use super::policy;
use super::write::Part;

/// Clears the metadata that only the server may set on a new object, and sets it.
pub(super) fn new_metadata(new: &mut Value, uid: &str, now: Timestamp) {
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        object::remove_meta(new, field);
    }
    object::set_meta(new, "uid", uid);
    object::set_meta(new, "creationTimestamp", now.to_string());
}

/// Makes a new object what its type demands. A generation that the type does not count stays as the client has it.
pub(super) fn new_object(info: &TypeInfo, new: &mut Value, now: Timestamp) {
    if info.has_generation {
        object::set_meta(new, "generation", 1);
    }
    if info.has_status && !kinds::keeps_status_on_create(info) {
        remove(new, "status");
    }
    if info.origin == Origin::BuiltIn {
        let changed = kinds::prepare(info, None, new, None);
        if info.kind == "Pod" {
            let conditions = new["status"].get_mut("conditions").and_then(Value::as_array_mut);
            for condition in conditions.into_iter().flatten() {
                condition["lastTransitionTime"] = now.to_string().into();
            }
        }
        if info.kind == "PersistentVolume" {
            new["status"] = json!({ "phase": "Pending", "lastPhaseTransitionTime": now.to_string() });
        }
        if is_definition(info) {
            crd::prepare(new, None);
        }
        if changed {
            // What was taken back leaves its zero value behind.
            types::defaults::set_defaults(info, new);
        }
    }
}

/// Takes back what an update may not change: the server's metadata, and the other parts of the object.
pub(super) fn update(info: &TypeInfo, live: &Value, new: &mut Value, part: Part) {
    copy_meta(live, new, "generation");
    match part {
        Part::Status if info.origin == Origin::Custom => only_status(live, new),
        Part::Status => status_and_metadata(info, live, new),
        _ if info.has_status => copy(live, new, "status"),
        _ => {}
    }
    if info.origin == Origin::BuiltIn {
        kinds::prepare(info, Some(live), new, part.rules());
        if is_definition(info) && part != Part::Status {
            crd::prepare(new, Some(live));
        }
    }
    if part != Part::Status && info.has_generation && counts(info, live, new) {
        object::set_meta(new, "generation", object::generation(live) + 1);
    }
    if object::uid(new).is_empty() {
        copy_meta(live, new, "uid");
    }
    copy_meta(live, new, "creationTimestamp");
    if object::is_deleting(live) {
        copy_meta(live, new, "deletionTimestamp");
    }
    if new["metadata"]["deletionGracePeriodSeconds"].is_null() {
        copy_meta(live, new, "deletionGracePeriodSeconds");
    }
}

/// Whether a change is one that `generation` counts. Of a custom resource, that is anything outside metadata,
/// since status is settled by now.
fn counts(info: &TypeInfo, live: &Value, new: &Value) -> bool {
    if info.origin == Origin::BuiltIn {
        return kinds::raises_generation(info, new, live);
    }
    let within = |object: &Value, other: &Value| {
        let fields = object.as_object().into_iter().flatten();
        fields.filter(|(name, _)| *name != "metadata").all(|(name, value)| other.get(name) == Some(value))
    };
    !(within(live, new) && within(new, live))
}

/// A custom resource's status write changes status and nothing else but who owns it.
fn only_status(live: &Value, new: &mut Value) {
    let mut result = live.clone();
    copy(new, &mut result, "status");
    copy_meta(new, &mut result, "managedFields");
    *new = result;
}

/// A built-in type's status write takes over metadata too, for most types.
fn status_and_metadata(info: &TypeInfo, live: &Value, new: &mut Value) {
    let mut result = live.clone();
    copy(new, &mut result, "status");
    copy(new, &mut result, "metadata");
    if policy::status_keeps_metadata(info) {
        for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
            copy_meta(live, &mut result, field);
        }
    } else if info.kind == "Deployment" {
        copy_meta(live, &mut result, "labels");
    }
    *new = result;
}

/// Makes a top-level field what it is in another object, absent if it is absent there.
fn copy(from: &Value, to: &mut Value, field: &str) {
    match from.get(field) {
        Some(value) => drop(to.as_object_mut().map(|fields| fields.insert(field.to_owned(), value.clone()))),
        None => remove(to, field),
    }
}

fn copy_meta(from: &Value, to: &mut Value, field: &str) {
    match from["metadata"].get(field) {
        Some(value) => object::set_meta(to, field, value.clone()),
        None => drop(object::remove_meta(to, field)),
    }
}

fn remove(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
}
