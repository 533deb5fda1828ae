//! Breadth-first search through all states of a world.

use std::collections::BTreeSet;
use std::rc::Rc;

use windlass::Bug;

use crate::action::Action;
use crate::liveness::{FairGraph, bottom_components};
use crate::property::Property;
use crate::report::{Report, Violation};
use crate::state_table::StateTable;
use crate::stopwatch::Stopwatch;
use crate::trace::{self, Trace};
use crate::view::View;
use crate::world::World;

/// What to look for, and when to give up.
pub(crate) struct Goals {
    pub(crate) always: Vec<Property>,
    pub(crate) eventually: Vec<Property>,
    pub(crate) sometimes: Vec<Property>,
    pub(crate) max_states: usize,
    pub(crate) clock_limit: u32,
}

/// A search under way.
pub(crate) struct Search {
    pub(crate) world: World,
    pub(crate) states: StateTable,
    /// From which state each was first reached; the first state is its own.
    parents: Vec<u32>,
    depths: Vec<u32>,
    fair: FairGraph,
    goals: Goals,
    transitions: u64,
    crash_points: BTreeSet<String>,
    seen: Vec<bool>,
    watch: Stopwatch,
}

impl Search {
    pub(crate) fn new(world: World, initial: &[u32], goals: Goals) -> Self {
        let mut states = StateTable::new(initial.len());
        states.insert(initial);
        let seen = vec![false; goals.sometimes.len()];
        Search {
            world,
            states,
            parents: vec![0],
            depths: vec![0],
            fair: FairGraph::new(),
            goals,
            transitions: 0,
            crash_points: BTreeSet::new(),
            seen,
            watch: Stopwatch::start(),
        }
    }

    /// Searches until all is seen, something is wrong, or the limit is reached.
    pub(crate) fn run(mut self) -> Report {
        let mut violation = self.judge_state(0);
        let mut actions = Vec::new();
        let mut index = 0;
        while violation.is_none()
            && (index as usize) < self.states.len()
            && self.states.len() <= self.goals.max_states
        {
            violation = self.expand(index, &mut actions);
            index += 1;
        }
        let complete = violation.is_none() && index as usize == self.states.len();
        let mut ends = Vec::new();
        if complete {
            let components = bottom_components(&self.fair);
            violation = self.judge_ends(&components).or_else(|| self.judge_sometimes());
            ends = self.end_states(&components);
        }
        self.report(complete, violation, ends)
    }

    /// Performs everything that can happen in a state.
    fn expand(&mut self, index: u32, actions: &mut Vec<Action>) -> Option<Violation> {
        let state = self.states.get(index).to_vec();
        self.world.actions(&state, actions);
        for action in actions.drain(..) {
            let next = self.world.perform(&state, action);
            self.transitions += 1;
            if let Action::Crash { controller } = action {
                self.note_crash(&state, controller);
            }
            if let Some(bug) = next.bug {
                return Some(self.code_is_wrong(index, action, &bug));
            }
            let (target, new) = self.states.insert(&next.state);
            if !action.is_fault() {
                self.fair.targets.push(target);
            }
            if new {
                self.parents.push(index);
                self.depths.push(self.depths[index as usize] + 1);
                if let Some(violation) = self.judge_state(target) {
                    return Some(violation);
                }
            }
        }
        self.fair.close();
        None
    }

    fn judge_state(&mut self, index: u32) -> Option<Violation> {
        let state = self.states.get(index).to_vec();
        let visible = World::visible(&state);
        let mut broken = None;
        for property in &mut self.goals.always {
            let world = &self.world;
            if !property.holds(visible, || view(world, &state, self.goals.clock_limit)) {
                broken = Some(property.name.clone());
                break;
            }
        }
        for (property, seen) in self.goals.sometimes.iter_mut().zip(&mut self.seen) {
            let world = &self.world;
            *seen = *seen || property.holds(visible, || view(world, &state, self.goals.clock_limit));
        }
        broken.map(|property| Violation::Always { property, trace: self.trace_to(index) })
    }

