//! Finds the shortest trace to a violation, the same one however many threads found it.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::trace::{Trace, TraceStep};
use crate::violation::Violation;

use super::liveness::fair_closure;
use super::model::{Model, Next, Property};
use super::options::Options;
use super::search::Search;
use super::shared::Found;

/// Without reductions, traces are shortest; a search for them may visit at most this many times the states.
const UNREDUCED_FACTOR: usize = 20;
const FEW_STATES: usize = 1_000_000;

/// Maximum number of states that a search without reductions may visit, after one that visited `states` with them.
pub(super) fn unreduced_state_limit(states: usize) -> usize {
    states.saturating_mul(UNREDUCED_FACTOR).max(FEW_STATES)
}

/// The violation behind what was found. The trace is the shortest of all if a search without reductions can
/// show it within `most` states.
pub(super) fn violation<M: Model>(model: &M, found: &Found, most: usize, options: &Options) -> Violation {
    let at_ends = matches!(found, Found::Eventually { .. } | Found::End { .. });
    let uses_symmetry = options.symmetry && model.symmetries() > 0;
    let reduces = options.partial_order || options.subsumption || uses_symmetry;
    // Parents take memory that the first search did not need.
    let roomy = Options { memory_bytes: options.memory_bytes.saturating_mul(2), ..options.clone() };
    let mut unreduced =
        Options { symmetry: false, partial_order: false, subsumption: false, ..roomy.clone() };
    if reduces {
        unreduced.max_states = most.min(options.max_states);
    }
    let search_in = |model: M, options: &Options| {
        let mut search = Search::with_parents(model, options, at_ends);
        let (_, found) = search.run();
        found.map(|found| Retrace::new(search).violation(&found, options.symmetry && uses_symmetry))
    };
    let search = |options: &Options| search_in(model.fresh_copy(), options);
    search(&unreduced)
        .or_else(|| if reduces { search(&roomy) } else { None })
        // What a model does differently the second time shows in what is remembered of the first.
        .or_else(|| search_in(model.clone(), &unreduced))
        .unwrap_or_else(|| untraced(&model.properties(), found))
}

/// For what a second search did not find in the memory it had.
fn untraced<M: Model>(properties: &[Property<M>], found: &Found) -> Violation {
    let (trace, repeats) = (Trace::default(), Trace::default());
    match found {
        Found::Always { property, .. } => {
            Violation::Always { property: properties[*property].name.clone(), trace }
        }
        Found::Eventually { property, .. } => {
            Violation::Eventually { property: properties[*property].name.clone(), trace, repeats }
        }
        Found::End { message, .. } => Violation::AtRest { message: message.clone(), trace, repeats },
        Found::Step { message, .. } => Violation::Step { message: message.clone(), trace },
    }
}

/// States from the first to the last.
type Path<M> = Vec<<M as Model>::State>;

struct Retrace<M: Model> {
    search: Search<M>,
    model: M,
    properties: Vec<Property<M>>,
}

impl<M: Model> Retrace<M> {
    fn new(search: Search<M>) -> Self {
        let model = search.workers[0].model.clone();
        Retrace { search, properties: model.properties(), model }
    }

    fn violation(mut self, found: &Found, symmetry: bool) -> Violation {
        match found {
            Found::Always { property, at } => {
                let holds = self.properties[*property].holds.clone();
                let path = self.path(*at, symmetry, |model, state| !holds(model, state));
                Violation::Always {
                    property: self.properties[*property].name.clone(),
                    trace: trace_along(&mut self.model, &path),
                }
            }
            Found::Step { at, .. } => self.step_violation(*at, symmetry),
            Found::Eventually { property, at } => {
                let holds = self.properties[*property].holds.clone();
                let path = self.path(*at, symmetry, |model, state| !holds(model, state));
                Violation::Eventually {
                    property: self.properties[*property].name.clone(),
                    trace: trace_along(&mut self.model, &path),
                    repeats: lasso(&mut self.model, path.last()),
                }
            }
            Found::End { message, at } => self.end(message, *at, symmetry),
        }
    }

    fn step_violation(&mut self, at: u32, symmetry: bool) -> Violation {
        let path = self.path(at, symmetry, |model, state| violating_action(model, state).is_some());
        let mut trace = trace_along(&mut self.model, &path);
        let mut message = String::new();
        if let Some(last) = path.last()
            && let Some((action, what)) = violating_action(&mut self.model, last)
        {
            trace.steps.push(self.model.describe(last, &action));
            message = what;
        }
        Violation::Step { message, trace }
    }

    fn end(&mut self, message: &str, at: u32, symmetry: bool) -> Violation {
        let mut message = message.to_owned();
        let objects = |model: &mut M, state: &M::State| {
            let states = fair_closure(model, state.clone());
            model.evaluate_end(&mut states.into_iter()).is_some()
        };
        let mut path = self.path(at, symmetry, objects);
        // With symmetry, it need not show in this very state of the end.
        if symmetry && let Some(last) = path.last().cloned() {
            let states = fair_closure(&mut self.model, last.clone());
            if let Some((index, what)) = self.model.evaluate_end(&mut states.iter().cloned()) {
                message = what;
                path.extend(fair_path(&mut self.model, &last, &states[index], false).unwrap_or_default());
            }
        }
        let trace = trace_along(&mut self.model, &path);
        Violation::AtRest { message, trace, repeats: lasso(&mut self.model, path.last()) }
    }

