//! What one worker knows of the parts, so that it asks for their lock only for what it has not met before.

use std::sync::{Arc, MutexGuard};

use rustc_hash::FxHashMap;
use windlass_model::MemoryStore;

use super::parts::{Effect, Menu, MessageFacts, NOTHING_UNSEEN, Parts};
use super::shared::Locked;
use crate::host::controller::Host;
use crate::host::database::Collection;
use crate::host::environment::{EnvOp, Environment};
use crate::host::network::{Message, Network};
use crate::ids::{
    AnswerId, AskId, BacklogId, ChangeListId, ClusterId, EnvironmentId, HostId, JobSetId, MarksId, MessageId,
    NetworkId, ServicesId, ViolationId,
};
use crate::index::ProcessIndex;
use crate::intern::IdTable;

/// Tables by the numbers of parts, and results of steps on them. A part never changes, so nothing here becomes untrue.
pub(crate) struct PartsCache {
    parts: Locked<Parts>,
    menus: IdTable<Host, Arc<Menu>>,
    networks: IdTable<Network, Network>,
    environments: IdTable<Environment, Arc<Environment>>,
    messages: IdTable<Message, MessageFacts>,
    collections: IdTable<MemoryStore, Arc<[Collection]>>,
    effects: FxHashMap<(ClusterId, AskId), Effect>,
    calls: FxHashMap<(ServicesId, AskId), (ServicesId, AnswerId)>,
    env_ops: FxHashMap<(EnvironmentId, EnvOp), EnvironmentId>,
    marks: FxHashMap<MarksId, Arc<Vec<JobSetId>>>,
    relists: FxHashMap<(ClusterId, ProcessIndex), JobSetId>,
    /// By cluster and backlog: what the process with that backlog sees.
    views: FxHashMap<(ClusterId, BacklogId), ClusterId>,
    /// By process and the oldest backlog: the backlogs that its watches may begin with.
    positions: FxHashMap<(ProcessIndex, BacklogId), Arc<[BacklogId]>>,
    /// By the oldest backlog and a list of changes: the oldest backlog afterwards.
    oldest: FxHashMap<(BacklogId, ChangeListId), BacklogId>,
    other_objects: FxHashMap<(ClusterId, MessageId), Option<ViolationId>>,
}

impl PartsCache {
    pub(super) fn new(parts: Locked<Parts>) -> Self {
        PartsCache {
            parts,
            menus: IdTable::default(),
            networks: IdTable::default(),
            environments: IdTable::default(),
            messages: IdTable::default(),
            collections: IdTable::default(),
            effects: FxHashMap::default(),
            calls: FxHashMap::default(),
            env_ops: FxHashMap::default(),
            marks: FxHashMap::default(),
            relists: FxHashMap::default(),
            views: FxHashMap::default(),
            positions: FxHashMap::default(),
            oldest: FxHashMap::default(),
            other_objects: FxHashMap::default(),
        }
    }

    pub(crate) fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock()
    }

    pub(crate) fn menu(&mut self, host: HostId) -> &Arc<Menu> {
        let parts = &self.parts;
        self.menus.get_or_insert_with(host, || Arc::new(parts.lock().menu(host)))
    }

    pub(crate) fn network(&mut self, network: NetworkId) -> &Network {
        let parts = &self.parts;
        // A copy of its own: workers that count references to the same value get in each other's way.
        let make = || (**parts.lock().networks.get(network)).clone();
        self.networks.get_or_insert_with(network, make)
    }

    /// A network that was asked for before.
    pub(crate) fn known_network(&self, network: NetworkId) -> &Network {
        self.networks.get(network).expect("it was asked for")
    }

    pub(crate) fn environment(&mut self, environment: EnvironmentId) -> &Arc<Environment> {
        let parts = &self.parts;
        // A copy of its own, as with networks.
        let make = || Arc::new((**parts.lock().environments.get(environment)).clone());
        self.environments.get_or_insert_with(environment, make)
    }

    /// The environment after a change of it.
    pub(crate) fn environment_after(&mut self, environment: EnvironmentId, op: EnvOp) -> EnvironmentId {
        let parts = &self.parts;
        *self.env_ops.entry((environment, op)).or_insert_with(|| {
            let mut parts = parts.lock();
            let after = parts.environments.get(environment).after(op);
            parts.environments.id(after)
        })
    }

    pub(crate) fn message(&mut self, message: MessageId) -> MessageFacts {
        let parts = &self.parts;
        *self.messages.get_or_insert_with(message, || parts.lock().message_facts(message))
    }

    /// What the cluster's own controllers would do.
    pub(crate) fn collections(&mut self, cluster: ClusterId) -> &Arc<[Collection]> {
        let parts = &self.parts;
        self.collections.get_or_insert_with(cluster, || parts.lock().collections(cluster))
    }

    /// What a request does to a cluster.
    pub(crate) fn effect(&mut self, cluster: ClusterId, ask: AskId) -> Effect {
        let parts = &self.parts;
        *self.effects.entry((cluster, ask)).or_insert_with(|| parts.lock().effect(cluster, ask))
    }

    /// What a call does to the services: their states afterwards, and the answer.
    pub(crate) fn call(&mut self, services: ServicesId, ask: AskId) -> (ServicesId, AnswerId) {
        let parts = &self.parts;
        *self.calls.entry((services, ask)).or_insert_with(|| parts.lock().call(services, ask))
    }

    /// Whether a message, delivered now, changes another object than its sender decided on.
    pub(crate) fn hits_another_object(
        &mut self,
        cluster: ClusterId,
        message: MessageId,
    ) -> Option<ViolationId> {
        let parts = &self.parts;
        let known = self.other_objects.entry((cluster, message));
        *known.or_insert_with(|| parts.lock().hits_another_object(cluster, message))
    }

    /// The sets of jobs that a change concerns, one per process.
    pub(crate) fn marks(&mut self, marks: MarksId) -> &Arc<Vec<JobSetId>> {
        let parts = &self.parts;
        let known = self.marks.entry(marks);
        known.or_insert_with(|| Arc::new((**parts.lock().marks.get(marks)).clone()))
    }

    /// The jobs that a process gets from a list of all that a view shows.
    pub(crate) fn relist(
        &mut self,
        cluster: ClusterId,
        process: ProcessIndex,
        backlog: BacklogId,
    ) -> JobSetId {
        let view = self.view(cluster, backlog);
        let parts = &self.parts;
        *self.relists.entry((view, process)).or_insert_with(|| parts.lock().relist(view, process))
    }

    /// The cluster without what a backlog has not delivered.
    pub(crate) fn view(&mut self, cluster: ClusterId, backlog: BacklogId) -> ClusterId {
        if backlog == NOTHING_UNSEEN {
            return cluster;
        }
        let parts = &self.parts;
        *self.views.entry((cluster, backlog)).or_insert_with(|| parts.lock().view(cluster, backlog))
    }

    /// The oldest backlog that a watch may begin with, after some changes.
    pub(crate) fn oldest_after(&mut self, oldest: BacklogId, changes: ChangeListId) -> BacklogId {
        let parts = &self.parts;
        *self.oldest.entry((oldest, changes)).or_insert_with(|| parts.lock().remember(oldest, changes))
    }

    /// The backlogs with which a process's watches may begin again, given the oldest that any may.
    pub(crate) fn positions(&mut self, process: ProcessIndex, oldest: BacklogId) -> Arc<[BacklogId]> {
        let parts = &self.parts;
        let known = self.positions.entry((process, oldest));
        known.or_insert_with(|| parts.lock().positions(process, oldest)).clone()
    }
}
