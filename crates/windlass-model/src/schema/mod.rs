//! What is known about the shape of a type: one representation for built-in types and for CRDs.
//!
//! An object of a custom resource goes through `prune`, `apply_defaults` and `validate`; an object
//! of a built-in type goes through `decode`. `parse` makes a [`Schema`] from a CRD.

mod build;
pub(crate) mod builtin;
mod decode;
mod default_checks;
mod defaults;
mod field_paths;
mod keywords;
mod object_meta;
mod open_api;
mod parse;
mod pattern;
mod prune;
mod restore;
mod rule_costs;
mod structural;
mod validate;

pub(crate) use builtin::is_zero;
pub(crate) use decode::decode;
pub(crate) use defaults::{TooManyDefaults, apply_defaults, fill_defaults};
pub(crate) use field_paths::resolve as resolve_field_path;
pub(crate) use keywords::decode as decode_open_api;
pub(crate) use object_meta::decode_metadata;
pub(crate) use parse::parse;
pub(crate) use parse::{parse_unchanged, read_checked};
pub(crate) use prune::coerce;
pub(crate) use prune::prune;
pub(crate) use restore::restore_problem;
pub(crate) use validate::formats::unknown_formats;
pub(crate) use validate::validate;
pub(crate) use validate::validate_status;
pub(crate) use windlass_cel::schema::Schema;
pub(crate) use windlass_cel::schema::{Constraints, ListKind, Pattern, Rule, Shape, Strategic};