    /// The way to a state, or to one that is alike, such that the rule is violated there.
    fn path(&mut self, at: u32, symmetry: bool, is_violated: impl Fn(&mut M, &M::State) -> bool) -> Path<M> {
        let words = self.search.path_to(at);
        if !symmetry || self.model.symmetries() == 0 {
            return words.iter().map(|words| self.model.decode(words)).collect();
        }
        let path = self.true_path(&words);
        for symmetry in 0..self.model.symmetries() {
            if path.last().is_none_or(|last| is_violated(&mut self.model, last)) {
                break;
            }
            let permuted: Path<M> = path.iter().map(|state| self.model.permute(state, symmetry)).collect();
            if permuted.last().is_some_and(|last| is_violated(&mut self.model, last)) {
                return permuted;
            }
        }
        path
    }

    /// A run through states that are like these.
    fn true_path(&mut self, representatives: &[Vec<u32>]) -> Path<M> {
        let mut path: Path<M> = Vec::new();
        for wanted in representatives {
            let candidates = match path.last() {
                Some(last) => successors(&mut self.model, last).into_iter().map(|(_, next)| next).collect(),
                None => self.model.initial(),
            };
            let next = candidates.into_iter().find(|state| words_for_all(&mut self.model, state) == *wanted);
            path.extend(next);
        }
        path
    }
}

/// What can happen in a state, and what it leads to: first what must happen, then faults.
fn successors<M: Model>(model: &mut M, state: &M::State) -> Vec<(M::Action, M::State)> {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    actions.sort_by_key(|action| model.is_fault(action));
    let mut successors = Vec::new();
    for action in actions {
        if let Next::State(next) = model.next(state, &action) {
            successors.push((action, next));
        }
    }
    successors
}

/// An action that must never happen in a state; a fault only if there is no other.
fn violating_action<M: Model>(model: &mut M, state: &M::State) -> Option<(M::Action, String)> {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    actions.sort_by_key(|action| model.is_fault(action));
    actions.into_iter().find_map(|action| match model.next(state, &action) {
        Next::Violation(message) => Some((action, message)),
        _ => None,
    })
}

fn words_of<M: Model>(model: &mut M, state: &M::State) -> Vec<u32> {
    let mut words = vec![0; model.width()];
    model.encode(state, &mut words);
    words
}

/// The words of the state that stands for all that are alike.
fn words_for_all<M: Model>(model: &mut M, state: &M::State) -> Vec<u32> {
    let representative = model.representative(state);
    words_of(model, &representative)
}

/// The steps between the states of a run, in words.
pub(super) fn trace_along<M: Model>(model: &mut M, path: &[M::State]) -> Trace {
    let mut steps: Vec<TraceStep> = Vec::new();
    for pair in path.windows(2) {
        let next = successors(model, &pair[0]).into_iter().find(|(_, next)| *next == pair[1]);
        steps.extend(next.map(|(action, _)| model.describe(&pair[0], &action)));
    }
    Trace { steps }
}

/// A way from a state back to itself by steps that must happen. It goes through another state if it can.
fn lasso<M: Model>(model: &mut M, state: Option<&M::State>) -> Trace {
    let Some(state) = state else { return Trace::default() };
    let Some(path) = fair_path(model, state, state, true) else { return Trace::default() };
    let mut whole = vec![state.clone()];
    whole.extend(path);
    trace_along(model, &whole)
}

/// The shortest way between two states by steps that must happen, without the first. From a state to itself
/// it is empty, or has at least one step if a round is asked for: two, if there is any other state to go to.
pub(super) fn fair_path<M: Model>(
    model: &mut M,
    from: &M::State,
    to: &M::State,
    round: bool,
) -> Option<Path<M>> {
    if !round && from == to {
        return Some(Vec::new());
    }
    let mut steps_to_itself = false;
    // The states reached, each with the index of the one before.
    let mut reached = vec![(from.clone(), 0)];
    let mut known = FxHashMap::default();
    known.insert(words_of(model, from), 0);
    let mut queue = VecDeque::from([0]);
    while let Some(index) = queue.pop_front() {
        let state: M::State = reached[index].0.clone();
        for (action, next) in successors(model, &state) {
            if model.is_fault(&action) {
                continue;
            }
            if next == *to && (index != 0 || next != *from) {
                let mut path = vec![next];
                let mut step = index;
                while step != 0 {
                    path.push(reached[step].0.clone());
                    step = reached[step].1;
                }
                path.reverse();
                return Some(path);
            }
            steps_to_itself |= index == 0 && next == *from;
            let words = words_of(model, &next);
            if known.insert(words, 0).is_none() {
                queue.push_back(reached.len());
                reached.push((next, index));
            }
        }
    }
    steps_to_itself.then(|| vec![to.clone()])
}
