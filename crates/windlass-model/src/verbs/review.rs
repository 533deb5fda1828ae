//! Asks the validating admission policies about a write, once it is known what it would store.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::object;
use crate::policy_admission::{self, Operation, Review};
use crate::request::{FieldValidation, Propagation};
use crate::status::Status;
use crate::store::Store;

use super::call::Call;
use super::scale;
use super::write::Part;

/// Asks about a new object.
pub(super) fn created<S: Store + ?Sized>(call: &Call<'_, S>, new: &Value) -> Result<(), Status> {
    if call.types.policies().is_idle() {
        return Ok(());
    }
    ask(call, Operation::Create, Part::Object, object::name(new), Some(new), None)
}

/// Asks about a change of an object, or of a part of it.
pub(super) fn updated<S: Store + ?Sized>(
    call: &Call<'_, S>,
    live: &Value,
    new: &Value,
    part: Part,
) -> Result<(), Status> {
    if call.types.policies().is_idle() {
        return Ok(());
    }
    let shown = |object| match &call.info.scale {
        Some(paths) if part == Part::Scale => Cow::Owned(scale::scale_of(call.info, paths, object)),
        _ => Cow::Borrowed(object),
    };
    let (live, new) = (shown(live), shown(new));
    ask(call, Operation::Update, part, call.name(), Some(&new), Some(&live))
}

/// Asks about the deletion of an object.
pub(super) fn deleted<S: Store + ?Sized>(call: &Call<'_, S>, live: &Value) -> Result<(), Status> {
    if call.types.policies().is_idle() {
        return Ok(());
    }
    ask(call, Operation::Delete, Part::Object, call.name(), None, Some(live))
}

/// Asks about an object that is not stored, but makes something happen to one that is: a binding, an eviction.
pub(super) fn posted<S: Store + ?Sized>(
    call: &Call<'_, S>,
    group: &str,
    kind: &str,
    body: &Value,
) -> Result<(), Status> {
    if call.types.policies().is_idle() {
        return Ok(());
    }
    let mut body = body.clone();
    object::set_meta(&mut body, "namespace", call.namespace());
    let kind = policy_admission::Kind::new(group, "v1", kind);
    run(call, Operation::Create, kind, call.name(), Some(&body), None)
}

fn ask<S: Store + ?Sized>(
    call: &Call<'_, S>,
    operation: Operation,
    part: Part,
    name: &str,
    object: Option<&Value>,
    old_object: Option<&Value>,
) -> Result<(), Status> {
    let kind = match part {
        Part::Scale => policy_admission::Kind::new("autoscaling", "v1", "Scale"),
        _ => policy_admission::Kind::of(call.info),
    };
    run(call, operation, kind, name, object, old_object)
}

fn run<S: Store + ?Sized>(
    call: &Call<'_, S>,
    operation: Operation,
    kind: policy_admission::Kind,
    name: &str,
    object: Option<&Value>,
    old_object: Option<&Value>,
) -> Result<(), Status> {
    let review = describe(call, operation, kind, name, object, old_object);
    let admission = policy_admission::admit(call.store, call.types, &review);
    call.warnings.borrow_mut().extend(admission.warnings);
    admission.refusal.map_or(Ok(()), Err)
}

/// A write as policies see it.
pub(super) fn describe<'a, S: Store + ?Sized>(
    call: &'a Call<'_, S>,
    operation: Operation,
    kind: policy_admission::Kind,
    name: &'a str,
    object: Option<&'a Value>,
    old_object: Option<&'a Value>,
) -> Review<'a> {
    Review {
        operation,
        resource: &call.info.resource,
        kind,
        subresource: call.request.subresource.as_deref().unwrap_or_default(),
        namespace: if call.is("", "namespaces") { name } else { call.namespace() },
        name,
        object,
        old_object,
        options: options(call, operation),
        dry_run: call.request.options.dry_run,
        user: call.caller.user,
        authorizer: call.caller.authorizer,
    }
}

/// The options of the request as an object.
fn options<S: Store + ?Sized>(call: &Call<'_, S>, operation: Operation) -> Value {
    let options = &call.request.options;
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    let mut shown = json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" });
    if options.dry_run {
        shown["dryRun"] = json!(["All"]);
    }
    if operation == Operation::Delete {
        let preconditions = &options.preconditions;
        if let Some(seconds) = options.grace_period_seconds {
            shown["gracePeriodSeconds"] = seconds.into();
        }
        for (field, text) in
            [("uid", &preconditions.uid), ("resourceVersion", &preconditions.resource_version)]
        {
            if let Some(text) = text {
                shown["preconditions"][field] = text.as_str().into();
            }
        }
        let propagation = options.propagation.map(|propagation| match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        });
        if let Some(propagation) = propagation {
            shown["propagationPolicy"] = propagation.into();
        }
        return shown;
    }
    if let Some(manager) = &options.field_manager {
        shown["fieldManager"] = manager.as_str().into();
    }
    match options.field_validation {
        FieldValidation::Ignore => shown["fieldValidation"] = "Ignore".into(),
        FieldValidation::Strict => shown["fieldValidation"] = "Strict".into(),
        FieldValidation::Warn => {}
    }
    shown
}
