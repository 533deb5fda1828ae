//! A Kubernetes API server in one process: the rules of [`windlass_model`] over HTTP, on a durable store.
//!
//! Start with [`Server::start`].

pub mod auth;
mod bootstrap;
mod clock;
mod closing;
pub mod documents;
mod http;
mod limits;
mod loops;
mod metrics;
mod server;
pub mod store;

pub use http::access::AuthorizationMode;
pub use limits::Limits;
pub use server::{Server, ServerOptions, StartError, TlsSource};
pub use windlass_model::FeatureGates;
