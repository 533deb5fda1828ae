//! Custom resource definitions: their defaults, their rules, their status, and the types that they make.
//!
//! A CRD that is written goes through `decode`, `prepare`, `set_defaults` and `validate`;
//! afterwards `next_status` is asked until it has nothing more to say, and `types_of` says what to serve.

mod defaults;
mod scale;
mod status;
mod types;
mod validate;
pub(crate) mod versions;

pub(crate) use defaults::set_defaults;
pub(crate) use defaults::{decode, prepare, warnings};
pub(crate) use scale::validate_scale;
pub(crate) use status::next_status;
pub(crate) use types::types_of;
pub(crate) use validate::validate;

/// The finalizer that keeps a CRD until all its objects are gone.
pub(crate) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

use serde_json::Value;

/// A list in a CRD, or none.
fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// A string in a CRD, or the empty string.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or("")
}

/// The status of a condition: `True`, `False`, `Unknown` or nothing.
fn condition<'a>(crd: &'a Value, kind: &str) -> &'a str {
    let found = list(&crd["status"], "conditions").iter().find(|condition| condition["type"] == kind);
    found.map_or("", |condition| text(condition, "status"))
}
