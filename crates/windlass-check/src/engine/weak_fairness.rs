//! Liveness under weak fairness: what is possible all the time happens at last, and nothing more is assumed.
//!
//! By default a fair run takes every step that is possible again and again, so it ends up in a bottom component (see
//! `ends`). A loop with a way out that is open now and then is left for certain under that assumption, and need not be
//! left under this one. Here a run may stay for ever in any strongly connected component of what must happen, if every
//! action that is possible in all of its states is taken in one of them.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::model::{Model, Next, PropertyKind};
use super::retrace::trace_along;
use crate::trace::Trace;
use crate::violation::Violation;

/// The first `eventually` that a weakly fair run can miss for ever, if the model has at most `most` states.
///
/// # Errors
/// If it has more: nothing is known then.
pub(super) fn weakly_fair_miss<M: Model>(model: &mut M, most: usize) -> Result<Option<Violation>, TooMany> {
    let properties = model.properties();
    let wanted: Vec<_> = properties.iter().filter(|rule| rule.kind == PropertyKind::Eventually).collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    let graph = Graph::of(model, most)?;
    for component in graph.components().into_iter().filter(|component| graph.is_fair(component)) {
        for rule in &wanted {
            // Indexes are in the order of the way to them: the least is the nearest.
            let missed = component.iter().filter(|state| !(rule.holds)(model, &graph.states[**state])).min();
            if let Some(at) = missed {
                let trace = trace_along(model, &graph.path_to(*at));
                let repeats = graph.in_words(model, &graph.fair_loop(*at, &component));
                return Ok(Some(Violation::Eventually { property: rule.name.clone(), trace, repeats }));
            }
        }
    }
    Ok(None)
}

/// There are more states than can be looked at.
pub(super) struct TooMany;

/// All states, with every step. States are named by their indexes.
struct Graph<M: Model> {
    states: Vec<M::State>,
    /// From which state each was reached first.
    parents: Vec<usize>,
    /// The steps that must happen: the number of the action, and where it leads.
    steps: Vec<Vec<(usize, usize)>>,
}

impl<M: Model> Graph<M> {
    /// Breadth first, so that the way by parents is a shortest one.
    fn of(model: &mut M, most: usize) -> Result<Self, TooMany> {
        let mut graph = Graph { states: Vec::new(), parents: Vec::new(), steps: Vec::new() };
        let (mut known, mut names) = (FxHashMap::default(), FxHashMap::default());
        for state in model.initial() {
            graph.add(model, state, usize::MAX, &mut known);
        }
        let mut next = 0;
        while next < graph.states.len() {
            if graph.states.len() > most {
                return Err(TooMany);
            }
            let state = graph.states[next].clone();
            let mut actions = Vec::new();
            model.actions(&state, &mut actions);
            let mut steps = Vec::new();
            for action in actions {
                let Next::State(after) = model.next(&state, &action) else { continue };
                let to = graph.add(model, after, next, &mut known);
                if !model.is_fault(&action) {
                    let name = model.name(&state, &action);
                    let count = names.len();
                    steps.push((*names.entry(name).or_insert(count), to));
                }
            }
            graph.steps.push(steps);
            next += 1;
        }
        Ok(graph)
    }

    fn add(
        &mut self,
        model: &mut M,
        state: M::State,
        parent: usize,
        known: &mut FxHashMap<Vec<u32>, usize>,
    ) -> usize {
        let mut words = vec![0; model.width()];
        model.encode(&state, &mut words);
        let next = self.states.len();
        let index = *known.entry(words).or_insert(next);
        if index == next {
            self.states.push(state);
            self.parents.push(parent);
        }
        index
    }

    fn path_to(&self, at: usize) -> Vec<M::State> {
        let mut path = Vec::new();
        let mut index = at;
        while index != usize::MAX {
            path.push(self.states[index].clone());
            index = self.parents[index];
        }
        path.reverse();
        path
    }

