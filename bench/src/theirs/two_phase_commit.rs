//! Two-phase commit for stateright, in ordinary Rust collections as in its own example.

use std::collections::BTreeSet;

use stateright::{Model, Property};

/// A transaction with this number of resource managers.
#[derive(Clone, Debug)]
pub(crate) struct TwoPhaseCommit {
    pub(crate) managers: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    managers: Vec<Manager>,
    coordinator: Coordinator,
    /// The managers that the coordinator has heard of.
    heard: Vec<bool>,
    messages: BTreeSet<Message>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Manager {
    Working,
    Prepared,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Coordinator {
    Undecided,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Message {
    Prepared(usize),
    Commit,
    Abort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Commit,
    Abort,
    Hear(usize),
    Prepare(usize),
    GiveUp(usize),
    ObeyCommit(usize),
    ObeyAbort(usize),
}

impl Model for TwoPhaseCommit {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            managers: vec![Manager::Working; self.managers],
            coordinator: Coordinator::Undecided,
            heard: vec![false; self.managers],
            messages: BTreeSet::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let undecided = state.coordinator == Coordinator::Undecided;
        if undecided {
            if state.heard.iter().all(|heard| *heard) {
                actions.push(Action::Commit);
            }
            actions.push(Action::Abort);
        }
        let commit = state.messages.contains(&Message::Commit);
        let abort = state.messages.contains(&Message::Abort);
        for (index, manager) in state.managers.iter().enumerate() {
            if undecided && state.messages.contains(&Message::Prepared(index)) {
                actions.push(Action::Hear(index));
            }
            if *manager == Manager::Working {
                actions.push(Action::Prepare(index));
                actions.push(Action::GiveUp(index));
            }
            if commit {
                actions.push(Action::ObeyCommit(index));
            }
            if abort {
                actions.push(Action::ObeyAbort(index));
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Commit => {
                state.coordinator = Coordinator::Committed;
                state.messages.insert(Message::Commit);
            }
            Action::Abort => {
                state.coordinator = Coordinator::Aborted;
                state.messages.insert(Message::Abort);
            }
            Action::Hear(index) => state.heard[index] = true,
            Action::Prepare(index) => {
                state.managers[index] = Manager::Prepared;
                state.messages.insert(Message::Prepared(index));
            }
            Action::GiveUp(index) | Action::ObeyAbort(index) => state.managers[index] = Manager::Aborted,
            Action::ObeyCommit(index) => state.managers[index] = Manager::Committed,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no manager commits while another aborts", |_, state: &State| {
                let any = |wanted| state.managers.contains(&wanted);
                !(any(Manager::Committed) && any(Manager::Aborted))
            }),
            Property::sometimes("all commit", |_, state: &State| {
                state.managers.iter().all(|manager| *manager == Manager::Committed)
            }),
            Property::sometimes("all abort", |_, state: &State| {
                state.managers.iter().all(|manager| *manager == Manager::Aborted)
            }),
            Property::eventually("all decide", |_, state: &State| {
                state.managers.iter().all(|manager| matches!(manager, Manager::Committed | Manager::Aborted))
            }),
        ]
    }
}
