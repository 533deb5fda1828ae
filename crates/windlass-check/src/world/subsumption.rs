//! What decides nothing but which faults can still strike: what is left of their budgets, the messages that may come
//! again, and the old views that a restart may bring back.

use super::situation::{STORED_HOSTS, STORED_NETWORK, Situation};
use super::{NOTHING_UNSEEN, World};
use crate::fault::Budget;
use crate::host::environment::Environment;
use crate::host::network::Network;

/// What one worker remembers of it, by the numbers of networks and situations.
#[derive(Default)]
pub(crate) struct FaultlessMemory {
    networks: Vec<u32>,
    situations: Vec<u32>,
}

const UNKNOWN: u32 = u32::MAX;

impl World {
    /// Takes the faults out of stored words; see [`Model::take_faults`](crate::engine::Model::take_faults).
    #[inline]
    pub(crate) fn take_faults(&mut self, words: &mut [u32]) -> Option<u64> {
        if !self.has_faults {
            return None;
        }
        let environment = self.situation(words[STORED_HOSTS]).environment;
        let faults = u64::from(words[STORED_NETWORK]) << 32 | u64::from(environment);
        words[STORED_NETWORK] = self.faultless_network(words[STORED_NETWORK]);
        for word in &mut words[STORED_HOSTS..] {
            *word = self.faultless_situation(*word);
        }
        Some(faults)
    }

    pub(crate) fn put_faults(&mut self, words: &mut [u32], faults: u64) {
        words[STORED_NETWORK] = network_of(faults);
        for word in &mut words[STORED_HOSTS..] {
            let situation = self.situation(*word);
            *word = self.situation_number(Situation { environment: environment_of(faults), ..situation });
        }
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

    fn faultless_network(&mut self, network: u32) -> u32 {
        if let Some(known) = known(&self.memory.faultless.networks, network) {
            return known;
        }
        let late = self.network(network).late.clone();
        let faultless = self.parts().networks.id(Network { late, ..Network::default() });
        set(&mut self.memory.faultless.networks, network, faultless);
        faultless
    }

    fn faultless_situation(&mut self, number: u32) -> u32 {
        if let Some(known) = known(&self.memory.faultless.situations, number) {
            return known;
        }
        let situation = self.situation(number);
        let environment = Environment {
            left: Budget::default(),
            oldest: NOTHING_UNSEEN,
            ..(**self.environment(situation.environment)).clone()
        };
        let environment = self.parts().environments.id(environment);
        let faultless = self.situation_number(Situation { environment, ..situation });
        set(&mut self.memory.faultless.situations, number, faultless);
        faultless
    }
}

fn network_of(faults: u64) -> u32 {
    (faults >> 32) as u32
}

fn environment_of(faults: u64) -> u32 {
    faults as u32
}

fn known(table: &[u32], number: u32) -> Option<u32> {
    table.get(number as usize).copied().filter(|known| *known != UNKNOWN)
}

fn set(table: &mut Vec<u32>, number: u32, value: u32) {
    let index = number as usize;
    if index >= table.len() {
        table.resize((index + 1).next_power_of_two(), UNKNOWN);
    }
    table[index] = value;
}
