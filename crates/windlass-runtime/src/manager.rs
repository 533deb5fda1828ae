//! The manager: runs controllers until it is stopped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass::{Controller, Kind, Machine, ObjectRef, Service};

use crate::driver::ContestSettings;
use crate::managers::ManagerConfig;
use crate::operations::leader::LeaderSettings;
use crate::operations::metrics::Metrics;
use crate::ownership::{Everything, Ownership};
use crate::queue::QueueSettings;
use crate::recorder::{RecorderSettings, Redaction};
use crate::running::{self, Running};
use crate::services::{ServiceClient, Services};
use crate::sharding::ShardSettings;
use crate::signals::signalled;
use crate::start_error::StartError;

/// Default maximum number of concurrent reconciles of each controller.
///
/// With 16, an API server that does nothing else is idle at times while reconciles wait for a CPU; more than 32 gain
/// nothing.
pub const DEFAULT_WORKERS: usize = 32;
const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(60);
/// Kubernetes gives a pod 30 seconds to end.
const DEFAULT_GRACE: Duration = Duration::from_secs(25);

/// Runs controllers on a Kubernetes cluster.
///
/// ```no_run
/// # use windlass::{Cx, Machine, Outcome, States, done};
/// # struct Nothing;
/// # #[derive(States)] enum Step { #[state(initial)] Only }
/// # impl Machine for Nothing {
/// #     type Parent = k8s_openapi::api::core::v1::ConfigMap;
/// #     type State = Step;
/// #     async fn run(&self, _: Step, _: &Cx<Self::Parent>) -> Outcome<Step> { done() }
/// # }
/// # async fn example() -> Result<(), windlass_runtime::StartError> {
/// windlass_runtime::Manager::new().controller(Nothing).run().await
/// # }
/// ```
#[must_use = "a manager does nothing until it is run"]
pub struct Manager {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) client: Option<kube::Client>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) workers: usize,
    pub(crate) workers_of: BTreeMap<String, usize>,
    pub(crate) managed: Option<ManagerConfig>,
    pub(crate) time_limit: Duration,
    pub(crate) grace: Duration,
    pub(crate) queue: QueueSettings,
    pub(crate) contests: ContestSettings,
    pub(crate) services: Arc<Services>,
    pub(crate) ownership: Arc<dyn Ownership>,
    pub(crate) metrics: Metrics,
    pub(crate) endpoints: Option<SocketAddr>,
    pub(crate) events: bool,
    pub(crate) preflight: bool,
    pub(crate) leader: Option<LeaderSettings>,
    pub(crate) sharding: Option<ShardSettings>,
    #[cfg(feature = "model")]
    pub(crate) broken: Option<windlass_shard::Mutation>,
    pub(crate) recorder: RecorderSettings,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) redaction: Redaction,
    pub(crate) sources: Vec<Source>,
}

/// A source of triggers outside the cluster.
pub(crate) struct Source {
    pub(crate) controller: String,
    pub(crate) what: String,
    pub(crate) parents: BoxStream<'static, ObjectRef>,
}

impl Default for Manager {
    fn default() -> Self {
        Manager::new()
    }
}

impl Manager {
    /// A manager without controllers, for the cluster of the current kubeconfig or, in a pod, of its service account.
    pub fn new() -> Self {
        Manager {
            controllers: Vec::new(),
            client: None,
            namespaces: Vec::new(),
            workers: DEFAULT_WORKERS,
            workers_of: BTreeMap::new(),
            managed: None,
            time_limit: DEFAULT_TIME_LIMIT,
            grace: DEFAULT_GRACE,
            queue: QueueSettings::default(),
            contests: ContestSettings::default(),
            services: Arc::default(),
            ownership: Arc::new(Everything),
            metrics: Metrics::new(),
            endpoints: None,
            events: true,
            preflight: true,
            leader: None,
            sharding: None,
            #[cfg(feature = "model")]
            broken: None,
            recorder: RecorderSettings::default(),
            folder: None,
            redaction: Redaction::default(),
            sources: Vec::new(),
        }
    }

