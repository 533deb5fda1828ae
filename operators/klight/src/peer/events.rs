//! Counters and events of a peer, for monitoring.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use tokio::sync::broadcast;

/// Number of events buffered for a slow reader. Older ones are dropped, and the reader learns how many.
const WAITING: usize = 1024;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// This peer was asked to join, and is now a member of the network of a contact.
    Joined {
        /// The contact.
        contact: String,
        /// It was one already, and nothing was done.
        repeated: bool,
    },
    /// This peer was asked to join, and could not.
    JoinFailed {
        /// The contact.
        contact: String,
        /// Why.
        reason: String,
    },
    /// This peer is assigned to a network for the first time.
    NetworkAssigned {
        /// The network.
        network: String,
    },
    /// This peer has left a network for another, under a new name and with no blocks.
    Left {
        /// The network.
        network: String,
        /// The network that it is in now.
        to: String,
        /// How many blocks of clients it had there.
        blocks: usize,
        /// No other live member is known there, so this peer may have been the only one with the blocks.
        alone: bool,
        /// The file that has the blocks, if they are on the disk.
        kept: Option<String>,
    },
    /// A member is known that was not before.
    MemberLearned {
        /// Its address.
        address: String,
        /// Its name.
        name: String,
    },
    /// Another peer did not answer for too long.
    PeerDropped {
        /// Its address.
        address: String,
        /// What the last check came to.
        reason: String,
    },
    /// A dropped peer answers again.
    PeerReturned {
        /// Its address.
        address: String,
    },
    /// Blocks that this peer had missed came from another.
    CaughtUp {
        /// From whom.
        from: String,
        /// How many.
        blocks: usize,
    },
}

/// How often things happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// It was asked to join.
    pub joins_asked: u64,
    /// It joined.
    pub joins_done: u64,
    /// It was asked to join a network of which it is a member already.
    pub joins_repeated: u64,
    /// It could not join.
    pub joins_failed: u64,
    /// It left a network for another.
    pub networks_left: u64,
    /// Blocks of clients were acknowledged.
    pub persists_done: u64,
    /// Blocks of clients were not acknowledged.
    pub persists_failed: u64,
    /// Other peers were dropped.
    pub peers_dropped: u64,
    /// Dropped peers came back.
    pub peers_returned: u64,
    /// Whole chains were asked of other peers, to catch up.
    pub chains_pulled: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) joins_asked: AtomicU64,
    pub(super) joins_done: AtomicU64,
    pub(super) joins_repeated: AtomicU64,
    pub(super) joins_failed: AtomicU64,
    pub(super) networks_left: AtomicU64,
    pub(super) persists_done: AtomicU64,
    pub(super) persists_failed: AtomicU64,
    pub(super) peers_dropped: AtomicU64,
    pub(super) peers_returned: AtomicU64,
    pub(super) chains_pulled: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Tally {
    pub(super) fn read(&self) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            joins_asked: read(&self.joins_asked),
            joins_done: read(&self.joins_done),
            joins_repeated: read(&self.joins_repeated),
            joins_failed: read(&self.joins_failed),
            networks_left: read(&self.networks_left),
            persists_done: read(&self.persists_done),
            persists_failed: read(&self.persists_failed),
            peers_dropped: read(&self.peers_dropped),
            peers_returned: read(&self.peers_returned),
            chains_pulled: read(&self.chains_pulled),
        }
    }
}

/// Counts, logs and publishes what happens.
#[derive(Debug)]
pub(super) struct Witness {
    pub(super) tally: Tally,
    listeners: broadcast::Sender<Event>,
}

impl Witness {
    pub(super) fn new() -> Witness {
        Witness { tally: Tally::default(), listeners: broadcast::Sender::new(WAITING) }
    }

    pub(super) fn listen(&self) -> broadcast::Receiver<Event> {
        self.listeners.subscribe()
    }

    pub(super) fn publish(&self, event: Event) {
        match &event {
            Event::Joined { contact, repeated: false } => {
                count(&self.tally.joins_done);
                tracing::info!("joined the network of {contact}");
            }
            Event::Joined { contact, repeated: true } => {
                count(&self.tally.joins_repeated);
                tracing::info!("already a member of the network of {contact}");
            }
            Event::JoinFailed { contact, reason } => {
                count(&self.tally.joins_failed);
                tracing::warn!("cannot join the network of {contact}: {reason}");
            }
            Event::NetworkAssigned { network } => tracing::info!("this peer is in the network {network}"),
            Event::Left { network, to, blocks, alone, kept } => {
                count(&self.tally.networks_left);
                tracing::info!("left the network {network} for {to}");
                warn_of_blocks(*blocks, *alone, kept.as_deref());
            }
            Event::MemberLearned { address, name } => tracing::info!("{name} at {address} is a member"),
            Event::PeerDropped { address, reason } => {
                count(&self.tally.peers_dropped);
                tracing::warn!("dropped the peer at {address}: {reason}");
            }
            Event::PeerReturned { address } => {
                count(&self.tally.peers_returned);
                tracing::info!("the peer at {address} is back");
            }
            Event::CaughtUp { from, blocks } => {
                tracing::info!("{blocks} blocks that were missing came from {from}")
            }
        }
        // It is fine if there are no listeners.
        let _ = self.listeners.send(event);
    }
}

/// Warns about blocks that no other peer may have.
fn warn_of_blocks(blocks: usize, alone: bool, kept: Option<&str>) {
    match kept {
        Some(file) if alone => tracing::warn!(
            "no other member of that network is known, so its {blocks} blocks may be in {file} alone"
        ),
        Some(file) => tracing::info!("the {blocks} blocks of that network are in {file} too"),
        None => {}
    }
}
