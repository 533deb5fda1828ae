//! Why a manager cannot start.

use crate::managers::ManagerError;
use crate::operations::endpoints::ListenError;
use crate::operations::leader::SettingsError;
use crate::sharding::ShardSettingsError;

/// Why a manager cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is nothing to run.
    #[error("the manager has no controllers: add one with Manager::controller")]
    NoControllers,
    /// Two controllers have one name, which is in labels, field managers and finalizers.
    #[error(
        "two controllers have the name {name:?}: name one of them in declare(), with declaration.name(..)"
    )]
    SameName {
        /// The name.
        name: String,
    },
    /// A source is for a controller that is not there.
    #[error(
        "there is a source of triggers for the controller {name:?}, but no such controller: check its name"
    )]
    NoSuchController {
        /// The name.
        name: String,
    },
    /// There is no usable configuration of a cluster.
    #[error("{}", not_configured())]
    Config(#[source] kube::config::InferConfigError),
    /// The configuration of the cluster cannot be used.
    #[error(
        "no client can be made from the cluster's configuration: check certificates and credentials in it"
    )]
    Client(#[source] Box<kube::Error>),
    /// A selector of a watch cannot be read.
    #[error("the selector of the watch of {kind} cannot be read: {message}")]
    Selector {
        /// The kind that is watched.
        kind: String,
        /// What is wrong with it.
        message: String,
    },
    /// The endpoints cannot be served.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The settings of the leader election cannot work.
    #[error(transparent)]
    Leader(#[from] SettingsError),
    /// The settings of sharding cannot work.
    #[error(transparent)]
    Sharding(#[from] ShardSettingsError),
    /// The configuration of the manager cannot be used.
    #[error(transparent)]
    Managed(#[from] ManagerError),
    /// Signals cannot be caught.
    #[error("signals cannot be caught: the process could not be stopped in good order")]
    Signals(#[source] std::io::Error),
}

/// Why there is no cluster. The message does not ask to set a variable that is already set.
fn not_configured() -> String {
    match std::env::var("KUBECONFIG") {
        Ok(named) if !named.is_empty() => {
            format!("KUBECONFIG is {named}, which cannot be used: set it to a file that kubectl can use")
        }
        _ => "no cluster is configured: set KUBECONFIG, put a kubeconfig at ~/.kube/config, or run in a pod with a \
              service account"
            .to_owned(),
    }
}