    /// Runs a machine.
    pub fn controller(self, machine: impl Machine) -> Self {
        self.with_controller(Controller::new(machine))
    }

    /// Adds a controller that was already built from a machine.
    pub fn with_controller(mut self, controller: Controller) -> Self {
        self.controllers.push(controller);
        self
    }

    /// Reconciles each parent that a stream yields: for triggers from outside the cluster. `what` is shown as the cause.
    /// See also [`Handle::trigger`](crate::Handle::trigger).
    ///
    /// The checker does not know of it: a machine must reach its goals without it, or by
    /// [`Declaration::resync`](windlass::Declaration::resync).
    pub fn source(
        mut self,
        controller: &str,
        what: &str,
        parents: impl Stream<Item = ObjectRef> + Send + 'static,
    ) -> Self {
        let (controller, what) = (controller.to_owned(), what.to_owned());
        self.sources.push(Source { controller, what, parents: parents.boxed() });
        self
    }

    /// Uses this client, and so its cluster. Default: the current kubeconfig or, in a pod, its service account.
    pub fn client(mut self, client: kube::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Watches this namespace only. Cluster-scoped kinds are still watched whole. Default: all namespaces.
    pub fn namespace(self, namespace: &str) -> Self {
        self.namespaces([namespace])
    }

    /// Watches these namespaces only, each with watches of its own; all if none is given. Default: all namespaces.
    pub fn namespaces<'a>(mut self, namespaces: impl IntoIterator<Item = &'a str>) -> Self {
        self.namespaces = namespaces.into_iter().map(str::to_owned).collect();
        self.namespaces.sort();
        self.namespaces.dedup();
        self
    }

    /// Maximum number of concurrent reconciles of each controller. Default: 32 ([`DEFAULT_WORKERS`]).
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Maximum number of concurrent reconciles of one controller. With 0 it is paused. Default: that of
    /// [`Manager::workers`]. While it runs, [`Handle::set_workers`](crate::Handle::set_workers) changes it.
    pub fn workers_of(mut self, controller: &str, workers: usize) -> Self {
        self.workers_of.insert(controller.to_owned(), workers);
        self
    }

    /// Takes which controllers run, and with how many workers, from the cluster. Other worker counts have no effect then.
    ///
    /// ```
    /// use windlass_runtime::Manager;
    /// use windlass_runtime::managers::{ConfigMapRef, ManagerConfig, ManagerIdentity};
    ///
    /// let one_of_many = ManagerConfig::Api(ManagerIdentity::from_environment().of_type("pods"));
    /// let manager = Manager::new().managed(one_of_many);
    ///
    /// let fixed = ManagerConfig::ConfigMap(ConfigMapRef::new().in_namespace("operators"));
    /// let manager = Manager::new().managed(fixed);
    /// ```
    pub fn managed(mut self, config: ManagerConfig) -> Self {
        self.managed = Some(config);
        self
    }

    /// Timeout of a reconcile. Default: 60 s. After it, every request of the reconcile fails, and the timeout is reported
    /// in the status of the parent.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// How long active reconciles may take to finish when the manager is stopped. Default: 25 s.
    pub fn grace(mut self, limit: Duration) -> Self {
        self.grace = limit;
        self
    }

    /// How queues order, delay and limit reconciles.
    pub fn queue(mut self, settings: QueueSettings) -> Self {
        self.queue = settings;
        self
    }

    /// When and for how long the driver backs off from an output that another writer keeps changing back.
    pub fn contests(mut self, settings: ContestSettings) -> Self {
        self.contests = settings;
        self
    }

    /// Answers calls to an external service with this client.
    pub fn service<Called, Client>(mut self, _service: Called, client: Client) -> Self
    where
        Called: Service + 'static,
        Called::Request: DeserializeOwned,
        Called::Response: Serialize + Send,
        Client: ServiceClient<Called>,
    {
        self.services = Arc::new(self.services.with::<Called, Client>(client));
        self
    }

