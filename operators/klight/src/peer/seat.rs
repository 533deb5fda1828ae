//! What answers at the address of a peer: one node per network that it was in, one at a time.
//!
//! Blocks, members and the journal belong to a node. Whatever was under way when a peer leaves a network goes on with the
//! node of that network, and can neither bring its blocks into the next network nor take blocks out of that.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Mutex, watch};

use super::block::{BlockKind, MemberRecord};
use super::chain::Chain;
use super::events::{Event, Witness, count};
use super::join::JoinError;
use super::journal::{self, Journal, JournalError};
use super::membership::{Membership, agree};
use super::node::{KeepError, Node, random};
use super::settings::PeerSettings;
use crate::wire::{JoinAbout, check_network};

/// The node that answers at the address of a peer.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) settings: Arc<PeerSettings>,
    pub(super) witness: Arc<Witness>,
    /// True when it is to end.
    pub(super) stopping: watch::Sender<bool>,
    /// The name without an incarnation.
    given_name: String,
    current: watch::Sender<Arc<Node>>,
    /// Joins that speak of a network come one after the other, as each may replace the node.
    joining: Mutex<()>,
}

impl Seat {
    /// A seat for the peer of this name, with its first node.
    pub(super) fn new(
        settings: PeerSettings,
        given_name: String,
        address: String,
        membership: Membership,
        chain: Chain,
        journal: Option<Journal>,
    ) -> Seat {
        let (settings, witness) = (Arc::new(settings), Arc::new(Witness::new()));
        let own = MemberRecord { address, name: membership.name(&given_name) };
        let node = Node::new(settings.clone(), witness.clone(), own, membership, chain, journal);
        let current = watch::Sender::new(Arc::new(node));
        let stopping = watch::Sender::new(false);
        Seat { settings, witness, stopping, given_name, current, joining: Mutex::default() }
    }

    /// The current node.
    pub(super) fn node(&self) -> Arc<Node> {
        self.current.borrow().clone()
    }

    /// The current node, and each one that replaces it.
    pub(super) fn nodes(&self) -> watch::Receiver<Arc<Node>> {
        self.current.subscribe()
    }

    pub(super) fn is_serving(&self) -> bool {
        !*self.stopping.borrow() && !self.node().is_broken()
    }

    /// Joins the network of a contact, and leaves another first if it must. Returns false if it is a member already.
    pub(super) async fn join(&self, contact: &str, about: &JoinAbout) -> Result<bool, JoinError> {
        if contact.is_empty()
            && let Some(network) = &about.network
        {
            // There is no peer to join: this only assigns the network, and does not count as a join.
            return self.enter(network).await;
        }
        count(&self.witness.tally.joins_asked);
        let outcome = self.try_join(contact, about).await;
        let contact = contact.to_owned();
        self.witness.publish(match &outcome {
            Ok(joined) => Event::Joined { contact, repeated: !joined },
            Err(error) => Event::JoinFailed { contact, reason: error.to_string() },
        });
        outcome
    }

    async fn try_join(&self, contact: &str, about: &JoinAbout) -> Result<bool, JoinError> {
        let meant = about.contact_name.clone();
        let Some(network) = &about.network else {
            return self.node().join(contact, meant, None).await;
        };
        check_network(network).map_err(JoinError::Network)?;
        let _one_at_a_time = self.joining.lock().await;
        let node = self.node();
        if !agree(node.network().as_deref(), Some(network)) {
            // A contact that cannot be joined is no reason to leave.
            node.check_contact(contact, network).await?;
            self.leave(&node, network).await?;
        }
        self.node().join(contact, meant, Some(network)).await
    }

    /// Is in a network without any contact.
    async fn enter(&self, network: &str) -> Result<bool, JoinError> {
        check_network(network).map_err(JoinError::Network)?;
        let _one_at_a_time = self.joining.lock().await;
        let node = self.node();
        match node.network() {
            Some(own) if own == network => Ok(false),
            Some(_) => self.leave(&node, network).await.map(|()| true),
            None => node.take_network(network).map(|()| true).map_err(JoinError::Keep),
        }
    }

    /// Leaves the network of a node for another: from now on a new node answers here, under another name, with an empty chain.
    /// Blocks that are nowhere else, and on no disk, keep it from leaving.
    async fn leave(&self, old: &Node, network: &str) -> Result<(), JoinError> {
        let blocks = blocks_of_clients(old);
        if self.settings.data.is_none() && blocks > 0 && !old.has_company().await {
            return Err(JoinError::BlocksWouldBeLost { network: old.network().unwrap_or_default(), blocks });
        }
        old.close();
        let incarnation = format!("{:016x}", random());
        let membership = Membership { network: Some(network.to_owned()), incarnation };
        // Some may have come before it was closed.
        let blocks = blocks_of_clients(old);
        let disk = match &self.settings.data {
            None => Ok((None, None)),
            Some(folder) => replace_journal(folder, &membership, old.network().as_deref(), blocks > 0)
                .map(|(journal, kept)| (Some(journal), kept)),
        };
        let (journal, kept) = match disk {
            Ok(disk) => disk,
            Err(error) => {
                old.reopen();
                return Err(JoinError::Keep(KeepError::Journal(error)));
            }
        };
        self.publish_left(old, network, blocks, kept);
        let own = MemberRecord { address: old.own.address.clone(), name: membership.name(&self.given_name) };
        let chain = Chain::new(self.settings.limits);
        let node = Node::new(self.settings.clone(), self.witness.clone(), own, membership, chain, journal);
        self.current.send_replace(Arc::new(node));
        Ok(())
    }

    fn publish_left(&self, old: &Node, network: &str, blocks: usize, kept: Option<PathBuf>) {
        self.witness.publish(Event::Left {
            network: old.network().unwrap_or_default(),
            to: network.to_owned(),
            blocks,
            alone: is_alone(old),
            kept: kept.map(|path| path.display().to_string()),
        });
    }
}

fn blocks_of_clients(node: &Node) -> usize {
    node.state().chain.blocks().filter(|block| block.kind == BlockKind::Client).count()
}

/// Whether no other live member of its network is known.
fn is_alone(node: &Node) -> bool {
    !node.state().roster.counted().iter().any(|(_, live)| *live)
}

/// Moves the chain away, or deletes it if there is nothing of a client in it, and starts an empty one. The chain goes
/// first: after a crash in between, the peer is in its old network, which gives it the chain again.
fn replace_journal(
    folder: &Path,
    membership: &Membership,
    old_network: Option<&str>,
    keep: bool,
) -> Result<(Journal, Option<PathBuf>), JournalError> {
    let aside = journal::move_aside(folder, old_network.unwrap_or_default(), &membership.incarnation)?;
    let started = Journal::open(folder).and_then(|opened| {
        let failed =
            |source| JournalError::Io { what: "write", path: super::membership::file(folder), source };
        membership.write(folder).map_err(failed).map(|()| opened.journal)
    });
    match started {
        Ok(journal) if keep => Ok((journal, Some(aside))),
        Ok(journal) => {
            if let Err(error) = std::fs::remove_file(&aside) {
                tracing::warn!("cannot delete {}, which is no longer needed: {error}", aside.display());
            }
            Ok((journal, None))
        }
        Err(error) => {
            journal::move_back(folder, &aside);
            Err(error)
        }
    }
}
