//! Numbers for the states of a model, for tests that check a protocol of the runtime with the engine.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// All states that were met, and their numbers. Cloning shares them.
///
/// States are distinguished by their debug text, so it must show all of a state.
pub(crate) struct InternedStates<State>(Arc<Mutex<Met<State>>>);

struct Met<State> {
    states: Vec<State>,
    numbers: BTreeMap<String, u32>,
}

impl<State: Clone + Debug> InternedStates<State> {
    pub(crate) fn number(&self, state: &State) -> u32 {
        let mut met = self.0.lock().expect("lock is not poisoned");
        let next = u32::try_from(met.states.len()).expect("a small model");
        let number = *met.numbers.entry(format!("{state:?}")).or_insert(next);
        if number == next {
            met.states.push(state.clone());
        }
        number
    }

    pub(crate) fn state(&self, number: u32) -> State {
        self.0.lock().expect("lock is not poisoned").states[number as usize].clone()
    }
}

impl<State> Default for InternedStates<State> {
    fn default() -> Self {
        InternedStates(Arc::new(Mutex::new(Met { states: Vec::new(), numbers: BTreeMap::new() })))
    }
}

impl<State> Clone for InternedStates<State> {
    fn clone(&self) -> Self {
        InternedStates(self.0.clone())
    }
}
