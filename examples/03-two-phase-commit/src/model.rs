//! The protocol: what can happen in a transaction, and what must hold.

use std::sync::Arc;

use windlass_check::TraceStep;
use windlass_check::engine::{Model, Next, Property};

use crate::permutations::permutations;
use crate::state::{Decision, MAX_MANAGERS, Phase, State};

/// Above this, there are more orders of managers than a reduction by symmetry is worth.
const MAX_PERMUTED: usize = 5;

/// A transaction of some managers.
#[derive(Clone, Debug)]
pub struct TwoPhaseCommit {
    managers: usize,
    /// The orders of the managers, the unchanged one first.
    orders: Arc<Vec<Vec<usize>>>,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The coordinator has heard of all managers, and decides to commit.
    Commit,
    /// The coordinator decides to abort.
    Abort,
    /// The coordinator hears that a manager is prepared.
    Hear(usize),
    /// A manager prepares, and says so.
    Prepare(usize),
    /// A manager aborts by itself.
    GiveUp(usize),
    /// A manager hears the decision to commit.
    ObeyCommit(usize),
    /// A manager hears the decision to abort.
    ObeyAbort(usize),
}

impl TwoPhaseCommit {
    /// A transaction of `managers` managers.
    ///
    /// # Panics
    /// If there are more than fit in a state.
    pub fn new(managers: usize) -> Self {
        assert!(managers <= MAX_MANAGERS, "a state has room for {MAX_MANAGERS} managers, not for {managers}");
        let permuted = if managers <= MAX_PERMUTED { managers } else { 0 };
        TwoPhaseCommit { managers, orders: Arc::new(permutations(permuted)) }
    }

    fn all_are(&self, state: State, phase: Phase) -> bool {
        state.count(phase, self.managers) as usize == self.managers
    }
}

impl Model for TwoPhaseCommit {
    type State = State;
    type Action = Action;

    fn width(&self) -> usize {
        2
    }

    fn encode(&mut self, state: &State, words: &mut [u32]) {
        words.copy_from_slice(&state.to_words());
    }

    fn decode(&mut self, words: &[u32]) -> State {
        State::from_words([words[0], words[1]])
    }

    fn initial(&mut self) -> Vec<State> {
        vec![State::new()]
    }

    fn actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        let decision = state.decision();
        if decision == Decision::Open {
            if state.all_heard(self.managers) {
                actions.push(Action::Commit);
            }
            actions.push(Action::Abort);
        }
        for manager in 0..self.managers {
            if decision == Decision::Open && state.has_said(manager) {
                actions.push(Action::Hear(manager));
            }
            if state.phase(manager) == Phase::Working {
                actions.push(Action::Prepare(manager));
                actions.push(Action::GiveUp(manager));
            }
            match decision {
                Decision::Open => {}
                Decision::Commit => actions.push(Action::ObeyCommit(manager)),
                Decision::Abort => actions.push(Action::ObeyAbort(manager)),
            }
        }
    }

    fn next(&mut self, state: &State, action: &Action) -> Next<State> {
        Next::State(match *action {
            Action::Commit => state.with_decision(Decision::Commit),
            Action::Abort => state.with_decision(Decision::Abort),
            Action::Hear(manager) => state.with_heard(manager),
            Action::Prepare(manager) => state.with_phase(manager, Phase::Prepared).with_said(manager),
            Action::GiveUp(manager) | Action::ObeyAbort(manager) => state.with_phase(manager, Phase::Aborted),
            Action::ObeyCommit(manager) => state.with_phase(manager, Phase::Committed),
        })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no manager commits while another aborts", |model: &mut Self, state| {
                let count = |phase| state.count(phase, model.managers);
                count(Phase::Committed) == 0 || count(Phase::Aborted) == 0
            }),
            Property::sometimes("all commit", |model: &mut Self, state| {
                model.all_are(*state, Phase::Committed)
            }),
            Property::sometimes("all abort", |model: &mut Self, state| model.all_are(*state, Phase::Aborted)),
            // The coordinator can always abort, so a fair run does not stay undecided; and then everybody hears of it.
            Property::eventually("all decide", |model: &mut Self, state| {
                let count = |phase| state.count(phase, model.managers);
                (count(Phase::Committed) + count(Phase::Aborted)) as usize == model.managers
            }),
        ]
    }

    fn describe(&mut self, _state: &State, action: &Action) -> TraceStep {
        let coordinator = || "coordinator".to_owned();
        let name = |manager: &usize| format!("manager {manager}");
        let (actor, text) = match action {
            Action::Commit => (coordinator(), "decides to commit".to_owned()),
            Action::Abort => (coordinator(), "decides to abort".to_owned()),
            Action::Hear(manager) => (coordinator(), format!("hears that {} is prepared", name(manager))),
            Action::Prepare(manager) => (name(manager), "prepares, and says so".to_owned()),
            Action::GiveUp(manager) => (name(manager), "aborts by itself".to_owned()),
            Action::ObeyCommit(manager) => (name(manager), "hears of the commit".to_owned()),
            Action::ObeyAbort(manager) => (name(manager), "hears of the abort".to_owned()),
        };
        TraceStep { action: format!("{action:?}"), actor, text, ..TraceStep::default() }
    }

    fn symmetries(&self) -> usize {
        self.orders.len() - 1
    }

    fn permute(&mut self, state: &State, symmetry: usize) -> State {
        state.permuted(&self.orders[symmetry + 1])
    }
}
