//! The common end of every write: admit, prepare, track, validate, and stamp the result.

use std::io;
use std::sync::Arc;

use serde_json::Value;

use crate::apply;
use crate::crd;
use crate::field::{FieldError, FieldPath, quoted};
use crate::kinds;
use crate::metadata;
use crate::object;
use crate::request::Verb;
use crate::schema;
use crate::status::{Cause, Status};
use crate::store::uid;
use crate::store::{Change, Key, Store};
use crate::types::Origin;

use super::body;
use super::call::{Call, Earlier};
use super::{admission, identity, mutate, parameter_access, policy, prepare, review, services, warnings};

const STALE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Which part of an object a write may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All but status, where status is a part of its own.
    Object,
    /// The status.
    Status,
    /// The number of replicas.
    Scale,
    /// The finalizers in the spec of a namespace.
    Finalize,
    /// The containers that are added to a pod to look into it.
    EphemeralContainers,
    /// The resources of the containers of a pod.
    Resize,
}

impl Part {
    /// The subresource that `managedFields` names.
    pub(super) fn subresource(self) -> Option<&'static str> {
        match self {
            Part::Object => None,
            Part::Status => Some("status"),
            Part::Scale => Some("scale"),
            Part::Finalize => Some("finalize"),
            Part::EphemeralContainers => Some("ephemeralcontainers"),
            Part::Resize => Some("resize"),
        }
    }

    /// The subresource that the rules of a type know: scaling is an update like any other.
    pub(super) fn rules(self) -> Option<&'static str> {
        if self == Part::Scale { None } else { self.subresource() }
    }
}

/// Whether `managedFields` is still to be brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    /// Compare with the live object.
    Track,
    /// Server-side apply has done it.
    Settled,
}

/// A write that went through.
pub(super) struct Written {
    /// The object in the version that the request names.
    pub(super) object: Arc<Value>,
    /// Whether it is new.
    pub(super) created: bool,
    /// What to commit.
    pub(super) changes: Vec<Change>,
    /// For the client.
    pub(super) warnings: Vec<String>,
}

/// Makes a new object of one that has been decoded.
pub(super) fn create<S: Store + ?Sized>(
    call: &Call<'_, S>,
    mut new: Value,
    ownership: Ownership,
) -> Result<Written, Status> {
    admit_into_namespace(call, &new)?;
    let generated = settle_name(call, &mut new);
    let name = object::name(&new).to_owned();
    let key = call.key(&name);
    prepare::new_metadata(&mut new, &uid(call.store.entropy(&key, 0)), call.now);
    // What the server does to the object after this has no owner.
    if ownership == Ownership::Track {
        apply::track_update(call.info, None, &mut new, call.manager(), None, call.now);
    }
    admission::admit_new(call, &mut new)?;
    mutate::created(call, &mut new)?;
    prepare::new_object(call.info, &mut new, call.now);
    services::assign(call, &mut new, None, Part::Object)?;
    let errors = validate(call, &new, None, Part::Object);
    if !errors.is_empty() {
        return Err(call.invalid(&name, &errors));
    }
    if call.request.verb != Verb::Create {
        call.check_may_create(&name)?;
    }
    review::created(call, &new)?;
    // Only a POST is checked: the store never sees the version of an object that a PUT or an apply creates.
    let posted = call.request.verb == Verb::Create && !call.request.options.dry_run;
    let given_version: u64 = object::resource_version(&new).parse().unwrap_or(0);
    if posted && given_version != 0 {
        return Err(Status::unclassified("resourceVersion should not be set on objects to be created"));
    }
    if let Some(existing) = call.store.get(&key) {
        return Err(already_exists(call, &name, generated, &existing));
    }
    object::remove_meta(&mut new, "resourceVersion");
    let warnings = warnings::on_write(call.info, &new, None, Part::Object);
    commit(call, key, None, new, ownership, warnings)
}

