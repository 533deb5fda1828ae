//! The `Status` object: what the API answers when it does not answer with an object.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use crate::field::Cause;
use crate::field::{FieldError, quoted};

/// A Kubernetes `Status`. Failures are data: they are values of this type, never a panic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `Success` or `Failure`.
    pub status: Outcome,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// For programs; absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Which object, and what about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
    /// The HTTP status code.
    pub code: u16,
}

/// Whether a `Status` reports success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// The request was done.
    Success,
    /// The request was refused or failed.
    Failure,
}

/// Why a request failed, in the words that Kubernetes clients switch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each variant is the reason string of the API")]
pub enum Reason {
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    Gone,
    Expired,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    UnsupportedMediaType,
    RequestEntityTooLarge,
    TooManyRequests,
    Timeout,
    ServerTimeout,
    InternalError,
    ServiceUnavailable,
}

/// The object that a `Status` is about, and the causes of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Its resource (plural) or kind, as Kubernetes happens to fill it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// One entry per error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// When to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

impl Status {
    /// A failure with no details.
    pub fn failure(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        Status {
            status: Outcome::Failure,
            message: message.into(),
            reason: Some(reason),
            details: None,
            code,
        }
    }

    /// 400: the request itself makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, Reason::BadRequest, message)
    }

    /// 404 for an object: `configmaps "a" not found`.
    pub fn not_found(group: &str, plural: &str, name: &str) -> Self {
        Self::failure(404, Reason::NotFound, format!("{} not found", named(plural, group, name)))
            .about(group, plural, name)
    }

    /// 404 for a path that names no resource.
    pub fn no_such_resource() -> Self {
        let mut status =
            Self::failure(404, Reason::NotFound, "the server could not find the requested resource");
        status.details = Some(Details::default());
        status
    }

    /// 409: the name is taken.
    pub fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} already exists", named(plural, group, name));
        Self::failure(409, Reason::AlreadyExists, message).about(group, plural, name)
    }

    /// 409: somebody else changed the object, or a precondition does not hold.
    pub fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {}: {why}", named(plural, group, name));
        Self::failure(409, Reason::Conflict, message).about(group, plural, name)
    }

    /// 409: server-side apply met fields of other managers; one cause per field.
    pub(crate) fn apply_conflict(message: impl Into<String>, causes: Vec<Cause>) -> Self {
        let mut status = Self::failure(409, Reason::Conflict, message);
        status.details = Some(Details { causes, ..Details::default() });
        status
    }

    /// 422: the object breaks rules; one cause per field error.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        // The message says each thing once, though the causes may have it several times.
        let mut seen = BTreeSet::new();
        let mut distinct: Vec<String> = errors.iter().map(ToString::to_string).collect();
        distinct.retain(|message| seen.insert(message.clone()));
        let shown = match distinct.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} is invalid: {shown}", named(kind, group, name));
        let mut status = Self::failure(422, Reason::Invalid, message).about(group, kind, name);
        if let Some(details) = &mut status.details {
            details.causes = errors.iter().map(FieldError::cause).collect();
        }
        status
    }

    /// 403: not allowed.
    pub(crate) fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let what = match (plural, name) {
            ("", _) => String::new(),
            (_, "") if group.is_empty() => format!("{plural} is "),
            (_, "") => format!("{plural}.{group} is "),
            _ => format!("{} is ", named(plural, group, name)),
        };
        let message = format!("{what}forbidden: {why}");
        Self::failure(403, Reason::Forbidden, message).about(group, plural, name)
    }

    /// 405: this resource does not know this verb.
    pub(crate) fn method_not_allowed() -> Self {
        let mut status = Self::failure(
            405,
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        );
        status.details = Some(Details::default());
        status
    }

    /// 405: a custom resource does not know this verb here.
    pub(crate) fn method_not_supported(group: &str, plural: &str, verb: &str) -> Self {
        let resource = quoted(&format!("{plural}.{group}"));
        let message = format!("{verb} is not supported on resources of kind {resource}");
        Self::failure(405, Reason::MethodNotAllowed, message).about(group, plural, "")
    }

    /// 410: the resource version or continue token is older than the history that is kept.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, Reason::Expired, message)
    }

    /// 413: more bytes than a request may have.
    pub fn too_large(limit: usize) -> Self {
        Self::failure(
            413,
            Reason::RequestEntityTooLarge,
            format!("Request entity too large: limit is {limit}"),
        )
    }

    /// 413: what a schema fills in is more bytes than an object may have.
    pub(crate) fn defaults_too_large(limit: usize) -> Self {
        let message = format!(
            "Request entity too large: the defaults that the schema has for this object are more than the limit of {limit} bytes"
        );
        Self::failure(413, Reason::RequestEntityTooLarge, message)
    }

    /// 415: a body of a type that the server does not read.
    pub(crate) fn unsupported_media_type(known: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            known.join(", ")
        );
        Self::failure(415, Reason::UnsupportedMediaType, message)
    }

    /// 415: a patch of a type that no resource takes.
    pub(crate) fn unsupported_patch_type() -> Self {
        let mut status = Self::failure(415, Reason::UnsupportedMediaType, "415: Unsupported Media Type");
        status.details = Some(Details::default());
        status
    }

    /// 500: the rule that evaluates the request failed itself.
    pub fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        let cause = Cause { message: Some(message.clone()), ..Cause::default() };
        let mut status =
            Self::failure(500, Reason::InternalError, format!("Internal error occurred: {message}"));
        status.details = Some(Details { causes: vec![cause], ..Details::default() });
        status
    }

    /// 422: a patch that cannot be applied to the object as it is. Kubernetes does not say why.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        let mut status = Self::failure(422, Reason::Invalid, message);
        status.details = Some(Details::default());
        status
    }

    /// 500 without a reason: a failure that Kubernetes has not given a class, shown as it is.
    pub fn unclassified(message: impl Into<String>) -> Self {
        Status { status: Outcome::Failure, message: message.into(), reason: None, details: None, code: 500 }
    }

    /// 200: done, and there is no object to show.
    pub fn success() -> Self {
        Status { status: Outcome::Success, message: String::new(), reason: None, details: None, code: 200 }
    }

    /// Says which object this is about. `kind` is the plural or the kind, as the failure has it.
    #[must_use]
    pub(crate) fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        details.name = (!name.is_empty()).then(|| name.to_owned());
        details.group = (!group.is_empty()).then(|| group.to_owned());
        details.kind = (!kind.is_empty()).then(|| kind.to_owned());
        self
    }

    /// Whether this reports success.
    pub fn is_success(&self) -> bool {
        self.status == Outcome::Success
    }

    /// As the JSON object that goes over the wire.
    pub fn to_value(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        // The code of an ordinary success stands in the answer's head alone.
        if let (200, Some(fields)) = (self.code, value.as_object_mut()) {
            fields.remove("code");
        }
        value["kind"] = "Status".into();
        value["apiVersion"] = "v1".into();
        value["metadata"] = serde_json::json!({});
        value
    }
}

/// `deployments.apps "web"`, or `pods "web"` in the core group.
fn named(resource: &str, group: &str, name: &str) -> String {
    let name = quoted(name);
    if group.is_empty() { format!("{resource} {name}") } else { format!("{resource}.{group} {name}") }
}
