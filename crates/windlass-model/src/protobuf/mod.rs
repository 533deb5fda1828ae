//! The protobuf of Kubernetes: objects of built-in types as the messages that Go clients speak.
//!
//! Start with [`decode`] and [`encode`]. A body is a prefix of four bytes, and a message that holds the `apiVersion`, the `kind`
//! and, as bytes, the message of the object itself.

mod decode;
mod encode;
mod error;
mod shapes;
mod values;
mod wire;

pub use decode::decode;
pub(crate) use decode::{decode_or, kind_of};
pub use encode::encode;
pub(crate) use encode::encode_event;
pub use error::DecodeError;

/// `application/vnd.kubernetes.protobuf`
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body starts with.
const PREFIX: &[u8] = b"k8s\0";

#[cfg(test)]
mod tests;
