//! The first delete of a namespace or a CRD, which only starts the clearing of what is inside.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::crd;
use crate::object;
use crate::status::Status;
use crate::store::Store;
use crate::time::Timestamp;

use super::body::is_definition;
use super::call::Call;
use super::delete::{Plan, collector_finalizer};
use crate::metadata::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER};

/// Namespaces that no request may delete.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// What the delete does if the object is a namespace or a CRD that is not ready to go; else `None`.
pub(super) fn first_delete<S: Store + ?Sized>(
    call: &Call<'_, S>,
    stored: &Arc<Value>,
) -> Result<Option<Plan>, Status> {
    let namespace = call.is("", "namespaces");
    if !namespace && !is_definition(call.info) {
        return Ok(None);
    }
    check_preconditions(call, stored)?;
    if object::is_deleting(stored) {
        let held = namespace && stored["spec"]["finalizers"].as_array().is_some_and(|held| !held.is_empty());
        return Ok(held.then_some(Plan::Keep));
    }
    let name = object::name(stored);
    if namespace && IMMORTAL.contains(&name) {
        return Err(Status::forbidden("", "namespaces", name, "this namespace may not be deleted"));
    }
    let mut marked = (**stored).clone();
    object::set_meta(&mut marked, "deletionTimestamp", call.now.to_string());
    if namespace {
        mark_namespace(call, &mut marked);
    } else {
        mark_definition(&mut marked, call.now);
    }
    Ok(Some(Plan::Mark(marked)))
}

fn check_preconditions<S: Store + ?Sized>(call: &Call<'_, S>, stored: &Value) -> Result<(), Status> {
    let wanted = &call.request.options.preconditions;
    let checks = [
        ("UID", &wanted.uid, object::uid(stored)),
        ("ResourceVersion", &wanted.resource_version, object::resource_version(stored)),
    ];
    for (what, given, found) in checks {
        if let Some(given) = given.as_deref().filter(|given| *given != found) {
            let why = format!(
                "Precondition failed: {what} in precondition: {given}, {what} in object meta: {found}"
            );
            return Err(call.conflict(object::name(stored), &why));
        }
    }
    Ok(())
}

fn mark_namespace<S: Store + ?Sized>(call: &Call<'_, S>, marked: &mut Value) {
    if let Some(fields) = marked.as_object_mut() {
        let status = fields.entry("status").or_insert_with(|| json!({}));
        if let Some(status) = status.as_object_mut() {
            status.insert("phase".to_owned(), "Terminating".into());
        }
    }
    let old: Vec<String> = object::finalizers(marked).map(str::to_owned).collect();
    let wanted = collector_finalizer(call.info, &old, &call.request.options);
    let others = old.iter().filter(|name| *name != ORPHAN_FINALIZER && *name != FOREGROUND_FINALIZER);
    let new: Vec<&str> = others.map(String::as_str).chain(wanted).collect();
    if new.is_empty() {
        object::remove_meta(marked, "finalizers");
    } else {
        let new: Value = new.into();
        object::set_meta(marked, "finalizers", new);
    }
}

fn mark_definition(marked: &mut Value, now: Timestamp) {
    let mut finalizers: Vec<String> = object::finalizers(marked).map(str::to_owned).collect();
    if !finalizers.iter().any(|name| name == crd::CLEANUP_FINALIZER) {
        finalizers.push(crd::CLEANUP_FINALIZER.to_owned());
        object::set_meta(marked, "finalizers", finalizers);
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_terminating(marked, "True", "InstanceDeletionPending", message, now);
}

/// Sets the `Terminating` condition of a CRD.
pub(crate) fn set_terminating(
    definition: &mut Value,
    status: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    let Some(fields) = definition.as_object_mut() else { return };
    let status_fields = fields.entry("status").or_insert_with(|| json!({}));
    let Some(status_fields) = status_fields.as_object_mut() else { return };
    let conditions = status_fields.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else { return };
    let mut condition = json!({
        "type": "Terminating", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": now.to_string(),
    });
    match conditions.iter_mut().find(|found| found["type"] == "Terminating") {
        Some(found) => {
            if found["status"] == condition["status"] {
                condition["lastTransitionTime"] = found["lastTransitionTime"].clone();
            }
            *found = condition;
        }
        None => conditions.push(condition),
    }
}
