//! Tests of a protocol of the runtime: every interleaving of what can happen in it, by the checker's own engine.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use windlass_check::TraceStep;
use windlass_check::engine::{self, Exploration, Model, Next, Options, Property};

/// What can happen, and what must hold.
pub(crate) trait Protocol: Clone + Send + 'static {
    /// States are distinguished by their debug text, so it must show all that matters of a state.
    type State: Clone + Debug + Send + 'static;
    /// Traces name an action by its debug text.
    type Action: Clone + Debug;

    /// Where it all begins.
    fn initial(&self) -> Self::State;

    /// Everything that can happen in a state.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// What an action leads to.
    fn next(&self, state: &Self::State, action: &Self::Action) -> Next<Self::State>;

    /// Whether an action is a fault, which need not happen.
    fn is_fault(&self, _action: &Self::Action) -> bool {
        false
    }

    /// What must hold.
    fn properties(&self) -> Vec<Property<ProtocolModel<Self>>>;
}

/// Explores all states of a protocol.
pub(crate) fn explore<P: Protocol>(protocol: &P) -> Exploration {
    let model = ProtocolModel { protocol: protocol.clone(), met: Arc::default() };
    engine::explore(&model, &Options::default())
}

/// A protocol as the engine takes it.
#[derive(Clone)]
pub(crate) struct ProtocolModel<P: Protocol> {
    protocol: P,
    /// All workers share it.
    met: Arc<Mutex<MetStates<P::State>>>,
}

/// All states that were met, and their numbers.
struct MetStates<State> {
    states: Vec<State>,
    numbers: BTreeMap<String, u32>,
}

/// A state and its number, by which it is compared.
#[derive(Clone)]
pub(crate) struct Numbered<State> {
    number: u32,
    state: State,
}

impl<State> Default for MetStates<State> {
    fn default() -> Self {
        MetStates { states: Vec::new(), numbers: BTreeMap::new() }
    }
}

impl<State> PartialEq for Numbered<State> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<State> Deref for Numbered<State> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl<P: Protocol> Deref for ProtocolModel<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.protocol
    }
}

impl<P: Protocol> ProtocolModel<P> {
    fn numbered(&self, state: P::State) -> Numbered<P::State> {
        let mut met = self.met.lock().expect("lock is not poisoned");
        let next = u32::try_from(met.states.len()).expect("a small model");
        let number = *met.numbers.entry(format!("{state:?}")).or_insert(next);
        if number == next {
            met.states.push(state.clone());
        }
        Numbered { number, state }
    }
}

impl<P: Protocol> Model for ProtocolModel<P> {
    type State = Numbered<P::State>;
    type Action = P::Action;

    fn width(&self) -> usize {
        1
    }

    fn encode(&mut self, state: &Self::State, words: &mut [u32]) {
        words[0] = state.number;
    }

    fn decode(&mut self, words: &[u32]) -> Self::State {
        let number = words[0];
        let state = self.met.lock().expect("lock is not poisoned").states[number as usize].clone();
        Numbered { number, state }
    }

    fn initial(&mut self) -> Vec<Self::State> {
        vec![self.numbered(self.protocol.initial())]
    }

    fn actions(&mut self, state: &Self::State, actions: &mut Vec<P::Action>) {
        self.protocol.actions(state, actions);
    }

    fn next(&mut self, state: &Self::State, action: &P::Action) -> Next<Self::State> {
        match self.protocol.next(state, action) {
            Next::Impossible => Next::Impossible,
            Next::State(state) => Next::State(self.numbered(state)),
            Next::Violation(violation) => Next::Violation(violation),
        }
    }

    fn is_fault(&self, action: &P::Action) -> bool {
        self.protocol.is_fault(action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        self.protocol.properties()
    }

    fn describe(&mut self, _: &Self::State, action: &P::Action) -> TraceStep {
        let fault = self.protocol.is_fault(action).then(|| "fault".to_owned());
        let text = format!("{action:?}");
        TraceStep { action: text.clone(), text, fault, ..TraceStep::default() }
    }
}
