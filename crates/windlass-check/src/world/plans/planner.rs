//! Makes plans, and remembers them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::plan::{EnvironmentPlan, Open, Operations, Planned, ProcessPlan, Traits};
use super::recent::Recent;
use super::situation::{Situation, SituationId, Situations};
use super::stored;
use crate::action::Action;
use crate::host::network::Network;
use crate::ids::{ClusterId, EnvironmentId, NetworkId};
use crate::index::ProcessIndex;
use crate::intern::{Id, IdTable, Interner};
use crate::world::parts::Parts;
use crate::world::shared::Locked;
use crate::world::state::State;
use crate::world::transitions::{Condition, Step, Transitions};

/// The number of a plan of the environment, as one worker counts them.
pub(crate) type EnvironmentPlanId = Id<EnvironmentPlan>;

/// The key of a plan of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Surroundings {
    network: NetworkId,
    cluster: ClusterId,
    environment: EnvironmentId,
}

/// The plans of all workers.
pub(crate) struct PlansOfAll {
    of_processes: IdTable<Situation, ProcessPlan>,
    of_environment: FxHashMap<Surroundings, EnvironmentPlan>,
    operations: Interner<Operations>,
    /// How many plans there are, and steps in them.
    plans: usize,
    steps: usize,
}

impl PlansOfAll {
    pub(crate) fn new() -> Self {
        PlansOfAll {
            of_processes: IdTable::default(),
            of_environment: FxHashMap::default(),
            operations: Interner::beginning_with(Operations::default()),
            plans: 0,
            steps: 0,
        }
    }

    /// Bytes that all of this takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.steps * size_of::<Planned<SituationId>>() + self.plans * 64
    }

    /// Puts what steps do into a plan.
    fn plan<Next>(&mut self, outcomes: Vec<Outcome<Next>>) -> Arc<[Planned<Next>]> {
        self.plans += 1;
        self.steps += outcomes.len();
        let planned = outcomes.into_iter().map(|outcome| Planned {
            condition: outcome.condition.pack(),
            next: outcome.next,
            open: Open::of(outcome.open, &mut self.operations),
            traits: outcome.traits,
        });
        planned.collect()
    }
}

/// What a step does, before it is put into a plan.
struct Outcome<Next> {
    condition: Condition,
    next: Next,
    open: Operations,
    traits: Traits,
}

/// Plans of one worker: those it has met, and what became of open operations.
pub(crate) struct Planner {
    shared: Locked<PlansOfAll>,
    parts: Locked<Parts>,
    of_processes: IdTable<Situation, ProcessPlan>,
    environment_plan_numbers: FxHashMap<Surroundings, EnvironmentPlanId>,
    of_environment: IdTable<EnvironmentPlan, EnvironmentPlan>,
    /// Those with the first numbers, by number.
    operations: Vec<Arc<Operations>>,
    /// What open operations have made of networks and situations, and the same of networks as far as it was lately.
    networks_after: FxHashMap<(NetworkId, Open), NetworkId>,
    recent_networks_after: Recent<(NetworkId, Open), Network>,
    /// Not all of these are kept: to work one out again takes a few look-ups.
    situations_after: Recent<(SituationId, Open), Situation>,
}

impl Planner {
    pub(crate) fn new(shared: Locked<PlansOfAll>, parts: Locked<Parts>) -> Self {
        Planner {
            shared,
            parts,
            of_processes: IdTable::default(),
            environment_plan_numbers: FxHashMap::default(),
            of_environment: IdTable::default(),
            operations: Vec::new(),
            networks_after: FxHashMap::default(),
            recent_networks_after: Recent::default(),
            situations_after: Recent::default(),
        }
    }

    /// The plan of a situation that was asked for before.
    pub(crate) fn known(&self, situation: SituationId) -> &ProcessPlan {
        self.of_processes.get(situation).expect("it was asked for")
    }

    /// A plan of the environment that was asked for before.
    pub(crate) fn known_of_environment(&self, number: EnvironmentPlanId) -> &EnvironmentPlan {
        self.of_environment.get(number).expect("it was asked for")
    }

    /// Takes out a plan that was asked for before, to be put back: cloning one would count references, in which
    /// workers get in each other's way.
    #[inline]
    pub(crate) fn take(&mut self, situation: SituationId) -> Option<ProcessPlan> {
        self.of_processes.take(situation)
    }

    #[inline]
    pub(crate) fn put_back(&mut self, situation: SituationId, plan: ProcessPlan) {
        self.of_processes.set(situation, plan);
    }

    /// The same for a plan of the environment.
    #[inline]
    pub(crate) fn take_of_environment(&mut self, number: EnvironmentPlanId) -> Option<EnvironmentPlan> {
        self.of_environment.take(number)
    }

    #[inline]
    pub(crate) fn put_back_of_environment(&mut self, number: EnvironmentPlanId, plan: EnvironmentPlan) {
        self.of_environment.set(number, plan);
    }

    /// Sees to it that the plan of a process is known, which is made when any worker first needs it.
    #[inline]
    pub(crate) fn plan(
        &mut self,
        words: &[u32],
        process: ProcessIndex,
        transitions: &mut Transitions,
        situations: &mut Situations,
    ) {
        let situation = stored::situation(words, process);
        if self.of_processes.get(situation).is_none() {
            let known = self.shared.lock().of_processes.get(situation).cloned();
            // No lock is held while a plan is made. If two workers make the same one, the second replaces the first:
            // they are equal, since a plan depends on nothing but its key.
            let plan = known.unwrap_or_else(|| {
                let state = situations.decode(words);
                self.make_plan(&state, process, situation, transitions, situations)
            });
            self.of_processes.set(situation, plan);
        }
    }

