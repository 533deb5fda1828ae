//! What goes over the wire between operators and daemons: the messages and services as generated, and rows to and from them.

mod convert;

pub(crate) use convert::{
    change_from, change_to, held_from, held_to, row_from, row_to, scope_from, scope_to,
};

/// The messages and services of droplets, generated from `proto/droplet.proto`.
#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code has a style of its own"
)]
#[allow(missing_docs, reason = "some generated items have no sentence in the .proto file")]
pub mod messages {
    include!("../../proto/generated/droplet.rs");
}

/// A message that lacks what every such message has, or has what makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) String);
