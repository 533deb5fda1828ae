//! Becoming a member, making others members, and fetching what was missed: the same call in all three cases.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::block::{Block, MemberRecord};
use super::chain::Refusal;
use super::node::{KeepError, Node};
use super::roster::Contact;
use crate::wire::messages::PeerInfo;
use crate::wire::{CallError, check_address};

/// How many blocks are pushed to a peer that lacks them; beyond, it fetches the chain itself.
const MAX_PUSHED: usize = 1024;
/// The longest name of a peer.
const LONGEST_NAME: usize = 512;

/// Why a join came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The contact's address cannot be one.
    #[error("the contact's address is invalid: {0}")]
    Address(String),
    /// The contact is the peer itself.
    #[error("a peer cannot join itself: {0} is its own address; give it the address of another member")]
    Itself(String),
    /// The identifier of the network cannot be one.
    #[error("{0}")]
    Network(String),
    /// The contact is a member of another network. Both are well, and this peer is where it was.
    #[error("the contact {contact} is a member of another network, {network}")]
    OtherNetwork {
        /// The contact.
        contact: String,
        /// The network that it is in.
        network: String,
    },
    /// Leaving its network would discard blocks that were acknowledged. This peer is where it was.
    #[error(
        "this peer stays in the network {network}: no other live member is known there, and its {blocks} blocks are in \
         memory only; end it to give them up, or start peers with a data folder"
    )]
    BlocksWouldBeLost {
        /// The network that it is in.
        network: String,
        /// How many blocks of clients it has.
        blocks: usize,
    },
    /// The contact is out of reach, does not answer, or refuses.
    #[error("the contact does not let it in: {0}")]
    Contact(CallError),
    /// What the contact sent is no chain. This peer's own is as it was.
    #[error("the contact {contact} sent a chain that makes no sense: {problem}")]
    Nonsense {
        /// The contact.
        contact: String,
        /// What is wrong with it.
        problem: String,
    },
    /// This peer cannot keep the contact's chain.
    #[error("the chain of the contact cannot be kept here: {0}")]
    Keep(KeepError),
}

impl From<CallError> for JoinError {
    fn from(error: CallError) -> JoinError {
        match error {
            CallError::OtherNetwork { address, network, .. } => {
                JoinError::OtherNetwork { contact: address, network }
            }
            error => JoinError::Contact(error),
        }
    }
}

/// Why a peer that asks to become a member is not made one.
#[derive(Debug, thiserror::Error)]
pub(super) enum WelcomeError {
    #[error("the peer that wants to connect is not described right: {0}")]
    Description(String),
    #[error("{0} is the address of this very peer")]
    Itself(String),
    #[error(transparent)]
    Keep(#[from] KeepError),
}

/// What came of getting the chain of another peer.
pub(super) struct Pulled {
    /// How many blocks were new.
    pub(super) new: usize,
    /// The identifiers of all blocks that the other has.
    theirs: BTreeSet<String>,
}

impl Node {
    /// Joins the network of a contact: of the one of the name that is meant, or of whoever is at the address. Returns
    /// false if this peer is a member of it already. The network must be this peer's, if both are known.
    pub(super) async fn join(
        &self,
        contact: &str,
        meant: Option<String>,
        network: Option<&str>,
    ) -> Result<bool, JoinError> {
        self.check_address(contact)?;
        let known = if self.is_recorded() { self.state().roster.contact(contact) } else { None };
        let is_meant = |known: &Contact| meant.as_ref().is_none_or(|name| known.is(name));
        if let Some(known) = known.filter(is_meant)
            && self.is_still(&known).await?
        {
            if let Some(network) = network {
                self.take_network(network).map_err(JoinError::Keep)?;
            }
            self.answered(contact);
            self.wake.notify_one();
            return Ok(false);
        }
        // Without a name, whoever is there now is meant.
        let meant = Contact { address: contact.to_owned(), names: meant.into_iter().collect() };
        let own = if self.is_recorded() { self.block_ids() } else { BTreeSet::new() };
        let pulled = self.pull(&meant, network.map(str::to_owned)).await?;
        self.wake.notify_one();
        // Whoever has a block in common is of the same network already: a member that this peer had not heard of yet.
        Ok(own.is_disjoint(&pulled.theirs))
    }

    fn block_ids(&self) -> BTreeSet<String> {
        self.state().chain.blocks().map(|block| block.id.clone()).collect()
    }

