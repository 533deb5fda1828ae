//! What one worker remembers, so that it need not ask for what it has met before.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use windlass_model::MemoryStore;

use super::canonical::CanonicalMemory;
use super::menu::{Menu, MenuSlot};
use super::ops::{HostOp, NetworkOp};
use super::parts::{Effect, MessageFacts};
use super::plan::Plans;
use super::seen_step::SeenStepMemory;
use super::subsumption::FaultlessMemory;
use super::symmetry::PermutationMemory;
use super::{State, Step, Visible, World};
use crate::action::SlotIndex;
use crate::fault::Budget;
use crate::host::controller::Host;
use crate::host::database::Collection;
use crate::host::environment::{EnvOp, Environment};
use crate::host::network::{Message, Network};
use crate::ids::{
    AnswerId, AskId, BacklogId, ChangeListId, ClusterId, EnvironmentId, HostId, JobSetId, MarksId, MessageId,
    NetworkId, ServicesId, ViolationId,
};
use crate::intern::IdTable;

/// Tables by the numbers of parts, and results of steps on them.
#[derive(Default)]
pub(crate) struct Memory {
    menus: IdTable<Host, Arc<Menu>>,
    networks: IdTable<Network, Network>,
    environments: IdTable<Environment, Arc<Environment>>,
    messages: IdTable<Message, MessageFacts>,
    collections: IdTable<MemoryStore, Arc<[Collection]>>,
    /// By script, cluster and environment: whether a script that waits goes on.
    waits: FxHashMap<(usize, Visible), bool>,
    effects: FxHashMap<(ClusterId, AskId), Effect>,
    calls: FxHashMap<(ServicesId, AskId), (ServicesId, AnswerId)>,
    env_ops: FxHashMap<(EnvironmentId, EnvOp), EnvironmentId>,
    marks: FxHashMap<MarksId, Arc<Vec<JobSetId>>>,
    relists: FxHashMap<(ClusterId, usize), JobSetId>,
    /// By cluster and backlog: what the process with that backlog sees.
    pub(crate) views: FxHashMap<(ClusterId, BacklogId), ClusterId>,
    /// By process and the oldest backlog: the backlogs that its watches may begin with.
    pub(crate) positions: FxHashMap<(usize, BacklogId), Arc<[BacklogId]>>,
    /// By the oldest backlog and a list of changes: the oldest backlog afterwards.
    pub(crate) oldest: FxHashMap<(BacklogId, ChangeListId), BacklogId>,
    other_objects: FxHashMap<(ClusterId, MessageId), Option<ViolationId>>,
    pub(crate) plans: Plans,
    pub(crate) seen_steps: SeenStepMemory,
    pub(crate) canonical: CanonicalMemory,
    pub(crate) permutations: PermutationMemory,
    pub(crate) faultless: FaultlessMemory,
}

impl Memory {
    /// A network that was asked for before.
    pub(crate) fn known_network(&self, network: NetworkId) -> &Network {
        self.networks.get(network).expect("it was asked for")
    }
}

impl World {
    pub(crate) fn menu(&mut self, host: HostId) -> &Arc<Menu> {
        let parts = &self.parts;
        self.memory.menus.get_or_insert_with(host, || Arc::new(super::lock(parts).menu(host)))
    }

    pub(crate) fn menu_slot(&mut self, step: &Step, slot: SlotIndex) -> &MenuSlot {
        let menu = self.menu(step.state.hosts[slot.process()]);
        let found =
            menu.slots.iter().find(|waiting| (waiting.active, waiting.slot) == (slot.active, slot.slot));
        found.expect("an action is about an ask that waits")
    }

    pub(crate) fn network(&mut self, network: NetworkId) -> &Network {
        let parts = &self.parts;
        // A copy of its own: workers that count references to the same value get in each other's way.
        let make = || (**super::lock(parts).networks.get(network)).clone();
        self.memory.networks.get_or_insert_with(network, make)
    }

    pub(crate) fn env(&mut self, state: &State) -> &Arc<Environment> {
        self.environment(state.environment)
    }

    pub(crate) fn environment(&mut self, environment: EnvironmentId) -> &Arc<Environment> {
        let parts = &self.parts;
        let make = || Arc::new((**super::lock(parts).environments.get(environment)).clone());
        self.memory.environments.get_or_insert_with(environment, make)
    }

    pub(crate) fn message(&mut self, message: MessageId) -> MessageFacts {
        let parts = &self.parts;
        *self.memory.messages.get_or_insert_with(message, || super::lock(parts).message_facts(message))
    }

    pub(crate) fn collections(&mut self, cluster: ClusterId) -> &Arc<[Collection]> {
        let parts = &self.parts;
        self.memory.collections.get_or_insert_with(cluster, || super::lock(parts).collections(cluster))
    }

