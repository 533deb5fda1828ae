//! What a check demands: the user's properties and the built-in ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::between::Between;
use crate::engine::PropertyKind;
use crate::oracle::Oracle;
use crate::view::View;
use crate::violation::Violation;

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
    /// Fields, as JSON pointers, in which ends may differ.
    pub(crate) may_differ: Vec<String>,
    /// Services in whose states ends may differ.
    pub(crate) services_may_differ: Vec<String>,
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

impl StepRule {
    /// That it is broken, in words.
    pub(crate) fn happens(&self) -> String {
        format!("never between \"{}\" happens", self.name)
    }
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            states: Vec::new(),
            steps: Vec::new(),
            oracles: Oracle::ALL.into(),
            may_differ: Vec::new(),
            services_may_differ: Vec::new(),
        }
    }
}

impl Rules {
    /// The rules without the one that is violated; `None` if there is none to leave out, as for broken code.
    pub(crate) fn without(&self, violation: &Violation) -> Option<Rules> {
        let mut rules = self.clone();
        match violation {
            Violation::Always { property, .. }
            | Violation::Eventually { property, .. }
            | Violation::Never { property } => rules.states.retain(|rule| rule.name != *property),
            Violation::Step { message, .. } | Violation::AtRest { message, .. } => {
                rules.steps.retain(|rule| *message != rule.happens());
                rules.oracles.retain(|oracle| !message.starts_with(&format!("\"{oracle}\"")));
            }
            Violation::Code { .. } => return None,
        }
        let size = |rules: &Rules| rules.states.len() + rules.steps.len() + rules.oracles.len();
        (size(&rules) < size(self)).then_some(rules)
    }

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