    fn make_plan(
        &mut self,
        state: &State,
        process: ProcessIndex,
        situation: SituationId,
        transitions: &mut Transitions,
        situations: &mut Situations,
    ) -> ProcessPlan {
        let mut possible = Vec::new();
        transitions.host_actions(state, process, &mut possible);
        let outcome = |(action, condition): (Action, Condition)| {
            let next = |step: &Step| situations.number(Situation::of(&step.state, process));
            outcome(state, action, condition, Some(process), transitions, next)
        };
        let outcomes = possible.into_iter().map(outcome).collect();
        let mut shared = self.shared.lock();
        let plan = shared.plan(outcomes);
        shared.of_processes.set(situation, plan.clone());
        plan
    }

    /// The number of the plan of the environment, which is made when any worker first needs it.
    pub(crate) fn environment_plan(
        &mut self,
        words: &[u32],
        transitions: &mut Transitions,
        situations: &mut Situations,
    ) -> EnvironmentPlanId {
        let Situation { cluster, environment, .. } = situations.get(stored::any_situation(words));
        let surroundings = Surroundings { network: stored::network(words), cluster, environment };
        if let Some(number) = self.environment_plan_numbers.get(&surroundings) {
            return *number;
        }
        let known = self.shared.lock().of_environment.get(&surroundings).cloned();
        let plan = known.unwrap_or_else(|| {
            let state = situations.decode(words);
            self.make_environment_plan(&state, surroundings, transitions)
        });
        let number = EnvironmentPlanId::from_index(self.environment_plan_numbers.len());
        self.of_environment.set(number, plan);
        self.environment_plan_numbers.insert(surroundings, number);
        number
    }

    fn make_environment_plan(
        &mut self,
        state: &State,
        surroundings: Surroundings,
        transitions: &mut Transitions,
    ) -> EnvironmentPlan {
        let mut actions = Vec::new();
        transitions.common_actions(state, &mut actions);
        let outcome = |action: Action| {
            outcome(state, action, Condition::Free, None, transitions, |step| step.state.network)
        };
        let outcomes = actions.into_iter().map(outcome).collect();
        let mut shared = self.shared.lock();
        let plan = shared.plan(outcomes);
        shared.of_environment.insert(surroundings, plan.clone());
        plan
    }

    fn operations(&mut self, open: Open) -> &Arc<Operations> {
        let index = open.operations().index();
        if index >= self.operations.len() {
            self.operations.extend_from_slice(self.shared.lock().operations.from(self.operations.len()));
        }
        &self.operations[index]
    }

    /// A network after what was left open on it.
    #[inline]
    pub(crate) fn network_after(&mut self, network: NetworkId, open: Open) -> NetworkId {
        if let Some(known) = self.recent_networks_after.get(&(network, open)) {
            return known;
        }
        let known = self.networks_after.get(&(network, open)).copied();
        let after = known.unwrap_or_else(|| {
            let operations = self.operations(open).clone();
            let mut parts = self.parts.lock();
            let after = operations.network.iter().fold(network, |network, op| parts.network_op(network, *op));
            drop(parts);
            self.networks_after.insert((network, open), after);
            after
        });
        self.recent_networks_after.set((network, open), after);
        after
    }

    /// The situation of another process after what was left open.
    #[inline]
    pub(crate) fn situation_after(
        &mut self,
        number: SituationId,
        open: Open,
        situations: &mut Situations,
    ) -> SituationId {
        if let Some(known) = self.situations_after.get(&(number, open)) {
            return known;
        }
        let mut situation = situations.get(number);
        let operations = self.operations(open).clone();
        if let Some((cluster, environment)) = operations.surroundings {
            (situation.cluster, situation.environment) = (cluster, environment);
        }
        let own = operations.hosts.iter().filter(|(process, _)| *process == situation.process);
        for (_, op) in own {
            let step = self.parts.lock().host_op(situation.host, situation.process, *op);
            debug_assert!(step.ending.is_none(), "what others do ends no reconcile");
            situation.host = step.host;
        }
        let after = situations.number(situation);
        self.situations_after.set((number, open), after);
        after
    }
}

/// What a step of a process does, or one of the environment if it is of none.
fn outcome<Next>(
    state: &State,
    action: Action,
    condition: Condition,
    process: Option<ProcessIndex>,
    transitions: &mut Transitions,
    next: impl FnOnce(&Step) -> Next,
) -> Outcome<Next> {
    let (step, deferred) = transitions.perform_for_plan(state, action, process);
    // If no other process is in these surroundings, the next situation says it all. (A world without processes has one
    // situation all the same.)
    let others = transitions.controllers().max(1) > usize::from(process.is_some());
    let changed = step.state.visible() != state.visible();
    let open = Operations {
        network: deferred.network_ops,
        surroundings: (others && changed).then_some(step.state.visible()),
        hosts: deferred.host_ops,
    };
    Outcome { condition, next: next(&step), open, traits: Traits::of(action, step.violation) }
}
