//! The daemon on a droplet: it keeps the tables, writes the interfaces of pods to files, and serves both over gRPC.
//!
//! Its backend keeps everything in memory, so that hundreds run on one machine. What happens when it fails can be tried:
//! [`Failure`].

mod admin;
mod cni_files;
mod interfaces;
mod state;
mod tables;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::PROTOCOL;
use crate::wire::messages::admin_service_server::AdminServiceServer;
use crate::wire::messages::droplet_service_server::DropletServiceServer;
use crate::wire::messages::interface_service_server::InterfaceServiceServer;
use crate::wire::messages::table_service_server::TableServiceServer;

use state::Shared;
pub use state::{Failure, LoggedCall};

/// The largest message: all rows of a large droplet at once.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// How long open calls may go on when the daemon ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// How a daemon is started.
#[derive(Clone, Debug)]
pub struct DaemonSettings {
    /// The droplet.
    pub name: String,
    /// Where to listen; port 0 picks a free one.
    pub listen: SocketAddr,
    /// The address of the droplet in the network that carries the packets. Default: where it listens.
    pub ip: Option<String>,
    /// The MAC address of that interface.
    pub mac: String,
    /// The name of that interface.
    pub itf: String,
    /// Where the interfaces of pods are written to, each as a result in the format of CNI. Default: nowhere.
    pub cni_results: Option<PathBuf>,
    /// What fails from the start.
    pub failure: Failure,
    /// The version of the protocol that it says it speaks. Another one than [`PROTOCOL`] is for tests and drills.
    pub protocol: u32,
}

impl DaemonSettings {
    /// A daemon of this droplet, on a free port of this machine.
    pub fn new(name: &str) -> Self {
        DaemonSettings {
            name: name.to_owned(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            ip: None,
            mac: "02:00:00:00:00:01".to_owned(),
            itf: "eth0".to_owned(),
            cni_results: None,
            failure: Failure::None,
            protocol: PROTOCOL,
        }
    }
}

/// Why a daemon could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken, or not of this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The folder for CNI results cannot be used.
    #[error("cannot use the folder {path:?} for CNI results")]
    Results {
        /// The folder, or a file in it.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A daemon that runs in this process.
pub struct DropletDaemon {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    server: Option<JoinHandle<()>>,
}

impl DropletDaemon {
    /// Starts a daemon; when this returns, it serves.
    ///
    /// # Errors
    /// When it cannot listen, or not use its folder.
    pub async fn start(settings: DaemonSettings) -> Result<Self, StartError> {
        let failed = |source| StartError::Listen { address: settings.listen, source };
        let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared::open(settings, address)?);
        let (stop, mut stopping) = watch::channel(false);
        let stopped = async move { drop(stopping.wait_for(|stopping| *stopping).await) };
        let tables = TableServiceServer::new(shared.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let serving = Server::builder()
            .add_service(tables)
            .add_service(DropletServiceServer::new(shared.clone()))
            .add_service(InterfaceServiceServer::new(shared.clone()))
            .add_service(AdminServiceServer::new(shared.clone()))
            .serve_with_incoming_shutdown(TcpIncoming::from(listener).with_nodelay(Some(true)), stopped);
        let server = tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!("the server has failed: {error}");
            }
        });
        Ok(DropletDaemon { shared, address, stop, server: Some(server) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All rows that it has.
    pub fn rows(&self) -> std::collections::BTreeMap<crate::tables::Key, crate::tables::Row> {
        self.shared.rows()
    }

    /// What was changed, in order: the last 100,000 changes.
    pub fn calls(&self) -> Vec<LoggedCall> {
        self.shared.calls(0)
    }

    /// How many calls it has answered, reads included.
    pub fn answered(&self) -> u64 {
        self.shared.answered()
    }

    /// Lets it fail from now on, or no longer.
    pub fn fail(&self, failure: Failure) {
        self.shared.fail(failure);
    }

    /// Ends it: open calls may go on for a short while.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        if let Some(mut server) = self.server.take()
            && tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut server).await.is_err()
        {
            server.abort();
        }
    }
}

impl Drop for DropletDaemon {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(server) = &self.server {
            server.abort();
        }
    }
}
