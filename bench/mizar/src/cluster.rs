//! An embedded server, daemons and operators in this process.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, Config, Resource};
use serde_json::{Value, json};
use windlass_mizar::api::{Droplet, definitions};
use windlass_mizar::daemon::{DaemonSettings, DropletDaemon};
use windlass_mizar::droplets::{DropletClient, Droplets};
use windlass_mizar::{MizarSettings, operators};
use windlass_runtime::{Manager, Running};
use windlass_server::{Server, ServerOptions, TlsSource};

/// Timeout of whatever is waited for.
const TIMEOUT: Duration = Duration::from_secs(600);

/// All that runs.
pub(crate) struct Cluster {
    server: Server,
    running: Running,
    pub(crate) client: Client,
    pub(crate) daemons: Vec<(String, DropletDaemon)>,
    _folder: tempfile::TempDir,
}

impl Cluster {
    pub(crate) async fn start(droplets: usize) -> Result<Self> {
        let options = ServerOptions { tls: TlsSource::Off, ..ServerOptions::default() };
        let server = Server::start(options).await?;
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        server.kubeconfig().write(&kubeconfig)?;
        let read = kube::config::Kubeconfig::read_from(&kubeconfig)?;
        let client = Client::try_from(Config::from_custom_kubeconfig(read, &Default::default()).await?)?;
        let all: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in definitions() {
            all.create(&PostParams::default(), &definition).await?;
        }
        until("the kinds are served", async || {
            Ok(Api::<Droplet>::all(client.clone()).list(&ListParams::default()).await.is_ok())
        })
        .await?;
        let start = |number: usize| async move {
            let name = format!("node{number}");
            let ip = Some(format!("192.168.0.{number}"));
            let daemon = DropletDaemon::start(DaemonSettings { ip, ..DaemonSettings::new(&name) }).await?;
            anyhow::Ok((name, daemon))
        };
        let daemons = try_join_all((1..=droplets).map(start)).await?;
        let mut manager =
            Manager::new().client(client.clone()).service(Droplets, DropletClient::default()).events(false);
        for controller in operators::all(&MizarSettings::default()) {
            manager = manager.with_controller(controller);
        }
        let running = manager.start().await?;
        running.handle().synced().await;
        let cluster = Cluster { server, running, client, daemons, _folder: folder };
        for (name, daemon) in &cluster.daemons {
            let annotations = json!({ "mizar.com/droplet-address": daemon.address().to_string() });
            let droplet: Droplet = serde_json::from_value(json!({
                "metadata": { "name": name, "annotations": annotations },
                "spec": { "ip": format!("192.168.0.{}", name.trim_start_matches("node")), "mac": "02:00:00:00:00:01" },
            }))?;
            cluster.create(droplet).await?;
        }
        Ok(cluster)
    }

    pub(crate) async fn create<K>(&self, object: K) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
    {
        Api::<K>::namespaced(self.client.clone(), "default").create(&PostParams::default(), &object).await?;
        Ok(())
    }

    pub(crate) async fn create_from<K>(&self, object: Value) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
    {
        self.create::<K>(serde_json::from_value(object)?).await
    }

    pub(crate) async fn all<K>(&self) -> Result<Vec<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + serde::de::DeserializeOwned,
    {
        Ok(Api::<K>::all(self.client.clone()).list(&ListParams::default()).await?.items)
    }

    /// The writes that the API server has answered, by all of its clients.
    pub(crate) async fn writes(&self) -> Result<u64> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let text = self.client.request_text(request).await?;
        let mut writes = 0;
        for line in text.lines().filter(|line| line.starts_with("apiserver_request_total{")) {
            let is_write = ["POST", "PUT", "PATCH", "DELETE"]
                .iter()
                .any(|verb| line.contains(&format!("verb=\"{verb}\"")));
            if is_write {
                let count = line.rsplit(' ').next().context("a count")?;
                writes += count.parse::<f64>()? as u64;
            }
        }
        Ok(writes)
    }

    /// The calls that all daemons have answered.
    pub(crate) fn calls(&self) -> u64 {
        self.daemons.iter().map(|(_, daemon)| daemon.answered()).sum()
    }

    pub(crate) async fn stop(self) {
        self.running.stop().await;
        for (_, daemon) in self.daemons {
            daemon.shutdown().await;
        }
        self.server.shutdown().await;
    }
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !is_so().await? {
        ensure!(begun.elapsed() < TIMEOUT, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
