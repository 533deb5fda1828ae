//! What an exploration found.

use std::time::Duration;

use crate::trace::Trace;

use super::simulate::Simulation;

/// Why an exploration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every state was visited.
    Complete,
    /// Something is wrong.
    Violated,
    /// There were too many states.
    StateLimit,
    /// There was too little memory.
    MemoryLimit,
    /// It was told to stop.
    Stopped,
}

/// What an exploration found, and how much it saw.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Why it ended.
    pub ended: Ended,
    /// What is wrong.
    pub violation: Option<Violation>,
    /// Distinct states that were visited.
    pub states: usize,
    /// Steps that were taken between them.
    pub transitions: u64,
    /// The most steps from a first state to one visited.
    pub depth: u32,
    /// If it is not complete: for how many numbers of faults, from none upwards, everything was visited and judged.
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
    /// Whether every state was visited and nothing is wrong.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.ended == Ended::Complete && self.violation.is_none()
    }

    /// Whether there was too little memory, or there were too many states.
    #[must_use]
    pub fn reached_limit(&self) -> bool {
        matches!(self.ended, Ended::StateLimit | Ended::MemoryLimit)
    }
}

/// Bytes, at the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Of the visited states.
    pub visited: usize,
    /// Of one step from each of them, for the judgement of ends.
    pub exits: usize,
    /// Of what was still to be expanded.
    pub frontier: usize,
    /// Of what the model says of itself.
    pub model: usize,
    /// Of all of it together, when it was most.
    pub total: usize,
}

impl Memory {
    /// Bytes for each of so many states.
    #[must_use]
    pub fn per_state(&self, states: usize) -> f64 {
        self.total as f64 / states.max(1) as f64
    }
}

/// Something that is wrong. Traces have as few faults as possible, and then as few steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A state breaks an `always`.
    Always {
        /// The property.
        property: String,
        /// The way there.
        trace: Trace,
    },
    /// A fair run ends up where an `eventually` does not hold.
    Eventually {
        /// The property.
        property: String,
        /// The way there.
        trace: Trace,
        /// A way from there back to the same state; empty if nothing more happens.
        repeats: Trace,
    },
    /// No state satisfies a `sometimes`: the check may be vacuous.
    Never {
        /// The property.
        property: String,
    },
    /// The model objects to an end of fair runs.
    End {
        /// Why.
        message: String,
        /// The way there.
        trace: Trace,
        /// A way from there back to the same state; empty if nothing more happens.
        repeats: Trace,
    },
    /// Something happened that must never happen.
    Wrong {
        /// What.
        message: String,
        /// The way there, with the action itself.
        trace: Trace,
    },
}
