//! Runs machines on any Kubernetes that a kubeconfig, or the pod's own account, can reach.
//!
//! Start with [`Manager`]. A change of an object comes through a watch (`watch`), is kept (`cache`), makes
//! reconciles due (`subscription`, `inbox`, [`queue`]), which are taken (`worker_pool`, `worker`) and performed (`driver`) with requests to the API
//! server (`api`), whose answers are put into the cache at once.

mod api;
mod cache;
mod driver;
mod handle;
mod inbox;
#[cfg(test)]
mod interned_states;
mod manager;
pub mod manifests;
pub mod operations;
mod ownership;
mod plan;
pub mod queue;
mod recorder;
mod running;
mod services;
mod signals;
mod start_error;
mod subscription;
mod waits;
mod watch;
mod worker;
mod worker_pool;

pub use api::Api;
pub use driver::ContestSettings;
pub use handle::Handle;
pub use manager::{DEFAULT_WORKERS, Manager};
pub use ownership::{Everything, Ownership};
pub use plan::{Plan, PlanError, PlannedAction, PlannedChange, Planner, plan};
pub use recorder::{RecorderSettings, SaveError};
pub use running::Running;
pub use services::ServiceClient;
pub use signals::signalled;
pub use start_error::StartError;
pub use watch::{Selection, WatchState};
