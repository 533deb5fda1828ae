//! The messages and clients of etcd's API, generated from `proto/etcd.proto`.

/// As generated.
#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code has a style of its own"
)]
#[allow(missing_docs, reason = "some generated items have no sentence in the .proto file")]
#[allow(unreachable_pub, dead_code, reason = "what is generated is all public, and not all of it is used")]
mod generated {
    include!("../proto/generated/etcd.rs");
}

pub(crate) use generated::*;
