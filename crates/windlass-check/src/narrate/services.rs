//! External services in a trace: a lane for each, and what a step does to its state.

use super::{DATABASE, Story};
use crate::action::SlotIndex;
use crate::index::{PeerIndex, ProcessIndex};
use crate::show;
use crate::trace::ServiceChange;

/// Lanes that every trace may have.
const OTHER_LANES: [&str; 4] = [DATABASE, "client", "watch", "network"];

impl Story<'_> {
    /// What the step does to services.
    pub(super) fn service_changes(&mut self) -> Vec<ServiceChange> {
        let [before, after] =
            [self.before, &self.step.state].map(|state| self.transitions.env(state).services);
        if before == after {
            return Vec::new();
        }
        let parts = self.transitions.parts();
        let [before, after] = [before, after].map(|states| parts.services.states.get(states));
        let pairs = before.iter().filter_map(|(name, before)| Some((name, before, after.get(name)?)));
        pairs
            .filter(|(_, before, after)| before != after)
            .map(|(name, before, after)| show::service_change(name, before, after))
            .collect()
    }

    /// The lane of a service: its name, unless somebody else has it.
    pub(super) fn service_lane(&self, service: &str) -> String {
        let processes = self.transitions.controllers();
        let taken = OTHER_LANES.contains(&service)
            || ProcessIndex::all(processes).any(|process| self.transitions.process_name(process) == service);
        if taken { format!("service {service}") } else { service.to_owned() }
    }

    /// The lane of a peer: the API server (0), or a service.
    pub(super) fn peer_lane(&self, peer: PeerIndex) -> String {
        match self.service_name(peer) {
            None => DATABASE.to_owned(),
            Some(service) => self.service_lane(&service),
        }
    }

    /// The lane of the peer that an ask is sent to.
    pub(super) fn lane_at(&mut self, slot: SlotIndex) -> String {
        let peer = self.transitions.menu_slot(self.before, slot).peer;
        self.peer_lane(peer)
    }

    /// The name of a peer that is a service.
    pub(super) fn service_name(&self, peer: PeerIndex) -> Option<String> {
        let service = peer.index().checked_sub(1)?;
        self.transitions.parts().setup.service_states.keys().nth(service).cloned()
    }
}
