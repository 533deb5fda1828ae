//! The world: all hosts together. A state is a tuple of numbers, each naming an interned part.
//!
//! `parts` knows what every part is and does; `memory` is what one worker remembers of it, so that a step costs a few
//! look-ups; `actions` says what can happen, `perform` makes it happen, `plan` remembers both together.

mod actions;
mod canonical;
mod expand;
mod memory;
mod menu;
mod ops;
mod parts;
mod perform;
mod permutation;
mod plan;
mod recent;
mod reduce;
pub(crate) mod renumber;
mod seen;
mod seen_step;
mod situation;
mod stored;
mod subsumption;
mod symmetry;
mod views;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use expand::Move;
pub(crate) use menu::MenuSlot;
pub(crate) use ops::{HostOp, NetworkOp, StepViolation};
pub(crate) use parts::{Parts, Setup};
pub(crate) use seen_step::SeenStep;
pub(crate) use symmetry::Asymmetry;
pub(crate) use views::NOTHING_UNSEEN;

use crate::fault::Budget;
pub(crate) use crate::host::environment::EnvOp;
use crate::ids::{AnswerId, AskId, ClusterId, EnvironmentId, HostId, NetworkId, ViolationId};
use memory::Memory;
use permutation::Permutation;

/// The most controller processes that a world can have.
pub(crate) const MOST_PROCESSES: usize = 13;

/// A state of the world, by the numbers of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) cluster: ClusterId,
    pub(crate) network: NetworkId,
    pub(crate) environment: EnvironmentId,
    /// By process. Those beyond the last process are all the same, so that they make no difference.
    pub(crate) hosts: [HostId; MOST_PROCESSES],
}

/// What properties can see of a state: cluster and environment.
pub(crate) type Visible = (ClusterId, EnvironmentId);

/// The world as one worker sees it. A clone shares the parts and begins with an empty memory of its own.
pub(crate) struct World {
    parts: Arc<Mutex<Parts>>,
    plans: Arc<Mutex<plan::SharedPlans>>,
    processes: usize,
    memory: Memory,
    faults: crate::fault::Faults,
    clock_limit: u32,
    /// How many objects a process reconciles at the same time.
    workers: usize,
    peers: usize,
    script_lengths: Arc<[usize]>,
    /// Collects what a step does to parts that a plan leaves open.
    deferred: Option<plan::Deferred>,
    /// Whether states are renumbered after every step.
    renumbers: bool,
    /// Whether there are faults of which states could have more or less left.
    has_faults: bool,
    initial: State,
    /// The permutations of names and processes.
    permutations: Arc<[Permutation]>,
}

/// A step of the world under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) state: State,
    /// The answer that was given, for traces.
    pub(crate) answer: Option<AnswerId>,
    /// The cluster and the ask that met, for traces.
    pub(crate) met: Option<(ClusterId, AskId)>,
    /// A reconcile that came to its end.
    pub(crate) ending: Option<ops::Ending>,
    /// Something that must never happen.
    pub(crate) violation: Option<ViolationId>,
}

impl World {
    pub(crate) fn new(setup: Setup) -> Self {
        assert!(
            setup.processes.len() <= MOST_PROCESSES,
            "a world has at most {MOST_PROCESSES} controller processes, not {}",
            setup.processes.len()
        );
        let (processes, faults, clock_limit) =
            (setup.processes.len(), setup.faults.clone(), setup.clock_limit);
        let workers = setup.workers;
        let has_faults = setup.faults.duplicates || setup.faults.most != Budget::default();
        let (peers, renumbers) = (1 + setup.services.len(), setup.renumbers());
        let script_lengths = setup.scripts.iter().map(Vec::len).collect();
        let mut parts = Parts::new(setup);
        let initial = parts.initial();
        World {
            processes,
            faults,
            clock_limit,
            workers,
            peers,
            script_lengths,
            deferred: None,
            renumbers,
            has_faults,
            permutations: parts.permutations.all.as_slice().into(),
            initial,
            parts: Arc::new(Mutex::new(parts)),
            plans: Arc::new(Mutex::new(plan::SharedPlans::new())),
            memory: Memory::default(),
        }
    }

    /// The same world with no parts known yet.
    pub(crate) fn fresh_copy(&self) -> Self {
        World::new(self.parts().setup.clone())
    }

    /// What all workers share.
    pub(crate) fn parts(&self) -> MutexGuard<'_, Parts> {
        lock(&self.parts)
    }

    /// The name of a process: that of its controller, numbered if there are several of it.
    pub(crate) fn process_name(&self, process: usize) -> String {
        match self.controller_of(process) {
            (name, 0) => name,
            (name, number) => format!("{name}#{}", number + 1),
        }
    }

    /// The controller of a process, and which of its processes it is, from 0.
    fn controller_of(&self, process: usize) -> (String, usize) {
        let processes = &self.parts().setup.processes;
        let name = processes[process].name();
        let alike = processes[..process].iter().filter(|earlier| earlier.name() == name).count();
        (name.to_owned(), alike)
    }

    /// How many controller processes there are.
    pub(crate) fn controllers(&self) -> usize {
        self.processes
    }

    pub(crate) fn faults(&self) -> &crate::fault::Faults {
        &self.faults
    }

    /// How many peers a controller has: the API server and the services.
    pub(crate) fn peers(&self) -> usize {
        self.peers
    }

    pub(crate) fn initial(&self) -> State {
        self.initial
    }

    /// How many events each client's script has.
    pub(crate) fn script_lengths(&self) -> Arc<[usize]> {
        self.script_lengths.clone()
    }

    /// The number of permutations of names and processes.
    pub(crate) fn permutations(&self) -> usize {
        self.permutations.len()
    }
}

impl Clone for World {
    fn clone(&self) -> Self {
        World {
            parts: self.parts.clone(),
            plans: self.plans.clone(),
            processes: self.processes,
            memory: Memory::default(),
            faults: self.faults.clone(),
            clock_limit: self.clock_limit,
            workers: self.workers,
            peers: self.peers,
            script_lengths: self.script_lengths.clone(),
            deferred: None,
            renumbers: self.renumbers,
            has_faults: self.has_faults,
            initial: self.initial,
            permutations: self.permutations.clone(),
        }
    }
}

fn lock(parts: &Mutex<Parts>) -> MutexGuard<'_, Parts> {
    // A worker that panicked has left nothing half done here: every part is added in one step.
    parts.lock().unwrap_or_else(PoisonError::into_inner)
}
