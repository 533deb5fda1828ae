//! Plans: everything that a process can do with its own state, the cluster and the environment, worked out once.
//!
//! Most of what a process does depends on the network in two ways only: whether a message of its own is still on
//! its way, and whether a message may come again. So a plan is made for each combination of the other parts, with
//! what it does to the network, and to other processes, left open. A second kind of plan holds what clients, the
//! network and the cluster's own controllers can do. All workers share the plans; each remembers those it has met.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::actions::Condition;
use super::ops::{HostOp, NetworkOp};
use super::{CLUSTER, ENVIRONMENT, HOSTS, NETWORK, Words, World};
use crate::action::Action;

/// An action, and where this worker has its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) action: Action,
    /// The number of the plan, as this worker counts them, and the place in it.
    plan: u32,
    place: u16,
}

const UNPLANNED: u32 = u32::MAX;
/// Stands for no operations at all.
const NOTHING: u32 = 0;
/// The process of a plan that is not of a process.
const NOBODY: usize = usize::MAX;

/// What a plan is for: the process and its host, or the network; the cluster and the environment.
type Purpose = (u64, u64);
type Plan = Arc<[Planned]>;

/// The plans of all workers.
pub(crate) struct SharedPlans {
    plans: FxHashMap<Purpose, Plan>,
    numbers: FxHashMap<Arc<Operations>, u32>,
    operations: Vec<Arc<Operations>>,
}

/// The plans that one worker has met.
#[derive(Default)]
pub(crate) struct Plans {
    numbers: FxHashMap<Purpose, u32>,
    plans: Vec<Plan>,
    operations: Vec<Arc<Operations>>,
    networks: FxHashMap<(u32, u32), u32>,
}

/// One action of a plan.
#[derive(Clone, Copy, Debug)]
struct Planned {
    action: Action,
    condition: Condition,
    /// The words of the next state, as far as they are settled: cluster, environment, and the host or the network.
    settled: [u32; 3],
    /// What remains to be done to the network and to other processes.
    open: u32,
    wrong: Option<u32>,
}

/// Operations on parts that a plan leaves open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Operations {
    network: Vec<NetworkOp>,
    hosts: Vec<(u8, HostOp)>,
}

/// What a step that is being planned leaves open.
#[derive(Default)]
pub(crate) struct Deferred {
    /// The process whose plan it is; `None` if it is nobody's.
    pub(crate) process: Option<usize>,
    pub(crate) network_ops: Vec<NetworkOp>,
    pub(crate) host_ops: Vec<(u8, HostOp)>,
}

impl SharedPlans {
    pub(crate) fn new() -> Self {
        let nothing = Arc::new(Operations::default());
        SharedPlans {
            plans: FxHashMap::default(),
            numbers: FxHashMap::from_iter([(nothing.clone(), NOTHING)]),
            operations: vec![nothing],
        }
    }

    fn number(&mut self, operations: Operations) -> u32 {
        if let Some(known) = self.numbers.get(&operations) {
            return *known;
        }
        let number = self.operations.len() as u32;
        let operations = Arc::new(operations);
        self.operations.push(operations.clone());
        self.numbers.insert(operations, number);
        number
    }
}

