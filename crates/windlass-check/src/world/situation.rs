//! Situations: all that decides what a process can do next, but for the network, as one number.
//!
//! A state of the world is stored as the number of its network, and that of the situation of each process. So where
//! a step leads is looked up, and not put together from parts.

use rustc_hash::FxHashMap;

use super::{CLUSTER, ENVIRONMENT, HOSTS, NETWORK, Words, World};

/// Where the number of the network is among the words that are stored; the situations follow.
pub(super) const STORED_NETWORK: usize = 0;
pub(super) const STORED_HOSTS: usize = 1;

/// A process: its own state, and what surrounds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Situation {
    pub(super) process: u32,
    pub(super) host: u32,
    pub(super) cluster: u32,
    pub(super) environment: u32,
}

impl Situation {
    /// That of a process in a state.
    pub(super) fn of(state: &Words, process: usize) -> Self {
        Situation {
            process: process as u32,
            host: state[HOSTS + process],
            cluster: state[CLUSTER],
            environment: state[ENVIRONMENT],
        }
    }
}

/// All situations, for all workers.
#[derive(Default)]
pub(super) struct Situations {
    numbers: FxHashMap<Situation, u32>,
    all: Vec<Situation>,
}

impl Situations {
    pub(super) fn number(&mut self, situation: Situation) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(situation).or_insert(next);
        if number == next {
            self.all.push(situation);
        }
        number
    }

    /// Those from a number on.
    pub(super) fn from(&self, number: usize) -> &[Situation] {
        &self.all[number..]
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

impl World {
    /// How many words a state takes when it is stored. A world without processes has one that does nothing.
    pub(crate) fn width(&self) -> usize {
        STORED_HOSTS + self.controllers().max(1)
    }

    /// Writes the numbers that stand for a state.
    pub(crate) fn encode(&mut self, state: &Words, words: &mut [u32]) {
        words[STORED_NETWORK] = state[NETWORK];
        for (process, word) in words[STORED_HOSTS..].iter_mut().enumerate() {
            *word = self.situation_number(Situation::of(state, process));
        }
    }

    /// The state that some numbers stand for.
    pub(crate) fn decode(&mut self, words: &[u32]) -> Words {
        let mut state = Words::default();
        state[NETWORK] = words[STORED_NETWORK];
        for (process, word) in words[STORED_HOSTS..].iter().enumerate() {
            let situation = self.situation(*word);
            state[CLUSTER] = situation.cluster;
            state[ENVIRONMENT] = situation.environment;
            state[HOSTS + process] = situation.host;
        }
        state
    }

    /// A situation by its number.
    #[inline]
    pub(super) fn situation(&mut self, number: u32) -> Situation {
        let known = &mut self.memory.plans.situations;
        if number as usize >= known.len() {
            let plans = super::plan::lock(&self.plans);
            known.extend_from_slice(plans.situations.from(known.len()));
        }
        known[number as usize]
    }

    /// The number of a situation.
    pub(super) fn situation_number(&mut self, situation: Situation) -> u32 {
        if let Some(known) = self.memory.plans.situation_numbers.get(&situation) {
            return known;
        }
        let number = super::plan::lock(&self.plans).situations.number(situation);
        self.memory.plans.situation_numbers.set(situation, number);
        number
    }
}
