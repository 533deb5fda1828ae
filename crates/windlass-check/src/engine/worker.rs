//! One thread's part of a search: it expands states and looks their successors up.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::batch::Batch;
use super::exits::StepOut;
use super::expansion::Expansion;
use super::exploration::StopReason;
use super::model::{Model, Property, PropertyKind};
use super::options::Progress;
use super::pair_table::{Groups, SHARDS, shard_and_offset};
use super::shared::{Found, Level, NO_PARENT, Shared};
use super::tuple_store::{Folder, TupleStore};

/// Number of steps that are noted together: enough for many in each shard.
const MANY_STEPS: usize = 8192;

/// A thread's own things.
pub(super) struct Worker<M: Model> {
    pub(super) model: M,
    pub(super) folder: Folder,
    /// Properties by kind, with their indexes among all.
    always: Vec<(usize, Property<M>)>,
    sometimes: Vec<(usize, Property<M>)>,
    number: usize,
    /// The words of a state that stands for others.
    representative: Vec<u32>,
    /// The words of a state without its faults.
    rest: Vec<u32>,
    /// States that nothing visited before includes: the root of all but their faults, and their faults.
    pub(super) uncovered: Vec<(u64, u64)>,
    batch: Batch,
    groups: Groups,
    /// Where steps lead, to be noted many at a time.
    steps_out: Vec<StepOut>,
    /// States of the next depth.
    pub(super) next: Vec<u32>,
    /// States that need one more fault.
    pub(super) faulty: Vec<u32>,
    pub(super) kinds: Vec<u64>,
    /// How many steps were faults.
    pub(super) faults: u64,
    transitions: u64,
    pub(super) found: Option<Found>,
    /// A violating action that is a fault: it is found when one more is allowed.
    pub(super) violating_fault: Option<Found>,
    /// The states of the current layer in the order in which they were expanded, if parents are kept.
    pub(super) order: Vec<u32>,
    /// By shard and offset: from which state each was reached.
    pub(super) parents: Vec<Vec<u32>>,
    reported: (Duration, u64),
}

impl<M: Model> Worker<M> {
    pub(super) fn new(model: M, store: Arc<TupleStore>, number: usize) -> Self {
        Worker {
            always: of_kind(&model, PropertyKind::Always),
            sometimes: of_kind(&model, PropertyKind::Sometimes),
            representative: vec![0; model.width()],
            rest: vec![0; model.width()],
            uncovered: Vec::new(),
            kinds: vec![0; model.kinds().len()],
            faults: 0,
            model,
            folder: Folder::new(store),
            number,
            batch: Batch::new(),
            groups: Groups::new(),
            steps_out: Vec::new(),
            next: Vec::new(),
            faulty: Vec::new(),
            order: Vec::new(),
            transitions: 0,
            found: None,
            violating_fault: None,
            parents: vec![Vec::new(); SHARDS],
            reported: (Duration::ZERO, 0),
        }
    }

    /// Adds the first states to the next depth.
    pub(super) fn begin(&mut self, shared: &Shared) {
        for state in self.model.initial() {
            let mut words = vec![0; self.model.width()];
            self.model.encode(&state, &mut words);
            let root = self.root_of(shared, &words);
            self.batch.add(root, false, false);
        }
        self.batch.close(NO_PARENT);
        self.look_up(shared);
    }

    /// Expands states of a level until none is left, or it is time to halt.
    pub(super) fn run(&mut self, shared: &Shared, level: &Level<'_>) {
        let (mut roots, mut expansion) = (Vec::new(), Expansion::new(shared.options.symmetry));
        while level.evaluate_only || !self.must_halt(shared, level) {
            let from = level.cursor.fetch_add(level.chunk, Ordering::Relaxed);
            if from >= level.frontier.len() {
                break;
            }
            let ids = &level.frontier[from..level.frontier.len().min(from + level.chunk)];
            let first_shard = self.first_shard(shared);
            shared.store.roots(ids, &mut self.groups, first_shard, &mut roots);
            for (id, root) in ids.iter().zip(&roots) {
                self.visit(shared, level, (*id, *root), &mut expansion);
                if self.batch.is_full() {
                    self.look_up(shared);
                }
            }
            shared.transitions.fetch_add(std::mem::take(&mut self.transitions), Ordering::Relaxed);
        }
        self.look_up(shared);
        self.note_steps_out(shared);
    }

