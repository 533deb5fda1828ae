//! Resource versions, uids and generations matter only by equality and order: states that differ in nothing else
//! are the same.
//!
//! A version of an object that no one has in hand, be it in a reconcile under way or in a message, can just as well
//! be the next one after those that somebody has. So what a controller writes over and over again leads back to a
//! state that was seen before, and a loop is found to be one. Numbers only ever get smaller here, one object at a
//! time, and only where no one could notice.

mod generations;
mod mentions;
pub(crate) mod other_numbers;
mod settle;

use rustc_hash::FxHashMap;

pub(super) use mentions::Renumbering;

use super::parts::Parts;
use super::shared::Locked;
use super::state::State;
use crate::ids::{ClusterId, EnvironmentId, HostId, NetworkId};
use crate::index::ProcessIndex;
use mentions::{MentionsId, NONE};

/// Lowers the numbers of states, and remembers, for one worker, who has which numbers in hand.
pub(super) struct Canonicalizer {
    parts: Locked<Parts>,
    processes: usize,
    hosts: FxHashMap<HostId, MentionsId>,
    networks: FxHashMap<NetworkId, MentionsId>,
    services: FxHashMap<EnvironmentId, MentionsId>,
    unions: FxHashMap<(MentionsId, MentionsId), MentionsId>,
    clusters: FxHashMap<(ClusterId, MentionsId), ClusterId>,
}

impl Canonicalizer {
    pub(super) fn new(parts: Locked<Parts>, processes: usize) -> Self {
        Canonicalizer {
            parts,
            processes,
            hosts: FxHashMap::default(),
            networks: FxHashMap::default(),
            services: FxHashMap::default(),
            unions: FxHashMap::default(),
            clusters: FxHashMap::default(),
        }
    }

    /// The state with its numbers as small as they can be.
    pub(super) fn canonical(&mut self, state: &mut State) {
        let mut mentions = self.mentions_of_network(state.network);
        let services = self.mentions_of_services(state.environment);
        mentions = self.union(mentions, services);
        for process in ProcessIndex::all(self.processes) {
            let more = self.mentions_of_host(state.host(process));
            mentions = self.union(mentions, more);
        }
        // Only the cluster changes: whatever else says such a number has it in hand, so that it stays as it is.
        let (parts, cluster) = (&self.parts, state.cluster);
        let known = self.clusters.entry((cluster, mentions));
        state.cluster = *known.or_insert_with(|| parts.lock().canonical_cluster(cluster, mentions));
    }

    fn mentions_of_network(&mut self, network: NetworkId) -> MentionsId {
        let parts = &self.parts;
        let known = self.networks.entry(network);
        *known.or_insert_with(|| parts.lock().mentions_of_network(network))
    }

    fn mentions_of_services(&mut self, environment: EnvironmentId) -> MentionsId {
        let parts = &self.parts;
        let known = self.services.entry(environment);
        *known.or_insert_with(|| parts.lock().mentions_of_services(environment))
    }

    fn mentions_of_host(&mut self, host: HostId) -> MentionsId {
        let parts = &self.parts;
        let known = self.hosts.entry(host);
        *known.or_insert_with(|| parts.lock().mentions_of_host(host))
    }

    fn union(&mut self, one: MentionsId, other: MentionsId) -> MentionsId {
        if one == other || other == NONE {
            return one;
        }
        let parts = &self.parts;
        let known = self.unions.entry((one, other));
        *known.or_insert_with(|| parts.lock().renumbering.union(one, other))
    }
}
