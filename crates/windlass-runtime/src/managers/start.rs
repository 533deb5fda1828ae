//! Before a managed process starts its controllers: which ones, with how many workers, and whether it may at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::timeout;

use super::ManagerConfig;
use super::config_map::{ConfigMapRef, UNNAMED_WORKERS};
use super::error::ManagerError;
use super::identity::ManagerIdentity;
use super::kinds::{ControllerManager, ControllerManagerTypeSpec};
use super::objects::Objects;
use super::worker_counts::WorkerCounts;
use crate::Api;
use crate::operations::leader::{LeaderSettings, Leadership};

/// What a managed process starts with.
pub(crate) struct Prepared {
    /// The controllers that start, and their numbers of workers.
    pub(crate) workers: BTreeMap<String, usize>,
    /// The manager that this process is, if there are objects to follow.
    pub(crate) joined: Option<Joined>,
}

/// A manager that holds its Lease.
pub(crate) struct Joined {
    pub(super) identity: ManagerIdentity,
    pub(super) lease_namespace: String,
    pub(super) leadership: Leadership,
    pub(super) objects: Objects,
    /// The names of the program's controllers, those that do not start included.
    pub(super) program: Vec<String>,
}

/// Finds out what to start.
pub(crate) async fn prepare(
    config: &ManagerConfig,
    api: &Api,
    program: Vec<String>,
) -> Result<Prepared, ManagerError> {
    match config {
        ManagerConfig::ConfigMap(config_map) => from_config_map(config_map, api, &program).await,
        ManagerConfig::Api(identity) => join(identity.clone(), api, program).await,
    }
}

async fn from_config_map(
    config_map: &ConfigMapRef,
    api: &Api,
    program: &[String],
) -> Result<Prepared, ManagerError> {
    let counts = config_map.read(api).await?;
    for unknown in counts.keys().filter(|&named| !program.contains(named)) {
        // Other programs may read the same ConfigMap.
        let known = program.join(", ");
        tracing::warn!(
            controller = unknown,
            "the ConfigMap names a controller that this program does not have: it has {known}"
        );
    }
    let workers_of = |name: &String| (name.clone(), counts.get(name).copied().unwrap_or(UNNAMED_WORKERS));
    let workers: BTreeMap<String, usize> = program.iter().map(workers_of).collect();
    tracing::info!(?workers, "worker counts read from the ConfigMap");
    Ok(Prepared { workers, joined: None })
}

async fn join(identity: ManagerIdentity, api: &Api, program: Vec<String>) -> Result<Prepared, ManagerError> {
    identity.check()?;
    let lease_namespace = identity.namespace.clone().unwrap_or_else(|| api.default_namespace().to_owned());
    // A request that hangs must not keep the manager from noticing that it has lost its Lease.
    let objects = Objects(api.clone().request_timeout(identity.timing.renew_deadline));
    // Before anything is waited for: what is missing is reported at once.
    let types = objects.types().await?;
    let leadership = take_lease(&identity, &lease_namespace, api).await?;
    match workers_of(&identity, &objects, &types, &program).await {
        Ok((manager_type, workers)) => {
            tracing::info!(manager = identity.id, ?workers, "manager joined");
            // Should somebody delete the object, it is made again as what it is now.
            let identity = ManagerIdentity { manager_type: Some(manager_type), ..identity };
            let joined = Joined { identity, lease_namespace, leadership, objects, program };
            Ok(Prepared { workers, joined: Some(joined) })
        }
        Err(error) => {
            leadership.shutdown().await;
            Err(error)
        }
    }
}

/// Takes the Lease of the manager, which another process may have held until it crashed.
async fn take_lease(
    identity: &ManagerIdentity,
    namespace: &str,
    api: &Api,
) -> Result<Leadership, ManagerError> {
    let settings = LeaderSettings {
        namespace: namespace.to_owned(),
        name: identity.id.clone(),
        identity: identity.holder(),
        timing: identity.timing,
    };
    let leadership = Leadership::unannounced(Arc::new(api.clone()), settings)?;
    let mut leading = leadership.leading();
    // A Lease that is not renewed is free after its duration; the rest is for the requests.
    let waited = identity.timing.lease_duration + identity.timing.renew_deadline;
    let at_once = identity.timing.retry_period;
    if timeout(at_once, leading.begin()).await.is_err() {
        let (manager, holder) = (&identity.id, leading.holder());
        tracing::info!(manager, holder, "waiting for the lease of this manager, at most {waited:?}");
        let _ = timeout(waited - at_once, leading.begin()).await;
    }
    if leading.now() {
        return Ok(leadership);
    }
    let (id, namespace, holder) = (identity.id.clone(), namespace.to_owned(), leading.holder());
    leadership.shutdown().await;
    Err(if holder.is_empty() {
        ManagerError::NoLease { id, namespace, waited }
    } else {
        ManagerError::Held { id, namespace, holder, waited }
    })
}

/// The type of the manager and its worker counts. Its object is made if it is missing.
async fn workers_of(
    identity: &ManagerIdentity,
    objects: &Objects,
    types: &BTreeMap<String, ControllerManagerTypeSpec>,
    program: &[String],
) -> Result<(String, BTreeMap<String, usize>), ManagerError> {
    let existing = || types.keys().cloned().collect::<Vec<_>>();
    let found = objects.manager(&identity.id).await?;
    let name = type_of(identity, found.as_ref());
    let name = name.ok_or_else(|| ManagerError::NoType { id: identity.id.clone(), existing: existing() })?;
    let Some(manager_type) = types.get(&name) else {
        return Err(ManagerError::NoSuchType { name, existing: existing() });
    };
    if found.is_none() {
        let created = objects.create_manager(&identity.id, &name).await;
        created.map_err(|status| ManagerError::request("create the ControllerManager", &status))?;
    }
    let overrides = found.map(|manager| manager.spec.controllers).unwrap_or_default();
    let counts =
        WorkerCounts::resolve(&manager_type.controllers, &overrides, program.iter().map(String::as_str));
    if counts.by_controller.is_empty() {
        let named: BTreeSet<&String> =
            manager_type.controllers.iter().map(|named| &named.controller).collect();
        let named = named.into_iter().cloned().collect();
        return Err(ManagerError::NothingToRun { name, named, program: program.to_vec() });
    }
    Ok((name, counts.by_controller))
}

/// The object decides: it may have been edited since the process was configured.
fn type_of(identity: &ManagerIdentity, found: Option<&ControllerManager>) -> Option<String> {
    let Some(found) = found else { return identity.manager_type.clone() };
    let name = found.spec.controller_manager_type.clone();
    if identity.manager_type.as_ref().is_some_and(|wanted| *wanted != name) {
        tracing::warn!(
            manager = identity.id,
            object = name,
            flag = identity.manager_type,
            "the ControllerManager is of another type than the process was started with: the object counts; edit or \
             delete it to change the type"
        );
    }
    Some(name)
}
