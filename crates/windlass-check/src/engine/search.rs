//! Breadth-first search, only by the number of steps, or in layers: first what needs no fault, then what needs one,
//! and so on; within a layer, by the number of steps. So what is found first has the fewest faults, and then the
//! fewest steps.

use std::collections::VecDeque;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::exploration::{Memory, StopReason};
use super::liveness::decide_liveness;
use super::model::Model;
use super::options::Options;
use super::pair_table::shard_and_offset;
use super::shared::{Found, Level, NO_PARENT, Shared};
use super::tuple_store::TupleStore;
use super::worker::Worker;

/// Below this number of states, starting threads takes longer than expanding them.
const FEW_STATES: usize = 64;
/// The most states that a thread takes at a time.
const CHUNK: usize = 1024;

/// A search, under way or done.
pub(super) struct Search<M: Model> {
    pub(super) shared: Shared,
    pub(super) workers: Vec<Worker<M>>,
    /// States that need one more fault than the current layer, by their depth.
    waiting: VecDeque<(u32, Vec<u32>)>,
    /// A violating action that is a fault, of the layer before, and the depth it leads to.
    violating_fault: Option<(u32, Found)>,
    /// The same of the current layer.
    next_violating_fault: Option<(u32, Found)>,
    pub(super) depth: u32,
    pub(super) layers_done: u32,
    pub(super) ends: usize,
    pub(super) memory: Memory,
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// What takes the fewest steps.
    Steps,
    /// What takes the fewest faults, and of that, what takes the fewest steps.
    Faults,
}

/// What a search leads to.
pub(super) type Outcome = (StopReason, Option<Found>);

impl<M: Model> Search<M> {
    /// A search by many threads.
    pub(super) fn new(model: M, options: &Options, order: Order) -> Self {
        let store = Arc::new(TupleStore::new(model.width()));
        let mut shared = Shared::new(options.clone(), store.clone(), model.properties().len());
        shared.holds_faults_back = order == Order::Faults;
        let worker = |number| Worker::new(model.clone(), store.clone(), number);
        Search {
            shared,
            workers: (0..options.threads.max(1)).map(worker).collect(),
            waiting: VecDeque::new(),
            violating_fault: None,
            next_violating_fault: None,
            depth: 0,
            layers_done: 0,
            ends: 0,
            memory: Memory::default(),
        }
    }

    /// A search by one thread that remembers how it got to each state. What it finds, and how, depends on
    /// the model alone. It looks for violations in states and actions, or only at ends.
    pub(super) fn with_parents(model: M, options: &Options, at_ends: bool) -> Self {
        let quiet = Options { threads: 1, progress: None, liveness: at_ends, ..options.clone() };
        let mut search = Self::new(model, &quiet, Order::Faults);
        search.shared.keeps_parents = true;
        search.shared.evaluates_states = !at_ends;
        search
    }

    /// Searches until all is seen, something is violated, or a limit is reached.
    pub(super) fn run(&mut self) -> Outcome {
        self.workers[0].begin(&self.shared);
        self.note_uncovered();
        let mut first = std::mem::take(&mut self.workers[0].next);
        loop {
            let outcome = self.layer(std::mem::take(&mut first));
            if let Some(outcome) = outcome {
                return outcome;
            }
            if let Some(found) = self.decide_liveness() {
                return (StopReason::Violated, Some(found));
            }
            self.layers_done += 1;
            if self.next_violating_fault.is_none() && self.shared.store.held() == 0 {
                return (StopReason::Complete, None);
            }
        }
    }

    /// Visits all states that need no more faults than the current layer allows.
    fn layer(&mut self, mut frontier: Vec<u32>) -> Option<Outcome> {
        let mut seeds = std::mem::take(&mut self.waiting);
        self.violating_fault = self.next_violating_fault.take();
        let mut depth = 0;
        loop {
            if frontier.is_empty() {
                match seeds.front() {
                    Some((first, _)) => depth = *first,
                    None => break,
                }
            }
            frontier.extend(self.release_seeds(&mut seeds, depth));
            if let Some((_, found)) = self.violating_fault.take_if(|(reached, _)| *reached <= depth) {
                return Some((StopReason::Violated, Some(found)));
            }
            if frontier.is_empty() {
                continue;
            }
            // Before anything else gets there: of two runs that are equally short, the one in which a fault
            // strikes later is easier to follow.
            let coming = self.release_seeds(&mut seeds, depth + 1);
            let states_waiting = seeds.iter().map(|(_, states)| states.len()).sum::<usize>() + coming.len();
            if let Some(outcome) = self.level(&mut frontier, coming, depth, states_waiting) {
                return Some(outcome);
            }
            depth += 1;
        }
        self.violating_fault.take().map(|(_, found)| (StopReason::Violated, Some(found)))
    }

    /// The states of a depth that needed one more fault than the last layer, and nothing has led to since.
    fn release_seeds(&self, seeds: &mut VecDeque<(u32, Vec<u32>)>, depth: u32) -> Vec<u32> {
        let due = seeds.pop_front_if(|(first, _)| *first == depth);
        let states = due.into_iter().flat_map(|(_, states)| states);
        states.filter(|id| self.shared.store.release(*id)).collect()
    }

