//! Runs machines on any Kubernetes that a kubeconfig, or the pod's own account, can reach.
//!
//! Start with [`Manager`]. A change of an object comes through an informer (`informer`), is cached (`cache`), and enqueues
//! reconciles (`subscription`, `enqueuer`, [`queue`]). Workers (`worker_pool`, `worker`) take and perform them
//! (`driver`) with requests to the API server (`api`), whose responses go into the cache at once.

mod allowed;
mod api;
mod cache;
mod controller_context;
mod driver;
mod enqueuer;
mod handle;
mod hashed_fraction;
mod informer;
mod manager;
pub mod managers;
pub mod manifests;
pub mod operations;
mod ownership;
mod plan;
#[cfg(test)]
mod protocol_model;
pub mod queue;
mod recorder;
mod running;
mod services;
pub mod sharding;
mod signals;
mod start_error;
mod subscription;
mod trigger_priority;
mod waits;
mod worker;
mod worker_pool;

pub use api::Api;
pub use driver::ContestSettings;
pub use handle::Handle;
pub use informer::{InformerState, Selection};
pub use manager::{DEFAULT_WORKERS, Manager};
pub use ownership::{Everything, Ownership};
pub use plan::{Plan, PlanError, PlannedAction, PlannedChange, Planner, plan};
pub use recorder::{RecorderSettings, SaveError};
pub use running::Running;
pub use services::ServiceClient;
pub use signals::signalled;
pub use start_error::StartError;
