//! A manager that runs: how it starts, and how it ends.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use windlass::Controller;
use windlass::permissions::Scope;

use crate::api::Api;
use crate::controller_context::ControllerContext;
use crate::driver::Driver;
use crate::enqueuer::Enqueuer;
use crate::handle::{Handle, Shared, warn_of_paused_shard};
use crate::informer::{Informers, Selection, follow};
use crate::manager::{Manager, Source};
use crate::managers::{self, Followed, Watched};
use crate::operations::endpoints::Endpoints;
use crate::operations::events::EventRecorder;
use crate::operations::leader::{Leadership, Leading};
use crate::operations::metrics::Metrics;
use crate::operations::preflight::Degraded;
use crate::recorder::FlightRecorder;
use crate::sharding::{Fleet, ShardSettingsError};
use crate::start_error::StartError;
use crate::subscription::{Subscription, open};
use crate::worker::Records;
use crate::worker_pool::WorkerPool;

/// A manager that runs. Dropped, it ends at once, in the middle of whatever it does.
pub struct Running {
    handle: Handle,
    endpoints: Option<Endpoints>,
    event_recorder: Option<EventRecorder>,
    leadership: Option<Leadership>,
    /// The manager object that this process is, if it is one.
    followed: Option<Followed>,
    grace: Duration,
    working: JoinSet<()>,
    sharding: Sharding,
    /// Informers, and what else goes on beside the work.
    beside: JoinSet<()>,
}

/// The protocols of sharded controllers. They go on until the last reconcile has ended.
struct Sharding {
    protocols: JoinSet<()>,
    stop: watch::Sender<bool>,
    /// How long the handover of slots may take at the end.
    limit: Duration,
}

impl Sharding {
    async fn shutdown(mut self) {
        self.stop.send_replace(true);
        let leaving = async { while self.protocols.join_next().await.is_some() {} };
        if timeout(self.limit, leaving).await.is_err() {
            tracing::warn!("slots were not handed over in time: others take them when the lease expires");
        }
        self.protocols.shutdown().await;
    }
}

impl Running {
    /// What can be asked of it and changed while it runs.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Where metrics and health are served, if they are.
    pub fn endpoints(&self) -> Option<SocketAddr> {
        self.endpoints.as_ref().map(Endpoints::address)
    }

    /// Starts no further reconciles, lets the active ones finish if that does not take too long, and ends.
    pub async fn stop(mut self) {
        self.handle.stop();
        let finishing = async { while self.working.join_next().await.is_some() {} };
        if timeout(self.grace, finishing).await.is_err() {
            tracing::warn!(grace = ?self.grace, "reconciles did not finish in time, dropping them");
            self.working.shutdown().await;
        }
        self.sharding.shutdown().await;
        // Only now may another process begin.
        if let Some(leadership) = self.leadership {
            leadership.shutdown().await;
        }
        // While reconciles were active, others had to see this manager as alive.
        if let Some(followed) = self.followed {
            followed.shutdown().await;
        }
        self.beside.shutdown().await;
        if let Some(event_recorder) = self.event_recorder {
            event_recorder.shutdown().await;
        }
        if let Some(endpoints) = self.endpoints {
            endpoints.shutdown().await;
        }
    }
}

