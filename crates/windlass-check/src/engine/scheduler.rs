//! Which action comes next in a random run.

use rustc_hash::FxHashMap;

use super::model::Model;
use super::random::Random;

/// How the next action is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Each that is possible is as likely as the others.
    Random,
    /// Each actor has a random priority, and the highest that can do something does; at this number of random
    /// steps, the one whose turn it is becomes the lowest. With d of them, an error that takes d + 1
    /// orderings is found with a likelihood that has a lower bound.
    Pct(u32),
}

/// Chooses for one run.
pub(super) struct Chooser {
    random: Random,
    scheduler: Scheduler,
    /// One step in this many is a fault, if one is possible; 0 for none.
    fault_every: usize,
    /// By actor. Those above all that were lowered have the highest bit.
    priorities: FxHashMap<usize, u64>,
    /// At which steps somebody is lowered.
    lower_at: Vec<usize>,
    step: usize,
}

const NEVER_LOWERED: u64 = 1 << 63;

impl Chooser {
    pub(super) fn new(seed: u64, scheduler: Scheduler, depth: usize) -> Self {
        let mut random = Random::new(seed);
        // Some errors take many faults and some only show where there are few.
        let fault_every = [0, 4, 16, 64][random.below(4)];
        let lowered = match scheduler {
            Scheduler::Random => 0,
            Scheduler::Pct(changes) => changes,
        };
        let lower_at = (0..lowered).map(|_| random.below(depth.max(1))).collect();
        Chooser { random, scheduler, fault_every, priorities: FxHashMap::default(), lower_at, step: 0 }
    }

    /// From now on no fault, and no actor before others: so every run is fair.
    pub(super) fn be_fair(&mut self) {
        self.fault_every = 0;
        self.scheduler = Scheduler::Random;
    }

    /// A random number below a bound.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    /// Chooses among actions, if there is one to take.
    pub(super) fn choose<M: Model>(&mut self, model: &M, actions: &[M::Action]) -> Option<usize> {
        let (faults, fair): (Vec<usize>, Vec<usize>) =
            (0..actions.len()).partition(|index| model.is_fault(&actions[*index]));
        self.step += 1;
        let may_fault = self.fault_every > 0 && !faults.is_empty();
        if may_fault && (fair.is_empty() || self.random.below(self.fault_every) == 0) {
            return Some(faults[self.random.below(faults.len())]);
        }
        match self.scheduler {
            _ if fair.is_empty() => None,
            Scheduler::Random => Some(fair[self.random.below(fair.len())]),
            Scheduler::Pct(_) => Some(self.by_priority(model, actions, &fair)),
        }
    }

    fn by_priority<M: Model>(&mut self, model: &M, actions: &[M::Action], fair: &[usize]) -> usize {
        let mut first = (0, 0);
        for index in fair {
            let actor = model.actor(&actions[*index]);
            let random = &mut self.random;
            let priority = *self.priorities.entry(actor).or_insert_with(|| random.next() | NEVER_LOWERED);
            first = first.max((priority, actor));
        }
        if let Some(lowered) = self.lower_at.iter().position(|step| *step + 1 == self.step) {
            self.priorities.insert(first.1, (self.lower_at.len() - lowered) as u64);
        }
        let of_first: Vec<usize> =
            fair.iter().copied().filter(|index| model.actor(&actions[*index]) == first.1).collect();
        of_first[self.random.below(of_first.len())]
    }
}