    /// `eventually`: every state in which fair runs end up must satisfy it.
    fn judge_ends(&mut self, components: &[Vec<u32>]) -> Option<Violation> {
        let mut worst: Option<(u32, usize, String)> = None;
        for (number, members) in components.iter().enumerate() {
            for index in members {
                let state = self.states.get(*index).to_vec();
                let visible = World::visible(&state);
                for property in &mut self.goals.eventually {
                    let world = &self.world;
                    let holds = property.holds(visible, || view(world, &state, self.goals.clock_limit));
                    if !holds && worst.as_ref().is_none_or(|(first, _, _)| index < first) {
                        worst = Some((*index, number, property.name.clone()));
                    }
                }
            }
        }
        let (index, _, property) = worst?;
        let trace = self.trace_to(index);
        let repeats = self.loop_at(index);
        Some(Violation::Eventually { property, trace, repeats })
    }

    fn judge_sometimes(&self) -> Option<Violation> {
        let unseen = self.goals.sometimes.iter().zip(&self.seen).find(|(_, seen)| !**seen);
        unseen.map(|(property, _)| Violation::Never { property: property.name.clone() })
    }

    fn code_is_wrong(&mut self, index: u32, action: Action, bug: &Rc<Bug>) -> Violation {
        let mut trace = self.trace_to(index);
        let state = self.states.get(index).to_vec();
        trace.steps.push(trace::describe(&mut self.world, &state, action));
        Violation::Code { bug: (**bug).clone(), trace }
    }

    fn note_crash(&mut self, state: &[u32], controller: usize) {
        for slot in 0.. {
            let Some((ask, running)) = self.world.sent(state, controller, slot) else { return };
            self.crash_points.insert(format!("{running}: {}", crate::show::ask(&ask)));
        }
    }

    /// The shortest way to a state.
    fn trace_to(&mut self, index: u32) -> Trace {
        let mut path = vec![index];
        while let Some(last) = path.last().copied().filter(|last| *last != 0) {
            path.push(self.parents[last as usize]);
        }
        path.reverse();
        self.trace_along(&path)
    }

    /// A way from a state back to itself, if there is one: breadth first, by fair steps only.
    fn loop_at(&mut self, start: u32) -> Trace {
        let mut from = rustc_hash::FxHashMap::default();
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(state) = queue.pop_front() {
            for next in self.fair.successors(state) {
                if *next == start {
                    let mut path = vec![start, state];
                    while let Some(before) = path.last().and_then(|last| from.get(last)) {
                        path.push(*before);
                    }
                    if state == start {
                        path = vec![start, start];
                    }
                    path.reverse();
                    return self.trace_along(&path);
                }
                if !from.contains_key(next) {
                    from.insert(*next, state);
                    queue.push_back(*next);
                }
            }
        }
        Trace::default()
    }

    fn trace_along(&mut self, path: &[u32]) -> Trace {
        let mut trace = Trace::default();
        for pair in path.windows(2) {
            let (before, after) = (self.states.get(pair[0]).to_vec(), self.states.get(pair[1]).to_vec());
            trace.steps.extend(trace::step_between(&mut self.world, &before, &after));
        }
        trace
    }

    /// The distinct clusters in which fair runs end up, without what only counts writes.
    fn end_states(&self, components: &[Vec<u32>]) -> Vec<String> {
        let ends = components.iter().flatten().map(|index| self.world.cluster(self.states.get(*index)));
        let distinct: BTreeSet<String> = ends.map(crate::report::settled_objects).collect();
        distinct.into_iter().collect()
    }

    fn report(self, complete: bool, violation: Option<Violation>, ends: Vec<String>) -> Report {
        let names: Vec<&str> = self.world.controllers.iter().map(windlass::Controller::name).collect();
        Report {
            controllers: names.join(", "),
            faults: self.world.faults.clone(),
            objects: 0,
            states: self.states.len() as u64,
            transitions: self.transitions,
            executions: self.world.steps.executions,
            depth: self.depths.last().copied().unwrap_or(0),
            elapsed: self.watch.elapsed(),
            bytes: self.states.bytes(),
            parts: self.world.sizes(),
            complete,
            violation,
            ends,
            crash_points: self.crash_points,
        }
    }
}

fn view<'a>(world: &'a World, state: &[u32], clock_limit: u32) -> View<'a> {
    let clocks =
        world.clocks_of(state).iter().map(|(job, clock)| (world.jobs.get(*job).target.clone(), *clock));
    View {
        cluster: world.cluster(state),
        clocks: clocks.collect(),
        clock_limit,
        services: world.services_of(state),
    }
}
