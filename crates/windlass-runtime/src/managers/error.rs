//! Why a managed process cannot start.

use std::time::Duration;

use windlass::model::Status;

use crate::operations::leader::SettingsError;

/// Why a managed process cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// Objects cannot have this name.
    #[error(
        "{id:?} cannot be the id of a manager: an id is the name of an object, so it consists of lower case letters, \
         digits, '-' and '.', and begins and ends with a letter or digit"
    )]
    InvalidId {
        /// The id.
        id: String,
    },
    /// The timing of the Lease cannot work.
    #[error(transparent)]
    Timing(#[from] SettingsError),
    /// Another process is this manager.
    #[error(
        "the manager {id:?} runs already: its Lease {namespace}/{id} is held by {holder} and was still renewed after \
         {waited:?}; stop that process, or give this one another id"
    )]
    Held {
        /// The id.
        id: String,
        /// The namespace of the Lease.
        namespace: String,
        /// Who holds it.
        holder: String,
        /// How long this process has waited.
        waited: Duration,
    },
    /// The Lease could not be taken, for reasons that were logged.
    #[error(
        "the manager {id:?} could not take its Lease {namespace}/{id} within {waited:?}: the namespace must exist, and \
         this account may get, create and update leases in it; the log says what the API server answered"
    )]
    NoLease {
        /// The id.
        id: String,
        /// The namespace of the Lease.
        namespace: String,
        /// How long this process has tried.
        waited: Duration,
    },
    /// The CRDs are not there.
    #[error(
        "the cluster has no {plural} ({group}/{version}): apply the definitions that the command `crd --sharding` of \
         this program prints",
        plural = super::kinds::manager_types().resource.plural,
        group = super::kinds::GROUP,
        version = super::kinds::VERSION
    )]
    NoDefinitions,
    /// There is no such type.
    #[error("there is no ControllerManagerType {name:?}: {}", existing_types(existing))]
    NoSuchType {
        /// The name of the type.
        name: String,
        /// Those that there are.
        existing: Vec<String>,
    },
    /// It is not known of which type the manager is.
    #[error(
        "there is no ControllerManager {id:?} yet, and so its type is not known: say which type it is of \
         (--manager-type); {}",
        existing_types(existing)
    )]
    NoType {
        /// The id.
        id: String,
        /// The types that there are.
        existing: Vec<String>,
    },
    /// The program has none of the controllers of the type.
    #[error(
        "the ControllerManagerType {name:?} names no controller of this program: it names {}, and this program has {}",
        list(named),
        list(program)
    )]
    NothingToRun {
        /// The name of the type.
        name: String,
        /// The controllers that it names.
        named: Vec<String>,
        /// The controllers that there are.
        program: Vec<String>,
    },
    /// There is no such ConfigMap.
    #[error(
        "there is no ConfigMap {path}: create it, with worker counts under the key {key:?}",
        key = super::config_map::CONFIG_KEY
    )]
    NoConfigMap {
        /// Namespace and name.
        path: String,
    },
    /// The ConfigMap is not what it should be.
    #[error("the ConfigMap {path} does not configure controllers: {message}")]
    ConfigMap {
        /// Namespace and name.
        path: String,
        /// What is wrong with it, and an example of what is right.
        message: String,
    },
    /// A request failed.
    #[error("cannot {what}: {message}")]
    Request {
        /// What it was for.
        what: String,
        /// What the API server said.
        message: String,
    },
}

impl ManagerError {
    /// A request that failed.
    pub(super) fn request(what: &str, status: &Status) -> Self {
        ManagerError::Request { what: what.to_owned(), message: status.message.clone() }
    }
}

fn existing_types(existing: &[String]) -> String {
    match existing {
        [] => "there are no types yet; create one".to_owned(),
        _ => format!("there are {}", existing.join(", ")),
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