/// The plans, which a worker that panicked has left as they were.
fn lock(plans: &Mutex<SharedPlans>) -> MutexGuard<'_, SharedPlans> {
    plans.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// Everything that can happen next, in a fixed order.
    pub(crate) fn moves(&mut self, state: &Words, moves: &mut Vec<Move>) {
        // A view that is behind ties every process to the writes of all others: nothing can be planned apart.
        if self.faults().stale > 0 {
            let mut actions = Vec::new();
            self.actions(state, &mut actions);
            moves.extend(actions.into_iter().map(|action| Move { action, plan: UNPLANNED, place: 0 }));
            return;
        }
        self.network(state);
        for process in 0..self.controllers() {
            let plan = self.plan(state, process);
            let network = self.memory.known_network(state[NETWORK]);
            for (place, planned) in self.memory.plans.plans[plan as usize].iter().enumerate() {
                if planned.condition.holds(network, process) {
                    moves.push(Move { action: planned.action, plan, place: place as u16 });
                }
            }
        }
        let plan = self.plan(state, NOBODY);
        let planned = self.memory.plans.plans[plan as usize].iter().enumerate();
        moves.extend(planned.map(|(place, planned)| Move {
            action: planned.action,
            plan,
            place: place as u16,
        }));
    }

    /// Where a move leads, and what is wrong with it.
    pub(crate) fn make(&mut self, state: &Words, next: &Move) -> (Words, Option<u32>) {
        let (mut after, wrong) = self.make_plainly(state, next);
        if self.reductions.versions && self.faults.stale == 0 {
            self.canonical(&mut after);
        }
        (after, wrong)
    }

    fn make_plainly(&mut self, state: &Words, next: &Move) -> (Words, Option<u32>) {
        if next.plan == UNPLANNED {
            let step = self.perform(state, next.action);
            return (step.state, step.wrong);
        }
        let planned = self.memory.plans.plans[next.plan as usize][usize::from(next.place)];
        debug_assert_eq!(planned.action, next.action, "a move is made by the worker that planned it");
        let mut after = *state;
        let own = next.action.process().map_or(NETWORK, |process| HOSTS + process);
        [after[CLUSTER], after[ENVIRONMENT], after[own]] = planned.settled;
        if planned.open != NOTHING {
            self.catch_up(&mut after, planned.open);
        }
        (after, planned.wrong)
    }

    /// Does what a plan has left open.
    fn catch_up(&mut self, state: &mut Words, open: u32) {
        let known = self.memory.plans.networks.get(&(state[NETWORK], open)).copied();
        state[NETWORK] = known.unwrap_or_else(|| self.network_after(state[NETWORK], open));
        for index in 0..self.operations(open).hosts.len() {
            let (process, op) = self.operations(open).hosts[index];
            state[HOSTS + usize::from(process)] = self.host_after(state, process.into(), op);
        }
    }

    /// Operations by their number.
    fn operations(&mut self, open: u32) -> &Arc<Operations> {
        let known = &mut self.memory.plans.operations;
        if open as usize >= known.len() {
            let from = known.len();
            known.extend_from_slice(&lock(&self.plans).operations[from..]);
        }
        &known[open as usize]
    }

    fn network_after(&mut self, network: u32, open: u32) -> u32 {
        let operations = self.operations(open).clone();
        let after = operations.network.iter().fold(network, |network, op| self.network_op(network, *op));
        self.memory.plans.networks.insert((network, open), after);
        after
    }

    /// The number of a plan, which is made when it is first needed by anybody.
    fn plan(&mut self, state: &Words, process: usize) -> u32 {
        let own = if process == NOBODY { NETWORK } else { HOSTS + process };
        let first = u64::from(state[own]) << 32 | u64::from(process as u32);
        let purpose = (first, u64::from(state[CLUSTER]) << 32 | u64::from(state[ENVIRONMENT]));
        if let Some(number) = self.memory.plans.numbers.get(&purpose) {
            return *number;
        }
        let known = lock(&self.plans).plans.get(&purpose).cloned();
        let plan = known.unwrap_or_else(|| {
            let plan = self.make_plan(state, process, own);
            lock(&self.plans).plans.insert(purpose, plan.clone());
            plan
        });
        let number = self.memory.plans.plans.len() as u32;
        self.memory.plans.plans.push(plan);
        self.memory.plans.numbers.insert(purpose, number);
        number
    }

    fn make_plan(&mut self, state: &Words, process: usize, own: usize) -> Plan {
        let mut possible = Vec::new();
        if process == NOBODY {
            let mut actions = Vec::new();
            self.common_actions(state, &mut actions);
            possible.extend(actions.into_iter().map(|action| (action, Condition::Free)));
        } else {
            self.host_actions(state, process, &mut possible);
        }
        possible.into_iter().map(|(action, condition)| self.planned(state, action, condition, own)).collect()
    }

    fn planned(&mut self, state: &Words, action: Action, condition: Condition, own: usize) -> Planned {
        let process = own.checked_sub(HOSTS);
        self.deferred = Some(Deferred { process, ..Deferred::default() });
        let step = self.perform(state, action);
        let deferred = self.deferred.take().unwrap_or_default();
        let open = Operations { network: deferred.network_ops, hosts: deferred.host_ops };
        Planned {
            action,
            condition,
            settled: [step.state[CLUSTER], step.state[ENVIRONMENT], step.state[own]],
            open: lock(&self.plans).number(open),
            wrong: step.wrong,
        }
    }
}
