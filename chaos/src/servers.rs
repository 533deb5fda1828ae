//! The servers of a run as processes: an API server, and an etcd if that is the registry.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use conformance::access::Access;
use conformance::etcd::Etcd;
use conformance::kubernetes::{AnotherApiServer, Durability, Kubernetes};
use conformance::server::Server;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::plan::{Plan, Programs, RegistryKind, ServerKind};

/// All servers of a run. They end when this is dropped.
#[derive(Debug)]
pub struct Servers {
    api: ApiServer,
    etcd: Option<Etcd>,
}

#[derive(Debug)]
enum ApiServer {
    /// It keeps its history when it is killed.
    Embedded(Server),
    /// It forgets its history, so the auditor has one of its own on the same etcd.
    Kubernetes(Box<Kubernetes>, AnotherApiServer),
}

impl Servers {
    /// Starts them, and waits until they are ready.
    ///
    /// # Errors
    /// If a program is missing or does not start.
    pub fn start(plan: &Plan, programs: &Programs) -> Result<Self> {
        let assets = || {
            let assets = programs.assets.as_deref();
            assets.context("there is no folder with kube-apiserver and etcd: `cargo xtask envtest` makes one")
        };
        let api = match plan.server {
            ServerKind::Embedded => ApiServer::Embedded(Server::start_durable(&programs.server)?),
            ServerKind::Kubernetes => {
                let mut kubernetes = Kubernetes::start_from(assets()?, Durability::Fast)?;
                let another = kubernetes.start_another()?;
                ApiServer::Kubernetes(Box::new(kubernetes), another)
            }
        };
        let etcd = match plan.registry {
            RegistryKind::Api => None,
            RegistryKind::Etcd => Some(Etcd::start(&[])?),
        };
        Ok(Servers { api, etcd })
    }

    /// How instances and users reach the API server.
    pub fn access(&self) -> &Access {
        match &self.api {
            ApiServer::Embedded(server) => server.access(),
            ApiServer::Kubernetes(kubernetes, _) => kubernetes.access(),
        }
    }

    /// How the auditor reaches the history.
    pub fn history_access(&self) -> &Access {
        match &self.api {
            ApiServer::Embedded(server) => server.access(),
            ApiServer::Kubernetes(_, another) => another.access(),
        }
    }

    /// Where the registry listens, if it is an etcd.
    pub fn registry(&self) -> Option<SocketAddr> {
        self.etcd.as_ref().and_then(|etcd| etcd.address().parse().ok())
    }

    /// Kills the API server.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn kill_api(&mut self) -> Result<()> {
        match &mut self.api {
            ApiServer::Embedded(server) => server.kill(),
            ApiServer::Kubernetes(kubernetes, _) => kubernetes.kill(),
        }
    }

    /// Starts the API server again, and waits until it is ready.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_api(&mut self) -> Result<()> {
        match &mut self.api {
            ApiServer::Embedded(server) => server.start_again(),
            ApiServer::Kubernetes(kubernetes, _) => kubernetes.start_again(),
        }
    }

    /// Kills the registry, if it is an etcd.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn kill_registry(&mut self) -> Result<()> {
        self.etcd.as_mut().map_or(Ok(()), Etcd::kill)
    }

    /// Starts the registry again, if it is an etcd.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_registry(&mut self) -> Result<()> {
        self.etcd.as_mut().map_or(Ok(()), Etcd::restart)
    }
}

/// A client of a server.
///
/// # Errors
/// If the server cannot be reached so.
pub async fn client(access: &Access) -> Result<kube::Client> {
    let kubeconfig = Kubeconfig::from_yaml(&access.kubeconfig()).context("a kubeconfig that is not one")?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    kube::Client::try_from(config.context("the kubeconfig cannot be used")?).context("no client")
}

/// The address in the URL of a server.
///
/// # Errors
/// If there is none.
pub fn address(access: &Access) -> Result<SocketAddr> {
    let address = access.url.split("//").last().unwrap_or_default();
    address.parse().with_context(|| format!("{} has no address", access.url))
}
