//! The manager: runs controllers until it is told to stop.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass::{Controller, KindInfo, Machine, Service};

use crate::api::Api;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::inbox::Inbox;
use crate::operations::endpoints::Endpoints;
use crate::operations::metrics::Metrics;
use crate::ownership::{Everything, Ownership};
use crate::queue::QueueSettings;
use crate::services::{ServiceClient, Services};
use crate::start_error::StartError;
use crate::watch::{Listener, Selection, Watch, Watches, follow};
use crate::worker::Crew;

const DEFAULT_WORKERS: usize = 16;
const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(60);

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
    controllers: Vec<Controller>,
    client: Option<kube::Client>,
    namespace: Option<String>,
    workers: usize,
    time_limit: Duration,
    queue: QueueSettings,
    services: Services,
    ownership: Arc<dyn Ownership>,
    metrics: Metrics,
    endpoints: Option<SocketAddr>,
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
            namespace: None,
            workers: DEFAULT_WORKERS,
            time_limit: DEFAULT_TIME_LIMIT,
            queue: QueueSettings::default(),
            services: Services::default(),
            ownership: Arc::new(Everything),
            metrics: Metrics::new(),
            endpoints: None,
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

    /// Uses this client, and with it this cluster.
    pub fn client(mut self, client: kube::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Looks after one namespace only. Cluster-scoped kinds are watched whole all the same.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// So many reconciles of each controller may be active at a time; 16 if nothing is said.
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

    /// How queues order, delay and limit reconciles.
    pub fn queue(mut self, settings: QueueSettings) -> Self {
        self.queue = settings;
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
        self.services.add::<Called, Client>(client);
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

    /// Runs until SIGTERM or SIGINT, and then lets active reconciles finish.
    ///
    /// # Errors
    /// When it cannot start. What goes wrong later is logged, shown by `/readyz`, and tried again.
    pub async fn run(self) -> Result<(), StartError> {
        let signalled = crate::signals::signalled()?;
        self.run_until(signalled).await
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
        check_names(&self.controllers)?;
        let client = match self.client {
            Some(client) => client,
            None => infer_client().await?,
        };
        let watches = Arc::new(Watches::new(Api::new(client)));
        let driver = Driver::new(Arc::clone(&watches), Arc::new(self.services), self.time_limit);
        let (stop, stopping) = watch::channel(false);
        let (mut crews, mut workers) = (Vec::new(), BTreeMap::new());
        for controller in self.controllers {
            let metrics = self.metrics.controller(controller.name());
            metrics.set_workers(self.workers);
            let (sender, receiver) = watch::channel(self.workers);
            workers.insert(controller.name().to_owned(), (sender, metrics.clone()));
            let inbox =
                Arc::new(Inbox::new(controller, self.queue.clone(), Arc::clone(&self.ownership), metrics));
            inbox.count_queue();
            let watches = watch_for(&watches, &inbox, self.namespace.as_deref())?;
            let (driver, stopping) = (driver.clone(), stopping.clone());
            crews.push(Crew { inbox, driver, watches, workers: receiver, stopping });
        }
        let handle = Handle::new(Arc::clone(&watches), workers, self.metrics.clone(), stop);
        let endpoints = match self.endpoints {
            None => None,
            Some(address) => Some(Endpoints::start(address, self.metrics, Arc::new(handle.clone())).await?),
        };
        let mut following = JoinSet::new();
        for watch in watches.all() {
            let api = watches.api().clone();
            following.spawn(async move { follow(&api, &watch).await });
        }
        let mut working = JoinSet::new();
        crews.into_iter().for_each(|crew| drop(working.spawn(crew.work())));
        Ok(Running { handle, endpoints, working, following })
    }
}

/// A manager that runs. Dropped, it ends at once, in the middle of whatever it does.
pub struct Running {
    handle: Handle,
    endpoints: Option<Endpoints>,
    working: JoinSet<()>,
    following: JoinSet<()>,
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

    /// Starts no further reconciles, lets the active ones finish, and ends.
    pub async fn stop(mut self) {
        self.handle.stop();
        while self.working.join_next().await.is_some() {}
        self.following.shutdown().await;
        if let Some(endpoints) = self.endpoints {
            endpoints.shutdown().await;
        }
    }
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

async fn infer_client() -> Result<kube::Client, StartError> {
    let config = kube::Config::infer().await.map_err(StartError::Config)?;
    kube::Client::try_from(config).map_err(|source| StartError::Client(source.into()))
}

/// The watches of a controller: of its parent, its outputs and whatever else triggers it.
fn watch_for(
    watches: &Watches,
    inbox: &Arc<Inbox>,
    namespace: Option<&str>,
) -> Result<Vec<Arc<Watch>>, StartError> {
    let declaration = inbox.controller.declaration();
    let outputs = declaration.outputs().iter().map(|output| &output.kind);
    let watched = declaration.watched().iter().map(|watched| &watched.kind);
    let mut kinds: Vec<&KindInfo> =
        std::iter::once(declaration.parent()).chain(outputs).chain(watched).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let add = |kind: &KindInfo| {
        let listener: Arc<dyn Listener> = Arc::<Inbox>::clone(inbox);
        let added = watches.add(kind, Selection::whole(kind, namespace), listener);
        added.map_err(|message| StartError::Selector { kind: kind.qualified(), message })
    };
    kinds.into_iter().map(add).collect()
}
