//! What a peer knows and does, without the server around it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::Notify;

use super::block::{Block, BlockKind, BlockTime, MemberRecord};
use super::chain::{Chain, Refusal};
use super::events::{Event, Witness};
use super::journal::{Journal, JournalError};
use super::membership::{Membership, agree};
use super::roster::{Contact, Roster};
use super::settings::PeerSettings;
use crate::wire::messages::PeerInfo;
use crate::wire::{CallError, Client, Hints, Identity};

/// One member of one network. A peer that changes networks goes on with another node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) settings: Arc<PeerSettings>,
    pub(super) own: MemberRecord,
    pub(super) witness: Arc<Witness>,
    /// A member is new: look at it now, and not only when the interval is over.
    pub(super) wake: Notify,
    state: Mutex<State>,
    journal: Option<Journal>,
    clients: Mutex<BTreeMap<String, Client>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) chain: Chain,
    pub(super) roster: Roster,
    membership: Membership,
    /// It takes nothing any more, as the peer has left the network, or is about to.
    closed: bool,
}

/// Why blocks are not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The chain does not take them.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The disk does not.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// They are of another network.
    #[error("this peer is a member of the network {own}, and this is about {said}")]
    OtherNetwork {
        /// The network of this peer.
        own: String,
        /// The network that they are of.
        said: String,
    },
    /// The peer has left the network meanwhile.
    #[error("this peer has just left the network that this is about")]
    Left,
}

