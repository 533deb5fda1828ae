//! etcd as registry of a sharded program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use windlass_etcd::{
    EtcdConnection, EtcdIdentity, EtcdOptions, EtcdRegistry, EtcdTls, EtcdUser, InstanceEntry, RingEntry,
};
use windlass_runtime::sharding::{LeaseOverview, Registries, Registry, RingOverview};
use windlass_shard::{Answer, InstanceId, Request, Ring, RingSpec, ServedSlots, Versioned};

/// The variable with the user of etcd, which must not be seen in a list of processes.
const USER_VARIABLE: &str = "WINDLASS_ETCD_USER";

/// Credentials for etcd.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct EtcdArguments {
    /// Certificate authority of etcd, PEM: for etcds://. The user, if etcd demands one, is in $WINDLASS_ETCD_USER as
    /// NAME:PASSWORD.
    #[arg(long, value_name = "FILE")]
    etcd_ca: Option<PathBuf>,
    /// Certificate of this client, PEM.
    #[arg(long, value_name = "FILE", requires = "etcd_key")]
    etcd_cert: Option<PathBuf>,
    /// Key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "etcd_cert")]
    etcd_key: Option<PathBuf>,
}

impl EtcdArguments {
    /// The registers at an address like `etcd://127.0.0.1:2379`, for instances with leases of this duration. One renewal
    /// may be lost on a member that hangs, and the next one must still be in time.
    pub(crate) fn connect_for(&self, address: &str, lease: Duration) -> anyhow::Result<EtcdRegistries> {
        let mut options = self.options(address)?;
        options.deadline = options.deadline.min(lease / 4);
        Ok(EtcdRegistries(EtcdConnection::open(&options)?))
    }

    /// The registers at an address, to look at.
    pub(crate) fn connect(&self, address: &str) -> anyhow::Result<EtcdRegistries> {
        Ok(EtcdRegistries(EtcdConnection::open(&self.options(address)?)?))
    }

    fn options(&self, address: &str) -> anyhow::Result<EtcdOptions> {
        let mut options: EtcdOptions = address.parse()?;
        if let Some(tls) = &mut options.tls {
            let Some(authority) = &self.etcd_ca else { bail!("{address} needs --etcd-ca: whom to trust") };
            *tls = EtcdTls { authority: read(authority)?, identity: self.identity()?, server_name: None };
        } else if self.etcd_ca.is_some() || self.etcd_cert.is_some() {
            bail!("{address} is without TLS: write etcds:// to use the certificates");
        }
        if let Ok(user) = std::env::var(USER_VARIABLE) {
            let Some((name, password)) = user.split_once(':') else {
                bail!("{USER_VARIABLE} is NAME:PASSWORD")
            };
            options.user = Some(EtcdUser { name: name.to_owned(), password: password.to_owned() });
        }
        Ok(options)
    }

    fn identity(&self) -> anyhow::Result<Option<EtcdIdentity>> {
        let (Some(certificate), Some(key)) = (&self.etcd_cert, &self.etcd_key) else { return Ok(None) };
        Ok(Some(EtcdIdentity { certificate: read(certificate)?, key: read(key)? }))
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// All rings in one etcd.
pub(crate) struct EtcdRegistries(EtcdConnection);

impl EtcdRegistries {
    /// All rings, or one.
    pub(crate) async fn overviews(&self, name: Option<&str>) -> anyhow::Result<Vec<RingOverview>> {
        let mut overviews = Vec::new();
        for entry in self.0.list().await? {
            if name.is_some_and(|name| name != entry.controller_type) {
                continue;
            }
            let ring = entry.controller_type.clone();
            match self.overview(entry).await {
                // One that somebody has edited does not hide the others.
                Err(error) if name.is_none() => overviews.push(RingOverview::unreadable(&ring, &error)),
                read => overviews.push(read.with_context(|| ring)?),
            }
        }
        Ok(overviews)
    }

    async fn overview(&self, entry: RingEntry) -> anyhow::Result<RingOverview> {
        let stored = entry.stored?;
        let lease = |instance: InstanceEntry| {
            let InstanceEntry { id, incarnation, served } = instance;
            (id.to_string(), LeaseOverview { incarnation, renewed: None, fresh: true, served })
        };
        let leases = self.0.instances(&entry.controller_type).await?.into_iter().map(lease);
        Ok(RingOverview::new(&stored.spec, &stored.status, &leases.collect())?)
    }
}

impl Registries for EtcdRegistries {
    fn of_ring(&self, spec: &RingSpec) -> Arc<dyn Registry> {
        let registry = self.0.registry(spec);
        Arc::new(OneRing(
            registry.expect("the name of a controller is a DNS label, and its settings were checked"),
        ))
    }
}

/// One ring in etcd.
struct OneRing(EtcdRegistry);

impl Registry for OneRing {
    fn perform<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        self.0.perform(request)
    }

    fn watch_ring(&self) -> BoxStream<'static, Versioned<Arc<Ring>>> {
        self.0.watch_ring()
    }

    fn last_error(&self) -> Option<String> {
        self.0.last_error()
    }

    fn serve(&self, served: ServedSlots) {
        self.0.serve(served);
    }

    fn served(&self) -> BTreeMap<InstanceId, ServedSlots> {
        self.0.served()
    }

    fn name(&self) -> String {
        self.0.name()
    }
}
