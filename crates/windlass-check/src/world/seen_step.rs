//! What rules on steps see of a step: where it leads, who acts, and with which request.
//!
//! Where it leads is taken before anything is renumbered: a rule may compare an object's numbers before and after.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use windlass::Ask;

use super::plan::{Deferred, EnvironmentPlanId};
use super::renumber::other_ask;
use super::seen::Seen;
use super::situation::SituationId;
use super::{State, Visible, World, stored};
use crate::action::Action;
use crate::between::{Actor, Between};
use crate::ids::{AskId, MessageId};

/// A step by the numbers of all that a rule on steps can see of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SeenStep {
    before: Visible,
    after: Visible,
    actor: ActorId,
    /// The ask that changed an object or a service.
    ask: Option<AskId>,
}

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ActorId {
    /// A client, by its script.
    Client(u8),
    /// A controller process.
    Process(usize),
    /// One of the cluster's own controllers.
    Cluster(&'static str),
}

/// The steps of plans, as far as a worker was asked for them.
#[derive(Default)]
pub(crate) struct SeenStepMemory {
    /// By the number of the situation.
    of_processes: FxHashMap<SituationId, Arc<[SeenStep]>>,
    /// By the number of the plan of the environment.
    of_environment: FxHashMap<EnvironmentPlanId, Arc<[SeenStep]>>,
}

/// What a rule on steps is evaluated on.
pub(crate) struct Sight {
    before: Seen,
    after: Seen,
    actor: ActorId,
    /// The name of the actor, and which process of that name it is.
    name: (String, usize),
    request: Option<Arc<Ask>>,
}

impl Sight {
    pub(crate) fn between(&self) -> Between<'_> {
        let (name, process) = (self.name.0.as_str(), self.name.1);
        let actor = match self.actor {
            ActorId::Client(script) => Actor::Client { script: script.into() },
            ActorId::Process(_) => Actor::Controller { name, process },
            ActorId::Cluster(_) => Actor::Cluster { name },
        };
        Between {
            before: self.before.view(),
            after: self.after.view(),
            actor,
            request: self.request.as_deref(),
        }
    }

    /// The same with other versions, generations and uids.
    pub(crate) fn with_other_numbers(&self) -> Self {
        Sight {
            before: self.before.with_other_numbers(),
            after: self.after.with_other_numbers(),
            actor: self.actor,
            name: self.name.clone(),
            request: self.request.as_ref().map(|ask| Arc::new(other_ask(ask))),
        }
    }
}

impl World {
    /// An action of a state, as rules on steps see it.
    pub(crate) fn seen_step(&mut self, state: &State, action: Action) -> SeenStep {
        // As in a plan, what it does to other processes and to the network is left out: no rule sees that.
        let process = action.process();
        self.deferred = Some(Deferred { process, ..Deferred::default() });
        let step = self.perform(state, action);
        self.deferred = None;
        let [services, services_after] = [state, &step.state].map(|state| self.env(state).services);
        let has_effect = step.state.cluster != state.cluster || services_after != services;
        SeenStep {
            before: World::visible(state),
            after: World::visible(&step.state),
            actor: self.actor(state, action),
            ask: step.met.filter(|_| has_effect).map(|(_, ask)| ask),
        }
    }

    fn actor(&mut self, state: &State, action: Action) -> ActorId {
        match action {
            Action::Client { script } => ActorId::Client(script),
            Action::Collect { index } => {
                ActorId::Cluster(self.collections(state.cluster)[usize::from(index)].actor)
            }
            other => {
                let sender = self.message_of(state, other).map(|message| self.message(message).sender);
                let process = other.process().or(sender);
                ActorId::Process(process.expect("all other actions are of a process, or deliver its message"))
            }
        }
    }

    /// The message of a controller that an action delivers.
    pub(crate) fn message_of(&mut self, state: &State, action: Action) -> Option<MessageId> {
        match action {
            Action::Deliver { slot, .. } | Action::DeliverAgain { slot } => {
                let menu = self.menu(state.hosts[slot.process()]);
                let mut slots = menu.slots.iter();
                let waiting =
                    slots.find(|waiting| (waiting.active, waiting.slot) == (slot.active, slot.slot));
                waiting.map(|waiting| waiting.message)
            }
            Action::Late { index } => self.network(state.network).late.get(usize::from(index)).copied(),
            Action::Duplicate { index } => {
                self.network(state.network).copies.get(usize::from(index)).copied()
            }
            _ => None,
        }
    }

