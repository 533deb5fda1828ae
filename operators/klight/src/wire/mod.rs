//! What goes over the wire: the messages and services as generated, and a client with deadlines.

mod address;
mod client;
mod error;
mod hints;
mod network;
mod tls;

pub use address::check_address;
pub use client::{Client, ClientSettings, Health, JoinAbout, Joined};
pub use error::CallError;
pub(crate) use hints::{Hints, Identity, contact_meant, is_meant_for, network_said};
pub use network::check_network;
pub use tls::{ClientTls, KeyPair, Tls};

/// The messages and services of lightpeers, generated from `proto/lightpeer.proto`.
#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code has a style of its own"
)]
#[allow(missing_docs, reason = "some generated items have no sentence in the .proto file")]
pub mod messages {
    include!("../../proto/generated/lightpeer.rs");
}

/// gRPC's health checks, generated from `proto/health.proto`.
#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code has a style of its own"
)]
#[allow(missing_docs, reason = "some generated items have no sentence in the .proto file")]
pub mod health {
    include!("../../proto/generated/health.rs");
}

#[cfg(test)]
mod tests;
