//! A lightpeer: a member of a network that keeps a chain of blocks together with the others.
//!
//! [`chain`] says what a chain is and how two become one, and does no I/O; the rest brings blocks from peer to peer.
//!
//! - **Joining**: the peer that joins calls `ConnectNewPeer` on its contact, which records it in a network block,
//!   notifies the others, and sends the whole chain. Blocks that the joining peer already had are kept and sent to the
//!   contact: joining merges. Joining again does nothing.
//! - **Changing networks**: a join may name a network. A peer that was assigned to another network leaves it: it
//!   continues under a new name with an empty chain, and calls meant for its old name are refused. Its blocks stay with
//!   the members that it has left and, with a data folder, in a file beside the new chain. Peers of different networks
//!   share nothing, whatever they receive. A peer without a network adopts the first one that a call names.
//! - **Acknowledging**: a client's block is acknowledged when it is on the disk here (with a data folder), and when all
//!   others that are live have taken it, or at least one if some failed. So no acknowledged block is lost with any one
//!   peer. A peer that has dropped all others acknowledges alone.
//! - **Comparing**: each peer checks all others on an interval. A check returns the peer's identity and a digest of its
//!   chain; if the digest is unknown here, the chain is fetched by the same call as for joining. Several failed checks in
//!   a row drop a peer; it is still checked now and then, and counted again when it answers.

mod block;
pub mod chain;
mod connections;
mod events;
mod join;
mod journal;
mod membership;
mod node;
mod private;
mod roster;
mod rounds;
mod seat;
mod service;
mod settings;
mod spread;

use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tonic::transport::Server;

pub use block::{Block, BlockKind, BlockTime, MemberRecord};
pub use events::{Counters, Event};
pub use join::JoinError;
pub use journal::JournalError;
pub use node::KeepError;
pub use roster::Liveness;
pub use settings::PeerSettings;
pub use spread::PersistError;

use chain::{Chain, Refusal};
use journal::Journal;
use membership::Membership;
use seat::Seat;
use service::Service;

use crate::wire::health::health_server::HealthServer;
use crate::wire::messages::lightpeer_server::LightpeerServer;
use crate::wire::{JoinAbout, check_address, check_network};

/// Time that open calls have to finish when a peer shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of open connections. Each is an open file, and a process is often limited to 1,024.
const MAX_CONNECTIONS: usize = 512;
/// Calls of one connection at the same time.
const MAX_CALLS_PER_CONNECTION: usize = 128;
/// A connection whose other end has vanished is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// Why a peer does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address to listen on cannot be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// Anyone who can reach it could do anything with it.
    #[error(
        "a peer without TLS on {address} would obey whoever can reach it: give it a certificate, listen on loopback, or \
         allow unauthenticated callers"
    )]
    Unauthenticated {
        /// Where it is to listen.
        address: SocketAddr,
    },
    /// Others could not reach it.
    #[error("others cannot reach {address:?}: {problem}; say how they can with an address to advertise")]
    Advertise {
        /// The address.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Its name cannot be read or kept.
    #[error("cannot keep the name of the peer in {}", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The network cannot be one.
    #[error("{0}")]
    Network(String),
    /// It cannot be read, or not be kept, which network it is in.
    #[error("cannot keep the network of the peer in {}", path.display())]
    Membership {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The chain on the disk cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The blocks on the disk are no chain, or more than is allowed.
    #[error("the blocks in the data folder cannot be used: {0}")]
    Chain(#[from] Refusal),
    /// The certificate or the key.
    #[error("the certificate or its key cannot be used: {0}")]
    Tls(String),
}

/// A member, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Who it is.
    pub record: MemberRecord,
    /// None for the peer itself.
    pub liveness: Option<Liveness>,
}

/// A running peer. It ends when it is dropped; [`Peer::shutdown`] also waits for it.
#[derive(Debug)]
pub struct Peer {
    seat: Arc<Seat>,
    address: String,
    server: Option<JoinHandle<()>>,
    rounds: Option<JoinHandle<()>>,
}

impl Peer {
    /// Starts a peer; it serves when this returns.
    ///
    /// # Errors
    /// It cannot listen, or what it is to use makes no sense.
    pub async fn start(settings: PeerSettings) -> Result<Peer, StartError> {
        if settings.tls.is_none() && !settings.allow_unauthenticated && !settings.listen.ip().is_loopback() {
            return Err(StartError::Unauthenticated { address: settings.listen });
        }
        let listening = |source| StartError::Listen { address: settings.listen, source };
        let listener = TcpListener::bind(settings.listen).await.map_err(listening)?;
        let bound = listener.local_addr().map_err(listening)?;
        let (address, name) = (advertised(&settings, bound)?, name(&settings)?);
        let mut chain = Chain::new(settings.limits);
        let mut journal = None;
        if let Some(folder) = &settings.data {
            let opened = Journal::open(folder)?;
            if opened.cut > 0 {
                tracing::warn!("cut {} bytes of a block that was never finished", opened.cut);
            }
            chain.adopt(opened.blocks)?;
            journal = Some(opened.journal);
        }
        let membership = membership(&settings)?;
        let mut server = server(&settings)?;
        let seat = Arc::new(Seat::new(settings, name, address.clone(), membership, chain, journal));
        let (lightpeer, health) = services(&seat);
        let mut stopping = seat.stopping.subscribe();
        let stopped = async move { drop(stopping.wait_for(|stopping| *stopping).await) };
        let incoming = connections::accept(listener, MAX_CONNECTIONS);
        let serving =
            server.add_service(lightpeer).add_service(health).serve_with_incoming_shutdown(incoming, stopped);
        let server = tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!("the server has failed: {error}");
            }
        });
        let rounds = tokio::spawn(rounds::run(seat.clone()));
        Ok(Peer { seat, address, server: Some(server), rounds: Some(rounds) })
    }

    /// The address that others reach it at.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it is called by others; another name each time that it has left a network.
    pub fn name(&self) -> String {
        self.seat.node().own.name.clone()
    }

    /// The network that it is in, if it was assigned to one.
    pub fn network(&self) -> Option<String> {
        self.seat.node().network()
    }

    /// Joins the network of a contact, as `JoinNetwork` does. Returns false if it is a member already.
    ///
    /// # Errors
    /// The contact is invalid, or refuses; the chain of this peer is then unchanged.
    pub async fn join(&self, contact: &str) -> Result<bool, JoinError> {
        self.seat.join(contact, &JoinAbout::default()).await
    }

    /// Joins the network of a contact, and leaves the network that it was assigned to before, if that is another one.
    /// Without a contact (empty), it is the only known member of the network.
    ///
    /// # Errors
    /// As for [`Peer::join`]; also if the contact is a member of another network.
    pub async fn join_network(&self, contact: &str, network: &str) -> Result<bool, JoinError> {
        let about = JoinAbout { network: Some(network.to_owned()), ..JoinAbout::default() };
        self.seat.join(contact, &about).await
    }

    /// All members that it knows, itself included once it is one.
    pub fn members(&self) -> Vec<Member> {
        let node = self.seat.node();
        let state = node.state();
        let liveness = |record: &MemberRecord| state.roster.liveness(&record.address);
        let members = state.chain.members().iter();
        members.map(|record| Member { record: record.clone(), liveness: liveness(record) }).collect()
    }

    /// The chain, in order.
    pub fn blocks(&self) -> Vec<Arc<Block>> {
        self.seat.node().state().chain.blocks().cloned().collect()
    }

    /// How often things happened.
    pub fn counters(&self) -> Counters {
        self.seat.witness.tally.read()
    }

    /// What happens from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.seat.witness.listen()
    }

    /// Ends it: calls that are open may finish, for a short while.
    pub async fn shutdown(mut self) {
        self.seat.stopping.send_replace(true);
        for mut task in [self.server.take(), self.rounds.take()].into_iter().flatten() {
            if tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut task).await.is_err() {
                task.abort();
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.seat.stopping.send_replace(true);
    }
}

