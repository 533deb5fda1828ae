//! The requests of the controller to lightpeers, and their answers.

use serde::{Deserialize, Serialize};
use windlass::{Cx, Error, Kind, Service};

use super::resource::Contact;

/// All lightpeers, as one service: what one of them does affects the others, so they need one model.
pub struct Lightpeers;

impl Service for Lightpeers {
    const NAME: &'static str = "lightpeers";
    type Request = PeerRequest;
    type Response = PeerAnswer;
}

/// What is asked of a lightpeer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "camelCase")]
pub enum PeerRequest {
    /// How are you? Answered with [`PeerAnswer::Healthy`] or [`PeerAnswer::Unhealthy`].
    Health {
        /// The pod, by its uid.
        uid: String,
        /// Where it is.
        address: String,
        /// Whether an answer that is remembered will not do.
        fresh: bool,
    },
    /// Join the network of a contact. Answered with [`PeerAnswer::Joined`] or [`PeerAnswer::Refused`].
    Join {
        /// Who is to join.
        joiner: Meant,
        /// The contact to join through; none if it is the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contact: Option<Meant>,
        /// The network, as `namespace/id`. A lightpeer of ours that is assigned to another one leaves it for good; others
        /// ignore it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network: Option<String>,
    },
}

/// A peer that is meant, and no other that has its address by now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meant {
    /// Where it is.
    pub address: String,
    /// What it calls itself; without this, whoever is at the address is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
}

/// The answer of a lightpeer, or the failure to get one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "camelCase")]
pub enum PeerAnswer {
    /// It serves.
    Healthy {
        /// What it calls itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer: Option<String>,
    },
    /// It does not serve, or does not answer in time, or answers with nonsense.
    Unhealthy {
        /// Why.
        why: String,
    },
    /// It is a member of the network of its contact.
    Joined {
        /// What it calls itself now: a peer that has changed networks is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer: Option<String>,
    },
    /// It is not: it refuses, or cannot be reached, or answers with nonsense.
    Refused {
        /// Why.
        why: String,
        /// Whether the joiner says that the contact is at fault.
        blames_contact: bool,
    },
}

/// How a peer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Serving { peer: Option<String> },
    Failing { why: String },
}

/// What came of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Joining {
    Done { peer: Option<String> },
    Failed { why: String, blames_contact: bool },
}

impl From<&Contact> for Meant {
    fn from(contact: &Contact) -> Self {
        Meant { address: contact.address.clone(), peer: contact.peer.clone() }
    }
}

impl Health {
    /// Asks a peer.
    pub(super) async fn of<P: Kind>(cx: &Cx<P>, contact: &Contact, fresh: bool) -> Result<Health, Error> {
        let (uid, address) = (contact.uid.clone(), contact.address.clone());
        match cx.call(Lightpeers, PeerRequest::Health { uid, address, fresh }).await? {
            PeerAnswer::Healthy { peer } => Ok(Health::Serving { peer }),
            PeerAnswer::Unhealthy { why } => Ok(Health::Failing { why }),
            other => Err(unexpected(&other)),
        }
    }

    /// Why this is not the health of a contact that lives; `None` if it lives.
    ///
    /// A peer with another name is another peer: that of a pod that got the address, or one that was restarted and
    /// knows nothing of its network.
    pub(super) fn problem_of(&self, contact: &Contact) -> Option<String> {
        match self {
            Health::Failing { why } => Some(why.clone()),
            Health::Serving { peer } => match (peer, &contact.peer) {
                (Some(now), Some(then)) if now != then => Some("another peer is at its address".to_owned()),
                _ => None,
            },
        }
    }
}

impl Joining {
    /// Asks a peer to join, or to be the first.
    pub(super) async fn of<P: Kind>(
        cx: &Cx<P>,
        joiner: &Contact,
        contact: Option<&Contact>,
        network: Option<String>,
    ) -> Result<Joining, Error> {
        let request = PeerRequest::Join { joiner: joiner.into(), contact: contact.map(Meant::from), network };
        match cx.call(Lightpeers, request).await? {
            PeerAnswer::Joined { peer } => Ok(Joining::Done { peer }),
            PeerAnswer::Refused { why, blames_contact } => Ok(Joining::Failed { why, blames_contact }),
            other => Err(unexpected(&other)),
        }
    }
}

fn unexpected(answer: &PeerAnswer) -> Error {
    let message = format!("the client of lightpeers answered something else than it was asked: {answer:?}");
    Error::Failed { reason: "UnexpectedAnswer".to_owned(), message }
}
