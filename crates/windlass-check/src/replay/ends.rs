//! Whether a run stays where it is: what can still happen from a state once faults have stopped.

use rustc_hash::FxHashMap;

use crate::engine::{Model, Next};

/// How many states are looked at before that counts as too many.
const LIMIT: usize = 100_000;

/// What fair runs from a state do.
pub(super) enum End<State> {
    /// They come back to it again and again, and visit all of these.
    Stays(Vec<State>),
    /// They can get where there is no way back.
    Leaves,
    /// There are too many states to decide it.
    TooMany,
}

/// The fair steps from a state: breadth first, numbered as they are found.
struct FairSteps<M: Model> {
    numbers: FxHashMap<Vec<u32>, usize>,
    states: Vec<M::State>,
    /// For each state, those that lead to it.
    origins: Vec<Vec<usize>>,
}

/// Follows all fair steps from a state.
pub(super) fn end<M: Model>(model: &mut M, start: &M::State) -> End<M::State> {
    let mut graph: FairSteps<M> =
        FairSteps { numbers: FxHashMap::default(), states: Vec::new(), origins: Vec::new() };
    graph.number(model, start);
    let mut index = 0;
    while index < graph.states.len() {
        if graph.states.len() > LIMIT {
            return End::TooMany;
        }
        graph.expand(model, index);
        index += 1;
    }
    if graph.all_lead_back() { End::Stays(graph.states) } else { End::Leaves }
}

impl<M: Model> FairSteps<M> {
    fn number(&mut self, model: &mut M, state: &M::State) -> usize {
        let mut words = vec![0; model.width()];
        model.encode(state, &mut words);
        let next = self.states.len();
        let number = *self.numbers.entry(words).or_insert(next);
        if number == next {
            self.states.push(state.clone());
            self.origins.push(Vec::new());
        }
        number
    }

    fn expand(&mut self, model: &mut M, index: usize) {
        let state = self.states[index].clone();
        let mut actions = Vec::new();
        model.actions(&state, &mut actions);
        for action in actions {
            if model.is_fault(&action) {
                continue;
            }
            if let Next::State(next) = model.next(&state, &action) {
                let number = self.number(model, &next);
                self.origins[number].push(index);
            }
        }
    }

    /// Whether every state has a way back to the first.
    fn all_lead_back(&self) -> bool {
        let mut leads_back = vec![false; self.states.len()];
        leads_back[0] = true;
        let mut pending = vec![0];
        while let Some(state) = pending.pop() {
            for origin in &self.origins[state] {
                if !std::mem::replace(&mut leads_back[*origin], true) {
                    pending.push(*origin);
                }
            }
        }
        leads_back.into_iter().all(|leads| leads)
    }
}
