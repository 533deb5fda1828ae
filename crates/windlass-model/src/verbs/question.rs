//! Requests that ask something by creating an object that is answered and never stored.

use std::cell::RefCell;

use serde_json::Value;

use crate::apply;
use crate::request::{Request, Verb};
use crate::status::Status;
use crate::store::Store;
use crate::time::Timestamp;
use crate::types::{TypeInfo, Types};

use super::body::{self, Source};
use super::call::{Call, Caller};
use super::create::{body_of, check_manager};
use super::write::admit_into_namespace;

/// The object that a request carries, with the fields that its sender owns, and the warnings for the client.
///
/// # Errors
/// 405 for another verb than create, 400 for a body that does not fit the type, 404 for a subresource in a namespace
/// that does not exist. What asks for rights may ask about any namespace.
pub(crate) fn read_question<S: Store + ?Sized>(
    store: &S,
    now: Timestamp,
    info: &TypeInfo,
    request: &Request,
) -> Result<(Value, Vec<String>), Status> {
    // What is not stored is not reviewed, so it matters neither who asks nor which policies there are.
    let (types, warnings) = (Types::empty(), RefCell::default());
    let caller = Caller::system();
    let call = Call { store, info, now, request, types: &types, caller, warnings: &warnings };
    call.check_path()?;
    if request.verb != Verb::Create {
        return Err(Status::method_not_allowed());
    }
    check_manager(&call, "CreateOptions")?;
    let mut decoded = body::decode(&call, body_of(&call)?.clone(), Source::Body)?;
    body::check_namespace(&call, &mut decoded.object)?;
    let subresource = request.subresource.as_deref();
    if subresource.is_some() {
        admit_into_namespace(&call, &decoded.object)?;
    }
    if let Some(fields) = decoded.object.as_object_mut() {
        // The answer is the server's.
        fields.remove("status");
    }
    apply::track_update(info, None, &mut decoded.object, call.manager(), subresource, now);
    Ok((decoded.object, decoded.warnings))
}
