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
use super::situation::{STORED_HOSTS, STORED_NETWORK, Situation, Situations};
use super::{CLUSTER, ENVIRONMENT, NETWORK, Words, World};
use crate::action::Action;

/// No deferred effects.
pub(super) const NOTHING: Open = Open(0);

pub(super) type Plan = Arc<[Planned]>;
/// The key of a plan of the environment (clients, the network, the cluster's own controllers): the network; the cluster
/// and the environment's state.
type Surroundings = (u32, u64);

/// The plans of all workers.
pub(crate) struct SharedPlans {
    pub(super) situations: Situations,
    /// By the number of the situation.
    of_processes: Vec<Option<Plan>>,
    of_environment: FxHashMap<Surroundings, Plan>,
    numbers: FxHashMap<Arc<Operations>, u32>,
    operations: Vec<Arc<Operations>>,
    /// How many steps are planned.
    steps: usize,
}

/// The plans that one worker has met.
#[derive(Default)]
pub(crate) struct Plans {
    pub(super) situations: Vec<Situation>,
    pub(super) situation_numbers: Recent<Situation>,
    pub(super) of_processes: Vec<Option<Plan>>,
    of_environment: FxHashMap<Surroundings, u32>,
    pub(super) of_environment_by_number: Vec<Option<Plan>>,
    operations: Vec<Arc<Operations>>,
    /// What open operations have made of networks and situations, and the same of networks as far as it was lately.
    networks_after: FxHashMap<(u32, Open), u32>,
    recent_networks_after: Recent<(u32, Open)>,
    situations_after: Recent<(u32, Open)>,
}

impl Plans {
    /// The plan of a situation that was asked for before.
    pub(super) fn known(&self, situation: u32) -> &Plan {
        let plan = self.of_processes.get(situation as usize).and_then(Option::as_ref);
        plan.expect("it was asked for")
    }

    /// A plan of the environment that was asked for before.
    pub(super) fn known_of_environment(&self, number: usize) -> &Plan {
        self.of_environment_by_number[number].as_ref().expect("it was asked for")
    }
}

/// One step of a plan. There are many, so each is small: its action is left out, since the actions of a plan can be
/// listed again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) condition: PackedCondition,
    /// The situation of the process afterwards, or the network in a plan of the environment.
    pub(super) next: u32,
    /// What remains to be done to all else.
    pub(super) open: Open,
    /// The kind of the action, whether it is a fault, and the number of its violation, plus one.
    traits: u32,
}

impl Planned {
    pub(super) fn kind(&self) -> usize {
        (self.traits & 0x7f) as usize
    }

    pub(super) fn is_fault(&self) -> bool {
        self.traits & 0x80 != 0
    }

    /// The number of its violation.
    pub(super) fn violation(&self) -> Option<u32> {
        (self.traits >> 8).checked_sub(1)
    }
}

/// What a step does, before it is put into a plan.
struct Outcome {
    action: Action,
    condition: Condition,
    next: Next,
    open: Operations,
    violation: Option<u32>,
}

/// What a step leads to: the situation of the process, or the network if it is of the environment.
enum Next {
    Situation(Situation),
    Network(u32),
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

    fn number(self) -> usize {
        (self.0 >> 2) as usize
    }
}

