//! Reading the object that a request carries: its type, its unknown fields, its defaults.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::crd;
use crate::field::{FieldError, FieldPath, quoted};
use crate::go_format::plain;
use crate::object;
use crate::request::FieldValidation;
use crate::schema::{self, TooManyDefaults};
use crate::status::Status;
use crate::store::Store;
use crate::types::{self, Origin, TypeInfo, Types};

use super::call::Call;

/// Where an object comes from, which decides how a failure to read it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The client sent it: 400.
    Body,
    /// A patch made it: 422 about what it made.
    Patch,
    /// A strategic merge patch made it: 422 about the patch itself.
    Strategic,
}

/// An object that fits its type, and the warnings about it.
pub(super) struct Decoded {
    /// The object, with defaults.
    pub(super) object: Value,
    /// Unknown fields and the like.
    pub(super) warnings: Vec<String>,
}

/// Reads an object of the call's type, in the version that the request names.
pub(super) fn decode<S: Store + ?Sized>(
    call: &Call<'_, S>,
    mut object: Value,
    source: Source,
) -> Result<Decoded, Status> {
    let info = call.info;
    // An empty list of owners is a wish of its own, though the Go type writes it like none.
    let forgets_owners = object["metadata"]["managedFields"].as_array().is_some_and(Vec::is_empty);
    check_kind(call, &mut object, source)?;
    let strict = call.request.options.field_validation == FieldValidation::Strict;
    // A patch that is refused is shown with what it made, unknown fields and all.
    let patched = (strict && source != Source::Body).then(|| object.clone());
    let unknown = fit(info, &mut object).map_err(|problem| misfit(call, &object, source, &problem))?;
    let warnings = match call.request.options.field_validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Warn => unknown,
        FieldValidation::Strict if unknown.is_empty() => unknown,
        FieldValidation::Strict => {
            let problem = format!("strict decoding error: {}", unknown.join(", "));
            return Err(misfit(call, patched.as_ref().unwrap_or(&object), source, &problem));
        }
    };
    set_defaults(info, &mut object)?;
    if forgets_owners {
        object::set_meta(&mut object, "managedFields", Vec::<Value>::new());
    }
    Ok(Decoded { object, warnings })
}

/// Drops what the type does not know, silently, and fills in defaults.
pub(super) fn settle<S: Store + ?Sized>(call: &Call<'_, S>, mut object: Value) -> Result<Value, Status> {
    if call.is_custom() {
        // Nothing decodes what was merged: it keeps its nulls, for validation to refuse.
        schema::prune(&call.info.schema, &mut object);
        schema::fill_defaults(&call.info.schema, &mut object).map_err(too_large)?;
        return Ok(object);
    }
    let problem = fit(call.info, &mut object).err();
    if let Some(problem) = problem {
        return Err(misfit(call, &object, Source::Body, &problem));
    }
    set_defaults(call.info, &mut object)?;
    Ok(object)
}

/// As [`settle`], for what an admission policy has made. A patch must make what the type knows, strictly.
pub(super) fn settle_mutated<S: Store + ?Sized>(
    call: &Call<'_, S>,
    mut object: Value,
    strict: bool,
) -> Result<Value, Status> {
    if strict && !call.is_custom() {
        let unknown = fit(call.info, &mut object).map_err(Status::internal)?;
        if !unknown.is_empty() {
            return Err(Status::internal(format!("strict decoding error: {}", unknown.join(", "))));
        }
    }
    settle(call, object)
}

/// Makes the namespace of the object that of the request, or refuses it.
pub(super) fn check_namespace<S: Store + ?Sized>(
    call: &Call<'_, S>,
    object: &mut Value,
) -> Result<(), Status> {
    let expected = call.namespace();
    match object::namespace(object) {
        given if given == expected => {}
        _ if expected.is_empty() => drop(object::remove_meta(object, "namespace")),
        "" => object::set_meta(object, "namespace", expected),
        _ => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    Ok(())
}

/// Refuses an object whose name is not that of the request.
pub(super) fn check_name<S: Store + ?Sized>(call: &Call<'_, S>, object: &Value) -> Result<(), Status> {
    let wanted = call.name();
    match object::name(object) {
        "" => Err(Status::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        ))),
        given if given != wanted => Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({wanted})"
        ))),
        _ => Ok(()),
    }
}

/// Drops owner references that stand twice; the warning says which.
pub(super) fn drop_duplicate_owners(object: &mut Value, source: Source) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut duplicates = Vec::new();
    let mut kept = Vec::new();
    for reference in object::owner_references(object) {
        if seen.insert(reference.to_string()) {
            kept.push(reference.clone());
        } else {
            duplicates.push(reference["uid"].as_str().unwrap_or("").to_owned());
        }
    }
    if duplicates.is_empty() {
        return None;
    }
    object::set_meta(object, "ownerReferences", kept);
    let when = if source != Source::Body { " after mutating admission happens" } else { "" };
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, \
         and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        duplicates.join(", ")
    ))
}

