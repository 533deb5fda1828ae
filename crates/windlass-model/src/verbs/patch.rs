//! Patch: four ways to say what should change.

use serde_json::Value;

use crate::apply::Apply;
use crate::field::{FieldError, FieldPath};
use crate::object;
use crate::patch;
use crate::request::PatchKind;
use crate::schema;
use crate::status::{Reason, Status};
use crate::store::Store;

use super::body::{self, Source};
use super::call::Call;
use super::create::{body_of, check_manager};
use super::write::{self, Ownership, Part, Written};

/// Changes the object, or one part of it, as the patch says.
pub(super) fn patch<S: Store + ?Sized>(
    call: &Call<'_, S>,
    kind: PatchKind,
    part: Part,
) -> Result<Written, Status> {
    check_options(call, kind)?;
    match kind {
        PatchKind::Apply => apply(call, part),
        _ => modify(call, kind, part),
    }
}

/// Refuses options and patch kinds that do not go with the request.
pub(super) fn check_options<S: Store + ?Sized>(call: &Call<'_, S>, kind: PatchKind) -> Result<(), Status> {
    if kind == PatchKind::Strategic && call.is_custom() {
        let message = "the body of the request was in an unknown format - accepted media types include: \
                       application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        return Err(Status::failure(415, Reason::UnsupportedMediaType, message));
    }
    let options = &call.request.options;
    let error = match kind {
        PatchKind::Apply if options.field_manager.as_deref().unwrap_or("").is_empty() => {
            FieldError::required(&FieldPath::of("fieldManager"), "is required for apply patch")
        }
        PatchKind::Json | PatchKind::Merge | PatchKind::Strategic if options.force => {
            FieldError::forbidden(&FieldPath::of("force"), "may not be specified for non-apply patch")
        }
        _ => return check_manager(call, "PatchOptions"),
    };
    Err(Status::invalid("meta.k8s.io", "PatchOptions", "", &[error]))
}

/// Reads, changes and writes back.
fn modify<S: Store + ?Sized>(call: &Call<'_, S>, kind: PatchKind, part: Part) -> Result<Written, Status> {
    let stored = call.existing()?;
    let live = call.view(&stored);
    let patched = patched(call, kind, &live)?;
    let source = if kind == PatchKind::Strategic { Source::Strategic } else { Source::Patch };
    let mut decoded = body::decode(call, patched, source)?;
    body::check_namespace(call, &mut decoded.object)?;
    body::check_name(call, &decoded.object)?;
    decoded.warnings.extend(body::drop_duplicate_owners(&mut decoded.object, Source::Patch));
    let mut written = write::update(call, &stored, decoded.object, part, Ownership::Track)?;
    written.warnings.splice(..0, decoded.warnings);
    Ok(written)
}

/// The live object with the patch applied to it.
pub(super) fn patched<S: Store + ?Sized>(
    call: &Call<'_, S>,
    kind: PatchKind,
    live: &Value,
) -> Result<Value, Status> {
    let body = body_of(call)?;
    if kind != PatchKind::Json && !body.is_object() {
        return Err(Status::bad_request("error decoding patch: a merge patch is a JSON object"));
    }
    match kind {
        PatchKind::Json => patch::apply_json_patch(live, body),
        PatchKind::Strategic => {
            let made = patch::apply_strategic_patch(&call.info.schema, live, body)?;
            match schema::restore_problem(&call.info.schema, &made) {
                None => Ok(made),
                Some(problem) => Err(body::misfit(call, &made, Source::Strategic, &problem)),
            }
        }
        PatchKind::Merge | PatchKind::Apply => Ok(patch::merge::apply_merge_patch(live, body)),
    }
}

/// Server-side apply: the only patch that creates.
fn apply<S: Store + ?Sized>(call: &Call<'_, S>, part: Part) -> Result<Written, Status> {
    let config = body_of(call)?;
    let stored = call.store.get(&call.key(call.name()));
    let live = stored.as_ref().map(|stored| call.view(stored));
    if live.is_none() && part != Part::Object {
        return Err(call.not_found(call.name()));
    }
    let merged = Apply {
        info: call.info,
        live: live.as_deref(),
        config,
        manager: call.manager(),
        force: call.request.options.force,
        subresource: part.subresource(),
        now: call.now,
    }
    .run()?;
    let mut new = body::settle(call, merged)?;
    keep_preconditions(live.as_deref(), config, &mut new);
    if live.is_none() && !object::uid(config).is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {}, and no existing object was found",
            object::uid(config)
        );
        return Err(call.conflict(call.name(), &why));
    }
    body::check_namespace(call, &mut new)?;
    body::check_name(call, &new)?;
    let warning = body::drop_duplicate_owners(&mut new, Source::Patch);
    let mut written = match &stored {
        Some(stored) => write::update(call, stored, new, part, Ownership::Settled)?,
        None => write::create(call, new, Ownership::Settled)?,
    };
    written.warnings.extend(warning);
    Ok(written)
}

/// A version or uid in an applied configuration is a precondition; without one the live object's holds.
fn keep_preconditions(live: Option<&Value>, config: &Value, new: &mut Value) {
    for field in ["resourceVersion", "uid"] {
        let given = Some(object::meta_str(config, field)).filter(|text| !text.is_empty());
        match given.or_else(|| live.map(|live| object::meta_str(live, field))) {
            Some(text) => object::set_meta(new, field, text),
            None => drop(object::remove_meta(new, field)),
        }
    }
}
