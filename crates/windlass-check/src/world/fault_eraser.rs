//! What decides nothing but which faults can still strike: what is left of their budgets, the messages that may come
//! again, and the old views that a restart may bring back.
//!
//! For subsumption it is taken out of a state, and compared apart from the rest.

use super::cache::PartsCache;
use super::parts::NOTHING_UNSEEN;
use super::plans::{Situation, SituationId, Situations, stored};
use crate::fault::Budget;
use crate::host::environment::Environment;
use crate::host::network::Network;
use crate::ids::{EnvironmentId, NetworkId};
use crate::intern::IdTable;

/// Takes faults out of states. One worker remembers what becomes of each network and situation.
#[derive(Default)]
pub(super) struct FaultEraser {
    networks: IdTable<Network, NetworkId>,
    situations: IdTable<Situation, SituationId>,
}

impl FaultEraser {
    /// Takes the faults out of stored words, and returns them: network and environment, which are where they stand.
    #[inline]
    pub(super) fn take(
        &mut self,
        words: &mut [u32],
        cache: &mut PartsCache,
        situations: &mut Situations,
    ) -> u64 {
        let environment = situations.get(stored::any_situation(words)).environment;
        let network = stored::network(words);
        let faults = u64::from(network.word()) << 32 | u64::from(environment.word());
        stored::set_network(words, self.network(network, cache));
        stored::map_situations(words, |_, situation| self.situation(situation, cache, situations));
        faults
    }

    fn network(&mut self, network: NetworkId, cache: &mut PartsCache) -> NetworkId {
        if let Some(known) = self.networks.get(network) {
            return *known;
        }
        let late = cache.network(network).late.clone();
        let faultless = cache.parts().networks.id(Network { late, ..Network::default() });
        self.networks.set(network, faultless);
        faultless
    }

    fn situation(
        &mut self,
        number: SituationId,
        cache: &mut PartsCache,
        situations: &mut Situations,
    ) -> SituationId {
        if let Some(known) = self.situations.get(number) {
            return *known;
        }
        let situation = situations.get(number);
        let environment = Environment {
            left: Budget::default(),
            oldest: NOTHING_UNSEEN,
            ..(**cache.environment(situation.environment)).clone()
        };
        let environment = cache.parts().environments.id(environment);
        let faultless = situations.number(Situation { environment, ..situation });
        self.situations.set(number, faultless);
        faultless
    }
}

/// Puts back what [`FaultEraser::take`] has taken out.
pub(super) fn put(words: &mut [u32], faults: u64, situations: &mut Situations) {
    stored::set_network(words, network_of(faults));
    stored::map_situations(words, |_, number| {
        let situation = situations.get(number);
        situations.number(Situation { environment: environment_of(faults), ..situation })
    });
}

/// Whether all faults that can strike with the one can with the other. All else in the two states is the same.
pub(super) fn includes(more: u64, less: u64, cache: &mut PartsCache) -> bool {
    if network_of(more) != network_of(less) {
        let less = cache.network(network_of(less)).copies.clone();
        let more = &cache.network(network_of(more)).copies;
        if !less.iter().all(|message| more.contains(message)) {
            return false;
        }
    }
    if environment_of(more) == environment_of(less) {
        return true;
    }
    let less = cache.environment(environment_of(less)).clone();
    let more = cache.environment(environment_of(more));
    more.left.includes(&less.left) && [more.oldest, NOTHING_UNSEEN].contains(&less.oldest)
}

fn network_of(faults: u64) -> NetworkId {
    NetworkId::from_word((faults >> 32) as u32)
}

fn environment_of(faults: u64) -> EnvironmentId {
    EnvironmentId::from_word(faults as u32)
}
