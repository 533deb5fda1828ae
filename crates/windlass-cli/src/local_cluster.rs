//! A cluster on this machine: the embedded server, and the bundled controllers beside it in the same process.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use web_app::toy_dns::{self, SharedZone};
use web_app::{Dns, HttpDns};
use windlass_app::{AppController, config};
use windlass_klight::network::{LightpeerClient, Lightpeers};
use windlass_mizar::MizarSettings;
use windlass_mizar::droplets::{DropletClient, Droplets};
use windlass_mizar::workflows::WorkflowMetrics;
use windlass_runtime::{Manager, Running};
use windlass_server::{Server, ServerOptions};

use crate::controllers;

/// Timeout until the server serves a new kind.
const UNTIL_SERVED: Duration = Duration::from_secs(10);

/// A server with controllers, until it is stopped.
pub(crate) struct LocalCluster {
    server: Server,
    running: Running,
    names: JoinHandle<std::io::Result<()>>,
    /// A client with all rights.
    pub(crate) client: Client,
    /// The controllers that run.
    pub(crate) controllers: Vec<AppController>,
    /// A kubeconfig for it.
    pub(crate) kubeconfig: PathBuf,
}

impl LocalCluster {
    /// Starts everything, and returns when the controllers have seen what is there.
    pub(crate) async fn start(
        options: ServerOptions,
        mizar: &MizarSettings,
        endpoints: SocketAddr,
        kubeconfig: &Path,
    ) -> anyhow::Result<Self> {
        let server = Server::start(options).await?;
        server.kubeconfig().write(kubeconfig)?;
        let client = Client::try_from(config(Some(kubeconfig)).await?)?;
        let controllers = controllers::with_settings(mizar);
        install(&client, &controllers).await?;
        // What web-app needs in the world outside: here, a few lines that keep names.
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port is free for the names")?;
        let dns = HttpDns::new(&format!("http://{}", listener.local_addr()?));
        let names = tokio::spawn(toy_dns::serve(listener, SharedZone::default()));
        let mut manager = Manager::new()
            .client(client.clone())
            .endpoints(endpoints)
            .service(Dns, dns)
            .service(Lightpeers, LightpeerClient::default())
            .service(Droplets, DropletClient::default())
            .observe(|metrics| WorkflowMetrics::default().add_to(metrics));
        for bundled in &controllers {
            manager = manager.with_controller(bundled.controller().clone());
        }
        let running = manager.start().await?;
        running.handle().synced().await;
        Ok(LocalCluster { server, running, names, client, controllers, kubeconfig: kubeconfig.to_owned() })
    }

    /// Where the server listens: `https://127.0.0.1:6443`.
    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    /// Where metrics and health are served.
    pub(crate) fn endpoints(&self) -> Option<SocketAddr> {
        self.running.endpoints()
    }

    /// Lets active reconciles finish, and ends everything.
    pub(crate) async fn stop(self) {
        self.running.stop().await;
        self.names.abort();
        self.server.shutdown().await;
    }
}

/// Makes the kinds of controllers known, or brings up to date what an older version has left.
async fn install(client: &Client, bundled: &[AppController]) -> anyhow::Result<()> {
    let mut all = BTreeMap::new();
    for definition in bundled.iter().filter_map(AppController::custom_resource) {
        let definition: CustomResourceDefinition = serde_json::from_value(definition.clone())?;
        all.insert(definition.metadata.name.clone().context("a definition has a name")?, definition);
    }
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply("windlass").force();
    for (name, definition) in &all {
        let applied = definitions.patch(name, &params, &Patch::Apply(definition)).await;
        applied.with_context(|| format!("cannot install {name}"))?;
    }
    for name in all.keys() {
        until_served(&definitions, name).await?;
    }
    Ok(())
}

async fn until_served(definitions: &Api<CustomResourceDefinition>, name: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let known = definitions.get(name).await?;
        let conditions = known.status.and_then(|status| status.conditions).unwrap_or_default();
        if conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True") {
            return Ok(());
        }
        ensure!(begun.elapsed() < UNTIL_SERVED, "{name} is not served: {conditions:?}");
        sleep(Duration::from_millis(10)).await;
    }
}
