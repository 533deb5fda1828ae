//! The Kubernetes API as a pure function.
//!
//! Start with [`handle`]: it takes a [`Store`], the [`Types`] that are served, the time and a
//! [`Request`], and returns the [`Response`] with the [`Change`]s to commit. It does no I/O, reads
//! no clock, and answers every input, however broken, with a Kubernetes `Status`. [`Cluster`] holds all of
//! these together:
//!
//! ```
//! use serde_json::json;
//! use windlass_model::{Cluster, Reason, Request, ResourceId, Verb};
//!
//! let mut cluster = Cluster::new();
//! let create = Request::new(Verb::Create, ResourceId::new("", "v1", "configmaps"))
//!     .in_namespace("default")
//!     .with_body(json!({ "metadata": { "name": "a" }, "data": { "key": "value" } }));
//! assert_eq!(cluster.request(&create).code, 201);
//!
//! let again = cluster.request(&create);
//! let status = again.failure().expect("the name is taken");
//! assert_eq!(status.reason, Some(Reason::AlreadyExists));
//! assert_eq!(status.message, "configmaps \"a\" already exists");
//! ```

pub mod apply;
pub mod authentication;
pub mod authorization;
pub mod cluster;
pub mod crd;
pub mod definitions;
mod field;
pub mod filter;
pub mod gc;
mod go_format;
pub mod http;
mod json_body;
mod json_path;
mod json_syntax;
mod kinds;
mod labels;
pub mod list;
mod metadata;
pub mod namespaces;
pub mod object;
pub mod patch;
pub mod policies;
mod policy_admission;
pub mod protection;
pub mod protobuf;
pub mod request;
pub mod response;
pub mod reviews;
pub mod schema;
pub mod selector;
pub mod status;
pub mod store;
mod table;
pub mod time;
pub mod types;
mod unmarshal;
mod value_order;
pub mod verbs;
pub mod watch;
pub mod workloads;

pub use cluster::{Cluster, shapes_types, types_after};
pub use request::{Options, PatchKind, Preconditions, Propagation, Request, ResourceId, Verb};
pub use response::{Body, List, Response};
pub use status::{Reason, Status};
pub use store::{Change, History, Key, MemoryStore, Store};
pub use time::Timestamp;
pub use types::{FeatureGates, TypeInfo, Types};
pub use verbs::{Caller, Effect, handle, handle_as};
pub use windlass_cel::formats::{base64, names};