    /// Evaluates a state and works out everything that can happen in it.
    fn visit(
        &mut self,
        shared: &Shared,
        level: &Level<'_>,
        (id, root): (u32, u64),
        expansion: &mut Expansion<M::Action>,
    ) {
        let words = self.folder.unfold_root(root);
        expansion.start(words);
        let state = self.model.decode(words);
        self.evaluate(shared, &state, id);
        // What was found ends the search, but on a single thread the rest of the level is still evaluated: a
        // state that is violated has a shorter trace than an action that is.
        if level.evaluate_only || self.found.is_some() {
            return;
        }
        self.model.expand(&state, shared.options.partial_order, expansion);
        for step in 0..expansion.len() {
            self.take(shared, id, expansion, step);
        }
        self.transitions += expansion.len() as u64;
        self.batch.close(id);
        if shared.keeps_parents {
            self.order.push(id);
        }
    }

    /// Adds the states that the steps of a state that must happen lead to.
    pub(super) fn fair_successors(&mut self, shared: &Shared, id: u32, successors: &mut Vec<u32>) {
        let words = self.folder.unfold(id);
        let mut expansion = Expansion::new(shared.options.symmetry);
        expansion.start(words);
        let state = self.model.decode(words);
        self.model.expand(&state, shared.options.partial_order, &mut expansion);
        for step in 0..expansion.len() {
            let how = expansion.step(step);
            if !how.is_fault && !how.is_violation {
                let root = self.root_of(shared, expansion.words(step));
                successors.push(shared.store.id(root));
            }
        }
    }

    /// Takes a step of the state that was expanded last.
    #[inline]
    fn take(&mut self, shared: &Shared, id: u32, expansion: &Expansion<M::Action>, step: usize) {
        let how = expansion.step(step);
        self.kinds[usize::from(how.kind)] += 1;
        self.faults += u64::from(how.is_fault);
        let is_held = how.is_fault && shared.holds_faults_back;
        if how.is_violation {
            let found = Found::Step { message: expansion.why(step), at: id };
            if is_held {
                self.violating_fault.get_or_insert(found);
            } else if self.found.is_none() {
                self.found = Some(found);
                self.halt_unless_tracing(shared);
            }
            return;
        }
        let root = self.root_of(shared, expansion.words(step));
        // A step that changes nothing leads to nothing new, and is no way out of an end.
        if root != self.folder.unfolded_root() {
            self.batch.add(root, how.is_fault, is_held);
        }
    }

    fn halt_unless_tracing(&self, shared: &Shared) {
        if !shared.keeps_parents {
            shared.halt(StopReason::Violated);
        }
    }

    /// The root of the state of some words, or of the one that stands for it: of those that are alike, and of those that
    /// were visited and include its faults.
    #[inline]
    fn root_of(&mut self, shared: &Shared, words: &[u32]) -> u64 {
        let uses_symmetry = shared.options.symmetry && self.model.symmetries() > 0;
        if !uses_symmetry && !shared.options.subsumption {
            return self.folder.fold(words);
        }
        if uses_symmetry {
            let state = self.model.decode(words);
            let representative = self.model.representative(&state);
            self.model.encode(&representative, &mut self.representative);
        } else {
            self.representative.copy_from_slice(words);
        }
        if shared.options.subsumption {
            self.subsume(shared);
        }
        self.folder.fold(&self.representative)
    }

    /// Replaces the faults of a representative by those of a visited state that include them.
    #[inline]
    fn subsume(&mut self, shared: &Shared) {
        self.rest.copy_from_slice(&self.representative);
        let Some(faults) = self.model.take_faults(&mut self.rest) else { return };
        let rest = self.folder.fold(&self.rest);
        match shared.subsumption.including(&mut self.model, rest, faults) {
            Some(more) if more == faults => {}
            Some(more) => self.model.put_faults(&mut self.representative, more),
            None => self.uncovered.push((rest, faults)),
        }
    }

    /// Each thread begins with another shard, to keep out of the way of others.
    fn first_shard(&self, shared: &Shared) -> usize {
        self.number * SHARDS / shared.options.threads.max(1)
    }

    /// Looks the successors up, and sorts out what is new.
    fn look_up(&mut self, shared: &Shared) {
        self.batch.look_up(&shared.store, self.first_shard(shared));
        for (parent, arrival) in self.batch.arrivals().filter(|(_, arrival)| arrival.is_new) {
            let list = if arrival.is_held { &mut self.faulty } else { &mut self.next };
            list.push(arrival.id);
            if shared.keeps_parents {
                remember_parent(&mut self.parents, arrival.id, parent);
            }
        }
        if shared.options.liveness {
            self.batch.steps_out(&mut self.steps_out);
            if self.steps_out.len() >= MANY_STEPS {
                self.note_steps_out(shared);
            }
        }
        self.batch.clear();
    }