fn server(settings: &PeerSettings) -> Result<Server, StartError> {
    let server = Server::builder()
        .concurrency_limit_per_connection(MAX_CALLS_PER_CONNECTION)
        .max_concurrent_streams(u32::try_from(MAX_CALLS_PER_CONNECTION).ok())
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE));
    match &settings.tls {
        None => Ok(server),
        Some(tls) => server
            .tls_config(tls.server(settings.allow_unauthenticated))
            .map_err(|error| StartError::Tls(error.to_string())),
    }
}

fn services(seat: &Arc<Seat>) -> (LightpeerServer<Service>, HealthServer<Service>) {
    let service = Service { seat: seat.clone() };
    let lightpeer =
        LightpeerServer::new(service.clone()).max_decoding_message_size(seat.settings.max_message_bytes());
    (lightpeer, HealthServer::new(service))
}

fn advertised(settings: &PeerSettings, bound: SocketAddr) -> Result<String, StartError> {
    let address = settings.advertise.clone().unwrap_or_else(|| bound.to_string());
    let refuse = |problem| StartError::Advertise { address: address.clone(), problem };
    if settings.advertise.is_none() && bound.ip().is_unspecified() {
        return Err(refuse("it stands for all addresses of this machine".to_owned()));
    }
    check_address(&address).map_err(refuse)?;
    Ok(address)
}

/// The given name; or the one in the data folder; or a new one.
fn name(settings: &PeerSettings) -> Result<String, StartError> {
    if let Some(name) = &settings.name {
        return Ok(name.clone());
    }
    match &settings.data {
        None => Ok(new_name()),
        Some(folder) => {
            let path = folder.join("name");
            kept_name(folder, &path).map_err(|source| StartError::Name { path, source })
        }
    }
}

/// What is kept in the data folder; else, the network that was given.
fn membership(settings: &PeerSettings) -> Result<Membership, StartError> {
    if let Some(network) = &settings.network {
        check_network(network).map_err(StartError::Network)?;
    }
    let given = settings.network.clone();
    let Some(folder) = &settings.data else {
        return Ok(Membership { network: given, ..Membership::default() });
    };
    let failed = |source| StartError::Membership { path: membership::file(folder), source };
    let mut kept = Membership::read(folder).map_err(failed)?;
    match (&kept.network, given) {
        (None, Some(given)) => {
            kept.network = Some(given);
            kept.write(folder).map_err(failed)?;
        }
        (Some(kept), Some(given)) if *kept != given => {
            tracing::warn!(
                "stays in the network {kept}, to which it was assigned after it was started for {given}"
            );
        }
        _ => {}
    }
    Ok(kept)
}

fn kept_name(folder: &Path, path: &Path) -> std::io::Result<String> {
    if let Ok(name) = std::fs::read_to_string(path) {
        let name = name.trim();
        if !name.is_empty() {
            return Ok(name.to_owned());
        }
    }
    let name = new_name();
    private::make_folder(folder)?;
    let mut file = private::open(OpenOptions::new().write(true).create(true).truncate(true), path)?;
    file.write_all(format!("{name}\n").as_bytes())?;
    Ok(name)
}

fn new_name() -> String {
    format!("peer-{:016x}", node::random())
}
