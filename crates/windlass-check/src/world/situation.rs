//! Situations: all that decides what a process can do next, but for the network, as one number.
//!
//! A state of the world is stored as the number of its network, and that of the situation of each process. So where
//! a step leads is looked up, and not put together from parts.

use rustc_hash::FxHashMap;

use super::{MOST_PROCESSES, State, World, stored};
use crate::ids::{ClusterId, EnvironmentId, HostId};
use crate::intern::Id;

/// A process: its own state, and what surrounds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Situation {
    pub(super) process: u32,
    pub(super) host: HostId,
    pub(super) cluster: ClusterId,
    pub(super) environment: EnvironmentId,
}

/// The number of a situation.
pub(crate) type SituationId = Id<Situation>;

impl Situation {
    /// That of a process in a state.
    pub(super) fn of(state: &State, process: usize) -> Self {
        Situation {
            process: process as u32,
            host: state.hosts[process],
            cluster: state.cluster,
            environment: state.environment,
        }
    }
}

/// All situations, for all workers.
#[derive(Default)]
pub(super) struct Situations {
    numbers: FxHashMap<Situation, SituationId>,
    all: Vec<Situation>,
}

impl Situations {
    pub(super) fn number(&mut self, situation: Situation) -> SituationId {
        let next = SituationId::from_index(self.all.len());
        let number = *self.numbers.entry(situation).or_insert(next);
        if number == next {
            self.all.push(situation);
        }
        number
    }

    /// Those from an index on.
    pub(super) fn from(&self, index: usize) -> &[Situation] {
        &self.all[index..]
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

impl World {
    /// How many words a state takes when it is stored. A world without processes has one that does nothing.
    pub(crate) fn width(&self) -> usize {
        stored::width(self.controllers().max(1))
    }

    /// Writes the numbers that stand for a state.
    pub(crate) fn encode(&mut self, state: &State, words: &mut [u32]) {
        stored::set_network(words, state.network);
        stored::map_situations(words, |process, _| self.situation_number(Situation::of(state, process)));
    }

    /// The state that some numbers stand for.
    pub(crate) fn decode(&mut self, words: &[u32]) -> State {
        let Situation { cluster, environment, .. } = self.situation(stored::situation(words, 0));
        let mut hosts = [HostId::FIRST; MOST_PROCESSES];
        for (host, number) in hosts.iter_mut().zip(stored::situations(words)) {
            let situation = self.situation(number);
            debug_assert_eq!(
                (situation.cluster, situation.environment),
                (cluster, environment),
                "all share these"
            );
            *host = situation.host;
        }
        State { cluster, network: stored::network(words), environment, hosts }
    }

    /// A situation by its number.
    #[inline]
    pub(super) fn situation(&mut self, number: SituationId) -> Situation {
        let known = &mut self.memory.plans.situations;
        if number.index() >= known.len() {
            let plans = super::plan::lock(&self.plans);
            known.extend_from_slice(plans.situations.from(known.len()));
        }
        known[number.index()]
    }

    /// The number of a situation.
    pub(super) fn situation_number(&mut self, situation: Situation) -> SituationId {
        if let Some(known) = self.memory.plans.situation_numbers.get(&situation) {
            return known;
        }
        let number = super::plan::lock(&self.plans).situations.number(situation);
        self.memory.plans.situation_numbers.set(situation, number);
        number
    }
}