/// Replaces a stored object by one that has been decoded.
pub(super) fn update<S: Store + ?Sized>(
    call: &Call<'_, S>,
    stored: &Arc<Value>,
    mut new: Value,
    part: Part,
    ownership: Ownership,
) -> Result<Written, Status> {
    let live = call.view(stored);
    check_resource_version(call, &live, &mut new)?;
    if ownership == Ownership::Track {
        apply::track_update(call.info, Some(&live), &mut new, call.manager(), part.subresource(), call.now);
    }
    admission::admit_update(call, &live, &mut new)?;
    mutate::updated(call, &live, &mut new, part)?;
    prepare::update(call.info, &live, &mut new, part);
    services::assign(call, &mut new, Some(&live), part)?;
    let name = object::name(&live);
    let errors = validate(call, &new, Some(&live), part);
    if !errors.is_empty() {
        return Err(call.invalid(name, &errors));
    }
    review::updated(call, &live, &new, part)?;
    let key = call.key(name);
    if is_finished(call, &live, &new) {
        let version = call.version(&key, Earlier::default());
        let change = Change { key, before: Some(stored.clone()), after: None, version };
        let object = Arc::new(new);
        return Ok(Written { object, created: false, changes: vec![change], warnings: Vec::new() });
    }
    apply::keep_times(&live, &mut new);
    let warnings = warnings::on_write(call.info, &new, Some(&live), part);
    // What the definition fills in when an object is read is stored by the first write, even if that changes nothing.
    if new == *live && call.info.is_stored_as_shown(stored, &live) {
        return Ok(Written { object: live, created: false, changes: Vec::new(), warnings });
    }
    commit(call, key, Some(stored.clone()), new, ownership, warnings)
}

/// Refuses creation in a namespace that does not exist or is going away.
pub(super) fn admit_into_namespace<S: Store + ?Sized>(call: &Call<'_, S>, new: &Value) -> Result<(), Status> {
    let namespace = call.namespace();
    if namespace.is_empty() {
        return Ok(());
    }
    let Some(found) = call.store.get(&Key::new("", "namespaces", "", namespace)) else {
        return Err(Status::not_found("", "namespaces", namespace));
    };
    if found["status"]["phase"] != "Terminating" {
        return Ok(());
    }
    let names = [call.name(), object::name(new), object::meta_str(new, "generateName"), "Unknown"];
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(&call.info.resource.group, &call.info.resource.plural, name, &why);
    status.details.get_or_insert_default().causes.push(Cause {
        reason: Some("NamespaceTerminating".to_owned()),
        message: Some(format!("namespace {namespace} is being terminated")),
        field: Some("metadata.namespace".to_owned()),
    });
    Err(status)
}

/// Gives the object a name if it asks for one. Says whether it did.
fn settle_name<S: Store + ?Sized>(call: &Call<'_, S>, new: &mut Value) -> bool {
    let base = object::meta_str(new, "generateName");
    if base.is_empty() || !object::name(new).is_empty() {
        return false;
    }
    let name = identity::generate_name(call.store, base, |name| call.key(name));
    object::set_meta(new, "name", name);
    true
}

fn already_exists<S: Store + ?Sized>(
    call: &Call<'_, S>,
    name: &str,
    generated: bool,
    existing: &Value,
) -> Status {
    let resource = &call.info.resource;
    let mut status = Status::already_exists(&resource.group, &resource.plural, name);
    if generated {
        status.message.push_str(", the server was not able to generate a unique name for the object");
        status.details.get_or_insert_default().retry_after_seconds = Some(1);
    }
    if object::is_deleting(existing) {
        status.message.insert_str(0, "object is being deleted: ");
    }
    status
}

/// An update must be of the version that there is, or say nothing where the type allows that.
fn check_resource_version<S: Store + ?Sized>(
    call: &Call<'_, S>,
    live: &Value,
    new: &mut Value,
) -> Result<(), Status> {
    let (name, current) = (object::name(live), object::resource_version(live));
    let given = object::resource_version(new);
    let unset = given.is_empty() || given.bytes().all(|byte| byte == b'0');
    if unset && policy::allows_unconditional_update(call.info) {
        object::set_meta(new, "resourceVersion", current);
        return Ok(());
    }
    if unset {
        // Kubernetes names the resource here instead of the kind.
        let path = FieldPath::of("metadata.resourceVersion");
        let error = FieldError::new(
            crate::field::FieldErrorKind::Invalid,
            &path,
            None,
            "0: must be specified for an update",
        );
        let resource = &call.info.resource;
        return Err(Status::invalid(&resource.group, &resource.plural, name, &[error]));
    }
    if given.parse::<u64>().is_err() {
        return Err(Status::unclassified(format!(
            "strconv.ParseUint: parsing {}: invalid syntax",
            quoted(given)
        )));
    }
    if given != current {
        return Err(call.conflict(name, STALE));
    }
    Ok(())
}

