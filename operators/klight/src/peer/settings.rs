//! Settings of a peer.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::chain::ChainLimits;
use crate::wire::{ClientSettings, Tls};

/// What is added to the largest payload for the rest of a message.
const AROUND_PAYLOAD_BYTES: usize = 64 << 10;

/// How a peer runs.
#[derive(Clone, Debug)]
pub struct PeerSettings {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The address that others reach it at, `HOST:PORT`; without it, where it listens.
    pub advertise: Option<String>,
    /// What it is called. No other peer that gets its address later may be called the same; one that returns with nothing
    /// is recognised by it. Without it, a random name, kept in the data folder if there is one.
    pub name: Option<String>,
    /// The network that it is in. Default: the one that the first join names, or a peer that joins through it. The latest
    /// assignment is kept in the data folder, if there is one, and overrides this setting.
    pub network: Option<String>,
    /// Where blocks are kept; without it they are in memory only.
    pub data: Option<PathBuf>,
    /// How often it checks the others.
    pub check_interval: Duration,
    /// After how many failed checks in a row another peer is dropped.
    pub failures_until_dropped: u32,
    /// Timeout of one call to another peer.
    pub call_deadline: Duration,
    /// Timeout of fetching a whole chain.
    pub chain_deadline: Duration,
    /// How much it holds.
    pub limits: ChainLimits,
    /// TLS, for all connections or for none. Whoever calls must show a certificate of the same authority.
    pub tls: Option<Tls>,
    /// Serve whoever can reach the address: with TLS, also without a certificate; without TLS, also on other addresses than
    /// loopback. Default: false.
    ///
    /// Anyone who can connect can then read and add blocks, make the peer call any address, and move it to another network.
    pub allow_unauthenticated: bool,
}

impl Default for PeerSettings {
    fn default() -> PeerSettings {
        PeerSettings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            advertise: None,
            name: None,
            network: None,
            data: None,
            check_interval: Duration::from_secs(2),
            failures_until_dropped: 3,
            call_deadline: Duration::from_secs(2),
            chain_deadline: Duration::from_secs(20),
            limits: ChainLimits::default(),
            tls: None,
            allow_unauthenticated: false,
        }
    }
}

impl PeerSettings {
    /// The largest message that can make sense.
    pub(super) fn max_message_bytes(&self) -> usize {
        self.limits.payload_bytes + AROUND_PAYLOAD_BYTES
    }

    pub(super) fn calls(&self, deadline: Duration) -> ClientSettings {
        ClientSettings {
            deadline,
            tls: self.tls.as_ref().map(Tls::client),
            max_message_bytes: self.max_message_bytes(),
            max_answer_bytes: self.limits.bytes,
        }
    }
}
