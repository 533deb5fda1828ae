//! Types for the tests of this crate.

use std::sync::Arc;

use super::{Origin, TypeInfo};
use crate::request::ResourceId;
use crate::schema::Schema;

/// A namespaced built-in type.
pub(crate) fn built_in(group: &str, version: &str, plural: &str, kind: &str) -> TypeInfo {
    type_info(group, version, plural, kind, Origin::BuiltIn)
}

/// A namespaced custom type.
pub(crate) fn custom(group: &str, version: &str, plural: &str, kind: &str) -> TypeInfo {
    type_info(group, version, plural, kind, Origin::Custom)
}

fn type_info(group: &str, version: &str, plural: &str, kind: &str, origin: Origin) -> TypeInfo {
    TypeInfo {
        resource: ResourceId::new(group, version, plural),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: plural != "namespaces",
        has_status: false,
        scale: None,
        schema: Arc::new(Schema::default()),
        open_api: None,
        origin,
        reading: None,
        storage_version: version.to_owned(),
        columns: Vec::new(),
        selectable_fields: Vec::new(),
        has_generation: origin == Origin::Custom,
        deprecation: None,
    }
}
