//! What the threads of a search share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crate::stopwatch::Stopwatch;

use super::exits::Exits;
use super::exploration::StopReason;
use super::options::Options;
use super::subsumption::Subsumption;
use super::tuple_store::TupleStore;

/// The predecessor of an initial state.
pub(super) const NO_PARENT: u32 = u32::MAX;

/// A violation, by the number of the state where it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// An `always`, by its index among the properties, does not hold.
    Always { property: usize, at: u32 },
    /// A transition from this state violates a rule.
    Step { message: String, at: u32 },
    /// An `eventually` does not hold throughout a bottom strongly connected component.
    Eventually { property: usize, at: u32 },
    /// The model rejects a bottom strongly connected component.
    End { message: String, at: u32 },
}

/// What all threads share.
pub(super) struct Shared {
    pub(super) options: Options,
    /// Whether `always` is evaluated. False while a trace to a component is searched: every state was already evaluated.
    pub(super) evaluates_states: bool,
    /// Whether successors by a fault are deferred until all states with fewer faults are visited.
    pub(super) holds_faults_back: bool,
    /// Whether predecessors are recorded, for a trace. Single-threaded searches only.
    pub(super) keeps_parents: bool,
    pub(super) store: Arc<TupleStore>,
    /// For each property: whether it was seen to hold. Of use for `sometimes` only.
    pub(super) seen: Vec<AtomicBool>,
    pub(super) transitions: AtomicU64,
    /// One step from each state, to decide liveness.
    pub(super) exits: Exits,
    pub(super) model_bytes: AtomicUsize,
    /// Visited states of earlier depths that may subsume new ones.
    pub(super) subsumption: Subsumption,
    /// Why to stop, as the discriminant of a [`StopReason`]. That of `Complete`, 0, stands for going on.
    halt: AtomicU8,
    pub(super) watch: Stopwatch,
}

impl Shared {
    pub(super) fn new(options: Options, store: Arc<TupleStore>, properties: usize) -> Self {
        Shared {
            options,
            evaluates_states: true,
            holds_faults_back: true,
            keeps_parents: false,
            store,
            seen: (0..properties).map(|_| AtomicBool::new(false)).collect(),
            transitions: 0.into(),
            exits: Exits::new(),
            model_bytes: 0.into(),
            subsumption: Subsumption::default(),
            halt: 0.into(),
            watch: Stopwatch::start(),
        }
    }

    /// Makes all threads halt. The first reason counts.
    pub(super) fn halt(&self, reason: StopReason) {
        let _ = self.halt.compare_exchange(0, reason as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn halted(&self) -> Option<StopReason> {
        let endings =
            [StopReason::Violated, StopReason::StateLimit, StopReason::MemoryLimit, StopReason::Stopped];
        let halt = self.halt.load(Ordering::Relaxed);
        endings.into_iter().find(|reason| *reason as u8 == halt)
    }

    /// Memory used by `exits`, in bytes.
    pub(super) fn exit_bytes(&self) -> usize {
        if self.options.liveness { Exits::bytes(self.store.len()) } else { 0 }
    }

    pub(super) fn bytes(&self, level: &Level<'_>) -> usize {
        let arrived = self.store.len().saturating_sub(level.states_before);
        let frontier = (level.frontier.len() + level.waiting + arrived) * size_of::<u32>();
        self.store.bytes()
            + self.subsumption.bytes()
            + self.exit_bytes()
            + frontier
            + self.model_bytes.load(Ordering::Relaxed)
    }
}

/// The states of one depth, to be expanded by all threads together.
pub(super) struct Level<'a> {
    pub(super) frontier: &'a [u32],
    pub(super) cursor: AtomicUsize,
    /// How many states a thread takes at a time.
    pub(super) chunk: usize,
    pub(super) depth: u32,
    pub(super) faults: u32,
    /// How many states wait until one more fault is allowed.
    pub(super) waiting: usize,
    pub(super) states_before: usize,
    /// Whether states are evaluated and not expanded.
    pub(super) evaluate_only: bool,
}