/// Checks `kind` and `apiVersion`; a built-in type may leave them out.
fn check_kind<S: Store + ?Sized>(
    call: &Call<'_, S>,
    object: &mut Value,
    source: Source,
) -> Result<(), Status> {
    let info = call.info;
    let expected = object::api_version(&info.resource.group, &info.resource.version);
    let Some(fields) = object.as_object_mut() else {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): it is no JSON object",
            info.kind
        )));
    };
    let kind = fields.get("kind").and_then(Value::as_str).unwrap_or("").to_owned();
    let api_version = fields.get("apiVersion").and_then(Value::as_str).unwrap_or("").to_owned();
    if info.origin == Origin::Custom {
        return check_custom_kind(info, object, &kind, &api_version, &expected);
    }
    let known_kind = kind.is_empty() || kind == info.kind;
    let known_version = api_version.is_empty() || api_version == expected;
    if known_kind && known_version {
        fields.insert("kind".to_owned(), info.kind.as_str().into());
        fields.insert("apiVersion".to_owned(), expected.as_str().into());
        return Ok(());
    }
    let given = if kind.is_empty() { &info.kind } else { &kind };
    let given_version = if api_version.is_empty() { &expected } else { &api_version };
    let why = no_conversion(given, given_version, &info.resource.group, &info.kind);
    Err(match source {
        Source::Patch | Source::Strategic => misfit(call, object, source, &why),
        Source::Body => not_handled(given, given_version, &info.kind, &why),
    })
}

/// Why an object of one kind cannot be read as one of another.
fn no_conversion(given: &str, given_version: &str, group: &str, kind: &str) -> String {
    let (given_group, version) = object::split_api_version(given_version);
    let of_list = given.strip_suffix("List").unwrap_or(given);
    if Types::built_in().by_kind(given_group, version, of_list).is_some() {
        let package = group.split('.').next().filter(|name| !name.is_empty()).unwrap_or("core");
        return format!("converting ({version}.{given}) to ({package}.{kind}): unknown conversion");
    }
    let scheme = "pkg/api/legacyscheme/scheme.go:30";
    format!(
        "no kind {} is registered for version {} in scheme {scheme:?}",
        quoted(given),
        quoted(given_version)
    )
}

fn not_handled(given: &str, given_version: &str, kind: &str, why: &str) -> Status {
    let version = quoted(object::split_api_version(given_version).1);
    Status::bad_request(format!("{given} in version {version} cannot be handled as a {kind}: {why}"))
}

/// 400: the object should have been a Scale.
pub(super) fn not_a_scale(given: &str, given_version: &str) -> Status {
    not_handled(given, given_version, "Scale", &no_conversion(given, given_version, "autoscaling", "Scale"))
}

fn check_custom_kind(
    info: &TypeInfo,
    object: &Value,
    kind: &str,
    api_version: &str,
    expected: &str,
) -> Result<(), Status> {
    let name = object::name(object);
    if kind.is_empty() {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing",
            info.kind
        )));
    }
    if api_version != expected {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )));
    }
    if kind != info.kind {
        let error = FieldError::invalid(&FieldPath::of("kind"), kind, format!("must be {}", info.kind));
        return Err(Status::invalid(&info.resource.group, kind, name, &[error]));
    }
    Ok(())
}

/// Makes the object fit its type. Returns what was dropped, as warnings.
fn fit(info: &TypeInfo, object: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = match info.origin {
        Origin::BuiltIn => schema::decode(&info.schema, object)?,
        Origin::Custom => schema::coerce(&info.schema, object)?,
    };
    if is_definition(info) {
        unknown.extend(crd::decode(object)?);
    }
    unknown.extend(schema::decode_metadata(object)?);
    if info.origin == Origin::BuiltIn {
        // Kubernetes reports them in the order of the body, which is no longer known here.
        unknown.sort();
    }
    Ok(unknown.into_iter().map(|path| format!("unknown field {}", quoted(&path))).collect())
}

/// Why an object does not fit its type, in the words for where it comes from.
pub(super) fn misfit<S: Store + ?Sized>(
    call: &Call<'_, S>,
    object: &Value,
    source: Source,
    problem: &str,
) -> Status {
    let info = call.info;
    let shown = match source {
        Source::Body => {
            return Status::bad_request(format!(
                "{kind} in version {:?} cannot be handled as a {kind}: {problem}",
                info.resource.version,
                kind = info.kind
            ));
        }
        Source::Patch => object.to_string(),
        Source::Strategic => call.request.body.as_ref().map(plain).unwrap_or_default(),
    };
    Status::invalid("", "", "", &[FieldError::invalid(&FieldPath::of("patch"), shown, problem)])
}

fn set_defaults(info: &TypeInfo, object: &mut Value) -> Result<(), Status> {
    match info.origin {
        Origin::Custom => schema::apply_defaults(&info.schema, object).map_err(too_large)?,
        Origin::BuiltIn => {
            types::defaults::set_defaults(info, object);
            if is_definition(info) {
                crd::set_defaults(object);
            }
        }
    }
    Ok(())
}

fn too_large(_: TooManyDefaults) -> Status {
    Status::defaults_too_large(object::MAX_BYTES)
}

/// Whether the type is that of CRDs, which have a module of their own.
pub(super) fn is_definition(info: &TypeInfo) -> bool {
    info.resource.group == "apiextensions.k8s.io" && info.resource.plural == "customresourcedefinitions"
}
