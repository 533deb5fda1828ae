//! Which objects a request is about: label selectors, field selectors, and both with a namespace.

mod field;
mod label;
mod object;
mod parse;

pub use field::{FieldSelector, FieldTerm};
pub use label::{LabelSelector, Operator, Requirement};
pub(crate) use object::{from_label_selector_object, selector_text};
