//! Plans: everything that a process can do in its situation, worked out once.
//!
//! Most of what a process does depends on the network in two ways only: whether a message of its own is still on
//! its way, and whether a message may come again. So a plan is made for each situation, with what it does to the
//! network, and to other processes, left open. A second kind of plan holds what clients, the network and the
//! cluster's own controllers can do. All workers share the plans; each remembers those it has met.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::actions::{Condition, PackedCondition};
use super::ops::{HostOp, NetworkOp};
use super::recent::Recent;
use super::situation::{Situation, SituationId, Situations};
use super::{State, Step, World, stored};
use crate::action::Action;
use crate::host::network::Network;
use crate::ids::{ClusterId, EnvironmentId, NetworkId, ViolationId};
use crate::intern::{Id, IdTable, Interner};

/// No deferred effects.
pub(super) const NOTHING: Open = Open(0);

/// What a process can do in a situation; each step leads to another situation of the process.
pub(super) type ProcessPlan = Arc<[Planned<SituationId>]>;
/// What the environment can do (clients, the network, the cluster's own controllers); each step leads to another network.
pub(super) type EnvironmentPlan = Arc<[Planned<NetworkId>]>;
/// The number of a plan of the environment, as one worker counts them.
pub(super) type EnvironmentPlanId = Id<EnvironmentPlan>;

/// The key of a plan of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Surroundings {
    network: NetworkId,
    cluster: ClusterId,
    environment: EnvironmentId,
}

/// The plans of all workers.
pub(crate) struct SharedPlans {
    pub(super) situations: Situations,
    of_processes: IdTable<Situation, ProcessPlan>,
    of_environment: FxHashMap<Surroundings, EnvironmentPlan>,
    operations: Interner<Operations>,
    /// How many plans there are.
    plans: usize,
    /// How many steps are planned.
    steps: usize,
}

/// The plans that one worker has met.
#[derive(Default)]
pub(crate) struct Plans {
    pub(super) situations: Vec<Situation>,
    pub(super) situation_numbers: Recent<Situation, Situation>,
    pub(super) of_processes: IdTable<Situation, ProcessPlan>,
    environment_plan_numbers: FxHashMap<Surroundings, EnvironmentPlanId>,
    pub(super) of_environment: IdTable<EnvironmentPlan, EnvironmentPlan>,
    operations: Vec<Arc<Operations>>,
    /// What open operations have made of networks and situations, and the same of networks as far as it was lately.
    networks_after: FxHashMap<(NetworkId, Open), NetworkId>,
    recent_networks_after: Recent<(NetworkId, Open), Network>,
    situations_after: Recent<(SituationId, Open), Situation>,
}

impl Plans {
    /// The plan of a situation that was asked for before.
    pub(super) fn known(&self, situation: SituationId) -> &ProcessPlan {
        self.of_processes.get(situation).expect("it was asked for")
    }

    /// A plan of the environment that was asked for before.
    pub(super) fn known_of_environment(&self, number: EnvironmentPlanId) -> &EnvironmentPlan {
        self.of_environment.get(number).expect("it was asked for")
    }
}

/// One step of a plan. There are many, so each is small: its action is left out, since the actions of a plan can be
/// listed again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned<Next> {
    pub(super) condition: PackedCondition,
    /// What it leads to: the situation of the process, or the network in a plan of the environment.
    pub(super) next: Next,
    /// What remains to be done to all else.
    pub(super) open: Open,
    /// The kind of the action, whether it is a fault, and the number of its violation, plus one.
    traits: u32,
}

impl<Next> Planned<Next> {
    pub(super) fn kind(&self) -> usize {
        (self.traits & 0x7f) as usize
    }

    pub(super) fn is_fault(&self) -> bool {
        self.traits & 0x80 != 0
    }

    /// The number of its violation.
    pub(super) fn violation(&self) -> Option<ViolationId> {
        (self.traits >> 8).checked_sub(1).map(ViolationId::from_word)
    }
}