    /// Whether a client's script has an event left and does not wait for something that is not so.
    pub(crate) fn goes_on(&mut self, state: &State, script: usize) -> bool {
        let done = self.env(state).scripts[script];
        if done >= self.script_lengths[script] {
            return false;
        }
        let key = (script, World::visible(state));
        if let Some(known) = self.memory.waits.get(&key) {
            return *known;
        }
        let event = self.parts().setup.scripts[script][done].clone();
        let seen = self.seen(state);
        let goes_on = event.wait().is_none_or(|wait| wait.is_over(&seen.view()));
        if let Some(wait) = event.wait()
            && self.tries_other_numbers()
            && wait.is_over(&seen.with_other_numbers().view()) != goes_on
        {
            self.note_dependence(&format!("what a script waits for, {wait},"));
        }
        self.memory.waits.insert(key, goes_on);
        goes_on
    }

    /// What a request does to a cluster.
    pub(crate) fn effect(&mut self, cluster: ClusterId, ask: AskId) -> Effect {
        let parts = &self.parts;
        *self.memory.effects.entry((cluster, ask)).or_insert_with(|| super::lock(parts).effect(cluster, ask))
    }

    /// What a call does to the services: their states afterwards, and the answer.
    pub(crate) fn call(&mut self, services: ServicesId, ask: AskId) -> (ServicesId, AnswerId) {
        let parts = &self.parts;
        *self.memory.calls.entry((services, ask)).or_insert_with(|| super::lock(parts).call(services, ask))
    }

    /// Another process's state after an operation that ends no reconcile.
    pub(crate) fn host_after(&mut self, host: HostId, process: usize, op: HostOp) -> HostId {
        self.parts().host_op(host, process, op).host
    }

    /// Changes a controller's state.
    pub(crate) fn host_op(&mut self, step: &mut Step, controller: usize, op: HostOp) {
        if let Some(deferred) = &mut self.deferred
            && deferred.process != Some(controller)
        {
            deferred.host_ops.push((controller as u8, op));
            return;
        }
        let word = &mut step.state.hosts[controller];
        let done = super::lock(&self.parts).host_op(*word, controller, op);
        *word = done.host;
        step.violation = step.violation.or(done.violation);
        if let Some(ending) = done.ending {
            step.ending = Some(ending);
            if ending.done && self.clock_limit > 0 {
                self.env_op(step, EnvOp::Tick { job: ending.job, limit: self.clock_limit });
            }
        }
    }

    pub(crate) fn network_op(&mut self, network: NetworkId, op: NetworkOp) -> NetworkId {
        if let Some(deferred) = &mut self.deferred
            && deferred.process.is_some()
        {
            deferred.network_ops.push(op);
            return network;
        }
        self.parts().network_op(network, op)
    }

    pub(crate) fn env_op(&mut self, step: &mut Step, op: EnvOp) {
        let word = &mut step.state.environment;
        let parts = &self.parts;
        let known = self.memory.env_ops.entry((*word, op));
        *word = *known.or_insert_with(|| {
            let mut parts = super::lock(parts);
            let after = parts.environments.get(*word).after(op);
            parts.environments.id(after)
        });
    }

    /// A fault strikes.
    pub(crate) fn spend(&mut self, step: &mut Step, strike: impl FnOnce(&mut Budget)) {
        let mut left = self.env(&step.state).left;
        strike(&mut left);
        self.env_op(step, EnvOp::Spend(left));
    }

    /// The sets of jobs that a change concerns, one per process.
    pub(crate) fn marks(&mut self, marks: MarksId) -> &Arc<Vec<JobSetId>> {
        let parts = &self.parts;
        let known = self.memory.marks.entry(marks);
        known.or_insert_with(|| Arc::new((**super::lock(parts).marks.get(marks)).clone()))
    }

    /// The jobs that a process gets from a list of all that a view shows.
    pub(crate) fn relist(&mut self, state: &State, controller: usize, backlog: BacklogId) -> JobSetId {
        let cluster = self.view(state.cluster, backlog);
        let parts = &self.parts;
        let known = self.memory.relists.entry((cluster, controller));
        *known.or_insert_with(|| super::lock(parts).relist(cluster, controller))
    }

    /// Whether a message, delivered now, changes another object than its sender decided on.
    pub(crate) fn hits_another_object(&mut self, state: &State, message: MessageId) -> Option<ViolationId> {
        let (parts, cluster) = (&self.parts, state.cluster);
        let known = self.memory.other_objects.entry((cluster, message));
        *known.or_insert_with(|| super::lock(parts).hits_another_object(cluster, message))
    }

    pub(crate) fn timeout_answer(&mut self, message: MessageId) -> AnswerId {
        self.parts().timeout_answer(message)
    }

    pub(crate) fn unavailable_answer(&mut self, message: MessageId) -> AnswerId {
        self.parts().unavailable_answer(message)
    }
}