    fn check_address(&self, contact: &str) -> Result<(), JoinError> {
        check_address(contact).map_err(JoinError::Address)?;
        if contact == self.own.address {
            return Err(JoinError::Itself(contact.to_owned()));
        }
        Ok(())
    }

    /// Refuses a contact that is not there, or says that it is of another network. What else it answers is no reason.
    pub(super) async fn check_contact(&self, contact: &str, network: &str) -> Result<(), JoinError> {
        self.check_address(contact)?;
        let identity = match self.client(contact, self.settings.call_deadline)?.identify().await {
            Ok((_, identity)) => identity,
            Err(CallError::Refused { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        match identity.and_then(|identity| identity.network) {
            Some(theirs) if theirs != network => {
                Err(JoinError::OtherNetwork { contact: contact.to_owned(), network: theirs })
            }
            _ => Ok(()),
        }
    }

    /// Whether a known peer answers, and is the one that was known.
    async fn is_still(&self, contact: &Contact) -> Result<bool, CallError> {
        let client = self.client(&contact.address, self.settings.call_deadline)?;
        let (_, identity) = client.identify().await?;
        Ok(identity.is_none_or(|identity| contact.is(&identity.name)))
    }

    /// Gets the chain of another peer, which records this one if it did not know it, and gives it what it lacks.
    /// The network is the one that it is thought to be of; else, this peer's.
    pub(super) async fn pull(&self, contact: &Contact, network: Option<String>) -> Result<Pulled, JoinError> {
        let network = network.or_else(|| self.network());
        let client = self.client(&contact.address, self.settings.chain_deadline)?;
        let blocks = client.connect(self.info(), &contact.hints(network.clone()), Block::from_wire).await?;
        let nonsense = |problem: String| JoinError::Nonsense { contact: contact.address.clone(), problem };
        if blocks.is_empty() {
            return Err(nonsense("there is no block in it, not even one for this peer".to_owned()));
        }
        let theirs: BTreeSet<String> = blocks.iter().map(|block| block.id.clone()).collect();
        let new = self.keep(network.as_deref(), |_| blocks).await.map_err(|error| match error {
            KeepError::Refused(Refusal::Full { .. }) => JoinError::Keep(error),
            KeepError::Refused(refusal) => nonsense(refusal.to_string()),
            _ => JoinError::Keep(error),
        })?;
        self.learn_contact(&contact.address);
        self.give_missing(contact, &theirs).await;
        Ok(Pulled { new: new.len(), theirs })
    }

    /// Lightpeers that record members in a way of their own are known by their address alone.
    fn learn_contact(&self, address: &str) {
        let mut state = self.state();
        if state.roster.contact(address).is_none() {
            state.roster.learn(address, "");
        }
    }

    /// What does not arrive now is fetched by the other peer when it next compares.
    async fn give_missing(&self, contact: &Contact, theirs: &BTreeSet<String>) {
        let missing: Vec<Arc<Block>> = {
            let state = self.state();
            state
                .chain
                .blocks()
                .filter(|block| !theirs.contains(&block.id))
                .take(MAX_PUSHED)
                .cloned()
                .collect()
        };
        for block in missing {
            if let Err(error) = self.push(contact, &block).await {
                tracing::debug!("{error}");
                return;
            }
        }
    }

    /// Records a peer as a member, unless it is one, notifies the others, and returns the whole chain.
    pub(super) async fn welcome(
        self: &Arc<Node>,
        peer: Option<PeerInfo>,
        network: Option<&str>,
    ) -> Result<Vec<Arc<Block>>, WelcomeError> {
        let peer = described(peer).map_err(WelcomeError::Description)?;
        if peer.address == self.own.address {
            return Err(WelcomeError::Itself(peer.address));
        }
        let new = self.keep(network, |chain| self.record(chain, &[&self.own, &peer])).await?;
        // Also a known peer may have been thought dead.
        self.answered(&peer.address);
        let node = self.clone();
        tokio::spawn(async move {
            for block in new {
                node.spread(&block).await;
            }
        });
        Ok(self.state().chain.blocks().cloned().collect())
    }
}

fn described(peer: Option<PeerInfo>) -> Result<MemberRecord, String> {
    let Some(peer) = peer else { return Err("there is no PeerInfo".to_owned()) };
    check_address(&peer.address)?;
    if peer.name.len() > LONGEST_NAME {
        return Err(format!("its name is longer than {LONGEST_NAME} bytes"));
    }
    Ok(MemberRecord { address: peer.address, name: peer.name })
}
