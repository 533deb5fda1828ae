//! Which objects a request is about: selectors by labels, by fields and by shards.

mod excerpt;
mod field;
mod label;
mod object;
mod parse;
mod shard;
mod shard_parse;

pub use excerpt::Excerpt;
pub use field::FieldSelector;
pub use label::{LabelSelector, Operator, Requirement};
pub(crate) use object::{from_label_selector_object, selector_text};
pub use shard::{ShardKey, ShardSelector, shard_hash};
