//! Seeded random runs, for what is beyond exhaustive bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::stopwatch::Stopwatch;
use crate::violation::Violation;

use super::model::{Model, PropertyKind};
use super::scheduler::{Chooser, Scheduler};
use super::shorten::{Run, shorten};
use super::walk::{Stepped, Walk};

/// How often a run goes on without faults, as far again, before its ends are given up.
const ROUNDS: usize = 4;

/// How to simulate. Runs have the seeds that follow on each other from the first.
#[derive(Clone, Debug)]
pub struct SimulationOptions {
    /// Decides everything about the first run.
    pub seed: u64,
    /// How many runs; without a number, until it is stopped.
    pub runs: Option<u64>,
    /// How many steps a run has before faults stop.
    pub depth: usize,
    /// Who goes first.
    pub scheduler: Scheduler,
    /// Maximum number of states to decide liveness for a run. 0: liveness is not decided.
    pub end_states: usize,
    /// Ends the simulation early when it becomes true.
    pub stop: Arc<AtomicBool>,
}

impl Default for SimulationOptions {
    fn default() -> Self {
        SimulationOptions {
            seed: 0,
            runs: Some(1_000),
            depth: 200,
            scheduler: Scheduler::Random,
            end_states: 2_000,
            stop: Arc::default(),
        }
    }
}

/// What random runs found, and how much they saw. It says nothing of what they did not see.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The seed of the first run.
    pub seed: u64,
    /// How many runs there were.
    pub runs: u64,
    /// Their steps, without those to find out where they end.
    pub steps: u64,
    /// How many runs had too many states ahead of them to say where they end.
    pub undecided: u64,
    /// The seed of the run that found a violation, and the violation. The same seed finds it again in one run.
    pub violation: Option<(u64, Violation)>,
    /// The `sometimes` properties, and whether each was seen to hold.
    pub sometimes: Vec<(String, bool)>,
    /// Whether it was stopped early.
    pub stopped: bool,
    /// How long it took.
    pub elapsed: Duration,
}

/// Runs a model at random until something is violated, or there were enough runs.
///
/// A violation is reported with a run that was made shorter where that was easy. The same seed finds the same.
pub fn simulate<M: Model>(model: &M, options: &SimulationOptions) -> Simulation {
    let watch = Stopwatch::start();
    let properties = model.properties();
    let mut seen = vec![false; properties.len()];
    let mut simulation = Simulation {
        seed: options.seed,
        runs: 0,
        steps: 0,
        undecided: 0,
        violation: None,
        sometimes: Vec::new(),
        stopped: false,
        elapsed: Duration::ZERO,
    };
    let mut simulated = model.fresh_copy();
    while simulation.violation.is_none() && options.runs.is_none_or(|runs| simulation.runs < runs) {
        if options.stop.load(Ordering::Relaxed) {
            simulation.stopped = true;
            break;
        }
        let seed = options.seed.wrapping_add(simulation.runs);
        let end = run(&mut simulated, seed, options);
        simulation.runs += 1;
        simulation.steps += end.steps;
        simulation.undecided += u64::from(end.undecided);
        seen.iter_mut().zip(&end.seen).for_each(|(seen, now)| *seen |= now);
        let found = end.violation.map(|found| (seed, shortest(model, &mut simulated, seed, found, options)));
        simulation.violation = found;
    }
    let sometimes = properties.iter().zip(seen).filter(|(rule, _)| rule.kind == PropertyKind::Sometimes);
    simulation.sometimes = sometimes.map(|(rule, seen)| (rule.name.clone(), seen)).collect();
    simulation.elapsed = watch.elapsed();
    simulation
}

/// How a run ended.
struct RunEnd {
    violation: Option<(Run, Violation)>,
    undecided: bool,
    steps: u64,
    seen: Vec<bool>,
}

/// Runs once: with faults for a while, then without until it can be said where it ends.
fn run<M: Model>(model: &mut M, seed: u64, options: &SimulationOptions) -> RunEnd {
    let mut chooser = Chooser::new(seed, options.scheduler, options.depth);
    let mut firsts = model.initial();
    let first = chooser.below(firsts.len().max(1));
    let mut walk = Walk::new(model, firsts.swap_remove(first));
    let mut found = walk.evaluate().or_else(|| go_on(&mut walk, &mut chooser, options.depth));
    let mut at_ends = false;
    let mut undecided = false;
    if found.is_none() && options.end_states > 0 {
        chooser.be_fair();
        undecided = true;
        for _ in 0..ROUNDS {
            if let Ok(violation) = walk.decide_liveness(options.end_states) {
                (found, at_ends, undecided) = (violation, true, false);
                break;
            }
            found = go_on(&mut walk, &mut chooser, options.depth);
            if found.is_some() {
                undecided = false;
                break;
            }
        }
    }
    let names = if found.is_some() { walk.names_taken() } else { Vec::new() };
    let violation = found.map(|violation| (Run { first, names, at_ends }, violation));
    RunEnd { violation, undecided, steps: walk.len() as u64, seen: walk.seen }
}

/// Takes at most `steps` steps; fewer if nothing more can happen. Returns a violation.
fn go_on<M: Model>(walk: &mut Walk<'_, M>, chooser: &mut Chooser, steps: usize) -> Option<Violation> {
    for _ in 0..steps {
        let mut actions = walk.actions();
        loop {
            let chosen = chooser.choose(walk.model(), &actions)?;
            match walk.step(&actions[chosen]) {
                Stepped::On => break,
                Stepped::Violation(violation) => return Some(violation),
                Stepped::Nowhere => _ = actions.swap_remove(chosen),
            }
        }
    }
    None
}

/// The shortest that can be made of what a run found: on a model that remembers nothing of the runs before,
/// so that the seed alone leads there, if it does.
fn shortest<M: Model>(
    model: &M,
    simulated: &mut M,
    seed: u64,
    found: (Run, Violation),
    options: &SimulationOptions,
) -> Violation {
    let mut fresh = model.fresh_copy();
    match run(&mut fresh, seed, options).violation {
        Some((run, violation)) => shorten(&mut fresh, run, violation, options.end_states),
        None => shorten(simulated, found.0, found.1, options.end_states),
    }
}
