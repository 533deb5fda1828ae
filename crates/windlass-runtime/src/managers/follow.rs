//! A manager at work: edits of its objects change worker counts, its status shows its state, and it notices when other
//! managers are gone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use windlass::model::selector::LabelSelector;
use windlass::{Event, KindInfo, ObjectRef};

use super::heartbeat::{Heartbeats, is_gone, observed};
use super::kinds::{ControllerManager, ControllerManagerTypeSpec, ControllerStatus, manager_types, managers};
use super::objects::HeartbeatLease;
use super::start::Joined;
use super::status::{StatusSchedule, status};
use super::worker_counts::{ConfigProblem, WorkerCounts};
use crate::handle::Handle;
use crate::informer::{EventHandler, Informer, Informers, Selection, WatchEvent};
use crate::operations::events::{Events, Regarding};
use crate::operations::leader::Leading;

/// How long the last write of a manager that stops may take: Kubernetes gives a pod only some seconds after its work.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// A manager whose objects are watched, but not followed yet.
pub(crate) struct Watched {
    joined: Joined,
    types: Arc<Informer>,
    managers: Arc<Informer>,
    changed: Arc<Notify>,
}

/// A manager that follows its objects until it is shut down.
pub(crate) struct Followed {
    ending: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Wakes the manager when an object has changed.
struct Wake(Arc<Notify>);

impl EventHandler for Wake {
    fn changed(&self, _event: &WatchEvent) {
        self.0.notify_one();
    }
}

impl Joined {
    /// Opens the informers of what it follows.
    pub(crate) fn watch(self, informers: &Informers) -> Watched {
        let changed = Arc::new(Notify::new());
        let open = |kind: KindInfo| {
            let whole = Selection::whole(&kind, None);
            let informer = informers.open(&kind, whole, std::iter::empty());
            let informer = informer.expect("a selection without selectors can be read");
            informer.add_event_handler(Arc::new(Wake(Arc::clone(&changed))));
            informer
        };
        let (types, managers) = (open(manager_types()), open(managers()));
        Watched { joined: self, types, managers, changed }
    }
}

impl Watched {
    /// Follows the objects from now on.
    pub(crate) fn follow(self, handle: Handle, events: Option<Events>) -> Followed {
        let (ending, ended) = watch::channel(false);
        let Watched { joined, types, managers, changed } = self;
        let timing = joined.identity.timing;
        let follower = Follower {
            leading: joined.leadership.leading(),
            led: true,
            schedule: StatusSchedule::new(timing.lease_duration, timing.retry_period),
            observed_at: None,
            heartbeats: Heartbeats::default(),
            problems: BTreeSet::new(),
            joined,
            types,
            managers,
            handle,
            events,
        };
        Followed { ending, task: tokio::spawn(follower.run(changed, ended)) }
    }
}

impl Followed {
    /// Shows the manager as gone, and releases its Lease. Its controllers must have ended.
    pub(crate) async fn shutdown(self) {
        self.ending.send_replace(true);
        let _ = self.task.await;
    }
}

struct Follower {
    joined: Joined,
    types: Arc<Informer>,
    managers: Arc<Informer>,
    handle: Handle,
    events: Option<Events>,
    leading: Leading,
    led: bool,
    schedule: StatusSchedule,
    heartbeats: Heartbeats,
    observed_at: Option<Instant>,
    /// What was wrong with the configuration when it was last applied.
    problems: BTreeSet<ConfigProblem>,
}

impl Follower {
    async fn run(mut self, changed: Arc<Notify>, mut ending: watch::Receiver<bool>) {
        let tick = self.joined.identity.timing.retry_period;
        let ends = async move { drop(ending.wait_for(|ending| *ending).await) };
        tokio::select! {
            () = ends => {}
            () = async {
                loop {
                    self.step().await;
                    tokio::select! {
                        () = changed.notified() => {}
                        () = tokio::time::sleep(tick) => {}
                    }
                }
            } => {}
        }
        self.end().await;
    }

