//! The world: all hosts together. A state is a tuple of numbers, each naming an interned part.
//!
//! A [`World`] is what one worker has of it. It puts together types that each do one thing: [`Transitions`] says what can
//! happen and performs it, [`Planner`] remembers that by situation, `expand` follows the plans to the successors of a state,
//! [`Canonicalizer`], [`Permuter`] and [`FaultEraser`] find out which of them are alike. What they work out in common is in
//! [`Parts`], which all workers share.

mod cache;
pub(crate) mod canonical;
mod expand;
mod fault_eraser;
mod ops;
mod parts;
mod plans;
mod seen;
mod seen_step;
mod setup;
mod shared;
mod state;
mod symmetry;
mod transitions;

use std::sync::MutexGuard;

pub(crate) use expand::Move;
pub(crate) use ops::{HostOp, StepViolation};
pub(crate) use parts::{MenuSlot, NOTHING_UNSEEN, Parts};
pub(crate) use seen_step::SeenStep;
pub(crate) use setup::Setup;
pub(crate) use state::{State, Visible};
pub(crate) use symmetry::Asymmetry;
pub(crate) use transitions::{Step, Transitions};

use crate::index::PermutationIndex;
use cache::PartsCache;
use canonical::Canonicalizer;
use fault_eraser::FaultEraser;
use plans::{Planner, Situations};
use seen_step::SeenSteps;
use shared::Shared;
use symmetry::Permuter;

/// The world as one worker sees it. A clone shares the parts and begins with empty memories of its own.
pub(crate) struct World {
    shared: Shared,
    /// What can happen in a state, and what it leads to.
    pub(crate) transitions: Transitions,
    situations: Situations,
    planner: Planner,
    canonicalizer: Canonicalizer,
    permuter: Permuter,
    fault_eraser: FaultEraser,
    seen_steps: SeenSteps,
}

impl World {
    pub(crate) fn new(setup: Setup) -> Self {
        World::of(Shared::new(setup))
    }

    /// Another worker.
    fn of(shared: Shared) -> Self {
        World {
            transitions: Transitions::new(PartsCache::new(shared.parts.clone()), shared.facts.clone()),
            situations: Situations::new(shared.situations.clone(), shared.facts.processes),
            planner: Planner::new(shared.plans.clone(), shared.parts.clone()),
            canonicalizer: Canonicalizer::new(shared.parts.clone(), shared.facts.processes),
            permuter: Permuter::new(
                shared.parts.clone(),
                shared.permutations.clone(),
                shared.facts.processes,
            ),
            fault_eraser: FaultEraser::default(),
            seen_steps: SeenSteps::default(),
            shared,
        }
    }

    /// The same world with no parts known yet.
    pub(crate) fn fresh_copy(&self) -> Self {
        World::new(self.parts().setup.clone())
    }

    /// The parts that all workers share.
    pub(crate) fn parts(&self) -> MutexGuard<'_, Parts> {
        self.shared.parts.lock()
    }

    /// How many controller processes there are.
    pub(crate) fn controllers(&self) -> usize {
        self.shared.facts.processes
    }

    pub(crate) fn initial(&self) -> State {
        self.shared.initial
    }

    /// Bytes that parts and plans take, about.
    pub(crate) fn bytes(&self) -> usize {
        let situations = self.shared.situations.lock().bytes();
        self.parts().bytes() + self.shared.plans.lock().bytes() + situations
    }

    /// How many words a state takes when it is stored.
    pub(crate) fn width(&self) -> usize {
        self.situations.width()
    }

    /// Writes the numbers that stand for a state.
    pub(crate) fn encode(&mut self, state: &State, words: &mut [u32]) {
        self.situations.encode(state, words);
    }

    /// The state that some numbers stand for.
    pub(crate) fn decode(&mut self, words: &[u32]) -> State {
        self.situations.decode(words)
    }

    /// The number of permutations of names and processes.
    pub(crate) fn permutations(&self) -> usize {
        self.shared.permutations.len()
    }

    /// The state with names and processes permuted.
    pub(crate) fn permute(&mut self, state: &State, permutation: PermutationIndex) -> State {
        self.permuter.permute(state, permutation)
    }

    /// The same step with names and processes permuted.
    pub(crate) fn permute_step(&mut self, step: &SeenStep, permutation: PermutationIndex) -> SeenStep {
        step.permute(&mut self.permuter, permutation)
    }

    /// Takes the faults out of stored words; see [`Model::take_faults`](crate::engine::Model::take_faults).
    #[inline]
    pub(crate) fn take_faults(&mut self, words: &mut [u32]) -> Option<u64> {
        if !self.shared.facts.has_faults {
            return None;
        }
        Some(self.fault_eraser.take(words, &mut self.transitions.cache, &mut self.situations))
    }

    /// Puts back what [`World::take_faults`] has taken.
    pub(crate) fn put_faults(&mut self, words: &mut [u32], faults: u64) {
        fault_eraser::put(words, faults, &mut self.situations);
    }

    /// Whether all faults that can strike with the one can with the other.
    pub(crate) fn includes_faults(&mut self, more: u64, less: u64) -> bool {
        fault_eraser::includes(more, less, &mut self.transitions.cache)
    }
}

impl Clone for World {
    fn clone(&self) -> Self {
        World::of(self.shared.clone())
    }
}