/// Operations on parts that a plan leaves open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Operations {
    network: Vec<NetworkOp>,
    /// The cluster and the environment, if they change for other processes too.
    surroundings: Option<(u32, u32)>,
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
        let nothing = Arc::new(Operations::default());
        SharedPlans {
            situations: Situations::default(),
            of_processes: Vec::new(),
            of_environment: FxHashMap::default(),
            numbers: FxHashMap::from_iter([(nothing.clone(), 0)]),
            operations: vec![nothing],
            steps: 0,
        }
    }

    /// Bytes that all of this takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let plans = self.of_processes.len() + self.of_environment.len();
        self.steps * size_of::<Planned>() + plans * 64 + self.situations.len() * 64
    }

    /// Puts what steps do into a plan.
    fn plan(&mut self, outcomes: Vec<Outcome>) -> Plan {
        self.steps += outcomes.len();
        let planned = outcomes.into_iter().map(|outcome| Planned {
            condition: outcome.condition.pack(),
            next: match outcome.next {
                Next::Situation(situation) => self.situations.number(situation),
                Next::Network(network) => network,
            },
            open: self.open(outcome.open),
            traits: outcome.action.kind() as u32
                | u32::from(outcome.action.fault().is_some()) << 7
                | outcome.violation.map_or(0, |violation| (violation + 1) << 8),
        });
        planned.collect()
    }

    fn open(&mut self, operations: Operations) -> Open {
        let flags = u32::from(!operations.network.is_empty())
            | u32::from(!operations.hosts.is_empty() || operations.surroundings.is_some()) << 1;
        let next = self.operations.len() as u32;
        let number = *self.numbers.get(&operations).unwrap_or(&next);
        if number == next {
            let operations = Arc::new(operations);
            self.operations.push(operations.clone());
            self.numbers.insert(operations, number);
        }
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
        let number = words[STORED_HOSTS + process] as usize;
        if !matches!(self.memory.plans.of_processes.get(number), Some(Some(_))) {
            self.find_plan(words, process, number);
        }
    }

    fn find_plan(&mut self, words: &[u32], process: usize, number: usize) {
        let known = lock(&self.plans).of_processes.get(number).cloned().flatten();
        let plan = known.unwrap_or_else(|| {
            let state = self.decode(words);
            let mut possible = Vec::new();
            self.host_actions(&state, process, &mut possible);
            let outcomes = possible
                .into_iter()
                .map(|(action, condition)| self.outcome(&state, action, condition, Some(process)))
                .collect();
            let mut plans = lock(&self.plans);
            let plan = plans.plan(outcomes);
            set(&mut plans.of_processes, number, plan.clone());
            plan
        });
        set(&mut self.memory.plans.of_processes, number, plan);
    }

    /// The number, as this worker counts them, of the plan of the environment.
    pub(super) fn environment_plan(&mut self, words: &[u32]) -> usize {
        let Situation { cluster, environment, .. } = self.situation(words[STORED_HOSTS]);
        let surroundings = (words[STORED_NETWORK], u64::from(cluster) << 32 | u64::from(environment));
        if let Some(number) = self.memory.plans.of_environment.get(&surroundings) {
            return *number as usize;
        }
        let known = lock(&self.plans).of_environment.get(&surroundings).cloned();
        let plan = known.unwrap_or_else(|| {
            let state = self.decode(words);
            let mut actions = Vec::new();
            self.common_actions(&state, &mut actions);
            let outcomes = actions
                .into_iter()
                .map(|action| self.outcome(&state, action, Condition::Free, None))
                .collect();
            let mut plans = lock(&self.plans);
            let plan = plans.plan(outcomes);
            plans.of_environment.insert(surroundings, plan.clone());
            plan
        });
        let number = self.memory.plans.of_environment_by_number.len();
        self.memory.plans.of_environment_by_number.push(Some(plan));
        self.memory.plans.of_environment.insert(surroundings, number as u32);
        number
    }

    fn outcome(
        &mut self,
        state: &Words,
        action: Action,
        condition: Condition,
        process: Option<usize>,
    ) -> Outcome {
        self.deferred = Some(Deferred { process, ..Deferred::default() });
        let step = self.perform(state, action);
        let deferred = self.deferred.take().unwrap_or_default();
        let next = match process {
            Some(process) => Next::Situation(Situation::of(&step.state, process)),
            None => Next::Network(step.state[NETWORK]),
        };
        let others = self.width() - STORED_HOSTS > usize::from(process.is_some());
        let surroundings = [CLUSTER, ENVIRONMENT].map(|part| step.state[part]);
        let changed = surroundings != [CLUSTER, ENVIRONMENT].map(|part| state[part]);
        let open = Operations {
            network: deferred.network_ops,
            surroundings: (others && changed).then_some(surroundings.into()),
            hosts: deferred.host_ops,
        };
        Outcome { action, condition, next, open, violation: step.violation }
    }

    fn operations(&mut self, open: Open) -> &Arc<Operations> {
        let known = &mut self.memory.plans.operations;
        if open.number() >= known.len() {
            let from = known.len();
            known.extend_from_slice(&lock(&self.plans).operations[from..]);
        }
        &known[open.number()]
    }

    /// A network after what was left open on it.
    #[inline]
    pub(super) fn network_after(&mut self, network: u32, open: Open) -> u32 {
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
    pub(super) fn situation_after_open(&mut self, number: u32, open: Open) -> u32 {
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

fn set(plans: &mut Vec<Option<Plan>>, number: usize, plan: Plan) {
    if plans.len() <= number {
        plans.resize(number + 1, None);
    }
    plans[number] = Some(plan);
}