/// What a step does, before it is put into a plan.
struct Outcome<Next> {
    action: Action,
    condition: Condition,
    next: Next,
    open: Operations,
    violation: Option<ViolationId>,
}

/// The number of operations that a plan leaves open, with one bit that says whether there are any on the network, and
/// one for those on processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Open(u32);

impl Open {
    pub(super) fn concerns_network(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) fn concerns_processes(self) -> bool {
        self.0 & 2 != 0
    }

    fn operations(self) -> Id<Operations> {
        Id::from_word(self.0 >> 2)
    }
}

/// Operations on parts that a plan leaves open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Operations {
    network: Vec<NetworkOp>,
    /// The cluster and the environment, if they change for other processes too.
    surroundings: Option<(ClusterId, EnvironmentId)>,
    hosts: Vec<(u8, HostOp)>,
}

/// What a step that is being planned leaves open.
#[derive(Default)]
pub(crate) struct Deferred {
    /// The process whose plan it is; `None` if it is the environment's.
    pub(crate) process: Option<usize>,
    pub(crate) network_ops: Vec<NetworkOp>,
    pub(crate) host_ops: Vec<(u8, HostOp)>,
}

impl SharedPlans {
    pub(crate) fn new() -> Self {
        SharedPlans {
            situations: Situations::default(),
            of_processes: IdTable::default(),
            of_environment: FxHashMap::default(),
            operations: Interner::beginning_with(Operations::default()),
            plans: 0,
            steps: 0,
        }
    }

    /// Bytes that all of this takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.steps * size_of::<Planned<SituationId>>() + self.plans * 64 + self.situations.len() * 64
    }

    /// Puts what steps do into a plan.
    fn plan<From, Next>(
        &mut self,
        outcomes: Vec<Outcome<From>>,
        number: impl Fn(&mut Situations, From) -> Next,
    ) -> Arc<[Planned<Next>]> {
        self.plans += 1;
        self.steps += outcomes.len();
        let planned = outcomes.into_iter().map(|outcome| {
            let violation = outcome.violation.map_or(0, |violation| violation.word() + 1);
            assert!(violation < 1 << 24, "fewer than 2^24 distinct violations are found");
            Planned {
                condition: outcome.condition.pack(),
                next: number(&mut self.situations, outcome.next),
                open: self.open(outcome.open),
                traits: outcome.action.kind() as u32
                    | u32::from(outcome.action.fault().is_some()) << 7
                    | violation << 8,
            }
        });
        planned.collect()
    }

    fn open(&mut self, operations: Operations) -> Open {
        let flags = u32::from(!operations.network.is_empty())
            | u32::from(!operations.hosts.is_empty() || operations.surroundings.is_some()) << 1;
        let number = self.operations.id(operations).word();
        assert!(number < 1 << 30, "fewer than 2^30 distinct operations fit in memory");
        Open(number << 2 | flags)
    }
}