/// Validates an object, and reports all errors at once.
fn validate<S: Store + ?Sized>(
    call: &Call<'_, S>,
    new: &Value,
    live: Option<&Value>,
    part: Part,
) -> Vec<FieldError> {
    let info = call.info;
    let mut errors = metadata::validate(info, new);
    if live.is_none() && object::name(new).is_empty() && errors.is_empty() {
        let path = FieldPath::of("metadata.name");
        errors.push(FieldError::required(&path, "name or generateName is required"));
    }
    if let Some(live) = live {
        errors.extend(metadata::validate_update(info, new, live));
    }
    match info.origin {
        Origin::Custom => {
            errors.extend(match live.filter(|_| part == Part::Status) {
                Some(live) => schema::validate_status(&info.schema, new, live),
                None => schema::validate(&info.schema, new, live, &FieldPath::root()),
            });
            errors.extend(info.scale.iter().flat_map(|scale| crd::validate_scale(scale, new)));
        }
        Origin::BuiltIn => {
            errors.extend(kinds::validate(info, new, live, part.rules()));
            if body::is_definition(info) && part != Part::Status {
                errors.extend(crd::validate(new, live));
            }
            if errors.is_empty() && part == Part::Object {
                errors.extend(parameter_access::missing(call, new, live));
            }
        }
    }
    errors
}

/// Whether this write takes away the last thing that kept a deleted object.
fn is_finished<S: Store + ?Sized>(call: &Call<'_, S>, live: &Value, new: &Value) -> bool {
    let grace = live["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    let held_by_spec = call.is("", "namespaces")
        && new["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
    object::is_deleting(live) && object::finalizers(new).next().is_none() && grace == 0 && !held_by_spec
}

/// Gives the object its version and checks that it can be stored.
fn commit<S: Store + ?Sized>(
    call: &Call<'_, S>,
    key: Key,
    before: Option<Arc<Value>>,
    mut new: Value,
    ownership: Ownership,
    warnings: Vec<String>,
) -> Result<Written, Status> {
    let created = before.is_none();
    let version = call.version(&key, Earlier::default());
    if !call.request.options.dry_run {
        object::set_meta(&mut new, "resourceVersion", version.to_string());
    }
    if !fits(&new) {
        // Who owns which field can be forgotten, if that makes room.
        if ownership == Ownership::Track {
            object::remove_meta(&mut new, "managedFields");
        }
        if !fits(&new) {
            return Err(Status::unclassified("etcdserver: request is too large"));
        }
    }
    let after = call.to_storage(&Arc::new(new));
    // The answer is what a reader sees: a status that was taken back has its defaults again.
    let object = call.view(&after);
    let changes = vec![Change { key, before, after: Some(after), version }];
    Ok(Written { object, created, changes, warnings })
}

/// Whether an object is small enough to be stored.
fn fits(object: &Value) -> bool {
    most_bytes(object) <= object::MAX_BYTES || fits_as_text(object)
}

/// More bytes than this an object does not have as text. Most are far below the limit, and need not be written
/// to see that they are.
fn most_bytes(value: &Value) -> usize {
    /// What an escaped byte takes, and an integer of 64 bits or a float.
    const ESCAPED: usize = 6;
    const NUMBER: usize = 32;
    match value {
        Value::Null | Value::Bool(_) => "false".len(),
        Value::Number(_) => NUMBER,
        Value::String(text) => text.len() * ESCAPED + 2,
        Value::Array(items) => items.iter().map(|item| most_bytes(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| name.len() * ESCAPED + 4 + most_bytes(value);
            fields.iter().map(field).sum::<usize>() + 2
        }
    }
}

fn fits_as_text(object: &Value) -> bool {
    struct Room(usize);
    impl io::Write for Room {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Room(object::MAX_BYTES), object).is_ok()
}