    /// All steps of an expansion of a state, in its order.
    pub(crate) fn seen_steps(&mut self, state: &State, ample_only: bool, steps: &mut Vec<SeenStep>) {
        let mut words = vec![0; self.width()];
        self.encode(state, &mut words);
        let common = self.plan_all(&words);
        if ample_only && let Some((process, index)) = self.ample_step(&words) {
            steps.push(self.steps_of_process(state, process, stored::situation(&words, process))[index]);
            return;
        }
        for process in 0..self.controllers() {
            let situation = stored::situation(&words, process);
            let seen = self.steps_of_process(state, process, situation);
            let network = self.memory.known_network(stored::network(&words));
            let planned = self.memory.plans.known(situation).iter().zip(seen.iter());
            let possible = planned.filter(|(planned, _)| planned.condition.unpack().holds(network));
            steps.extend(possible.map(|(_, seen)| *seen));
        }
        steps.extend_from_slice(&self.steps_of_environment(state, common));
    }

    fn steps_of_process(&mut self, state: &State, process: usize, situation: SituationId) -> Arc<[SeenStep]> {
        if let Some(known) = self.memory.seen_steps.of_processes.get(&situation) {
            return known.clone();
        }
        let mut possible = Vec::new();
        self.host_actions(state, process, &mut possible);
        let seen: Arc<[SeenStep]> =
            possible.into_iter().map(|(action, _)| self.seen_step(state, action)).collect();
        self.memory.seen_steps.of_processes.insert(situation, seen.clone());
        seen
    }

    fn steps_of_environment(&mut self, state: &State, number: EnvironmentPlanId) -> Arc<[SeenStep]> {
        if let Some(known) = self.memory.seen_steps.of_environment.get(&number) {
            return known.clone();
        }
        let mut actions = Vec::new();
        self.common_actions(state, &mut actions);
        let seen: Arc<[SeenStep]> = actions.into_iter().map(|action| self.seen_step(state, action)).collect();
        self.memory.seen_steps.of_environment.insert(number, seen.clone());
        seen
    }

    /// Whether a step changes something that a rule sees: an object, a service or a clock. What is left of a budget, or
    /// how far a script has got, is not.
    pub(crate) fn is_seen(&self, step: &SeenStep) -> bool {
        let [(cluster, before), (cluster_after, after)] = [step.before, step.after];
        if cluster != cluster_after {
            return true;
        }
        let parts = self.parts();
        let [before, after] = [before, after].map(|environment| parts.environments.get(environment));
        (before.services, &before.clocks) != (after.services, &after.clocks)
    }

    /// What a rule is evaluated on.
    pub(crate) fn sight(&self, step: &SeenStep) -> Sight {
        let name = match step.actor {
            ActorId::Client(_) => (String::new(), 0),
            ActorId::Process(process) => self.controller_of(process),
            ActorId::Cluster(name) => (name.to_owned(), 0),
        };
        let request = step.ask.map(|ask| self.parts().asks.get(ask).clone());
        let [before, after] = [step.before, step.after].map(|visible| self.seen_at(visible));
        Sight { before, after, actor: step.actor, name, request }
    }

    /// The same step with names and processes permuted.
    pub(crate) fn permute_step(&mut self, step: &SeenStep, permutation: usize) -> SeenStep {
        let actor = match step.actor {
            ActorId::Process(process) => ActorId::Process(self.permutations[permutation].process(process)),
            other @ (ActorId::Client(_) | ActorId::Cluster(_)) => other,
        };
        SeenStep {
            before: self.permute_visible(step.before, permutation),
            after: self.permute_visible(step.after, permutation),
            actor,
            ask: step.ask.map(|ask| self.parts().permute_ask(permutation, ask)),
        }
    }
}
