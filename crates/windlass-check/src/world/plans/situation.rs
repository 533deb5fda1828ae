//! Situations: all that decides what a process can do next, but for the network, as one number.
//!
//! A state of the world is stored as the number of its network, and that of the situation of each process. So where
//! a step leads is looked up, and not put together from parts.

use rustc_hash::FxHashMap;

use super::recent::Recent;
use super::stored;
use crate::ids::{ClusterId, EnvironmentId, HostId};
use crate::index::ProcessIndex;
use crate::intern::Id;
use crate::world::shared::Locked;
use crate::world::state::{MAX_PROCESSES, State};

/// A process: its own state, and what surrounds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Situation {
    /// Two processes that know the same may watch different kinds, so it matters which one it is.
    pub(crate) process: ProcessIndex,
    pub(crate) host: HostId,
    pub(crate) cluster: ClusterId,
    pub(crate) environment: EnvironmentId,
}

/// The number of a situation.
pub(crate) type SituationId = Id<Situation>;

impl Situation {
    /// That of a process in a state.
    pub(crate) fn of(state: &State, process: ProcessIndex) -> Self {
        Situation {
            process,
            host: state.host(process),
            cluster: state.cluster,
            environment: state.environment,
        }
    }
}

/// All situations, for all workers.
#[derive(Default)]
pub(crate) struct NumberedSituations {
    numbers: FxHashMap<Situation, SituationId>,
    all: Vec<Situation>,
}

impl NumberedSituations {
    fn number(&mut self, situation: Situation) -> SituationId {
        let next = SituationId::from_index(self.all.len());
        let number = *self.numbers.entry(situation).or_insert(next);
        if number == next {
            self.all.push(situation);
        }
        number
    }

    /// Bytes that all of this takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.all.len() * 64
    }
}

/// The situations that one worker has met, and states as the engine stores them.
pub(crate) struct Situations {
    shared: Locked<NumberedSituations>,
    /// Those with the first numbers, by number.
    known: Vec<Situation>,
    numbers: Recent<Situation, Situation>,
    processes: usize,
}

impl Situations {
    pub(crate) fn new(shared: Locked<NumberedSituations>, processes: usize) -> Self {
        Situations { shared, known: Vec::new(), numbers: Recent::default(), processes }
    }

    /// How many words a state takes when it is stored. A world without processes has one that does nothing: a situation
    /// is where cluster and environment are.
    pub(crate) fn width(&self) -> usize {
        stored::width(self.processes.max(1))
    }

    /// Writes the numbers that stand for a state.
    pub(crate) fn encode(&mut self, state: &State, words: &mut [u32]) {
        stored::set_network(words, state.network);
        stored::map_situations(words, |process, _| self.number(Situation::of(state, process)));
    }

    /// The state that some numbers stand for.
    pub(crate) fn decode(&mut self, words: &[u32]) -> State {
        let Situation { cluster, environment, .. } = self.get(stored::any_situation(words));
        let mut hosts = [HostId::FIRST; MAX_PROCESSES];
        for (process, number) in stored::situations(words) {
            let situation = self.get(number);
            debug_assert_eq!(
                (situation.process, situation.cluster, situation.environment),
                (process, cluster, environment),
                "every process of a state is in the same surroundings"
            );
            hosts[process.index()] = situation.host;
        }
        State { cluster, network: stored::network(words), environment, hosts }
    }

    /// A situation by its number.
    #[inline]
    pub(crate) fn get(&mut self, number: SituationId) -> Situation {
        if number.index() >= self.known.len() {
            // All that others have met, too: they are likely to be asked for next.
            self.known.extend_from_slice(&self.shared.lock().all[self.known.len()..]);
        }
        self.known[number.index()]
    }

    /// The number of a situation.
    pub(crate) fn number(&mut self, situation: Situation) -> SituationId {
        if let Some(known) = self.numbers.get(&situation) {
            return known;
        }
        let number = self.shared.lock().number(situation);
        self.numbers.set(situation, number);
        number
    }
}
