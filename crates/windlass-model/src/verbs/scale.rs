//! The scale subresource: the number of replicas as an object of its own.

use serde_json::{Value, json};

use crate::apply::Apply;
use crate::field::{FieldError, FieldPath, quoted};
use crate::object;
use crate::request::{PatchKind, Verb};
use crate::response::Response;
use crate::selector::selector_text;
use crate::status::Status;
use crate::store::Store;
use crate::types::{Origin, Scale, TypeInfo};
use crate::unmarshal;

use super::Effect;
use super::body;
use super::call::Call;
use super::create::{body_of, check_manager};
use super::patch;
use super::write::{self, Ownership, Part, Written};

/// Reads or writes the number of replicas.
pub(super) fn scale<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<Effect, Status> {
    let Some(paths) = &call.info.scale else { return Err(Status::no_such_resource()) };
    let written = match call.request.verb {
        Verb::Get => return get(call, paths),
        Verb::Update => update(call, paths)?,
        Verb::Patch(kind) => patch_scale(call, paths, kind)?,
        _ => return Err(call.method_not_allowed()),
    };
    let mut response = Response::object(scale_of(call.info, paths, &written.object));
    response.warnings = written.warnings;
    Ok(Effect { response, changes: written.changes })
}

fn get<S: Store + ?Sized>(call: &Call<'_, S>, paths: &Scale) -> Result<Effect, Status> {
    let live = call.view(&call.existing()?);
    if call.is_custom() && at(&live, &paths.spec_replicas).is_null() {
        let message = format!("the spec replicas field {} does not exist", quoted(&paths.spec_replicas));
        return Err(Status::internal(message));
    }
    Ok(Response::object(scale_of(call.info, paths, &live)).into())
}

fn update<S: Store + ?Sized>(call: &Call<'_, S>, paths: &Scale) -> Result<Written, Status> {
    check_manager(call, "UpdateOptions")?;
    let scale = body_of(call)?;
    check_kind(scale)?;
    body::check_name(call, scale)?;
    write_replicas(call, paths, scale)
}

fn patch_scale<S: Store + ?Sized>(
    call: &Call<'_, S>,
    paths: &Scale,
    kind: PatchKind,
) -> Result<Written, Status> {
    patch::check_options(call, kind)?;
    if kind == PatchKind::Apply {
        return apply(call, paths);
    }
    let live = call.view(&call.existing()?);
    // The lists of a Scale are all the server's own, so a strategic merge is a plain one.
    let kind = if kind == PatchKind::Strategic { PatchKind::Merge } else { kind };
    let patched = patch::patched(call, kind, &scale_of(call.info, paths, &live))?;
    check_kind(&patched)?;
    body::check_name(call, &patched)?;
    write_replicas(call, paths, &patched)
}

/// Applies a Scale as the part of the object that it stands for, so that ownership is the object's.
fn apply<S: Store + ?Sized>(call: &Call<'_, S>, paths: &Scale) -> Result<Written, Status> {
    let stored = call.existing()?;
    let live = call.view(&stored);
    let scale = body_of(call)?;
    check_kind(scale)?;
    let resource = &call.info.resource;
    let mut config = json!({
        "apiVersion": object::api_version(&resource.group, &resource.version),
        "kind": call.info.kind,
        "metadata": { "name": call.name() },
    });
    if let Some(namespace) = &call.request.namespace {
        object::set_meta(&mut config, "namespace", namespace.as_str());
    }
    if let Some(replicas) = scale["spec"].get("replicas") {
        set_at(&mut config, &paths.spec_replicas, replicas.clone());
    }
    let merged = Apply {
        info: call.info,
        live: Some(&live),
        config: &config,
        manager: call.manager(),
        force: call.request.options.force,
        subresource: Part::Scale.subresource(),
        now: call.now,
    };
    let new = body::settle(call, merged.run()?)?;
    write::update(call, &stored, new, Part::Scale, Ownership::Settled)
}

