//! One step from each state, of those that must happen: enough to see of nearly all states that fair runs leave
//! them for ever.

use std::cmp::Reverse;
use std::sync::{Mutex, MutexGuard};

use super::arena::Arena;
use super::pair_table::{Groups, SHARDS, id_of, offset_in_shard, shard_and_offset};

/// The state was not expanded yet.
const UNKNOWN: u32 = u32::MAX;
/// No step leads anywhere else.
const NONE: u32 = u32::MAX - 1;
/// It is known where fair runs from there end up.
const DECIDED: u32 = u32::MAX - 2;
/// It is on the way that is being followed.
const ON_THE_WAY: u32 = u32::MAX - 3;

/// What is known of where a state leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Nothing: it was not expanded yet.
    Unknown,
    /// Nowhere else.
    None,
    /// It was decided before.
    Decided,
    /// It is on the way that is being followed.
    OnTheWay,
    /// To this state, among others.
    To(u32),
}

/// The step that is kept of a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepOut {
    state: u32,
    exit: u32,
}

impl StepOut {
    /// Of all successors, the one that was found last is kept: so the way on from it rarely comes back.
    pub(super) fn new(state: u32, successors: impl Iterator<Item = u32>) -> Self {
        let elsewhere = successors.filter(|successor| *successor != state);
        let exit = elsewhere.max_by_key(|successor| offset_in_shard(*successor)).unwrap_or(NONE);
        StepOut { state, exit }
    }
}

/// The steps, written by all threads while states are expanded.
pub(super) struct Exits {
    shards: Vec<Mutex<Arena<u32>>>,
}

impl Exits {
    pub(super) fn new() -> Self {
        Exits { shards: (0..SHARDS).map(|_| Mutex::new(Arena::new())).collect() }
    }

    /// Notes where the steps of some states lead. Each shard is locked once.
    pub(super) fn note_all(&self, steps: &[StepOut], groups: &mut Groups) {
        groups.arrange(steps.iter().map(|step| shard_and_offset(step.state).0));
        for number in 0..SHARDS {
            let group = groups.of(number);
            if group.is_empty() {
                continue;
            }
            let mut shard = self.lock(number);
            for index in group {
                let step = steps[*index as usize];
                shard.set(shard_and_offset(step.state).1, step.exit, UNKNOWN);
            }
        }
    }

    /// Bytes that it takes for this number of states, about.
    pub(super) fn bytes(states: usize) -> usize {
        states * size_of::<u32>()
    }

    /// Takes them out, for a single thread.
    pub(super) fn take(&self) -> ExitMap {
        let shards = (0..SHARDS).map(|shard| std::mem::replace(&mut *self.lock(shard), Arena::new()));
        ExitMap { shards: shards.collect(), decided_above: usize::MAX }
    }

    /// Puts them back.
    pub(super) fn put_back(&self, map: ExitMap) {
        for (shard, exits) in map.shards.into_iter().enumerate() {
            *self.lock(shard) = exits;
        }
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Arena<u32>> {
        self.shards[shard].lock().expect("nothing that could panic runs while a shard is locked")
    }
}

/// The steps, for one thread.
pub(super) struct ExitMap {
    shards: Vec<Arena<u32>>,
    /// All that is known at higher offsets counts as decided.
    decided_above: usize,
}

impl ExitMap {
    pub(super) fn get(&self, state: u32) -> Exit {
        let (shard, offset) = shard_and_offset(state);
        match self.shards[shard].get(offset).unwrap_or(UNKNOWN) {
            UNKNOWN => Exit::Unknown,
            _ if offset > self.decided_above => Exit::Decided,
            NONE => Exit::None,
            DECIDED => Exit::Decided,
            ON_THE_WAY => Exit::OnTheWay,
            next => Exit::To(next),
        }
    }

    pub(super) fn set_decided(&mut self, state: u32) {
        self.set(state, DECIDED);
    }

    pub(super) fn set_on_the_way(&mut self, state: u32) {
        self.set(state, ON_THE_WAY);
    }

    fn set(&mut self, state: u32, exit: u32) {
        let (shard, offset) = shard_and_offset(state);
        self.shards[shard].set(offset, exit, UNKNOWN);
    }

    /// The states whose kept step does not lead to a higher offset, the highest first. Most steps do: to states that
    /// were found later.
    pub(super) fn not_upwards(&self) -> Vec<u32> {
        let mut states = Vec::new();
        for (shard, exits) in self.shards.iter().enumerate() {
            let looked_at = exits.iter().enumerate().filter(|(offset, exit)| match *exit {
                UNKNOWN | DECIDED => false,
                NONE | ON_THE_WAY => true,
                next => offset_in_shard(next) as usize <= *offset,
            });
            states.extend(looked_at.map(|(offset, _)| id_of(shard, offset)));
        }
        states.sort_unstable_by_key(|state| (Reverse(offset_in_shard(*state)), *state));
        states
    }

    /// Counts everything as decided that is known at offsets above that of a state.
    pub(super) fn set_decided_above(&mut self, state: u32) {
        self.decided_above = offset_in_shard(state) as usize;
    }

    /// Marks all that is known as decided.
    pub(super) fn set_all_decided(&mut self) {
        let known = self.shards.iter_mut().flat_map(Arena::iter_mut).filter(|exit| **exit != UNKNOWN);
        known.for_each(|exit| *exit = DECIDED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_successor_that_was_found_last_is_kept() {
        let exits = Exits::new();
        let in_another_shard = 1 << 26;
        let steps = [
            StepOut::new(7, [3, 9, 7, in_another_shard + 8].into_iter()),
            StepOut::new(5, [5].into_iter()),
            StepOut::new(9, [].into_iter()),
            StepOut::new(in_another_shard + 2, [0].into_iter()),
        ];
        exits.note_all(&steps, &mut Groups::new());
        let mut map = exits.take();
        assert_eq!((map.get(7), map.get(5), map.get(6)), (Exit::To(9), Exit::None, Exit::Unknown));
        assert_eq!((map.get(in_another_shard + 2), map.get(1_000)), (Exit::To(0), Exit::Unknown));
        assert_eq!(map.not_upwards(), [9, 5, in_another_shard + 2], "7 leads to a higher offset");
        map.set_decided_above(7);
        assert_eq!((map.get(9), map.get(8), map.get(7)), (Exit::Decided, Exit::Unknown, Exit::To(9)));
        map.set_decided(7);
        map.set_on_the_way(5);
        exits.put_back(map);
        let mut map = exits.take();
        assert_eq!((map.get(9), map.get(7), map.get(5)), (Exit::None, Exit::Decided, Exit::OnTheWay));
        map.set_all_decided();
        assert_eq!((map.get(9), map.get(8), map.get(5)), (Exit::Decided, Exit::Unknown, Exit::Decided));
    }
}