    async fn step(&mut self) {
        self.log_lease();
        if !self.types.state.is_synced() || !self.managers.state.is_synced() {
            return;
        }
        self.apply().await;
        if self.leading.now() {
            self.publish().await;
            self.observe_others().await;
        }
    }

    fn log_lease(&mut self) {
        let (leads, manager) = (self.leading.now(), self.id());
        match (self.led, leads) {
            (true, false) => {
                let holder = self.leading.holder();
                tracing::warn!(manager, holder, "manager lease lost: other managers consider this one dead");
            }
            (false, true) => tracing::info!(manager, "manager lease regained"),
            _ => {}
        }
        self.led = leads;
    }

    /// Sets the worker counts that the objects say.
    async fn apply(&mut self) {
        let Some(manager) = self.manager(self.id()) else {
            return self.create_again().await;
        };
        let manager_type = &manager.spec.controller_manager_type;
        let mut problems = BTreeSet::new();
        match read(&self.types, manager_type) {
            Some(value) => {
                let of_type = ControllerManagerTypeSpec::of(&value);
                let program = self.joined.program.iter().map(String::as_str);
                let counts = WorkerCounts::resolve(&of_type.controllers, &manager.spec.controllers, program);
                problems.extend(self.set_workers(&counts));
                problems.extend(counts.problems);
            }
            None => drop(problems.insert(ConfigProblem::NoSuchType { manager_type: manager_type.clone() })),
        }
        self.report(&manager, problems);
    }

    /// Sets the worker counts of the controllers that run; returns which others ought to.
    fn set_workers(&self, counts: &WorkerCounts) -> Vec<ConfigProblem> {
        for controller in self.handle.controllers() {
            // One that is not named any more pauses.
            let workers = counts.by_controller.get(controller).copied().unwrap_or_default();
            let before = self.handle.workers(controller);
            if before != Some(workers) {
                tracing::info!(controller, before, workers, "worker count changed");
                self.handle.set_workers(controller, workers);
            }
        }
        let runs = |name: &str| self.handle.workers(name).is_some();
        let missing = counts.by_controller.keys().filter(|name| !runs(name));
        missing.map(|name| ConfigProblem::NeedsRestart { controller: name.clone() }).collect()
    }

    /// Logs problems that are new, and publishes them as Events of the manager.
    fn report(&mut self, manager: &ControllerManager, problems: BTreeSet<ConfigProblem>) {
        for problem in problems.difference(&self.problems) {
            tracing::warn!(manager = manager.id, reason = problem.reason(), "{problem}");
            if let Some(events) = &self.events {
                events.publish(&regarding(manager), &Event::warning(problem.reason(), problem.to_string()));
            }
        }
        self.problems = problems;
    }

    /// Makes the object again that somebody has deleted.
    async fn create_again(&self) {
        let Some(manager_type) = &self.joined.identity.manager_type else { return };
        tracing::warn!(manager = self.id(), "the ControllerManager was deleted, creating it again");
        if let Err(status) = self.joined.objects.create_manager(self.id(), manager_type).await {
            tracing::warn!(manager = self.id(), "cannot create the ControllerManager: {}", status.message);
        }
    }

    /// Writes the status if it is time.
    async fn publish(&mut self) {
        let Some(shown) = self.manager(self.id()) else { return };
        let mut wanted = self.status(true);
        if !self.schedule.is_due(&wanted, Some(shown.status.is_alive), now()) {
            return;
        }
        wanted.last_healthprobe_at = self.lease().await.and_then(|lease| lease.renewed_at);
        match self.joined.objects.patch_status(self.id(), &json!(wanted), None).await {
            Ok(()) => self.schedule.written(wanted, now()),
            Err(status) => {
                tracing::warn!(
                    manager = self.id(),
                    "cannot write the status of the manager: {}",
                    status.message
                );
            }
        }
    }

