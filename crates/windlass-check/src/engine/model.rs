//! What can be checked: a system whose states are finite in number and small in size.

use std::sync::Arc;

use crate::trace::TraceStep;

use super::expansion::{Expansion, by_actions};

/// A system to be explored: its first states, what can happen in each, and what must hold.
///
/// A clone is another worker on the same system. Workers run on threads of their own, so whatever they
/// remember together (interned parts, say) is shared between clones behind an `Arc`, and whatever one
/// remembers for itself is simply a field.
///
/// The same system must behave the same every time: what is possible in a state, and where it leads, may
/// depend on nothing but the state.
pub trait Model: Clone + Send + 'static {
    /// What the rules are written on.
    type State: Clone + PartialEq + 'static;
    /// Something that can happen.
    type Action: Clone;

    /// How many words a state takes when it is stored.
    fn width(&self) -> usize;

    /// Writes a state into its words. Equal states, and only they, have equal words.
    fn encode(&mut self, state: &Self::State, words: &mut [u32]);

    /// The state of some words.
    fn decode(&mut self, words: &[u32]) -> Self::State;

    /// Where it all begins.
    fn initial(&mut self) -> Vec<Self::State>;

    /// Everything that can happen in a state, in a fixed order. `actions` comes empty.
    fn actions(&mut self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// What an action leads to.
    fn next(&mut self, state: &Self::State, action: &Self::Action) -> Next<Self::State>;

    /// Works out all steps from a state at once; if `ample_only`, only that of the [`Model::ample_action`], if there is
    /// one. A model that can do this faster than action by action may.
    fn expand(&mut self, state: &Self::State, ample_only: bool, expansion: &mut Expansion<Self::Action>) {
        by_actions(self, state, ample_only, expansion);
    }

    /// What must hold.
    fn properties(&self) -> Vec<Property<Self>>;

    /// An action in words, and what it changes.
    fn describe(&mut self, state: &Self::State, action: &Self::Action) -> TraceStep;

    /// What [`Model::describe`] says names the action, for those who need no more of it.
    fn name(&mut self, state: &Self::State, action: &Self::Action) -> String {
        self.describe(state, action).action
    }

    /// Whether an action is a fault. Everything else must happen sooner or later, if it stays
    /// possible: a fair run is one in which faults have come to an end.
    fn is_fault(&self, _action: &Self::Action) -> bool {
        false
    }

    /// The names of the kinds of actions, to count how often each was possible.
    fn kinds(&self) -> &'static [&'static str] {
        &["step"]
    }

    /// The kind of an action: an index in [`Model::kinds`].
    fn kind(&self, _action: &Self::Action) -> usize {
        0
    }

    /// Who performs an action, as a number: for random runs in which actors have priorities.
    fn actor(&self, action: &Self::Action) -> usize {
        self.kind(action)
    }

    /// For partial-order reduction: an action, by its index in `actions`, that is an ample set by itself, so that only
    /// it is explored. It must be independent of (commute with) all others, now and until it is performed, must
    /// change nothing that a property sees, and must not be able to repeat without others in between.
    fn ample_action(&mut self, _state: &Self::State, _actions: &[Self::Action]) -> Option<usize> {
        None
    }

    /// For symmetry reduction: the number of permutations of what is alike, without the identity. A step that must
    /// never happen must be so in all states that are alike, unless [`Model::expand`] looks at all of them.
    fn symmetries(&self) -> usize {
        0
    }

    /// The state with what is alike permuted in one of these ways.
    fn permute(&mut self, state: &Self::State, _symmetry: usize) -> Self::State {
        state.clone()
    }

    /// Of all states that are like one, itself included, the one that stands for all of them: the same whichever of
    /// them it is asked of.
    fn representative(&mut self, state: &Self::State) -> Self::State {
        let mut words = vec![0; self.width()];
        let mut least = (state.clone(), words.clone());
        self.encode(state, &mut least.1);
        for symmetry in 0..self.symmetries() {
            let permuted = self.permute(state, symmetry);
            self.encode(&permuted, &mut words);
            if words < least.1 {
                least = (permuted, words.clone());
            }
        }
        least.0
    }

    /// For subsumption: takes out of the words of a state what decides nothing but which faults can still strike, and
    /// returns it in one word. Of two states whose words are equal without it, the one whose faults include those of the
    /// other stands for both: the same must happen in them. `None` if there is nothing of the kind.
    fn take_faults(&mut self, _words: &mut [u32]) -> Option<u64> {
        None
    }

    /// Puts back what [`Model::take_faults`] has taken.
    fn put_faults(&mut self, _words: &mut [u32], _faults: u64) {}

    /// Whether one of two states that differ only in their faults can suffer all that the other can.
    fn includes_faults(&mut self, _more: u64, _less: u64) -> bool {
        false
    }

    /// Evaluates a set of states in which fair runs stay for ever, visiting each of them again and again. Returns
    /// in which of them (counted from 0) a violation shows, and what it is.
    fn evaluate_end(&mut self, _states: &mut dyn Iterator<Item = Self::State>) -> Option<(usize, String)> {
        None
    }

    /// Another worker that remembers no verdicts: ends may be evaluated by what was seen of others, and a second search
    /// meets them in another order.
    #[must_use]
    fn without_verdicts(&self) -> Self {
        self.clone()
    }

    /// A copy of the system with nothing remembered, for a run that must number everything as the first did.
    #[must_use]
    fn fresh_copy(&self) -> Self {
        self.clone()
    }

    /// Whether to go on makes no sense: the model has found out that it must be set up in another way.
    fn gives_up(&self) -> bool {
        false
    }

    /// Bytes that the interned parts take, about.
    fn bytes(&self) -> usize {
        0
    }
}

