//! Starts the server and ends it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use windlass_model::FeatureGates;
use windlass_model::authentication::User;

use crate::auth::{Auth, AuthError, Certificate, CertificateError, Kubeconfig, certificate};
use crate::closing::Closer;
use crate::http::access::{AccessControl, AuthorizationMode};
use crate::http::api::{Api, LARGE_BODIES_AT_ONCE};
use crate::http::connections;
use crate::http::documents::Documents;
use crate::limits::Limits;
use crate::loops::{self, Loops};
use crate::metrics::Metrics;
use crate::store::{HistoryLimits, OpenError, Storage, StoreOptions};
use crate::{bootstrap, clock};

/// How the server is to run.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The folder that holds everything; in memory without it.
    pub data: Option<PathBuf>,
    /// How the server proves who it is.
    pub tls: TlsSource,
    /// Names and addresses beyond those of this machine that a generated certificate is for.
    pub names: Vec<String>,
    /// How requests are authorized.
    pub authorization: AuthorizationMode,
    /// Whether each namespace gets a service account and the certificate authority, as a controller manager does it.
    pub service_accounts: bool,
    /// Whether the cluster's workload controllers run: pods become ready without running anything, rollouts and Jobs end.
    pub workloads: bool,
    /// Feature gates: features that can be switched on or off.
    pub gates: FeatureGates,
    /// Limits on what clients may use.
    pub limits: Limits,
    /// How much of the past watches can resume from.
    pub history: HistoryLimits,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data: None,
            tls: TlsSource::default(),
            names: Vec::new(),
            authorization: AuthorizationMode::default(),
            service_accounts: false,
            workloads: false,
            gates: FeatureGates::default(),
            limits: Limits::default(),
            history: HistoryLimits::default(),
        }
    }
}

/// Where the certificate comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TlsSource {
    /// Made on first start, with an authority of its own.
    #[default]
    Generated,
    /// From these files, as PEM.
    Files {
        /// The certificate, and those that sign it.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// Plain HTTP, on this machine only.
    Off,
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The data cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nothing can listen there.
    #[error("cannot listen on {address}: choose another --listen, or port 0 for a free one")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The keys cannot be used.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Plain HTTP to other machines would show them the token.
    #[error(
        "{address} can be reached by other machines, so TLS is needed: plain HTTP is for 127.0.0.1 and [::1] only"
    )]
    PlainToOthers {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The objects that every cluster has cannot be written.
    #[error("cannot write the first objects: {0}")]
    Bootstrap(String),
}

/// A running server. Dropping it leaves it running until its runtime ends; see [`Server::shutdown`].
pub struct Server {
    address: SocketAddr,
    api: Arc<Api>,
    kubeconfig: Kubeconfig,
    closer: Closer,
    tasks: Vec<JoinHandle<()>>,
}

impl Server {
    /// Opens the data, listens, and returns when requests are answered.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing is left behind then.
    pub async fn start(options: ServerOptions) -> Result<Server, StartError> {
        let listen = options.listen;
        if options.tls == TlsSource::Off && !listen.ip().is_loopback() {
            return Err(StartError::PlainToOthers { address: listen });
        }
        let failed = |source| StartError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let storage = Storage::open(&StoreOptions {
            folder: options.data.clone(),
            history: options.history.clone(),
            gates: options.gates,
        })?;
        let folder = options.data.as_deref();
        let certificate = match &options.tls {
            TlsSource::Generated => {
                Some(Certificate::own(folder, &certificate::names(address, &options.names), clock::now())?)
            }
            TlsSource::Files { certificate, key } => Some(Certificate::given(certificate, key)?),
            TlsSource::Off => None,
        };
        let anonymous = (options.authorization == AuthorizationMode::Rbac).then(User::anonymous);
        let auth = Auth::open(folder, anonymous)?;
        let kubeconfig = Kubeconfig {
            server: url(address, certificate.is_some()),
            authority: certificate.as_ref().map(|certificate| certificate.authority.clone()),
            token: Some(auth.admin_token().to_owned()),
        };
        bootstrap::write_first_objects(&storage, options.authorization, options.workloads)
            .await
            .map_err(StartError::Bootstrap)?;
        let (closer, closing) = Closer::new();
        let api = Arc::new(Api {
            storage: storage.clone(),
            metrics: Metrics::new(),
            documents: Documents::default(),
            access: AccessControl::new(auth, options.authorization, &storage),
            url: kubeconfig.server.clone(),
            closing: closing.clone(),
            reads: Semaphore::new(options.limits.reads_in_flight),
            writes: Semaphore::new(options.limits.writes_in_flight),
            bodies: Semaphore::new(options.limits.body_bytes),
            large_bodies: Semaphore::new(LARGE_BODIES_AT_ONCE),
            limits: options.limits,
        });
        let loops = Loops {
            api: Arc::clone(&api),
            authority: kubeconfig.authority.clone(),
            service_accounts: options.service_accounts,
            workloads: options.workloads,
        };
        let tls = certificate.map(|certificate| TlsAcceptor::from(certificate.config));
        let tasks = vec![
            tokio::spawn(connections::serve(listener, tls, Arc::clone(&api))),
            tokio::spawn(loops::run(loops, closing)),
        ];
        Ok(Server { address, api, kubeconfig, closer, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:6443`
    pub fn url(&self) -> &str {
        &self.kubeconfig.server
    }

    /// What a client needs to use it, with all rights.
    pub fn kubeconfig(&self) -> &Kubeconfig {
        &self.kubeconfig
    }

    /// Speaks with one client over any stream, in plain HTTP, until that ends: for clients in the same process.
    ///
    /// # Errors
    /// What went wrong on the stream.
    pub async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        connections::speak(stream, Arc::clone(&self.api)).await
    }

    /// Ends watches, lets what is being answered finish, and closes the data.
    pub async fn shutdown(self) {
        self.closer.close();
        for task in self.tasks {
            let _ = task.await;
        }
        self.api.storage.close();
    }
}

fn url(address: SocketAddr, tls: bool) -> String {
    let scheme = if tls { "https" } else { "http" };
    // Who listens on all addresses is reached on this one from here.
    let here =
        if address.is_ipv4() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { IpAddr::V6(Ipv6Addr::LOCALHOST) };
    let ip = if address.ip().is_unspecified() { here } else { address.ip() };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}
