//! Warnings for the client about an object that is accepted.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::crd;
use crate::field::quoted;
use crate::kinds;
use crate::metadata::STANDARD_FINALIZERS;
use crate::object;
use crate::types::{Origin, TypeInfo};

use super::body::is_definition;
use super::unenforced;
use super::write::Part;

/// The warnings about a write; writes to status have none.
pub(super) fn on_write(info: &TypeInfo, new: &Value, live: Option<&Value>, part: Part) -> Vec<String> {
    if part == Part::Status {
        return Vec::new();
    }
    let mut warnings = match info.origin {
        _ if is_definition(info) => crd::warnings(new, live),
        Origin::Custom => plain_finalizers(new, live),
        Origin::BuiltIn => kinds::warnings(info, new),
    };
    warnings.extend(unenforced::warning(info, new));
    warnings
}

/// Finalizers of custom resources should say whose they are.
fn plain_finalizers(new: &Value, live: Option<&Value>) -> Vec<String> {
    let old: BTreeSet<&str> = live.into_iter().flat_map(object::finalizers).collect();
    let added: BTreeSet<&str> = object::finalizers(new).filter(|name| !old.contains(name)).collect();
    let plain = added.into_iter().filter(|name| !name.contains('/') && !STANDARD_FINALIZERS.contains(name));
    plain
        .map(|name| {
            let how = if name.contains('.') { " including a path (/)" } else { "" };
            format!(
                "metadata.finalizers: {}: prefer a domain-qualified finalizer name{how} to avoid accidental \
                 conflicts with other finalizer writers",
                quoted(name)
            )
        })
        .collect()
}