/// Writes the wanted number into the object.
fn write_replicas<S: Store + ?Sized>(
    call: &Call<'_, S>,
    paths: &Scale,
    scale: &Value,
) -> Result<Written, Status> {
    let stored = call.existing()?;
    let live = call.view(&stored);
    check_scale(call, scale, &live)?;
    let mut new = (*live).clone();
    let version = object::resource_version(scale);
    if !call.is_custom() || !version.is_empty() {
        object::set_meta(&mut new, "resourceVersion", version);
    }
    let replicas = scale["spec"]["replicas"].as_i64();
    if call.is_custom() && replicas.is_none() && at(&live, &paths.spec_replicas).is_null() {
        let message = format!("the spec replicas field {} cannot be empty", quoted(&paths.spec_replicas));
        return Err(Status::bad_request(message));
    }
    set_at(&mut new, &paths.spec_replicas, replicas.unwrap_or(0).into());
    write::update(call, &stored, new, Part::Scale, Ownership::Track)
}

fn check_scale<S: Store + ?Sized>(call: &Call<'_, S>, scale: &Value, live: &Value) -> Result<(), Status> {
    let replicas = &scale["spec"]["replicas"];
    if !replicas.is_null() && replicas.as_i64().and_then(|count| i32::try_from(count).ok()).is_none() {
        let why = unmarshal::into_field(replicas, "ScaleSpec.spec.replicas", "int32");
        return Err(Status::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: {why}"
        )));
    }
    if call.info.origin == Origin::BuiltIn && replicas.as_i64().is_some_and(|count| count < 0) {
        let path = FieldPath::of("spec.replicas");
        let error = FieldError::invalid(&path, replicas.clone(), "must be greater than or equal to 0");
        return Err(Status::invalid("autoscaling", "Scale", object::name(live), &[error]));
    }
    let (given, found) = (object::uid(scale), object::uid(live));
    if !given.is_empty() && given != found {
        let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {found}");
        let resource = &call.info.resource;
        let plural = format!("{}/scale", resource.plural);
        return Err(Status::conflict(&resource.group, &plural, object::name(live), &why));
    }
    Ok(())
}

fn check_kind(scale: &Value) -> Result<(), Status> {
    let known = |field: &str, expected: &str| match scale.get(field) {
        None => true,
        Some(given) => given == expected,
    };
    if scale.is_object() && known("kind", "Scale") && known("apiVersion", "autoscaling/v1") {
        return Ok(());
    }
    let (kind, version) = (scale["kind"].as_str().unwrap_or(""), scale["apiVersion"].as_str().unwrap_or(""));
    Err(body::not_a_scale(kind, version))
}

/// The object as a Scale.
pub(super) fn scale_of(info: &TypeInfo, paths: &Scale, object: &Value) -> Value {
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    // Go leaves out a wanted number of zero, but not the number there is.
    let wanted = at(object, &paths.spec_replicas).as_i64().filter(|count| *count != 0);
    let spec = wanted.map_or_else(|| json!({}), |count| json!({ "replicas": count }));
    let mut status = json!({ "replicas": at(object, &paths.status_replicas).as_i64().unwrap_or(0) });
    let selector = match (&paths.label_selector, info.origin) {
        (Some(path), _) => selector_text(at(object, path)),
        (None, Origin::BuiltIn) => selector_text(&object["spec"]["selector"]),
        (None, Origin::Custom) => String::new(),
    };
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": metadata, "spec": spec, "status": status,
    })
}

fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.trim_start_matches('.').split('.').fold(object, |value, field| &value[field])
}

fn set_at(object: &mut Value, path: &str, value: Value) {
    let mut target = object;
    for field in path.trim_start_matches('.').split('.') {
        if !target.is_object() {
            *target = json!({});
        }
        let Some(fields) = target.as_object_mut() else { return };
        target = fields.entry(field).or_insert(Value::Null);
    }
    *target = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_where_it_is_missing() {
        let mut object = json!({"spec": 3});
        set_at(&mut object, ".spec.size.replicas", 2.into());
        assert_eq!(object, json!({"spec": {"size": {"replicas": 2}}}));
        assert_eq!(at(&object, ".spec.size.replicas"), 2);
        assert!(at(&object, ".spec.other.replicas").is_null());
    }
}