/// What an action leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<State> {
    /// Nothing: it was not possible after all.
    Impossible,
    /// Another state, or the same.
    State(State),
    /// Something that must never happen, in words. It ends the check.
    Violation(String),
}

/// How a property is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// In every state.
    Always,
    /// Once faults have stopped, every fair run must get where it holds, and stay.
    Eventually,
    /// In at least one state: shows that the check is not vacuous.
    Sometimes,
}

/// Evaluates a state. It gets the worker too, for what it has interned and remembered.
type Predicate<M> = Arc<dyn Fn(&mut M, &<M as Model>::State) -> bool + Send + Sync>;

/// A named rule on states.
pub struct Property<M: Model> {
    /// How it is to hold.
    pub kind: PropertyKind,
    /// Its name, for the verdict.
    pub name: String,
    /// Whether it holds in a state.
    pub holds: Predicate<M>,
}

impl<M: Model> Property<M> {
    /// Must hold in every state.
    pub fn always(name: &str, holds: impl Fn(&mut M, &M::State) -> bool + Send + Sync + 'static) -> Self {
        Property { kind: PropertyKind::Always, name: name.to_owned(), holds: Arc::new(holds) }
    }

    /// Once faults have stopped, every fair run must get where it holds, and stay.
    pub fn eventually(name: &str, holds: impl Fn(&mut M, &M::State) -> bool + Send + Sync + 'static) -> Self {
        Property { kind: PropertyKind::Eventually, name: name.to_owned(), holds: Arc::new(holds) }
    }

    /// Must hold in at least one state.
    pub fn sometimes(name: &str, holds: impl Fn(&mut M, &M::State) -> bool + Send + Sync + 'static) -> Self {
        Property { kind: PropertyKind::Sometimes, name: name.to_owned(), holds: Arc::new(holds) }
    }
}

impl<M: Model> Clone for Property<M> {
    fn clone(&self) -> Self {
        Property { kind: self.kind, name: self.name.clone(), holds: self.holds.clone() }
    }
}