    /// Reconciles only the parents that this process owns. Default: all ([`Everything`]).
    pub fn ownership(mut self, ownership: impl Ownership) -> Self {
        self.ownership = Arc::new(ownership);
        self
    }

    /// Records into these metrics. Default: metrics of its own.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Calls a function for each change of a parent that this process serves, with the name of its controller, and
    /// registers metrics of the program's own.
    pub fn observe(self, add: impl FnOnce(&Metrics)) -> Self {
        add(&self.metrics);
        self
    }

    /// Serves metrics and health at this address. Default: not served.
    pub fn endpoints(mut self, address: SocketAddr) -> Self {
        self.endpoints = Some(address);
        self
    }

    /// Whether to publish Kubernetes Events about parents. Each is a request. Default: `true`.
    pub fn events(mut self, publish: bool) -> Self {
        self.events = publish;
        self
    }

    /// Whether to check at the start that every permission and kind that the controllers need is there, and to log what is
    /// missing. The controllers run either way. Default: `true`.
    pub fn preflight(mut self, ask: bool) -> Self {
        self.preflight = ask;
        self
    }

    /// Enables leader election: of all processes with the same lease only one works, and another takes over when it ends
    /// or loses its connection. Default: every process works.
    pub fn leader_election(mut self, settings: LeaderSettings) -> Self {
        self.leader = Some(settings);
        self
    }

    /// Shares the objects of each controller with other instances: each object has exactly one owner. Default: this
    /// process has all objects, or the leader has.
    ///
    /// ```no_run
    /// # use windlass_runtime::Manager;
    /// # use windlass_runtime::sharding::ShardSettings;
    /// # fn example(manager: Manager, pod: &str) -> Manager {
    /// manager.sharded(ShardSettings::new(pod))
    /// # }
    /// ```
    pub fn sharded(mut self, settings: ShardSettings) -> Self {
        self.sharding = Some(settings);
        self
    }

    /// Breaks a rule of the protocol of sharding on purpose, for tests that must notice it.
    #[cfg(feature = "model")]
    #[doc(hidden)]
    pub fn break_sharding_rule(mut self, rule: windlass_shard::Mutation) -> Self {
        self.broken = Some(rule);
        self
    }

    /// How many reconciles are kept for inspection and replay.
    pub fn recorder(mut self, settings: RecorderSettings) -> Self {
        self.recorder = settings;
        self
    }

    /// Writes every reconcile that fails into this folder, as a file for `windlass replay`; the oldest are deleted when
    /// there are too many. Default: no files.
    pub fn recordings(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Redacts the texts that a JSON pointer, such as `/spec/password`, selects in objects of a kind, wherever they occur
    /// in recordings. The contents of Secrets are always redacted.
    pub fn redact<Hidden: Kind>(mut self, pointer: &str) -> Self {
        self.redaction.add(Hidden::kind_info(), pointer);
        self
    }

    /// Runs until SIGTERM or SIGINT, and then lets active reconciles finish.
    ///
    /// # Errors
    /// When it cannot start. What goes wrong later is logged, shown by `/readyz`, and tried again.
    pub async fn run(self) -> Result<(), StartError> {
        let signalled = signalled().map_err(StartError::Signals)?;
        self.run_until(async {
            let name = signalled.await;
            tracing::info!(signal = name, "stopping, waiting for active reconciles");
        })
        .await
    }

    /// Runs until a future is ready, and then lets active reconciles finish. Dropped before that, it ends at once.
    ///
    /// # Errors
    /// When it cannot start.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Result<(), StartError> {
        tokio::pin!(stop);
        let running = tokio::select! {
            biased;
            running = self.start() => running?,
            // A managed process may wait for its Lease.
            () = &mut stop => return Ok(()),
        };
        stop.await;
        running.stop().await;
        Ok(())
    }

    /// Starts, and leaves it to the caller when to stop.
    ///
    /// # Errors
    /// When it cannot start.
    pub async fn start(self) -> Result<Running, StartError> {
        running::start(self).await
    }
}
