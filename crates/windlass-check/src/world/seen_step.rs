//! What rules on steps see of a step: where it leads, who acts, and with which request.
//!
//! Where it leads is taken before anything is renumbered: a rule may compare an object's numbers before and after.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use windlass::Ask;

use super::World;
use super::canonical::other_numbers::other_ask;
use super::parts::Parts;
use super::plans::{EnvironmentPlanId, SituationId, stored};
use super::seen::Seen;
use super::state::{State, Visible};
use super::symmetry::Permuter;
use super::transitions::Transitions;
use crate::action::Action;
use crate::between::{Actor, Between};
use crate::ids::AskId;
use crate::index::{PermutationIndex, ProcessIndex, ScriptIndex};

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
    Client(ScriptIndex),
    /// A controller process.
    Process(ProcessIndex),
    /// One of the cluster's own controllers.
    Cluster(&'static str),
}

/// The steps of plans, as far as a worker was asked for them.
#[derive(Default)]
pub(super) struct SeenSteps {
    /// By the number of the situation.
    of_processes: FxHashMap<SituationId, Arc<[SeenStep]>>,
    /// By the number of the plan of the environment.
    of_environment: FxHashMap<EnvironmentPlanId, Arc<[SeenStep]>>,
}

/// What a rule on steps is evaluated on.
pub(crate) struct StepView {
    before: Seen,
    after: Seen,
    actor: ActorId,
    /// The name of the actor, and which process of that name it is.
    name: (String, usize),
    request: Option<Arc<Ask>>,
}

impl StepView {
    pub(crate) fn between(&self) -> Between<'_> {
        let (name, process) = (self.name.0.as_str(), self.name.1);
        let actor = match self.actor {
            ActorId::Client(script) => Actor::Client { script: script.index() },
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
        StepView {
            before: self.before.with_other_numbers(),
            after: self.after.with_other_numbers(),
            actor: self.actor,
            name: self.name.clone(),
            request: self.request.as_ref().map(|ask| Arc::new(other_ask(ask))),
        }
    }
}

impl SeenStep {
    /// An action of a state, as rules on steps see it.
    fn of(state: &State, action: Action, transitions: &mut Transitions) -> Self {
        // As in a plan, what it does to other processes and to the network is left out: no rule sees that.
        let (step, _) = transitions.perform_for_plan(state, action, action.process());
        let [services, services_after] = [state, &step.state].map(|state| transitions.env(state).services);
        let has_effect = step.state.cluster != state.cluster || services_after != services;
        SeenStep {
            before: state.visible(),
            after: step.state.visible(),
            actor: ActorId::of(state, action, transitions),
            ask: step.met.filter(|_| has_effect).map(|(_, ask)| ask),
        }
    }

    /// Whether it changes something that a rule sees: an object, a service or a clock. What is left of a budget, or how
    /// far a script has got, is not.
    pub(crate) fn is_seen(&self, parts: &Parts) -> bool {
        let [(cluster, before), (cluster_after, after)] = [self.before, self.after];
        if cluster != cluster_after {
            return true;
        }
        let [before, after] = [before, after].map(|environment| parts.environments.get(environment));
        (before.services, &before.clocks) != (after.services, &after.clocks)
    }

    /// What a rule is evaluated on.
    pub(crate) fn step_view(&self, parts: &Parts) -> StepView {
        let name = match self.actor {
            ActorId::Client(_) => (String::new(), 0),
            ActorId::Process(process) => parts.setup.controller_of(process),
            ActorId::Cluster(name) => (name.to_owned(), 0),
        };
        let request = self.ask.map(|ask| parts.asks.get(ask).clone());
        let [before, after] = [self.before, self.after].map(|visible| Seen::of(parts, visible));
        StepView { before, after, actor: self.actor, name, request }
    }

    /// The same step with names and processes permuted.
    pub(super) fn permute(&self, permuter: &mut Permuter, permutation: PermutationIndex) -> Self {
        let actor = match self.actor {
            ActorId::Process(process) => ActorId::Process(permuter.process(process, permutation)),
            other @ (ActorId::Client(_) | ActorId::Cluster(_)) => other,
        };
        SeenStep {
            before: permuter.permute_visible(self.before, permutation),
            after: permuter.permute_visible(self.after, permutation),
            actor,
            ask: self.ask.map(|ask| permuter.permute_ask(ask, permutation)),
        }
    }
}

impl ActorId {
    fn of(state: &State, action: Action, transitions: &mut Transitions) -> Self {
        match action {
            Action::Client { script } => ActorId::Client(script),
            Action::Collect { index } => {
                ActorId::Cluster(transitions.cache.collections(state.cluster)[usize::from(index)].actor)
            }
            other => {
                let message = transitions.message_of(state, other);
                let sender = message.map(|message| transitions.cache.message(message).sender);
                let process = other.process().or(sender);
                ActorId::Process(process.expect("all other actions are of a process, or deliver its message"))
            }
        }
    }
}

impl SeenSteps {
    fn of_process(
        &mut self,
        state: &State,
        process: ProcessIndex,
        situation: SituationId,
        transitions: &mut Transitions,
    ) -> Arc<[SeenStep]> {
        let known = self.of_processes.entry(situation).or_insert_with(|| {
            let mut possible = Vec::new();
            transitions.host_actions(state, process, &mut possible);
            possible.into_iter().map(|(action, _)| SeenStep::of(state, action, transitions)).collect()
        });
        known.clone()
    }

    fn of_environment(
        &mut self,
        state: &State,
        number: EnvironmentPlanId,
        transitions: &mut Transitions,
    ) -> Arc<[SeenStep]> {
        let known = self.of_environment.entry(number).or_insert_with(|| {
            let mut actions = Vec::new();
            transitions.common_actions(state, &mut actions);
            actions.into_iter().map(|action| SeenStep::of(state, action, transitions)).collect()
        });
        known.clone()
    }
}

impl World {
    /// An action of a state, as rules on steps see it.
    pub(crate) fn seen_step(&mut self, state: &State, action: Action) -> SeenStep {
        SeenStep::of(state, action, &mut self.transitions)
    }

    /// All steps of an expansion of a state, in its order.
    pub(crate) fn seen_steps(&mut self, state: &State, ample_only: bool, steps: &mut Vec<SeenStep>) {
        let mut words = vec![0; self.width()];
        self.encode(state, &mut words);
        let common = self.plan_all(&words);
        if ample_only && let Some((process, index)) = self.ample_step(&words) {
            let situation = stored::situation(&words, process);
            let seen = self.seen_steps.of_process(state, process, situation, &mut self.transitions);
            steps.push(seen[index]);
            return;
        }
        for process in ProcessIndex::all(self.controllers()) {
            let situation = stored::situation(&words, process);
            let seen = self.seen_steps.of_process(state, process, situation, &mut self.transitions);
            let network = self.transitions.cache.known_network(stored::network(&words));
            let planned = self.planner.known(situation).iter().zip(seen.iter());
            let possible = planned.filter(|(planned, _)| planned.condition.unpack().holds(network));
            steps.extend(possible.map(|(_, seen)| *seen));
        }
        steps.extend_from_slice(&self.seen_steps.of_environment(state, common, &mut self.transitions));
    }
}
