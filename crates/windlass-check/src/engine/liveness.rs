//! Decides liveness: evaluates the states in which fair runs stay for ever.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::ends::{EndVisitor, for_each_end};
use super::model::{Model, Next, Property, PropertyKind};
use super::shared::{Found, Shared};
use super::worker::Worker;

/// What was found at the ends in a layer.
pub(super) struct Verdict {
    pub(super) found: Option<Found>,
    /// How many there are, as far as they were looked at.
    pub(super) ends: usize,
}

/// Evaluates the ends of the layer that was visited last. On many threads, any violation will do; when a trace is
/// wanted, it is the one that was expanded first.
pub(super) fn decide_liveness<M: Model>(shared: &Shared, worker: &mut Worker<M>) -> Verdict {
    let mut exits = shared.exits.take();
    let mut checker = LivenessChecker {
        properties: worker.model.properties(),
        symmetries: if shared.options.symmetry { worker.model.symmetries() } else { 0 },
        decoder: worker.model.clone(),
        shared,
        worker,
        violations: FxHashMap::default(),
        any: None,
    };
    let ends = for_each_end(&mut exits, &mut checker);
    let (mut violations, any) = (checker.violations, checker.any);
    shared.exits.put_back(exits);
    let order = std::mem::take(&mut worker.order);
    // What was asked for says more than what is always asked.
    let is_asked = |state: &&u32| matches!(violations.get(*state), Some(Found::Eventually { .. }));
    let first =
        order.iter().find(is_asked).or_else(|| order.iter().find(|state| violations.contains_key(*state)));
    let first = first.copied().and_then(|state| violations.remove(&state));
    Verdict { found: first.or(any), ends }
}

struct LivenessChecker<'a, M: Model> {
    shared: &'a Shared,
    worker: &'a mut Worker<M>,
    /// Decodes states while the worker's model evaluates them.
    decoder: M,
    properties: Vec<Property<M>>,
    symmetries: usize,
    /// Violations, by the state in which they show.
    violations: FxHashMap<u32, Found>,
    /// What was found first.
    any: Option<Found>,
}

impl<M: Model> EndVisitor for LivenessChecker<'_, M> {
    fn successors(&mut self, state: u32, successors: &mut Vec<u32>) {
        self.worker.fair_successors(self.shared, state, successors);
    }

    fn visit(&mut self, members: &[u32]) -> ControlFlow<()> {
        self.evaluate(&self.in_order(members));
        let goes_on = self.any.is_none() || self.shared.keeps_parents;
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl<M: Model> LivenessChecker<'_, M> {
    /// When a trace is wanted, what was expanded first comes first: the way to it is the shortest.
    fn in_order(&self, members: &[u32]) -> Vec<u32> {
        if !self.shared.keeps_parents || members.len() < 2 {
            return members.to_vec();
        }
        let wanted: FxHashSet<u32> = members.iter().copied().collect();
        let ordered: Vec<u32> =
            self.worker.order.iter().copied().filter(|state| wanted.contains(state)).collect();
        if ordered.len() == members.len() { ordered } else { members.to_vec() }
    }

    /// Evaluates an end: each state by the `eventually` properties, then all of them by the model.
    fn evaluate(&mut self, members: &[u32]) {
        for at in members {
            if let Some(property) = self.broken_in(*at) {
                self.note(*at, Found::Eventually { property, at: *at });
            }
        }
        let objection = if self.symmetries > 0 {
            let state = self.decoder.decode(self.worker.folder.unfold(members[0]));
            evaluate_permutations(&mut self.worker.model, state, self.symmetries).map(|message| (0, message))
        } else {
            let folder = &mut self.worker.folder;
            let decoder = &mut self.decoder;
            let mut states = members.iter().map(|id| decoder.decode(folder.unfold(*id)));
            self.worker.model.evaluate_end(&mut states)
        };
        if let Some((index, message)) = objection {
            let at = members[index];
            self.note(at, Found::End { message, at });
        }
    }

    fn note(&mut self, at: u32, found: Found) {
        self.any.get_or_insert_with(|| found.clone());
        self.violations.entry(at).or_insert(found);
    }

    /// The first `eventually` that does not hold in a state, or in one that is alike.
    fn broken_in(&mut self, id: u32) -> Option<usize> {
        let mut rules = self.properties.iter().enumerate();
        rules.find(|(_, rule)| rule.kind == PropertyKind::Eventually)?;
        let state = self.decoder.decode(self.worker.folder.unfold(id));
        let model = &mut self.worker.model;
        let mut alike = vec![state];
        for symmetry in 0..self.symmetries {
            alike.push(model.permute(&alike[0], symmetry));
        }
        self.properties.iter().position(|rule| {
            rule.kind == PropertyKind::Eventually && alike.iter().any(|state| !(rule.holds)(model, state))
        })
    }
}

/// With symmetry, members are representatives, which may never follow on each other as they are. The true end
/// is what fair steps lead to from one of them; its permutations are ends too.
fn evaluate_permutations<M: Model>(model: &mut M, member: M::State, symmetries: usize) -> Option<String> {
    let states = fair_closure(model, member);
    if let Some((_, message)) = model.evaluate_end(&mut states.iter().cloned()) {
        return Some(message);
    }
    (0..symmetries).find_map(|symmetry| {
        let permuted: Vec<M::State> = states.iter().map(|state| model.permute(state, symmetry)).collect();
        model.evaluate_end(&mut permuted.into_iter()).map(|(_, message)| message)
    })
}

/// Everything that fair steps lead to from a state, itself first, by the number of steps.
pub(super) fn fair_closure<M: Model>(model: &mut M, state: M::State) -> Vec<M::State> {
    let mut words = vec![0; model.width()];
    model.encode(&state, &mut words);
    let mut known = FxHashSet::default();
    known.insert(words.clone());
    let mut states = vec![state];
    let mut actions = Vec::new();
    let mut index = 0;
    while index < states.len() {
        let state = states[index].clone();
        actions.clear();
        model.actions(&state, &mut actions);
        for action in &actions {
            if model.is_fault(action) {
                continue;
            }
            if let Next::State(next) = model.next(&state, action) {
                model.encode(&next, &mut words);
                if known.insert(words.clone()) {
                    states.push(next);
                }
            }
        }
        index += 1;
    }
    states
}
