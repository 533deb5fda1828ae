//! A whole cluster in one value: objects, types and the time, cloned in O(1).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::request::{Request, ResourceId, Verb};
use crate::response::Response;
use crate::status::{Reason, Status};
use crate::store::{Change, Key, MemoryStore};
use crate::time::Timestamp;
use crate::types::{FeatureGates, Types};
use crate::verbs::{self, Effect};
use crate::{controllers, crd, definitions, policies, workloads};

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// Far more rounds than anything but a quarrel between controllers needs.
const MAX_ROUNDS: usize = 1000;

/// An API server in memory. A clone shares everything until one of the two is written to.
///
/// ```
/// use serde_json::json;
/// use windlass_model::{Cluster, Request, ResourceId, Verb};
///
/// let mut cluster = Cluster::new();
/// let config_maps = ResourceId::new("", "v1", "configmaps");
/// let create = Request::new(Verb::Create, config_maps).in_namespace("default");
/// let response = cluster.request(&create.with_body(json!({ "metadata": { "name": "a" } })));
/// assert_eq!(response.code, 201);
/// ```
#[derive(Clone, Debug)]
pub struct Cluster {
    store: MemoryStore,
    types: Arc<Types>,
    now: Timestamp,
}

impl Cluster {
    /// A cluster with the built-in types and the namespaces that every cluster has, at the start of 1970.
    pub fn new() -> Self {
        let types = Arc::new(Types::built_in());
        let mut cluster = Cluster { store: MemoryStore::default(), types, now: Timestamp::default() };
        for request in namespace_requests() {
            cluster.request(&request);
        }
        cluster
    }

    /// Serves what is behind feature gates that are open, too.
    pub fn open_gates(&mut self, gates: FeatureGates) {
        Arc::make_mut(&mut self.types).open_gates(gates);
    }

    /// What the API would answer, and what would change. Changes nothing.
    pub fn handle(&self, request: &Request) -> Effect {
        verbs::handle(&self.store, &self.types, self.now, request)
    }

    /// Answers a request and makes its changes visible.
    pub fn request(&mut self, request: &Request) -> Response {
        let effect = self.handle(request);
        self.commit(&effect.changes);
        effect.response
    }

    /// Makes changes visible, and serves what changed definitions say.
    pub fn commit(&mut self, changes: &[Change]) {
        for change in changes {
            self.store.commit(change);
        }
        if let Some(types) = types_after(&self.types, changes) {
            self.types = Arc::new(types);
        }
    }

    /// Lets garbage collector, namespace controller, storage protection and CRD controllers run until they have nothing to do.
    ///
    /// Returns whether they came to rest: two objects that fight over each other may never do so.
    pub fn settle(&mut self) -> bool {
        (0..MAX_ROUNDS).any(|_| !self.settle_once())
    }

    /// The same with the [workload controllers](workloads): pods run, rollouts and Jobs end, claims are bound.
    ///
    /// Returns whether they came to rest.
    pub fn settle_workloads(&mut self) -> bool {
        self.perform(&workloads::first_requests(&self.store, self.now));
        (0..MAX_ROUNDS).any(|_| {
            let steps = workloads::next_requests(&self.store, self.now);
            let changed = self.perform(steps.iter().map(|step| &step.request));
            !(self.settle_once() | changed)
        })
    }

    /// One round of the cluster's own controllers. Says whether anything changed.
    fn settle_once(&mut self) -> bool {
        let steps = controllers::next_requests(&self.store, &self.types, self.now);
        self.perform(steps.iter().map(|step| &step.request))
    }

