//! A model of all lightpeers, as pure as the check needs it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass::{CallError, Service};

use super::service::{Lightpeers, Meant, PeerAnswer, PeerRequest};

/// All lightpeers that run, by address, and who is connected with whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerModel {
    peers: BTreeMap<String, ModelPeer>,
    /// Whether one was ever asked to join itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    joined_itself: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ModelPeer {
    name: String,
    /// The least name of all that it is connected with, its own among them.
    network: String,
    /// The network that it was assigned to last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assigned: Option<String>,
    /// Whether it says that it is not well, and refuses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sick: bool,
    /// Whether it is healthy but refuses to join.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stubborn: bool,
}

/// Something that happens to a lightpeer. Only the model hears of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum PeerEvent {
    /// One is started at an address, under a name that no other had before. Whoever was there is gone.
    Starts {
        /// Where.
        address: String,
        /// Under which name.
        peer: String,
    },
    /// The one at an address is killed.
    Dies {
        /// Where.
        address: String,
    },
    /// The one at an address fails its health checks from now on, or passes them again.
    Sickens {
        /// Where.
        address: String,
        /// Whether it fails them.
        sick: bool,
    },
    /// The one at an address refuses to join from now on, or does so no longer.
    Refuses {
        /// Where.
        address: String,
        /// Whether it refuses.
        stubborn: bool,
    },
}

/// The way to make things happen to lightpeers in a check.
impl Service for PeerEvent {
    const NAME: &'static str = Lightpeers::NAME;
    type Request = PeerEvent;
    type Response = ();
}

