//! Where everything that can happen in a state leads.

use super::model::{Model, Next};

/// The steps from a state, as a model works them out.
pub struct Expansion<Action> {
    /// The words of the state.
    from: Vec<u32>,
    /// The words of the states that the steps lead to, one after the other.
    words: Vec<u32>,
    steps: Vec<Step>,
    /// Violations of steps, by their index.
    violations: Vec<(usize, String)>,
    /// Actions under way, kept so that there is always room for them.
    actions: Vec<Action>,
    /// Whether a state stands for all that are like it.
    symmetry: bool,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) kind: u16,
    pub(super) is_fault: bool,
    pub(super) is_violation: bool,
}

impl<Action> Expansion<Action> {
    pub(super) fn new(symmetry: bool) -> Self {
        Expansion {
            from: Vec::new(),
            words: Vec::new(),
            steps: Vec::new(),
            violations: Vec::new(),
            actions: Vec::new(),
            symmetry,
        }
    }

    /// Begins with a state, by its words.
    #[inline]
    pub(super) fn start(&mut self, from: &[u32]) {
        self.from.clear();
        self.from.extend_from_slice(from);
        self.words.clear();
        self.steps.clear();
        self.violations.clear();
    }

    /// The words of the state that the steps are from.
    #[inline]
    #[must_use]
    pub fn from(&self) -> &[u32] {
        &self.from
    }

    /// Whether the state stands for all that are like it (see [`Model::symmetries`]). A step must then be forbidden if it
    /// must never happen in any of these.
    #[must_use]
    pub fn symmetry(&self) -> bool {
        self.symmetry
    }

    /// Adds a step of a kind (see [`Model::kinds`]). Returns the words of the state that it leads to, to be changed:
    /// they begin as those of the state that it is from.
    #[inline]
    pub fn add(&mut self, kind: usize, is_fault: bool) -> &mut [u32] {
        let offset = self.words.len();
        for index in 0..self.from.len() {
            self.words.push(self.from[index]);
        }
        self.steps.push(Step { kind: kind as u16, is_fault, is_violation: false });
        &mut self.words[offset..]
    }

    /// Marks a step, by its index, as one that must never happen, and says why. The first reason counts.
    pub fn forbid(&mut self, step: usize, why: String) {
        if !self.steps[step].is_violation {
            self.steps[step].is_violation = true;
            self.violations.push((step, why));
        }
    }

    /// How many steps there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing can happen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The words of the state that a step leads to.
    #[inline]
    #[must_use]
    pub fn words(&self, step: usize) -> &[u32] {
        let width = self.from.len();
        &self.words[step * width..(step + 1) * width]
    }

    #[inline]
    pub(super) fn step(&self, step: usize) -> Step {
        self.steps[step]
    }

    /// Why a step must never happen.
    pub(super) fn why(&self, step: usize) -> String {
        let found = self.violations.iter().find(|(index, _)| *index == step);
        found.map(|(_, why)| why.clone()).unwrap_or_default()
    }
}

/// Expands a state action by action.
pub(crate) fn by_actions<M: Model>(
    model: &mut M,
    state: &M::State,
    ample_only: bool,
    expansion: &mut Expansion<M::Action>,
) {
    let mut actions = std::mem::take(&mut expansion.actions);
    actions.clear();
    model.actions(state, &mut actions);
    let ample = if ample_only && actions.len() > 1 { model.ample_action(state, &actions) } else { None };
    // After a fault, those that need none would be missing.
    let ample = ample.filter(|ample| !model.is_fault(&actions[*ample]));
    let is_enough = ample.is_some_and(|ample| perform(model, state, &actions[ample], expansion));
    if !is_enough {
        for action in &actions {
            perform(model, state, action, expansion);
        }
    }
    expansion.actions = actions;
}

/// Adds the step of an action. Says whether it is possible.
fn perform<M: Model>(
    model: &mut M,
    state: &M::State,
    action: &M::Action,
    expansion: &mut Expansion<M::Action>,
) -> bool {
    let next = model.next(state, action);
    let (kind, is_fault) = (model.kind(action), model.is_fault(action));
    match next {
        Next::Impossible => return false,
        Next::State(next) => model.encode(&next, expansion.add(kind, is_fault)),
        Next::Violation(why) => {
            expansion.add(kind, is_fault);
            expansion.forbid(expansion.len() - 1, why);
        }
    }
    true
}