    /// The strongly connected components of what must happen, by Tarjan's algorithm, without recursion.
    fn components(&self) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let count = self.states.len();
        let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
        let (mut open, mut is_open) = (Vec::new(), vec![false; count]);
        let (mut components, mut next) = (Vec::new(), 0);
        for root in 0..count {
            let mut calls = if index[root] == UNSEEN { vec![(root, 0)] } else { Vec::new() };
            while let Some((state, step)) = calls.pop() {
                if step == 0 {
                    (index[state], low[state]) = (next, next);
                    next += 1;
                    open.push(state);
                    is_open[state] = true;
                } else {
                    // Back from where the step before led to.
                    let (_, to) = self.steps[state][step - 1];
                    if is_open[to] {
                        low[state] = low[state].min(low[to]);
                    }
                }
                match self.steps[state].get(step) {
                    Some((_, to)) => {
                        calls.push((state, step + 1));
                        if index[*to] == UNSEEN {
                            calls.push((*to, 0));
                        }
                    }
                    None if low[state] == index[state] => {
                        let from = open.iter().rposition(|known| *known == state).unwrap_or(0);
                        let component = open.split_off(from);
                        component.iter().for_each(|member| is_open[*member] = false);
                        components.push(component);
                    }
                    None => {}
                }
            }
        }
        components
    }

    /// Whether a run may stay in a component for ever: all that is possible in each of its states happens in it.
    fn is_fair(&self, component: &[usize]) -> bool {
        let members: FxHashSet<usize> = component.iter().copied().collect();
        let is_inside = |(_, to): &&(usize, usize)| members.contains(to);
        let taken: FxHashSet<usize> = component
            .iter()
            .flat_map(|state| self.steps[*state].iter().filter(is_inside).map(|(action, _)| *action))
            .collect();
        let stays = component.len() > 1 || !taken.is_empty() || self.steps[component[0]].is_empty();
        stays && self.always_possible(component).is_subset(&taken)
    }

    /// The actions that are possible in every state of a component.
    fn always_possible(&self, component: &[usize]) -> FxHashSet<usize> {
        let possible = |state: usize| self.steps[state].iter().map(|(action, _)| *action);
        let mut all: FxHashSet<usize> = possible(component[0]).collect();
        for state in component {
            let here: FxHashSet<usize> = possible(*state).collect();
            all.retain(|action| here.contains(action));
        }
        all
    }

    /// A loop in a component that is as fair as the component: no action is possible all along without being taken. The
    /// states, the first one first and last.
    fn fair_loop(&self, at: usize, component: &[usize]) -> Vec<usize> {
        let members: FxHashSet<usize> = component.iter().copied().collect();
        let mut states = vec![at];
        let mut taken = FxHashSet::default();
        // It goes somewhere, if there is anywhere to go, and comes back.
        self.go_on(&mut states, &mut taken, &members, |_, _| true);
        self.go_back(at, &mut states, &mut taken, &members);
        let mut missing: Vec<usize> = self.always_possible(&states).difference(&taken).copied().collect();
        missing.sort_unstable();
        for action in missing {
            let is_over = |from: usize, step: &(usize, usize)| {
                step.0 == action || !self.steps[from].iter().any(|(possible, _)| *possible == action)
            };
            if !taken.contains(&action) && self.always_possible(&states).contains(&action) {
                self.go_on(&mut states, &mut taken, &members, is_over);
                self.go_back(at, &mut states, &mut taken, &members);
            }
        }
        states
    }

    fn go_back(
        &self,
        to: usize,
        states: &mut Vec<usize>,
        taken: &mut FxHashSet<usize>,
        members: &FxHashSet<usize>,
    ) {
        if states.last() != Some(&to) {
            self.go_on(states, taken, members, |_, step| step.1 == to);
        }
    }

    /// Goes on in a component by the shortest way that ends with a wanted step.
    fn go_on(
        &self,
        states: &mut Vec<usize>,
        taken: &mut FxHashSet<usize>,
        members: &FxHashSet<usize>,
        is_wanted: impl Fn(usize, &(usize, usize)) -> bool,
    ) {
        let Some(from) = states.last().copied() else { return };
        // How each state was reached: from which, by which action.
        let mut origins: FxHashMap<usize, (usize, usize)> = FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        while let Some(state) = queue.pop_front() {
            let steps = self.steps[state].iter().filter(|(_, to)| members.contains(to));
            for step in steps {
                if is_wanted(state, step) {
                    let mut way = vec![*step];
                    let mut index = state;
                    while index != from {
                        let (origin, action) = origins[&index];
                        way.push((action, index));
                        index = origin;
                    }
                    way.reverse();
                    taken.extend(way.iter().map(|(action, _)| *action));
                    states.extend(way.iter().map(|(_, to)| *to));
                    return;
                }
                if step.1 != from && !origins.contains_key(&step.1) {
                    origins.insert(step.1, (state, step.0));
                    queue.push_back(step.1);
                }
            }
        }
    }

    fn in_words(&self, model: &mut M, indexes: &[usize]) -> Trace {
        let path: Vec<M::State> = indexes.iter().map(|index| self.states[*index].clone()).collect();
        trace_along(model, &path)
    }
}