/// Starts a manager.
pub(crate) async fn start(mut manager: Manager) -> Result<Running, StartError> {
    check_names(&manager.controllers)?;
    let api = api(manager.client.clone(), &manager.metrics).await?;
    let informers = Arc::new(Informers::new(api.clone()));
    let watched = configure(&mut manager, &informers).await?;
    let (mut beside, degraded) = (JoinSet::new(), Degraded::default());
    if manager.preflight {
        let lease_namespace = manager.leader.as_ref().map(|leader| leader.namespace.clone());
        let scope = Scope { namespaces: manager.namespaces.clone(), lease_namespace };
        let (api, controllers, degraded) = (api.clone(), manager.controllers.clone(), degraded.clone());
        beside.spawn(async move { degraded.follow(&api, &controllers, &scope).await });
    }
    let event_recorder = manager.events.then(|| EventRecorder::start(Arc::new(api.clone()), &instance()));
    let leadership = match manager.leader.clone() {
        None => None,
        Some(settings) => Some(Leadership::start(Arc::new(api.clone()), settings, manager.metrics.clone())?),
    };
    let fleet = fleet(&mut manager, informers.api()).await?;
    let (sharding_stop, sharding_stopping) = watch::channel(false);
    let mut sharding = Sharding { protocols: JoinSet::new(), stop: sharding_stop, limit: manager.grace };
    let (stop, stopping) = watch::channel(false);
    let leading = leadership.as_ref().map(Leadership::leading);
    let common = Common {
        informers: &informers,
        event_recorder: event_recorder.as_ref(),
        leading,
        stopping,
        fleet: fleet.as_ref(),
        protocols: (&mut sharding.protocols, sharding_stopping),
    };
    let redaction = Arc::new(std::mem::take(&mut manager.redaction));
    let recorders: Recorders = manager
        .controllers
        .iter()
        .map(|controller| {
            let recorder = FlightRecorder::new(controller.name(), &manager.recorder, Arc::clone(&redaction));
            (controller.name().to_owned(), Arc::new(recorder))
        })
        .collect();
    let (pools, workers) = worker_pools(&manager, &recorders, common)?;
    let manager_events = event_recorder.as_ref().map(|recorder| recorder.controller("controller-manager"));
    let Manager { metrics, endpoints, grace, sources, .. } = manager;
    let enqueuers: Enqueuers = pools.iter().map(WorkerPool::named_enqueuer).collect();
    listen_to_sources(sources, &enqueuers, &mut beside)?;
    let handle = Handle::new(Shared {
        informers: Arc::clone(&informers),
        workers,
        enqueuers,
        recorders,
        metrics: metrics.clone(),
        degraded,
        stop,
    });
    let endpoints = match endpoints {
        None => None,
        Some(address) => Some(Endpoints::start(address, metrics, Arc::new(handle.clone())).await?),
    };
    for informer in informers.all() {
        let api = informers.api().clone();
        beside.spawn(async move { follow(&api, &informer).await });
    }
    let mut working = JoinSet::new();
    pools.into_iter().for_each(|pool| drop(working.spawn(pool.work())));
    let followed = watched.map(|watched| watched.follow(handle.clone(), manager_events));
    Ok(Running { handle, endpoints, event_recorder, leadership, followed, grace, working, sharding, beside })
}

/// Asks the cluster which controllers run, and with how many workers, if that is configured there.
async fn configure(manager: &mut Manager, informers: &Informers) -> Result<Option<Watched>, StartError> {
    let Some(config) = manager.managed.take() else { return Ok(None) };
    let program: Vec<String> = manager.controllers.iter().map(|one| one.name().to_owned()).collect();
    let prepared = managers::prepare(&config, informers.api(), program.clone()).await?;
    let starts = |name: &str| prepared.workers.contains_key(name);
    manager.controllers.retain(|controller| starts(controller.name()));
    // What triggers a controller that does not start is no mistake.
    manager.sources.retain(|source| starts(&source.controller) || !program.contains(&source.controller));
    manager.workers_of = prepared.workers;
    Ok(prepared.joined.map(|joined| joined.watch(informers)))
}

/// Sharding, if the controllers are sharded.
async fn fleet(manager: &mut Manager, api: &Api) -> Result<Option<Fleet>, StartError> {
    let Some(settings) = manager.sharding.take() else { return Ok(None) };
    if manager.leader.is_some() {
        return Err(ShardSettingsError::WithLeader.into());
    }
    #[cfg(feature = "model")]
    let settings = settings.breaking(manager.broken);
    let mut fleet = Fleet::new(settings, api)?;
    fleet.probe(&manager.controllers, &manager.namespaces, api).await;
    Ok(Some(fleet))
}

/// Controllers of one name would take each other's outputs for their own.
fn check_names(controllers: &[Controller]) -> Result<(), StartError> {
    if controllers.is_empty() {
        return Err(StartError::NoControllers);
    }
    let mut names: Vec<&str> = controllers.iter().map(Controller::name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(StartError::SameName { name: pair[0].to_owned() }),
        None => Ok(()),
    }
}

/// The cluster to work on: that of the client if there is one, else of the kubeconfig or of the pod's account.
async fn api(client: Option<kube::Client>, metrics: &Metrics) -> Result<Api, StartError> {
    if let Some(client) = client {
        // A client does not say where it goes.
        return Ok(Api::new(client).counted(metrics.clone(), "kubernetes"));
    }
    let config = kube::Config::infer().await.map_err(StartError::Config)?;
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let client = kube::Client::try_from(config).map_err(|source| StartError::Client(source.into()))?;
    Ok(Api::new(client).counted(metrics.clone(), &host))
}

/// The name of this process in Events: in a pod, that of the pod.
fn instance() -> String {
    std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "windlass".to_owned())
}

/// Sets the number of workers, by controller name.
type Workers = BTreeMap<String, watch::Sender<usize>>;

/// The enqueuer of each controller, by its name, for as long as the controller works.
pub(crate) type Enqueuers = BTreeMap<String, Weak<Enqueuer>>;

/// What keeps the reconciles of a controller, by its name.
pub(crate) type Recorders = BTreeMap<String, Arc<FlightRecorder>>;

/// What all controllers of a process share.
struct Common<'a> {
    informers: &'a Arc<Informers>,
    event_recorder: Option<&'a EventRecorder>,
    leading: Option<Leading>,
    stopping: watch::Receiver<bool>,
    fleet: Option<&'a Fleet>,
    /// Where the protocols of sharded controllers run, and when they are to end.
    protocols: (&'a mut JoinSet<()>, watch::Receiver<bool>),
}

