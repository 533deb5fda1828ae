//! Binding a pod to a node, and evicting it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::field::{FieldError, FieldPath, quoted};
use crate::object;
use crate::request::{Preconditions, Propagation, Request, ResourceId, Verb};
use crate::response::Response;
use crate::status::Status;
use crate::store::{Change, Store};
use crate::time::Timestamp;

use super::Effect;
use super::budgets;
use super::call::{Call, Earlier};
use super::create::body_of;
use super::delete::{Review, delete_stored};
use super::review;
use super::write::admit_into_namespace;

/// A binding in the form of old clients, which do not name its pod in the path, as all others make it.
pub(super) fn binding_of_old(request: &Request) -> Option<Request> {
    if request.resource != ResourceId::new("", "v1", "bindings") || request.verb != Verb::Create {
        return None;
    }
    let name = object::name(request.body.as_ref()?);
    let resource = ResourceId::new("", "v1", "pods");
    Some(Request { resource, ..request.clone() }.named(name).on("binding"))
}

/// What a scheduler does: gives the pod its node, once.
pub(super) fn bind<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<Effect, Status> {
    let binding = body_of(call)?;
    admit_into_namespace(call, binding)?;
    if object::name(binding) != call.name() {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    match target_errors(&binding["target"]).as_slice() {
        [] => {}
        [error] => return Err(Status::unclassified(error.to_string())),
        many => {
            let shown: Vec<String> = many.iter().map(ToString::to_string).collect();
            return Err(Status::unclassified(format!("[{}]", shown.join(", "))));
        }
    }
    review::posted(call, "", "Binding", binding)?;
    let stored = call.existing()?;
    check_binding(call, binding, &stored)?;
    let mut pod = (*stored).clone();
    let node = binding["target"]["name"].as_str().unwrap_or("");
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("nodeName".to_owned(), node.into());
    }
    for field in ["annotations", "labels"] {
        let given = binding["metadata"][field].as_object().into_iter().flatten();
        let mut all = pod["metadata"][field].as_object().cloned().unwrap_or_default();
        all.extend(given.map(|(key, value)| (key.clone(), value.clone())));
        if !all.is_empty() {
            object::set_meta(&mut pod, field, all);
        }
    }
    set_condition(&mut pod, json!({ "type": "PodScheduled", "status": "True" }), call.now);
    Ok(done(vec![changed(call, stored, pod, Earlier::default())]))
}

/// A delete that says why, if the pod's disruption budget allows it.
pub(super) fn evict<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<Effect, Status> {
    let eviction = body_of(call)?;
    admit_into_namespace(call, eviction)?;
    if object::name(eviction) != call.name() {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let stored = call.existing()?;
    review::posted(call, "policy", "Eviction", eviction)?;
    let mut request = deletion(call.request, &eviction["deleteOptions"]);
    check_preconditions(&request.options.preconditions, &stored)?;
    let charged = budgets::charge(call, &stored)?;
    let mut pod = (*stored).clone();
    let condition = json!({
        "type": "DisruptionTarget", "status": "True",
        "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
    });
    set_condition(&mut pod, condition, call.now);
    // The condition moves the version on; the check above was against the one that the client knows.
    request.options.preconditions.resource_version = None;
    let call = Call { request: &request, ..*call };
    let mut earlier = Earlier { writes: u64::from(charged.is_some()), version: 0 };
    let first = (pod != *stored).then(|| changed(&call, stored.clone(), pod, earlier));
    if let Some(change) = &first {
        earlier = Earlier { writes: earlier.writes + 1, version: change.version };
    }
    let last = first.as_ref().and_then(|change| change.after.clone()).unwrap_or(stored);
    let effect = delete_stored(&call, last, earlier, Review::Done)?;
    Ok(done(charged.into_iter().chain(first).chain(effect.changes).collect()))
}

fn target_errors(target: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = target["kind"].as_str().unwrap_or("");
    if !kind.is_empty() && kind != "Node" {
        errors.push(FieldError::not_supported(&FieldPath::of("target.kind"), kind, &["Node", "<empty>"]));
    }
    if target["name"].as_str().unwrap_or("").is_empty() {
        errors.push(FieldError::required(&FieldPath::of("target.name"), ""));
    }
    errors
}

fn check_binding<S: Store + ?Sized>(call: &Call<'_, S>, binding: &Value, pod: &Value) -> Result<(), Status> {
    let name = object::name(pod);
    for (what, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
        let (given, found) = (object::meta_str(binding, field), object::meta_str(pod, field));
        if !given.is_empty() && given != found {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/pods/{}/{name}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: {what} in precondition: {given}, {what} in object meta: {found}",
                call.namespace()
            );
            return Err(call.conflict(name, &why));
        }
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or("");
    let why = if object::is_deleting(pod) {
        format!("pod {name} is being deleted, cannot be assigned to a host")
    } else if !node.is_empty() {
        format!("pod {name} is already assigned to node {}", quoted(node))
    } else if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        format!("pod {name} has non-empty .spec.schedulingGates")
    } else {
        return Ok(());
    };
    Err(Status::conflict("", "pods/binding", name, &why))
}

/// The delete that an eviction asks for.
fn deletion(request: &Request, options: &Value) -> Request {
    let mut request = request.clone();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    request.options.grace_period_seconds = options["gracePeriodSeconds"].as_i64();
    request.options.preconditions = Preconditions {
        uid: text(&options["preconditions"]["uid"]),
        resource_version: text(&options["preconditions"]["resourceVersion"]),
    };
    request.options.propagation = match options["propagationPolicy"].as_str() {
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Background") => Some(Propagation::Background),
        Some("Orphan") => Some(Propagation::Orphan),
        _ => None,
    };
    request.options.dry_run |= options["dryRun"].as_array().is_some_and(|values| !values.is_empty());
    request
}

fn check_preconditions(wanted: &Preconditions, pod: &Value) -> Result<(), Status> {
    let version = object::resource_version(pod);
    match wanted.resource_version.as_deref() {
        Some(given) if !given.is_empty() && given != version => {
            let why = format!(
                "the ResourceVersion in the precondition ({given}) does not match the ResourceVersion in record \
                 ({version}). The object might have been modified"
            );
            Err(Status::conflict("", "Pod", object::name(pod), &why))
        }
        _ => Ok(()),
    }
}

fn set_condition(pod: &mut Value, mut condition: Value, now: Timestamp) {
    let Some(fields) = pod.as_object_mut() else { return };
    let status = fields.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else { return };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else { return };
    condition["lastProbeTime"] = Value::Null;
    condition["lastTransitionTime"] = now.to_string().into();
    match conditions.iter_mut().find(|found| found["type"] == condition["type"]) {
        Some(found) if found["status"] == condition["status"] => {
            condition["lastTransitionTime"] = found["lastTransitionTime"].clone();
            *found = condition;
        }
        Some(found) => *found = condition,
        None => conditions.push(condition),
    }
}

fn changed<S: Store + ?Sized>(
    call: &Call<'_, S>,
    before: Arc<Value>,
    mut pod: Value,
    earlier: Earlier,
) -> Change {
    let key = call.key(call.name());
    let version = call.version(&key, earlier);
    object::set_meta(&mut pod, "resourceVersion", version.to_string());
    Change { key, before: Some(before), after: Some(Arc::new(pod)), version }
}

fn done(changes: Vec<Change>) -> Effect {
    let mut status = Status::success();
    status.code = 201;
    Effect { response: Response::status(status), changes }
}
