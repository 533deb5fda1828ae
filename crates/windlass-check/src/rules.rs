//! What a check demands: the user's properties and the built-in ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::PropertyKind;
use crate::oracle::Oracle;
use crate::view::{Between, View};

/// A predicate on the abstract state.
pub(crate) type StatePredicate = Arc<dyn Fn(&View<'_>) -> bool + Send + Sync>;
/// A predicate on a step.
pub(crate) type StepPredicate = Arc<dyn Fn(&Between<'_>) -> bool + Send + Sync>;

/// Everything that a check demands.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) states: Vec<StateRule>,
    pub(crate) steps: Vec<StepRule>,
    pub(crate) oracles: BTreeSet<Oracle>,
}

/// A named rule on states.
#[derive(Clone)]
pub(crate) struct StateRule {
    pub(crate) kind: PropertyKind,
    pub(crate) name: String,
    pub(crate) predicate: StatePredicate,
}

/// A named rule on steps: what must never happen between two states.
#[derive(Clone)]
pub(crate) struct StepRule {
    pub(crate) name: String,
    pub(crate) predicate: StepPredicate,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { states: Vec::new(), steps: Vec::new(), oracles: Oracle::ALL.into() }
    }
}

impl Rules {
    /// The names of all that is demanded, for the verdict.
    pub(crate) fn names(&self) -> Vec<String> {
        let states = self.states.iter().map(|rule| {
            let kind = match rule.kind {
                PropertyKind::Always => "always",
                PropertyKind::Eventually => "eventually",
                PropertyKind::Sometimes => "sometimes",
            };
            format!("{kind} {:?}", rule.name)
        });
        let steps = self.steps.iter().map(|rule| format!("never between {:?}", rule.name));
        states.chain(steps).chain(self.oracles.iter().map(Oracle::to_string)).collect()
    }
}
