//! What an exploration found.

use std::time::Duration;

use crate::violation::Violation;

use super::simulate::Simulation;

/// Why an exploration stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Every state was visited.
    Complete,
    /// A rule is violated.
    Violated,
    /// There were too many states.
    StateLimit,
    /// There was too little memory.
    MemoryLimit,
    /// It was stopped from outside.
    Stopped,
}

impl StopReason {
    /// The verdict in words, of an exploration that found a violation or none.
    #[must_use]
    pub fn verdict(self, is_violated: bool) -> &'static str {
        match self {
            _ if is_violated => "VIOLATED",
            StopReason::Complete | StopReason::Violated => "holds",
            StopReason::StateLimit => "NOT DECIDED (the state limit was reached)",
            StopReason::MemoryLimit => "NOT DECIDED (the memory was full)",
            StopReason::Stopped => "NOT DECIDED (it was stopped)",
        }
    }
}

/// What an exploration found, and how much it saw.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// The violation that was found.
    pub violation: Option<Violation>,
    /// Distinct states that were visited.
    pub states: usize,
    /// Steps that were taken between them.
    pub transitions: u64,
    /// The most steps from a first state to one visited.
    pub depth: u32,
    /// If it is not complete: for how many numbers of faults, from none upwards, everything was visited and decided.
    pub fault_layers: Option<u32>,
    /// How long it took.
    pub elapsed: Duration,
    /// What it took in memory.
    pub memory: Memory,
    /// The kinds of actions, and how often one of each was possible.
    pub kinds: Vec<(&'static str, u64)>,
    /// The `sometimes` properties, and whether each was seen to hold.
    pub sometimes: Vec<(String, bool)>,
    /// In how many ways fair runs end: sets of states that they visit for ever, once they are there.
    pub ends: usize,
    /// What random runs found after a limit was reached, if that was asked for.
    pub simulation: Option<Simulation>,
}

impl Exploration {
    /// Whether every state was visited and nothing is violated.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.stop_reason == StopReason::Complete && self.violation.is_none()
    }

    /// Whether there was too little memory, or there were too many states.
    #[must_use]
    pub fn reached_limit(&self) -> bool {
        matches!(self.stop_reason, StopReason::StateLimit | StopReason::MemoryLimit)
    }
}

/// Bytes, at the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Of the visited states.
    pub visited: usize,
    /// Of one step from each of them, to decide liveness.
    pub exits: usize,
    /// Of what was still to be expanded.
    pub frontier: usize,
    /// Of what the model says of itself.
    pub model: usize,
    /// Of all of it together, when it was most.
    pub total: usize,
}

impl Memory {
    /// Bytes per state.
    #[must_use]
    pub fn per_state(&self, states: usize) -> f64 {
        self.total as f64 / states.max(1) as f64
    }
}
