//! Create: POST to a collection.

use serde_json::Value;

use crate::field::{FieldError, FieldPath};
use crate::object;
use crate::status::Status;
use crate::store::{Key, Store};

use super::body::{self, Source};
use super::call::Call;
use super::write::{self, Ownership, Written};

const MAX_MANAGER_LENGTH: usize = 128;

/// Makes a new object of the request's body.
pub(super) fn create<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<Written, Status> {
    refuse_while_definition_goes(call)?;
    check_manager(call, "CreateOptions")?;
    let body = body_of(call)?;
    let mut decoded = body::decode(call, body.clone(), Source::Body)?;
    body::check_namespace(call, &mut decoded.object)?;
    if !call.name().is_empty() && !object::name(&decoded.object).is_empty() {
        body::check_name(call, &decoded.object)?;
    }
    decoded.warnings.extend(body::drop_duplicate_owners(&mut decoded.object, Source::Body));
    let mut written = write::create(call, decoded.object, Ownership::Track)?;
    written.warnings.splice(..0, decoded.warnings);
    Ok(written)
}

/// The body, which the verbs that need one cannot do without.
pub(super) fn body_of<'a, S: Store + ?Sized>(call: &Call<'a, S>) -> Result<&'a Value, Status> {
    call.request.body.as_ref().ok_or_else(|| {
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; \
             json parse error: unexpected end of JSON input (<empty>)",
            call.info.kind
        ))
    })
}

/// Refuses names of field managers that could not be stored. `options` is the kind of the options.
pub(super) fn check_manager<S: Store + ?Sized>(call: &Call<'_, S>, options: &str) -> Result<(), Status> {
    let manager = call.request.options.field_manager.as_deref().unwrap_or("");
    let path = FieldPath::of("fieldManager");
    let mut errors = Vec::new();
    if manager.len() > MAX_MANAGER_LENGTH {
        errors.push(FieldError::too_long(&path, MAX_MANAGER_LENGTH));
    }
    if let Some((at, letter)) = manager.char_indices().find(|(_, letter)| letter.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(letter));
        errors.push(FieldError::invalid(&path, manager, detail));
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", options, "", &errors)) }
}

/// A definition that is being deleted waits for its instances to go; new ones would keep it for ever.
fn refuse_while_definition_goes<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<(), Status> {
    if !call.is_custom() {
        return Ok(());
    }
    let resource = &call.info.resource;
    let name = format!("{}.{}", resource.plural, resource.group);
    let key = Key::new("apiextensions.k8s.io", "customresourcedefinitions", "", &name);
    let Some(definition) = call.store.get(&key) else { return Ok(()) };
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    if conditions.any(|condition| condition["type"] == "Terminating" && condition["status"] == "True") {
        let mut status = Status::method_not_allowed().about(&resource.group, &resource.plural, "");
        status.message = "create not allowed while custom resource definition is terminating".to_owned();
        return Err(status);
    }
    Ok(())
}
