//! One run, step by step, and what it violates.

use crate::trace::{Trace, TraceStep};
use crate::violation::Violation;

use super::exploration::StopReason;
use super::explore::explore_only;
use super::fair_from::FairFrom;
use super::model::{Model, Next, Property, PropertyKind};
use super::options::Options;

/// Follows a run, and evaluates it.
pub(super) struct Walk<'a, M: Model> {
    model: &'a mut M,
    properties: Vec<Property<M>>,
    pub(super) state: M::State,
    /// What was done, and where.
    taken: Vec<(M::State, M::Action)>,
    /// For each property: whether it was seen to hold. Of use for `sometimes` only.
    pub(super) seen: Vec<bool>,
}

/// What a step led to.
pub(super) enum Stepped {
    /// On.
    On,
    /// Nowhere: it was not possible after all.
    Nowhere,
    /// To a violation.
    Violation(Violation),
}

impl<'a, M: Model> Walk<'a, M> {
    pub(super) fn new(model: &'a mut M, start: M::State) -> Self {
        let properties = model.properties();
        let seen = vec![false; properties.len()];
        Walk { model, properties, state: start, taken: Vec::new(), seen }
    }

    pub(super) fn model(&self) -> &M {
        self.model
    }

    /// Everything that can happen now.
    pub(super) fn actions(&mut self) -> Vec<M::Action> {
        let mut actions = Vec::new();
        self.model.actions(&self.state, &mut actions);
        actions
    }

    /// Takes a step.
    pub(super) fn step(&mut self, action: &M::Action) -> Stepped {
        match self.model.next(&self.state, action) {
            Next::Impossible => Stepped::Nowhere,
            Next::Violation(message) => {
                self.taken.push((self.state.clone(), action.clone()));
                Stepped::Violation(Violation::Step { message, trace: self.trace() })
            }
            Next::State(next) => {
                self.taken.push((std::mem::replace(&mut self.state, next), action.clone()));
                self.evaluate().map_or(Stepped::On, Stepped::Violation)
            }
        }
    }

    /// The first `always` that does not hold now. Notes which `sometimes` do.
    pub(super) fn evaluate(&mut self) -> Option<Violation> {
        let mut broken = None;
        for (number, property) in self.properties.iter().enumerate() {
            let matters = match property.kind {
                PropertyKind::Always => broken.is_none(),
                PropertyKind::Sometimes => !self.seen[number],
                PropertyKind::Eventually => false,
            };
            if !matters {
                continue;
            }
            let holds = (property.holds)(self.model, &self.state);
            self.seen[number] |= holds;
            if property.kind == PropertyKind::Always && !holds {
                broken = Some(property.name.clone());
            }
        }
        broken.map(|property| Violation::Always { property, trace: self.trace() })
    }

    /// Decides liveness for fair runs from here, if they stay within `most_states` states: `None` if all is well, and
    /// `Err` if they do not.
    pub(super) fn decide_liveness(&mut self, most_states: usize) -> Result<Option<Violation>, ()> {
        let start = self.words();
        let rest = FairFrom { model: self.model.clone(), start };
        let exploration =
            explore_only(&rest, &Options { threads: 1, max_states: most_states, ..Options::default() });
        match (exploration.stop_reason, exploration.violation) {
            (StopReason::Violated, Some(violation)) => Ok(Some(after(&self.trace().steps, violation))),
            (StopReason::Complete, _) => Ok(None),
            _ => Err(()),
        }
    }

    /// How many steps were taken.
    pub(super) fn len(&self) -> usize {
        self.taken.len()
    }

    /// The words of the state.
    pub(super) fn words(&mut self) -> Vec<u32> {
        let mut words = vec![0; self.model.width()];
        self.model.encode(&self.state, &mut words);
        words
    }

    /// The names of actions.
    pub(super) fn names(&mut self, actions: &[M::Action]) -> Vec<String> {
        actions.iter().map(|action| self.model.name(&self.state, action)).collect()
    }

    /// The names of the actions that were taken.
    pub(super) fn names_taken(&mut self) -> Vec<String> {
        self.trace().steps.into_iter().map(|step| step.action).collect()
    }

    /// The run in words.
    pub(super) fn trace(&mut self) -> Trace {
        let steps = self.taken.iter().map(|(state, action)| self.model.describe(state, action));
        Trace { steps: steps.collect() }
    }
}

/// A violation after some steps.
fn after(steps: &[TraceStep], violation: Violation) -> Violation {
    let longer = |trace: Trace| Trace { steps: [steps, &trace.steps].concat() };
    match violation {
        Violation::Always { property, trace } => Violation::Always { property, trace: longer(trace) },
        Violation::Eventually { property, trace, repeats } => {
            Violation::Eventually { property, trace: longer(trace), repeats }
        }
        Violation::AtRest { message, trace, repeats } => {
            Violation::AtRest { message, trace: longer(trace), repeats }
        }
        Violation::Step { message, trace } => Violation::Step { message, trace: longer(trace) },
        Violation::Never { .. } => violation,
        Violation::Code { bug, trace } => Violation::Code { bug, trace: longer(trace) },
    }
}
