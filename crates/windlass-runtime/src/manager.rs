//! The manager: runs controllers until it is told to stop.

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
use crate::operations::leader::LeaderSettings;
use crate::operations::metrics::Metrics;
use crate::ownership::{Everything, Ownership};
use crate::queue::QueueSettings;
use crate::recorder::{RecorderSettings, Redaction};
use crate::running::{self, Running};
use crate::services::{ServiceClient, Services};
use crate::signals::signalled;
use crate::start_error::StartError;

/// So many reconciles of each controller may be active at a time, if nothing is said.
///
/// With 16, an API server that does nothing else has idle moments while reconciles wait for their turn to compute; more
/// than 32 gain nothing.
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
    pub(crate) recorder: RecorderSettings,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) redaction: Redaction,
    pub(crate) sources: Vec<Source>,
}

/// What asks for reconciles from outside.
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
    /// A manager without controllers, for the cluster of the current kubeconfig or, in a pod, of its account.
    pub fn new() -> Self {
        Manager {
            controllers: Vec::new(),
            client: None,
            namespaces: Vec::new(),
            workers: DEFAULT_WORKERS,
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

    /// Runs a controller that was made before.
    pub fn with_controller(mut self, controller: Controller) -> Self {
        self.controllers.push(controller);
        self
    }

    /// Reconciles the parents that a stream names, whenever it names one: for triggers from outside the cluster. `what`
    /// is shown as the cause. See also [`Handle::trigger`](crate::Handle::trigger).
    ///
    /// The checker knows nothing of it: what a machine must come to is to come without, or by
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

    /// Uses this client, and with it this cluster.
    pub fn client(mut self, client: kube::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Looks after this namespace only. Cluster-scoped kinds are watched whole all the same.
    pub fn namespace(self, namespace: &str) -> Self {
        self.namespaces([namespace])
    }

    /// Looks after these namespaces only, each with watches of its own; after all if none is given.
    pub fn namespaces<'a>(mut self, namespaces: impl IntoIterator<Item = &'a str>) -> Self {
        self.namespaces = namespaces.into_iter().map(str::to_owned).collect();
        self.namespaces.sort();
        self.namespaces.dedup();
        self
    }

    /// So many reconciles of each controller may be active at a time; [`DEFAULT_WORKERS`] if nothing is said.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// So long may a reconcile take; a minute if nothing is said. What it waits for then fails, and it says so in the
    /// status of its parent.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// So long may active reconciles take to finish when the manager is stopped; 25 seconds if nothing is said.
    pub fn grace(mut self, limit: Duration) -> Self {
        self.grace = limit;
        self
    }

    /// How queues order, delay and limit reconciles.
    pub fn queue(mut self, settings: QueueSettings) -> Self {
        self.queue = settings;
        self
    }

    /// When an output that another writer keeps changing back is left alone, and for how long.
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

    /// Reconciles only the parents that this says are this process's.
    pub fn ownership(mut self, ownership: impl Ownership) -> Self {
        self.ownership = Arc::new(ownership);
        self
    }

    /// Counts into these metrics.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Serves metrics and health here; without this they are not served.
    pub fn endpoints(mut self, address: SocketAddr) -> Self {
        self.endpoints = Some(address);
        self
    }

    /// Whether Kubernetes Events tell what happens to parents; they do if nothing is said. Each is a request.
    pub fn events(mut self, publish: bool) -> Self {
        self.events = publish;
        self
    }

    /// Whether the start asks for every permission and kind that the controllers need, and logs what is missing; it
    /// does if nothing is said. What is missing stops nothing.
    pub fn preflight(mut self, ask: bool) -> Self {
        self.preflight = ask;
        self
    }

    /// Of all processes with the same lease only one works, and another takes over when it ends or cannot be reached.
    /// Without this, every process works.
    pub fn leader_election(mut self, settings: LeaderSettings) -> Self {
        self.leader = Some(settings);
        self
    }

    /// How many reconciles are kept to look at and to run again.
    pub fn recorder(mut self, settings: RecorderSettings) -> Self {
        self.recorder = settings;
        self
    }

    /// Writes every reconcile that fails into this folder, as a file for `windlass replay`; the oldest go when there are
    /// too many.
    pub fn recordings(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// In recordings, hides the texts that a JSON pointer, such as `/spec/password`, leads to in objects of a kind, and
    /// hides them wherever else they occur. What is in Secrets is always hidden.
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
            tracing::info!("{name}: active reconciles finish, then this ends");
        })
        .await
    }

    /// Runs until a future is ready, and then lets active reconciles finish. Dropped before that, it ends at once.
    ///
    /// # Errors
    /// When it cannot start.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Result<(), StartError> {
        let running = self.start().await?;
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
