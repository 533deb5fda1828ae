//! Judges where fair runs end up.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::ends::{EndVisitor, for_each_end};
use super::model::{Model, Next, Property, PropertyKind};
use super::shared::{Found, Shared};
use super::worker::Worker;

/// What is to be said of the ends in a layer.
pub(super) struct Verdict {
    pub(super) found: Option<Found>,
    /// How many there are, as far as they were looked at.
    pub(super) ends: usize,
}

/// Judges the ends of the layer that was visited last. On many threads, any that is wrong will do; when a trace
/// is wanted, it is the one that was expanded first.
pub(super) fn judge_layer<M: Model>(shared: &Shared, worker: &mut Worker<M>) -> Verdict {
    let mut exits = shared.exits.take();
    let mut judge = EndJudge {
        properties: worker.model.properties(),
        mirrors: if shared.options.symmetry { worker.model.symmetries() } else { 0 },
        decoder: worker.model.clone(),
        shared,
        worker,
        wrong: FxHashMap::default(),
        any: None,
    };
    let ends = for_each_end(&mut exits, &mut judge);
    let (mut wrong, any) = (judge.wrong, judge.any);
    shared.exits.put_back(exits);
    let order = std::mem::take(&mut worker.order);
    // What was asked for says more than what is always asked.
    let is_asked = |state: &&u32| matches!(wrong.get(*state), Some(Found::Eventually { .. }));
    let first = order.iter().find(is_asked).or_else(|| order.iter().find(|state| wrong.contains_key(*state)));
    let first = first.copied().and_then(|state| wrong.remove(&state));
    Verdict { found: first.or(any), ends }
}

struct EndJudge<'a, M: Model> {
    shared: &'a Shared,
    worker: &'a mut Worker<M>,
    /// Decodes states while the worker's model judges them.
    decoder: M,
    properties: Vec<Property<M>>,
    mirrors: usize,
    /// What is wrong, by the state in which it shows.
    wrong: FxHashMap<u32, Found>,
    /// What was found first.
    any: Option<Found>,
}

impl<M: Model> EndVisitor for EndJudge<'_, M> {
    fn successors(&mut self, state: u32, successors: &mut Vec<u32>) {
        self.worker.fair_successors(self.shared, state, successors);
    }

    fn visit(&mut self, members: &[u32]) -> ControlFlow<()> {
        self.judge(&self.in_order(members));
        let goes_on = self.any.is_none() || self.shared.keeps_parents;
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl<M: Model> EndJudge<'_, M> {
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

    /// Judges an end: each state by the `eventually` properties, then all of them by the model.
    fn judge(&mut self, members: &[u32]) {
        for at in members {
            if let Some(property) = self.broken_in(*at) {
                self.note(*at, Found::Eventually { property, at: *at });
            }
        }
        let objection = if self.mirrors > 0 {
            let state = self.decoder.decode(self.worker.folder.unfold(members[0]));
            object_with_mirrors(&mut self.worker.model, state, self.mirrors).map(|message| (0, message))
        } else {
            let folder = &mut self.worker.folder;
            let decoder = &mut self.decoder;
            let mut states = members.iter().map(|id| decoder.decode(folder.unfold(*id)));
            self.worker.model.judge_end(&mut states)
        };
        if let Some((index, message)) = objection {
            let at = members[index];
            self.note(at, Found::End { message, at });
        }
    }

    fn note(&mut self, at: u32, found: Found) {
        self.any.get_or_insert_with(|| found.clone());
        self.wrong.entry(at).or_insert(found);
    }

    /// The first `eventually` that does not hold in a state, or in one that is alike.
    fn broken_in(&mut self, id: u32) -> Option<usize> {
        let mut rules = self.properties.iter().enumerate();
        rules.find(|(_, rule)| rule.kind == PropertyKind::Eventually)?;
        let state = self.decoder.decode(self.worker.folder.unfold(id));
        let model = &mut self.worker.model;
        let mut alike = vec![state];
        for symmetry in 0..self.mirrors {
            alike.push(model.mirror(&alike[0], symmetry));
        }
        self.properties.iter().position(|rule| {
            rule.kind == PropertyKind::Eventually && alike.iter().any(|state| !(rule.holds)(model, state))
        })
    }
}

/// With symmetry, members are representatives, which may never follow on each other as they are. The true end
/// is what fair steps lead to from one of them; its mirrors are ends too.
fn object_with_mirrors<M: Model>(model: &mut M, member: M::State, mirrors: usize) -> Option<String> {
    let states = fair_closure(model, member);
    if let Some((_, message)) = model.judge_end(&mut states.iter().cloned()) {
        return Some(message);
    }
    (0..mirrors).find_map(|symmetry| {
        let mirrored: Vec<M::State> = states.iter().map(|state| model.mirror(state, symmetry)).collect();
        model.judge_end(&mut mirrored.into_iter()).map(|(_, message)| message)
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
