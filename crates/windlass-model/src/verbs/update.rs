//! Update: PUT of a whole object, or of one of its parts.

use std::sync::Arc;

use serde_json::Value;

use crate::object;
use crate::status::Status;
use crate::store::Store;

use super::body::{self, Source};
use super::call::Call;
use super::create::{body_of, check_manager};
use super::policy;
use super::write::{self, Ownership, Part, Written};

/// Replaces the object, or one part of it, by the request's body.
pub(super) fn update<S: Store + ?Sized>(call: &Call<'_, S>, part: Part) -> Result<Written, Status> {
    check_manager(call, "UpdateOptions")?;
    let mut decoded = body::decode(call, body_of(call)?.clone(), Source::Body)?;
    body::check_namespace(call, &mut decoded.object)?;
    body::check_name(call, &decoded.object)?;
    decoded.warnings.extend(body::drop_duplicate_owners(&mut decoded.object, Source::Body));
    let stored = call.store.get(&call.key(call.name()));
    let may_create = part == Part::Object && policy::allows_create_on_update(call.info);
    if stored.is_none() && !may_create {
        return Err(call.not_found(call.name()));
    }
    check_uid(call, stored.as_ref(), &decoded.object)?;
    let mut written = match stored {
        Some(stored) => write::update(call, &stored, decoded.object, part, Ownership::Track)?,
        None => write::create(call, decoded.object, Ownership::Track)?,
    };
    written.warnings.splice(..0, decoded.warnings);
    Ok(written)
}

/// A uid in the body must be that of the object: else the client means an earlier one of the same name.
fn check_uid<S: Store + ?Sized>(
    call: &Call<'_, S>,
    stored: Option<&Arc<Value>>,
    new: &Value,
) -> Result<(), Status> {
    let (given, found) = (object::uid(new), stored.map_or("", |stored| object::uid(stored)));
    if given.is_empty() || given == found {
        return Ok(());
    }
    let path = policy::storage_path(call.info, call.namespace(), call.name());
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {given}, UID in object meta: {found}"
    );
    Err(call.conflict(call.name(), &why))
}