    fn status(&self, is_alive: bool) -> super::kinds::ControllerManagerStatus {
        let count = |count: Option<usize>| u32::try_from(count.unwrap_or_default()).unwrap_or(u32::MAX);
        let controllers = self.handle.controllers().map(|name| ControllerStatus {
            controller: name.to_owned(),
            workers: count(self.handle.workers(name)),
            active: count(self.handle.active(name)),
        });
        status((&self.joined.lease_namespace, self.id()), is_alive, controllers.collect())
    }

    /// The Lease of this manager.
    async fn lease(&self) -> Option<HeartbeatLease> {
        self.joined.objects.lease(&self.joined.lease_namespace, self.id()).await.ok().flatten()
    }

    /// Looks at the Leases of other managers from time to time, and shows those that are gone as such.
    async fn observe_others(&mut self) {
        let pause = self.joined.identity.timing.lease_duration / 3;
        if self.observed_at.is_some_and(|at| now().saturating_duration_since(at) < pause) {
            return;
        }
        self.observed_at = Some(now());
        let all = self.managers.cache.list(None, &LabelSelector::everything());
        let all = all.iter().filter_map(|found| serde_json::from_str(&found.text).ok());
        let all: Vec<ControllerManager> = all.map(|value: Value| ControllerManager::of(&value)).collect();
        let alive: BTreeSet<&str> =
            all.iter().filter(|one| one.status.is_alive).map(|one| one.id.as_str()).collect();
        let observed = observed(self.id(), &alive);
        self.heartbeats.retain(&observed.iter().copied().collect());
        for other in all.iter().filter(|one| observed.contains(&one.id.as_str())) {
            self.observe(other).await;
        }
    }

    async fn observe(&mut self, other: &ControllerManager) {
        let (namespace, name) = (&other.status.lease_namespace, &other.status.lease);
        // What cannot be read says nothing.
        let Ok(lease) = self.joined.objects.lease(namespace, name).await else { return };
        let version = lease.as_ref().map(|lease| lease.version.as_str()).unwrap_or_default();
        let unchanged = self.heartbeats.unchanged_for(&other.id, version, Duration::ZERO, now());
        if !is_gone(lease.as_ref(), unchanged, self.joined.identity.timing.lease_duration) {
            return;
        }
        let renewed_at = lease.and_then(|lease| lease.renewed_at);
        let gone = json!({ "isAlive": false, "lastHealthprobeAt": renewed_at });
        // With its version: it may have come back, and said so.
        let written = self.joined.objects.patch_status(&other.id, &gone, Some(&other.version)).await;
        if written.is_ok() {
            tracing::info!(manager = other.id, ?unchanged, "manager is dead: its lease has expired");
        }
    }

    /// Shows the manager as gone, and releases its Lease.
    async fn end(self) {
        if self.leading.now() && !tokio::time::timeout(LAST_WRITE, self.write_end()).await.unwrap_or(false) {
            let manager = self.id();
            tracing::warn!(
                manager,
                "the end of the manager was not written: others notice when its lease ends"
            );
        }
        self.joined.leadership.shutdown().await;
    }

    /// Writes that the manager is gone, and returns whether that succeeded.
    async fn write_end(&self) -> bool {
        let mut last = self.status(false);
        last.last_healthprobe_at = self.lease().await.and_then(|lease| lease.renewed_at);
        self.joined.objects.patch_status(self.id(), &json!(last), None).await.is_ok()
    }

    fn id(&self) -> &str {
        self.joined.identity.id()
    }

    fn manager(&self, id: &str) -> Option<ControllerManager> {
        read(&self.managers, id).as_ref().map(ControllerManager::of)
    }
}

/// A cluster-scoped object from the cache.
fn read(informer: &Informer, name: &str) -> Option<Value> {
    let found = informer.cache.get(&ObjectRef::new("", name))?;
    serde_json::from_str(&found.text).ok()
}

fn regarding(manager: &ControllerManager) -> Regarding {
    let kind = managers();
    Regarding {
        api_version: kind.api_version(),
        kind: kind.kind,
        namespace: String::new(),
        name: manager.id.clone(),
        uid: manager.uid.clone(),
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