/// Everything that one controller needs to work, for each.
fn worker_pools(
    manager: &Manager,
    recorders: &Recorders,
    common: Common<'_>,
) -> Result<(Vec<WorkerPool>, Workers), StartError> {
    let Common { informers, event_recorder, leading, stopping, fleet, protocols: (tasks, ending) } = common;
    let driver = Driver::new(
        Arc::clone(informers),
        Arc::clone(&manager.services),
        manager.time_limit,
        manager.contests,
    );
    let (mut pools, mut workers) = (Vec::new(), Workers::new());
    open_informers(manager, informers, fleet)?;
    for controller in manager.controllers.iter().cloned() {
        let metrics = manager.metrics.controller(controller.name());
        let count = manager.workers_of.get(controller.name()).copied().unwrap_or(manager.workers);
        if count == 0 && fleet.is_some() {
            warn_of_paused_shard(controller.name());
        }
        let (sender, receiver) = watch::channel(count);
        workers.insert(controller.name().to_owned(), sender);
        let events = event_recorder.map(|event_recorder| event_recorder.controller(controller.name()));
        let recorder = recorders.get(controller.name()).map(Arc::clone).expect("every controller has one");
        let folder = manager.folder.clone().map(|folder| (folder, manager.recorder.files));
        let (settings, ownership) = (manager.queue.clone(), Arc::clone(&manager.ownership));
        let shard = fleet.map(|fleet| fleet.shard(&controller, informers, &manager.namespaces));
        let context = Arc::new(ControllerContext::new(controller, settings, metrics).sharded(shard.clone()));
        context.export_queue_metrics();
        let enqueuer = Arc::new(Enqueuer::new(Arc::clone(&context), ownership));
        // Where each parent belongs must be known to whatever is notified of it.
        let parents = shard
            .as_ref()
            .map(|shard| Fleet::parents(shard, &context.controller, informers, &manager.namespaces));
        let parents = parents.transpose().map_err(unreadable)?;
        let subscribed = Subscription::all(informers, &enqueuer, &manager.namespaces).map_err(unreadable)?;
        let opened = subscribed.iter().map(|subscribed| Arc::clone(&subscribed.informer)).collect();
        if let (Some(fleet), Some(shard), Some(parents)) = (fleet, shard, parents) {
            let watched = (parents, subscribed);
            fleet.join(shard, &enqueuer, watched, &manager.metrics, (tasks, ending.clone()));
        }
        pools.push(WorkerPool {
            informers: opened,
            context,
            enqueuer,
            driver: driver.clone().only_while(leading.clone()),
            events,
            records: Records { recorder, folder },
            leading: leading.clone(),
            workers: receiver,
            stopping: stopping.clone(),
        });
    }
    Ok((pools, workers))
}

/// Opens the informers of all controllers, the widest first: they also serve narrower ones.
fn open_informers(manager: &Manager, informers: &Informers, fleet: Option<&Fleet>) -> Result<(), StartError> {
    let declared = manager.controllers.iter().flat_map(|controller| controller.declaration().all_watches());
    let is_by_slots = |declared| fleet.is_some_and(|fleet| fleet.is_by_slots(declared));
    let declared = declared.filter(|declared| !is_by_slots(declared));
    let mut wanted: Vec<(Selection, &windlass::WatchDeclaration)> = declared
        .flat_map(|declared| Selection::all_of(declared, &manager.namespaces).map(move |one| (one, declared)))
        .collect();
    wanted.sort_by_key(|(selection, _)| selection.narrowness());
    for (selection, declared) in wanted {
        open(informers, declared, selection).map_err(unreadable)?;
    }
    Ok(())
}

fn unreadable((declared, message): (&windlass::WatchDeclaration, String)) -> StartError {
    StartError::Selector { kind: declared.kind.qualified(), message }
}

/// Enqueues the parents that the sources outside the cluster yield.
fn listen_to_sources(
    sources: Vec<Source>,
    enqueuers: &Enqueuers,
    beside: &mut JoinSet<()>,
) -> Result<(), StartError> {
    for Source { controller, what, mut parents } in sources {
        let Some(enqueuer) = enqueuers.get(&controller).and_then(Weak::upgrade) else {
            return Err(StartError::NoSuchController { name: controller });
        };
        beside.spawn(async move {
            let forwarding = async {
                while let Some(parent) = parents.next().await {
                    enqueuer.enqueue_external(parent, &what);
                }
            };
            match AssertUnwindSafe(forwarding).catch_unwind().await {
                Ok(()) => tracing::info!(controller, what, "source ended"),
                Err(_) => tracing::error!(controller, what, "source ended: it panicked"),
            }
        });
    }
    Ok(())
}