/// The plans, which a worker that panicked has left as they were.
pub(super) fn lock(plans: &Mutex<SharedPlans>) -> MutexGuard<'_, SharedPlans> {
    plans.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// Bytes that the plans take, about.
    pub(crate) fn plan_bytes(&self) -> usize {
        lock(&self.plans).bytes()
    }

    /// Sees to it that the plan of a process is known, which is made when it is first needed by anybody.
    #[inline]
    pub(super) fn plan(&mut self, words: &[u32], process: usize) {
        let situation = stored::situation(words, process);
        if self.memory.plans.of_processes.get(situation).is_none() {
            self.find_plan(words, process, situation);
        }
    }

    fn find_plan(&mut self, words: &[u32], process: usize, situation: SituationId) {
        let known = lock(&self.plans).of_processes.get(situation).cloned();
        let plan = known.unwrap_or_else(|| {
            let state = self.decode(words);
            let mut possible = Vec::new();
            self.host_actions(&state, process, &mut possible);
            let outcomes = possible
                .into_iter()
                .map(|(action, condition)| {
                    let next = |step: &Step| Situation::of(&step.state, process);
                    self.outcome(&state, action, condition, Some(process), next)
                })
                .collect();
            let mut plans = lock(&self.plans);
            let plan = plans.plan(outcomes, Situations::number);
            plans.of_processes.set(situation, plan.clone());
            plan
        });
        self.memory.plans.of_processes.set(situation, plan);
    }

    /// The number, as this worker counts them, of the plan of the environment.
    pub(super) fn environment_plan(&mut self, words: &[u32]) -> EnvironmentPlanId {
        let Situation { cluster, environment, .. } = self.situation(stored::situation(words, 0));
        let surroundings = Surroundings { network: stored::network(words), cluster, environment };
        if let Some(number) = self.memory.plans.environment_plan_numbers.get(&surroundings) {
            return *number;
        }
        let known = lock(&self.plans).of_environment.get(&surroundings).cloned();
        let plan = known.unwrap_or_else(|| {
            let state = self.decode(words);
            let mut actions = Vec::new();
            self.common_actions(&state, &mut actions);
            let outcomes = actions
                .into_iter()
                .map(|action| {
                    let next = |step: &Step| step.state.network;
                    self.outcome(&state, action, Condition::Free, None, next)
                })
                .collect();
            let mut plans = lock(&self.plans);
            let plan = plans.plan(outcomes, |_, network| network);
            plans.of_environment.insert(surroundings, plan.clone());
            plan
        });
        let plans = &mut self.memory.plans;
        let number = EnvironmentPlanId::from_index(plans.environment_plan_numbers.len());
        plans.of_environment.set(number, plan);
        plans.environment_plan_numbers.insert(surroundings, number);
        number
    }

    fn outcome<Next>(
        &mut self,
        state: &State,
        action: Action,
        condition: Condition,
        process: Option<usize>,
        next: impl Fn(&Step) -> Next,
    ) -> Outcome<Next> {
        self.deferred = Some(Deferred { process, ..Deferred::default() });
        let step = self.perform(state, action);
        let deferred = self.deferred.take().unwrap_or_default();
        let others = self.controllers().max(1) > usize::from(process.is_some());
        let surroundings = World::visible(&step.state);
        let changed = surroundings != World::visible(state);
        let open = Operations {
            network: deferred.network_ops,
            surroundings: (others && changed).then_some(surroundings),
            hosts: deferred.host_ops,
        };
        Outcome { action, condition, next: next(&step), open, violation: step.violation }
    }

    fn operations(&mut self, open: Open) -> &Arc<Operations> {
        let known = &mut self.memory.plans.operations;
        let index = open.operations().index();
        if index >= known.len() {
            known.extend_from_slice(lock(&self.plans).operations.from(known.len()));
        }
        &known[index]
    }

    /// A network after what was left open on it.
    #[inline]
    pub(super) fn network_after(&mut self, network: NetworkId, open: Open) -> NetworkId {
        if let Some(known) = self.memory.plans.recent_networks_after.get(&(network, open)) {
            return known;
        }
        let known = self.memory.plans.networks_after.get(&(network, open)).copied();
        let after = known.unwrap_or_else(|| {
            let operations = self.operations(open).clone();
            let after = operations.network.iter().fold(network, |network, op| self.network_op(network, *op));
            self.memory.plans.networks_after.insert((network, open), after);
            after
        });
        self.memory.plans.recent_networks_after.set((network, open), after);
        after
    }

    /// The situation of another process after what was left open.
    #[inline]
    pub(super) fn situation_after_open(&mut self, number: SituationId, open: Open) -> SituationId {
        if let Some(known) = self.memory.plans.situations_after.get(&(number, open)) {
            return known;
        }
        let mut situation = self.situation(number);
        let operations = self.operations(open).clone();
        if let Some((cluster, environment)) = operations.surroundings {
            (situation.cluster, situation.environment) = (cluster, environment);
        }
        for (_, op) in operations.hosts.iter().filter(|(process, _)| u32::from(*process) == situation.process)
        {
            situation.host = self.host_after(situation.host, situation.process as usize, *op);
        }
        let after = self.situation_number(situation);
        self.memory.plans.situations_after.set((number, open), after);
        after
    }
}