impl Node {
    pub(super) fn new(
        settings: Arc<PeerSettings>,
        witness: Arc<Witness>,
        own: MemberRecord,
        membership: Membership,
        chain: Chain,
        journal: Option<Journal>,
    ) -> Node {
        let mut roster = Roster::new(settings.failures_until_dropped);
        for member in chain.members().iter().filter(|member| member.address != own.address) {
            roster.learn(&member.address, &member.name);
        }
        Node {
            settings,
            own,
            witness,
            wake: Notify::new(),
            state: Mutex::new(State { chain, roster, membership, closed: false }),
            journal,
            clients: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("lock is not poisoned")
    }

    /// The network that this peer is assigned to.
    pub(super) fn network(&self) -> Option<String> {
        self.state().membership.network.clone()
    }

    /// Assigns this peer to a network, unless it is assigned to another one.
    pub(super) fn take_network(&self, said: &str) -> Result<(), KeepError> {
        let mut state = self.state();
        state.check(Some(said))?;
        self.remember(&mut state, Some(said));
        Ok(())
    }

    /// Takes nothing any more.
    pub(super) fn close(&self) {
        self.state().closed = true;
    }

    /// Takes blocks again.
    pub(super) fn reopen(&self) {
        self.state().closed = false;
    }

    /// Adds the blocks that `make` makes for the chain as it is, and waits until they are on the disk. Returns those
    /// that were new. A peer that takes blocks of a network is in that network: `said` is the network of the blocks.
    pub(super) async fn keep(
        &self,
        said: Option<&str>,
        make: impl FnOnce(&Chain) -> Vec<Block>,
    ) -> Result<Vec<Arc<Block>>, KeepError> {
        let (new, kept) = {
            let mut state = self.state();
            state.check(said)?;
            let blocks = make(&state.chain);
            let new = state.chain.adopt(blocks)?;
            self.remember(&mut state, said);
            self.learn_members(&mut state, &new);
            // In the order of the chain, as the lock is held. Also without new blocks: those that are known already may
            // be on their way to the disk.
            let kept = self.journal.as_ref().map(|journal| journal.append(&new));
            (new, kept)
        };
        if let Some(kept) = kept
            && !kept.await.unwrap_or(false)
        {
            return Err(JournalError::Broken.into());
        }
        Ok(new)
    }

    /// The blocks that record members which the chain does not record yet.
    pub(super) fn record(&self, chain: &Chain, members: &[&MemberRecord]) -> Vec<Block> {
        let mut previous = chain.tip().to_owned();
        let mut blocks = Vec::new();
        for member in members.iter().filter(|member| !chain.members().contains(member)) {
            let payload = serde_json::to_vec(member).expect("two texts can be written as JSON");
            let block = self.block(&previous, BlockKind::Network, payload);
            previous.clone_from(&block.id);
            blocks.push(block);
        }
        blocks
    }

    /// A new block, made now.
    pub(super) fn block(&self, previous: &str, kind: BlockKind, payload: Vec<u8>) -> Block {
        Block::new(previous, kind, now(), payload, random())
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.state().chain.members().contains(&self.own)
    }

    /// Whether a write has failed.
    pub(super) fn is_broken(&self) -> bool {
        self.journal.as_ref().is_some_and(Journal::is_broken)
    }

    pub(super) fn identity(&self) -> Identity {
        let state = self.state();
        let network = state.membership.network.clone();
        Identity { name: self.own.name.clone(), chain: state.chain.digest(), network }
    }

    pub(super) fn info(&self) -> PeerInfo {
        PeerInfo { address: self.own.address.clone(), name: self.own.name.clone() }
    }

    /// A client of another peer, on the connection that there is already.
    pub(super) fn client(&self, address: &str, deadline: Duration) -> Result<Client, CallError> {
        let mut clients = self.clients.lock().expect("lock is not poisoned");
        if let Some(client) = clients.get(address) {
            return Ok(client.with_deadline(deadline));
        }
        let client = Client::new(address, &self.settings.calls(self.settings.call_deadline))?;
        clients.insert(address.to_owned(), client.clone());
        Ok(client.with_deadline(deadline))
    }

    /// Another peer has shown that it is alive.
    pub(super) fn answered(&self, address: &str) {
        if self.state().roster.answered(address) {
            self.witness.publish(Event::PeerReturned { address: address.to_owned() });
        }
    }

    /// A check of another peer has failed.
    pub(super) fn failed(&self, address: &str, reason: String) {
        let dropped = self.state().roster.failed(address);
        if dropped {
            self.forget_connection(address);
            self.witness.publish(Event::PeerDropped { address: address.to_owned(), reason });
        }
    }

    /// A check shows that another peer is not a member any more. That needs no second look.
    pub(super) fn gone(&self, address: &str, reason: String) {
        if self.state().roster.gone(address) {
            self.witness.publish(Event::PeerDropped { address: address.to_owned(), reason });
        }
    }

    pub(super) fn forget_connection(&self, address: &str) {
        self.clients.lock().expect("lock is not poisoned").remove(address);
    }

    /// The first network that a call names is the network of this peer.
    fn remember(&self, state: &mut State, said: Option<&str>) {
        let Some(said) = said.filter(|_| state.membership.network.is_none()) else { return };
        state.membership.network = Some(said.to_owned());
        if let Some(folder) = &self.settings.data
            && let Err(error) = state.membership.write(folder)
        {
            tracing::warn!("cannot keep in {} that the network is {said}: {error}", folder.display());
        }
        self.witness.publish(Event::NetworkAssigned { network: said.to_owned() });
    }

    fn learn_members(&self, state: &mut State, new: &[Arc<Block>]) {
        let members = new.iter().filter_map(|block| block.member());
        for member in members.filter(|member| member.address != self.own.address) {
            if state.roster.learn(&member.address, &member.name) {
                self.witness.publish(Event::MemberLearned { address: member.address, name: member.name });
                self.wake.notify_one();
            }
        }
    }
}

impl State {
    /// Refuses what is of another network.
    fn check(&self, said: Option<&str>) -> Result<(), KeepError> {
        if self.closed {
            return Err(KeepError::Left);
        }
        match (&self.membership.network, said) {
            (Some(own), Some(said)) if !agree(Some(own), Some(said)) => {
                Err(KeepError::OtherNetwork { own: own.clone(), said: said.to_owned() })
            }
            _ => Ok(()),
        }
    }
}

impl Contact {
    /// For a call to this peer about a network.
    pub(super) fn hints(&self, network: Option<String>) -> Hints {
        Hints { meant_for: self.names.clone(), network }
    }
}

fn now() -> BlockTime {
    // A clock before 1970 is wrong whatever it says; the order does not need it.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    BlockTime { seconds, nanos: i32::try_from(since.subsec_nanos()).unwrap_or(0) }
}

pub(super) fn random() -> u64 {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).expect("the system gives random numbers");
    u64::from_le_bytes(bytes)
}
