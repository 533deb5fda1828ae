//! What decides nothing but which faults can still strike: what is left of their budgets, the messages that may come
//! again, and the old views that a restart may bring back.

use super::situation::{Situation, SituationId};
use super::{NOTHING_UNSEEN, World, stored};
use crate::fault::Budget;
use crate::host::environment::Environment;
use crate::host::network::Network;
use crate::ids::{EnvironmentId, NetworkId};
use crate::intern::IdTable;

/// What one worker remembers of it, by the numbers of networks and situations.
#[derive(Default)]
pub(crate) struct FaultlessMemory {
    networks: IdTable<Network, NetworkId>,
    situations: IdTable<Situation, SituationId>,
}

impl World {
    /// Takes the faults out of stored words; see [`Model::take_faults`](crate::engine::Model::take_faults).
    #[inline]
    pub(crate) fn take_faults(&mut self, words: &mut [u32]) -> Option<u64> {
        if !self.has_faults {
            return None;
        }
        let environment = self.situation(stored::situation(words, 0)).environment;
        let network = stored::network(words);
        let faults = u64::from(network.word()) << 32 | u64::from(environment.word());
        stored::set_network(words, self.faultless_network(network));
        stored::map_situations(words, |_, situation| self.faultless_situation(situation));
        Some(faults)
    }

    pub(crate) fn put_faults(&mut self, words: &mut [u32], faults: u64) {
        stored::set_network(words, network_of(faults));
        stored::map_situations(words, |_, number| {
            let situation = self.situation(number);
            self.situation_number(Situation { environment: environment_of(faults), ..situation })
        });
    }

    /// Whether all faults that can strike with the one can with the other.
    pub(crate) fn includes_faults(&mut self, more: u64, less: u64) -> bool {
        if network_of(more) != network_of(less) {
            let less = self.network(network_of(less)).copies.clone();
            let more = &self.network(network_of(more)).copies;
            if !less.iter().all(|message| more.contains(message)) {
                return false;
            }
        }
        if environment_of(more) == environment_of(less) {
            return true;
        }
        let less = self.environment(environment_of(less)).clone();
        let more = self.environment(environment_of(more));
        more.left.includes(&less.left) && [more.oldest, NOTHING_UNSEEN].contains(&less.oldest)
    }

    fn faultless_network(&mut self, network: NetworkId) -> NetworkId {
        if let Some(known) = self.memory.faultless.networks.get(network) {
            return *known;
        }
        let late = self.network(network).late.clone();
        let faultless = self.parts().networks.id(Network { late, ..Network::default() });
        self.memory.faultless.networks.set(network, faultless);
        faultless
    }

    fn faultless_situation(&mut self, number: SituationId) -> SituationId {
        if let Some(known) = self.memory.faultless.situations.get(number) {
            return *known;
        }
        let situation = self.situation(number);
        let environment = Environment {
            left: Budget::default(),
            oldest: NOTHING_UNSEEN,
            ..(**self.environment(situation.environment)).clone()
        };
        let environment = self.parts().environments.id(environment);
        let faultless = self.situation_number(Situation { environment, ..situation });
        self.memory.faultless.situations.set(number, faultless);
        faultless
    }
}

fn network_of(faults: u64) -> NetworkId {
    NetworkId::from_word((faults >> 32) as u32)
}

fn environment_of(faults: u64) -> EnvironmentId {
    EnvironmentId::from_word(faults as u32)
}