impl PeerModel {
    /// Peers of these names at these addresses, each alone.
    pub fn new<'a>(peers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut model = PeerModel::default();
        for (peer, address) in peers {
            model.happen(PeerEvent::Starts { address: address.to_owned(), peer: peer.to_owned() });
        }
        model
    }

    /// Answers what a controller asks.
    pub fn call(&mut self, request: &PeerRequest) -> PeerAnswer {
        match request {
            PeerRequest::Health { address, .. } => match self.peers.get(address) {
                Some(peer) if !peer.sick => PeerAnswer::Healthy { peer: Some(peer.name.clone()) },
                Some(_) => PeerAnswer::Unhealthy { why: "it does not serve".to_owned() },
                None => PeerAnswer::Unhealthy { why: "no peer is there".to_owned() },
            },
            PeerRequest::Join { joiner, contact, network } => {
                match self.join(joiner, contact.as_ref(), network) {
                    Ok(peer) => PeerAnswer::Joined { peer: Some(peer) },
                    Err((why, blames_contact)) => PeerAnswer::Refused { why: why.to_owned(), blames_contact },
                }
            }
        }
    }

    /// Lets something happen.
    pub fn happen(&mut self, event: PeerEvent) {
        match event {
            PeerEvent::Starts { address, peer } => {
                self.remove(&address);
                let network = peer.clone();
                let started = ModelPeer { network, name: peer, assigned: None, sick: false, stubborn: false };
                self.peers.insert(address, started);
            }
            PeerEvent::Dies { address } => self.remove(&address),
            PeerEvent::Sickens { address, sick } => {
                self.peers.get_mut(&address).into_iter().for_each(|peer| peer.sick = sick);
            }
            PeerEvent::Refuses { address, stubborn } => {
                self.peers.get_mut(&address).into_iter().for_each(|peer| peer.stubborn = stubborn);
            }
        }
    }

    /// Returns what the joiner calls itself then.
    fn join(
        &mut self,
        joiner: &Meant,
        contact: Option<&Meant>,
        network: &Option<String>,
    ) -> Result<String, (&'static str, bool)> {
        let own = self.meant(joiner).ok_or(("it cannot be reached", false))?;
        if own.stubborn && contact.is_some() {
            return Err(("it does not want to", false));
        }
        if contact.is_some_and(|contact| contact.address == joiner.address) {
            self.joined_itself = true;
            return Err(("it cannot join itself", false));
        }
        let other = match contact {
            None => None,
            Some(contact) => Some(self.meant(contact).ok_or(("its contact cannot be reached", true))?),
        };
        if other
            .is_some_and(|other| other.assigned.is_some() && network.is_some() && other.assigned != *network)
        {
            return Err(("its contact is of another network", false));
        }
        let other = other.map(|other| other.network.clone());
        self.settle_in(&joiner.address, network);
        let Some(own) = self.peers.get(&joiner.address).cloned() else { return Ok(String::new()) };
        let other = other.unwrap_or_else(|| own.network.clone());
        let least = own.network.clone().min(other.clone());
        for peer in
            self.peers.values_mut().filter(|peer| peer.network == own.network || peer.network == other)
        {
            peer.network.clone_from(&least);
        }
        Ok(own.name)
    }

    /// Assigns a peer to a network. If it was assigned to another one, it leaves that, and is another peer from now on.
    fn settle_in(&mut self, address: &str, network: &Option<String>) {
        let Some(before) = self.peers.get(address).cloned() else { return };
        let Some(network) = network else { return };
        if before.assigned.as_ref().is_some_and(|assigned| assigned != network) {
            let peer = format!("{}'", before.name);
            self.happen(PeerEvent::Starts { address: address.to_owned(), peer });
        }
        self.peers.get_mut(address).into_iter().for_each(|peer| peer.assigned = Some(network.clone()));
    }

    /// The peer that is meant, if it is there and serves.
    fn meant(&self, meant: &Meant) -> Option<&ModelPeer> {
        let is_it = |peer: &&ModelPeer| meant.peer.as_ref().is_none_or(|name| *name == peer.name);
        self.peers.get(&meant.address).filter(|peer| !peer.sick).filter(is_it)
    }

    /// Those that are left of a network go by the least name of them.
    fn remove(&mut self, address: &str) {
        let Some(gone) = self.peers.remove(address) else { return };
        let left = || self.peers.values().filter(|peer| peer.network == gone.network);
        let Some(least) = left().map(|peer| peer.name.clone()).min() else { return };
        for peer in self.peers.values_mut().filter(|peer| peer.network == gone.network) {
            peer.network.clone_from(&least);
        }
    }

    /// The names of those that are connected with each other.
    pub fn networks(&self) -> Vec<BTreeSet<&str>> {
        let mut networks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for peer in self.peers.values() {
            networks.entry(&peer.network).or_default().insert(&peer.name);
        }
        networks.into_values().collect()
    }

    /// Whether a peer is there and serves.
    pub fn serves(&self, name: &str) -> bool {
        self.peers.values().any(|peer| peer.name == name && !peer.sick)
    }

    /// What the peer at an address calls itself, if it serves.
    pub fn serving_at(&self, address: &str) -> Option<&str> {
        self.peers.get(address).filter(|peer| !peer.sick).map(|peer| peer.name.as_str())
    }

    /// Whether one was ever asked to join itself.
    pub fn joined_itself(&self) -> bool {
        self.joined_itself
    }

    /// The same for the checker and for [`windlass::local::Local`], which know services as JSON.
    ///
    /// # Errors
    /// When the state or the request is not what it should be.
    pub fn answer(state: &mut Value, request: &Value) -> Result<Value, CallError> {
        let refused = |error: serde_json::Error| CallError::Refused {
            service: Lightpeers::NAME.to_owned(),
            message: error.to_string(),
        };
        let mut model: PeerModel = serde_json::from_value(state.clone()).map_err(refused)?;
        let answer = match PeerEvent::deserialize(request) {
            Ok(event) => {
                model.happen(event);
                Ok(Value::Null)
            }
            Err(_) => serde_json::to_value(model.call(&PeerRequest::deserialize(request).map_err(refused)?)),
        };
        *state = serde_json::to_value(&model).map_err(refused)?;
        answer.map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(model: &mut PeerModel, joiner: (&str, &str), contact: (&str, &str)) -> PeerAnswer {
        let meant = |(peer, address): (&str, &str)| Meant {
            address: address.to_owned(),
            peer: (!peer.is_empty()).then(|| peer.to_owned()),
        };
        let contact = Some(meant(contact));
        model.call(&PeerRequest::Join { joiner: meant(joiner), contact, network: None })
    }

    #[test]
    fn joining_connects_networks_and_death_leaves_the_rest() {
        let mut model = PeerModel::new([("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]);
        for (joiner, contact) in
            [(("b", "2"), ("a", "1")), (("c", "3"), ("d", "4")), (("c", "3"), ("b", "2"))]
        {
            let joined = PeerAnswer::Joined { peer: Some(joiner.0.to_owned()) };
            assert_eq!(join(&mut model, joiner, contact), joined);
        }
        assert_eq!(model.networks(), [BTreeSet::from(["a", "b", "c", "d"])]);
        model.happen(PeerEvent::Dies { address: "1".to_owned() });
        assert_eq!(model.networks(), [BTreeSet::from(["b", "c", "d"])]);
        model.happen(PeerEvent::Starts { address: "2".to_owned(), peer: "e".to_owned() });
        assert_eq!(model.networks(), [BTreeSet::from(["c", "d"]), BTreeSet::from(["e"])]);
    }

    #[test]
    fn whoever_is_not_meant_does_not_join() {
        let mut model = PeerModel::new([("a", "1"), ("b", "2")]);
        let refused = |answer| match answer {
            PeerAnswer::Refused { blames_contact, .. } => blames_contact,
            other => panic!("{other:?}"),
        };
        assert!(!refused(join(&mut model, ("x", "1"), ("b", "2"))));
        assert!(refused(join(&mut model, ("a", "1"), ("x", "2"))));
        assert!(refused(join(&mut model, ("a", "1"), ("", "3"))));
        assert!(!model.joined_itself());
        assert!(!refused(join(&mut model, ("a", "1"), ("a", "1"))));
        assert!(model.joined_itself());
        let joined = PeerAnswer::Joined { peer: Some("a".to_owned()) };
        assert_eq!(join(&mut model, ("", "1"), ("", "2")), joined);
    }
}
