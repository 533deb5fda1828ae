//! Controller managers: processes whose controllers and worker counts are configured in the cluster.
//!
//! Start with [`ManagerConfig`], which is for [`Manager::managed`](crate::Manager::managed). Either a process is one of
//! many managers, each an object with a type (`start`, then `follow`): edits take effect while it runs, and a Lease is its
//! heartbeat. Or a ConfigMap has the worker counts (`config_map`): it is read once. [`Overview`] shows all managers.

mod config_map;
mod definitions;
mod error;
mod follow;
mod heartbeat;
mod identity;
mod kinds;
mod objects;
mod overview;
mod rights;
mod start;
mod status;
mod worker_counts;

pub use config_map::{CONFIG_KEY, ConfigMapRef, UNNAMED_WORKERS};
pub use definitions::{definitions, manager_definitions, ring_definition};
pub use error::ManagerError;
pub(crate) use follow::{Followed, Watched};
pub use identity::ManagerIdentity;
pub use kinds::{
    ControllerManagerSpec, ControllerManagerStatus, ControllerManagerTypeSpec, ControllerStatus,
    ControllerWorkers, GROUP, VERSION, controller_summary, manager_types, managers,
};
pub use overview::{ManagerRow, Overview};
pub(crate) use start::prepare;
pub use worker_counts::{ConfigProblem, WorkerCounts};

/// Where a process finds out which of its controllers run, and with how many workers.
///
/// ```no_run
/// # async fn example(manager: windlass_runtime::Manager) -> Result<(), windlass_runtime::StartError> {
/// use windlass_runtime::managers::{ManagerConfig, ManagerIdentity};
///
/// let identity = ManagerIdentity::from_environment().of_type("pods");
/// manager.managed(ManagerConfig::Api(identity)).run().await
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManagerConfig {
    /// In the API: the process is a `ControllerManager`, whose `ControllerManagerType` names the controllers. Edits of
    /// both take effect while it runs. A controller that is not named when the process starts needs a restart.
    Api(ManagerIdentity),
    /// In a ConfigMap, under the key [`CONFIG_KEY`]. All controllers run; one that is not named has one worker. The
    /// ConfigMap is read once: changes are for processes that start later.
    ConfigMap(ConfigMapRef),
}