    /// Commits what some requests lead to. Says whether anything changed.
    fn perform<'a>(&mut self, requests: impl IntoIterator<Item = &'a Request>) -> bool {
        let mut changed = false;
        for request in requests {
            let effect = self.handle(request);
            changed |= !effect.changes.is_empty();
            self.commit(&effect.changes);
        }
        changed
    }

    /// Creates a CRD and establishes it.
    ///
    /// # Errors
    /// The refusal, or 409 with the condition's message if another definition has one of the names.
    pub fn install_crd(&mut self, definition: &Value) -> Result<(), Status> {
        let resource = ResourceId::new(definitions::GROUP, "v1", definitions::PLURAL);
        let create = Request::new(Verb::Create, resource.clone()).with_body(definition.clone());
        let response = self.request(&create);
        if let Some(status) = response.failure() {
            return Err(status.clone());
        }
        let mut rounds = 0..MAX_ROUNDS;
        while rounds.next().is_some()
            && self.perform(&definitions::next_requests(&self.store, &self.types, self.now))
        {}
        let name = definition["metadata"]["name"].as_str().unwrap_or("");
        let found = self.request(&Request::new(Verb::Get, resource).named(name));
        match found.as_object() {
            Some(found) if definitions::is_established(found) => Ok(()),
            Some(found) => Err(Status::failure(409, Reason::Conflict, refusal(found))),
            None => Err(Status::no_such_resource()),
        }
    }

    /// Whether objects of this kind are served.
    pub fn serves(&self, group: &str, version: &str, kind: &str) -> bool {
        self.types.by_kind(group, version, kind).is_some()
    }

    /// The objects.
    pub fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// The same cluster with other contents of the same types. Where it has admission policies, those of the new
    /// contents hold.
    #[must_use]
    pub fn with_store(&self, store: MemoryStore) -> Self {
        let mut types = self.types.clone();
        if !types.policies().is_empty() {
            let changes = policies::changes_between(&self.store, &store);
            if let Some(changed) = types_after(&types, &changes) {
                types = Arc::new(changed);
            }
        }
        Cluster { store, types, now: self.now }
    }

    /// The types that are served.
    pub fn types(&self) -> &Arc<Types> {
        &self.types
    }

    /// The time that requests are made at.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Moves the clock.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }
}

/// Requests that create what every server has from the start: namespaces and priority classes.
pub fn first_requests() -> impl Iterator<Item = Request> {
    namespace_requests().chain(system_class_requests())
}

fn namespace_requests() -> impl Iterator<Item = Request> {
    NAMESPACES.into_iter().map(|name| {
        let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let create = Request::new(Verb::Create, ResourceId::new("", "v1", "namespaces"));
        create.with_body(body).as_manager("kube-apiserver")
    })
}

/// The priority classes also hold without being stored, so a [`Cluster`] has none.
fn system_class_requests() -> impl Iterator<Item = Request> {
    verbs::SYSTEM_CLASSES.into_iter().map(|(name, value)| {
        let create =
            Request::new(Verb::Create, ResourceId::new("scheduling.k8s.io", "v1", "priorityclasses"));
        let body = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": name },
            "value": value, "description": "Of what the cluster itself cannot do without.",
        });
        create.with_body(body).as_manager("kube-apiserver")
    })
}

impl Default for Cluster {
    fn default() -> Self {
        Cluster::new()
    }
}

/// Why a definition was not established.
fn refusal(definition: &Value) -> String {
    let conditions = definition["status"]["conditions"].as_array().into_iter().flatten();
    let messages = conditions.filter(|condition| condition["status"] == "False");
    messages.filter_map(|condition| condition["message"].as_str()).collect::<Vec<_>>().join("; ")
}

/// Whether an object says something about what is served or admitted: a definition, an admission policy or its
/// binding.
pub fn shapes_types(key: &Key) -> bool {
    definitions::is_definition(key) || policies::concerns(key)
}

/// The resources whose objects [shape the types](shapes_types), by group and plural.
pub fn resources_that_shape_types() -> impl Iterator<Item = (&'static str, &'static str)> {
    let policies = policies::ALL.into_iter().map(|plural| (policies::GROUP, plural));
    [definitions::DEFINITIONS].into_iter().chain(policies)
}

/// The types and policies that hold after some changes; `None` if they stay the same.
///
/// A definition's types are served from when it is established until it is gone. A policy is evaluated from when it
/// is bound.
pub fn types_after(types: &Types, changes: &[Change]) -> Option<Types> {
    let definitions = changes.iter().filter(|change| definitions::is_definition(&change.key));
    let mut after = types.policies().after(changes).map(|policies| {
        let mut after = types.clone();
        after.set_policies(policies);
        after
    });
    for change in definitions {
        let made_by = |definition: &Option<Arc<Value>>| {
            let established = definition.as_ref().filter(|found| definitions::is_established(found));
            let mut made = established.map(|found| crd::types_of(found)).unwrap_or_default();
            made.retain(|info| !types.is_built_in_group(&info.resource.group));
            made
        };
        let (old, new) = (made_by(&change.before), made_by(&change.after));
        if old == new {
            continue;
        }
        let after = after.get_or_insert_with(|| types.clone());
        for info in &old {
            after.remove(&info.resource.group, &info.resource.plural);
        }
        for info in new {
            after.insert(info);
        }
    }
    after
}
