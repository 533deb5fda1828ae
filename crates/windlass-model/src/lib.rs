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
mod cluster;
pub mod controllers;
mod crd;
mod definitions;
mod field;
mod filter;
mod gc;
mod go_format;
pub mod http;
mod json_body;
mod json_path;
mod json_syntax;
mod kinds;
mod labels;
pub mod list;
mod metadata;
mod namespaces;
pub mod object;
mod patch;
mod policies;
mod policy_admission;
mod protection;
pub mod protobuf;
mod request;
pub mod response;
pub mod reviews;
mod schema;
pub mod selector;
pub mod status;
mod store;
mod table;
mod time;
mod types;
mod unmarshal;
mod value_order;
mod verbs;
pub mod watch;
pub mod workloads;

pub use cluster::{Cluster, first_requests, resources_that_shape_types, shapes_types, types_after};
pub use crd::versions::compare_versions;
pub use definitions::{DEFINITIONS, is_definition};
pub use filter::Filter;
pub use patch::merge::{apply_merge_patch, merge_patch_between};
pub use request::{
    FieldValidation, Options, PatchKind, Preconditions, Propagation, Request, ResourceId, Verb,
};
pub use response::{Body, List, Response};
pub use schema::builtin::data as builtin_types;
pub use status::{Reason, Status};
pub use store::{Change, History, Key, MemoryStore, Store, uid};
pub use time::Timestamp;
pub use types::{FeatureGateError, FeatureGates, Origin, Scale, TypeInfo, Types};
pub use verbs::{Caller, Effect, handle, handle_as};
pub use windlass_cel::formats::{base64, names};
