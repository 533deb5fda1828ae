//! What is known about the shape of a type: one representation for built-in types and for CRDs.
//!
//! An object of a custom resource goes through [`prune`], [`apply_defaults`] and [`validate`]; an object
//! of a built-in type goes through [`decode`]. [`parse`] makes a [`Schema`] from a CRD.

mod build;
pub mod builtin;
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
pub use decode::decode;
pub use defaults::{apply_defaults, drop_nulls, fill_defaults};
pub use field_paths::resolve as resolve_field_path;
pub use keywords::decode as decode_open_api;
pub use object_meta::decode_metadata;
pub use parse::parse;
pub(crate) use parse::{parse_unchanged, read_checked};
pub use pattern::compile as compile_pattern;
pub use prune::{coerce, prune};
pub(crate) use restore::restore_problem;
pub use validate::formats::unknown_formats;
pub use validate::{validate, validate_status};
pub use windlass_cel::schema::{Constraints, ListKind, Pattern, Rule, Schema, Shape, Strategic};