    /// Expands the states of one depth, and replaces them by those of the next, some of which are known.
    fn level(
        &mut self,
        frontier: &mut Vec<u32>,
        mut coming: Vec<u32>,
        depth: u32,
        seeds: usize,
    ) -> Option<Outcome> {
        self.depth = self.depth.max(depth);
        let waiting = seeds + self.waiting.iter().map(|(_, states)| states.len()).sum::<usize>();
        self.shared.model_bytes.store(self.workers[0].model.bytes(), Ordering::Relaxed);
        let level = Level {
            frontier,
            cursor: AtomicUsize::new(0),
            chunk: (frontier.len() / (8 * self.workers.len())).clamp(1, CHUNK),
            depth,
            faults: self.layers_done,
            waiting,
            states_before: self.shared.store.len(),
            evaluate_only: false,
        };
        self.run_level(&level);
        self.note_memory(&level);
        self.note_uncovered();
        let expanded = level.cursor.into_inner().min(frontier.len());
        if let Some(found) = self.workers.iter_mut().find_map(|worker| worker.found.take()) {
            return Some((StopReason::Violated, Some(found)));
        }
        let mut next: Vec<u32> = Vec::new();
        let mut faulty = Vec::new();
        for worker in &mut self.workers {
            next.append(&mut worker.next);
            faulty.append(&mut worker.faulty);
            let violation = worker.violating_fault.take().map(|found| (depth + 1, found));
            self.next_violating_fault = self.next_violating_fault.take().or(violation);
        }
        if let Some(stop_reason) = self.shared.halted() {
            let mut rest = frontier.split_off(expanded);
            rest.append(&mut coming);
            rest.append(&mut next);
            return Some(self.evaluate_rest(stop_reason, &rest, depth));
        }
        if !faulty.is_empty() {
            faulty.shrink_to_fit();
            self.waiting.push_back((depth + 1, faulty));
        }
        coming.append(&mut next);
        *frontier = coming;
        None
    }

    /// After a limit: evaluates what was reached but will not be expanded.
    fn evaluate_rest(&mut self, stop_reason: StopReason, rest: &[u32], depth: u32) -> Outcome {
        if stop_reason == StopReason::Stopped {
            return (stop_reason, None);
        }
        let states_before = self.shared.store.len();
        let chunk = (rest.len() / (8 * self.workers.len())).clamp(1, CHUNK);
        let cursor = AtomicUsize::new(0);
        let faults = self.layers_done;
        self.run_level(&Level {
            frontier: rest,
            cursor,
            chunk,
            depth,
            faults,
            waiting: 0,
            states_before,
            evaluate_only: true,
        });
        let in_states = self.workers.iter_mut().find_map(|worker| worker.found.take());
        let violating_fault = self.violating_fault.take().or(self.next_violating_fault.take());
        match in_states.or(violating_fault.map(|(_, found)| found)) {
            Some(found) => (StopReason::Violated, Some(found)),
            None => (stop_reason, None),
        }
    }

    /// Lets all threads work on a level. A panic on one of them becomes a panic here, after all have ended.
    fn run_level(&mut self, level: &Level<'_>) {
        let shared = &self.shared;
        if self.workers.len() == 1 || level.frontier.len() < FEW_STATES {
            self.workers[0].run(shared, level);
            return;
        }
        thread::scope(|scope| {
            let start = |worker| scope.spawn(move || Worker::run(worker, shared, level));
            let threads: Vec<_> = self.workers.iter_mut().map(start).collect();
            for thread in threads {
                if let Err(cause) = thread.join() {
                    shared.halt(StopReason::Stopped);
                    panic::resume_unwind(cause);
                }
            }
        });
    }

    /// From now on, states are left out for those that this depth has led to.
    fn note_uncovered(&mut self) {
        for worker in &mut self.workers {
            for (rest, faults) in worker.uncovered.drain(..) {
                self.shared.subsumption.add(&mut worker.model, rest, faults);
            }
        }
    }

    /// Decides liveness for the fair runs of the layer. Earlier layers are closed and were decided before.
    fn decide_liveness(&mut self) -> Option<Found> {
        if !self.shared.options.liveness {
            return None;
        }
        let verdict = decide_liveness(&self.shared, &mut self.workers[0]);
        self.ends += verdict.ends;
        verdict.found
    }

    fn note_memory(&mut self, level: &Level<'_>) {
        let total = self.shared.bytes(level);
        let exits = self.shared.exit_bytes();
        let model = self.workers[0].model.bytes();
        let visited = self.shared.store.bytes();
        self.memory.visited = visited;
        self.memory.model = model;
        self.memory.exits = exits;
        self.memory.frontier = self.memory.frontier.max(total.saturating_sub(visited + exits + model));
        self.memory.total = self.memory.total.max(total);
    }

    /// The words of the states on the way to a state.
    pub(super) fn path_to(&mut self, state: u32) -> Vec<Vec<u32>> {
        let worker = &mut self.workers[0];
        let mut path = Vec::new();
        let mut next = state;
        while next != NO_PARENT {
            path.push(worker.folder.unfold(next).to_vec());
            let (shard, offset) = shard_and_offset(next);
            next = worker.parents[shard][offset];
        }
        path.reverse();
        path
    }
}