    fn note_steps_out(&mut self, shared: &Shared) {
        shared.exits.note_all(&self.steps_out, &mut self.groups);
        self.steps_out.clear();
    }

    fn evaluate(&mut self, shared: &Shared, state: &M::State, id: u32) {
        if !shared.evaluates_states || matches!(self.found, Some(Found::Always { .. })) {
            return;
        }
        let mut broken = self.broken_in(shared, state);
        if shared.options.symmetry {
            for symmetry in 0..self.model.symmetries() {
                let permuted = self.model.permute(state, symmetry);
                broken = broken.or(self.broken_in(shared, &permuted));
            }
        }
        if let Some(property) = broken {
            self.found = Some(Found::Always { property, at: id });
            self.halt_unless_tracing(shared);
        }
    }

    /// The first `always` that does not hold in a state. Notes which `sometimes` do.
    fn broken_in(&mut self, shared: &Shared, state: &M::State) -> Option<usize> {
        for (number, property) in &self.sometimes {
            let seen = &shared.seen[*number];
            if !seen.load(Ordering::Relaxed) && (property.holds)(&mut self.model, state) {
                seen.store(true, Ordering::Relaxed);
            }
        }
        let model = &mut self.model;
        let broken = self.always.iter().find(|(_, property)| !(property.holds)(model, state));
        broken.map(|(number, _)| *number)
    }

    fn must_halt(&mut self, shared: &Shared, level: &Level<'_>) -> bool {
        if shared.options.stop.load(Ordering::Relaxed) || self.model.gives_up() {
            shared.halt(StopReason::Stopped);
        }
        if shared.store.len() > shared.options.max_states || shared.store.is_full() {
            shared.halt(StopReason::StateLimit);
        }
        if shared.bytes(level) > shared.options.memory_bytes {
            shared.halt(StopReason::MemoryLimit);
        }
        if self.number == 0 {
            self.report_progress(shared, level);
        }
        shared.halted().is_some()
    }

    /// Reports progress about once a second.
    fn report_progress(&mut self, shared: &Shared, level: &Level<'_>) {
        let Some(progress) = &shared.options.progress else { return };
        let elapsed = shared.watch.elapsed();
        let transitions = shared.transitions.load(Ordering::Relaxed);
        let Some(rate) = rate_if_due(self.reported, (elapsed, transitions)) else { return };
        self.reported = (elapsed, transitions);
        shared.model_bytes.store(self.model.bytes(), Ordering::Relaxed);
        progress(&Progress {
            states: shared.store.len() - shared.store.held(),
            transitions,
            rate,
            frontier: level.frontier.len(),
            depth: level.depth,
            faults: level.faults,
            bytes: shared.bytes(level),
            elapsed,
        });
    }
}

fn of_kind<M: Model>(model: &M, kind: PropertyKind) -> Vec<(usize, Property<M>)> {
    let properties = model.properties().into_iter().enumerate();
    properties.filter(|(_, property)| property.kind == kind).collect()
}

/// Steps per second since progress was reported last, if that was at least a second ago.
fn rate_if_due(reported: (Duration, u64), now: (Duration, u64)) -> Option<f64> {
    let since = now.0.saturating_sub(reported.0);
    let steps = now.1.saturating_sub(reported.1);
    (since >= Duration::from_secs(1)).then(|| steps as f64 / since.as_secs_f64())
}

fn remember_parent(parents: &mut [Vec<u32>], id: u32, parent: u32) {
    let (shard, offset) = shard_and_offset(id);
    let parents = &mut parents[shard];
    if parents.len() <= offset {
        parents.resize(offset + 1, NO_PARENT);
    }
    parents[offset] = parent;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_reported_once_a_second() {
        let at = |millis, steps| (Duration::from_millis(millis), steps);
        assert_eq!(rate_if_due(at(0, 0), at(999, 500)), None);
        assert_eq!(rate_if_due(at(0, 0), at(1_000, 500)), Some(500.0));
        assert_eq!(rate_if_due(at(1_000, 500), at(1_500, 900)), None);
        assert_eq!(rate_if_due(at(1_000, 500), at(3_000, 900)), Some(200.0));
    }
}
