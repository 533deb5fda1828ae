//! How much an evaluation may cost, counted as Kubernetes counts it.

use crate::error::EvalError;
use crate::value::Value;

/// What one evaluation may cost in Kubernetes.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// What all rules of one write may cost together in Kubernetes.
pub const RUNTIME_COST_BUDGET: u64 = 10_000_000;

/// Bytes built and values visited in one evaluation. Kubernetes' costs ignore some of both
/// (the result of `replace`, the depth of `==`), so this bounds memory and time for certain.
const EFFORT_LIMIT: u64 = 50_000_000;

/// The cost that evaluations may still run up.
#[derive(Clone, Debug)]
pub struct Budget {
    limit: u64,
    spent: u64,
    effort: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget::new(PER_CALL_LIMIT)
    }
}

impl Budget {
    /// Creates a budget with a limit in units of cost.
    pub fn new(limit: u64) -> Self {
        Budget { limit, spent: 0, effort: 0 }
    }

    /// The cost so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Adds to the cost.
    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > self.limit { Err(EvalError::cost_exceeded()) } else { Ok(()) }
    }

    /// Adds a tenth per character, rounded up: the cost of walking a string.
    pub(crate) fn charge_traversal(&mut self, characters: u64) -> Result<(), EvalError> {
        self.charge(characters.div_ceil(10))
    }

    /// Takes back the cost of an expression that is free where it stands.
    pub(crate) fn refund(&mut self, cost: u64) {
        self.spent = self.spent.saturating_sub(cost);
    }

    /// Counts a value about to be visited, which takes as long as copying some bytes.
    pub(crate) fn visit(&mut self) -> Result<(), EvalError> {
        self.work(size_of::<Value<'_>>())
    }

    /// Counts bytes about to be built.
    pub(crate) fn work(&mut self, amount: usize) -> Result<(), EvalError> {
        self.effort = self.effort.saturating_add(amount as u64);
        if self.effort > EFFORT_LIMIT { Err(EvalError::cost_exceeded()) } else { Ok(()) }
    }
}
