//! A namespace in a cluster, for one scenario.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, CustomResourceExt};
use serde_json::{Value, json};
use two_configmaps::{Pair, PairSpec};
use windlass_server::{FeatureGates, Server, ServerOptions, TlsSource};

use super::eventually;

/// A namespace of a cluster, seen with all rights and past every fault.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: kube::Client,
    pub(crate) namespace: String,
}

impl Cluster {
    /// Makes the namespace, and the kind `Pair` if it is not there.
    pub(crate) async fn new(client: kube::Client, namespace: &str) -> Self {
        let cluster = Cluster { client, namespace: namespace.to_owned() };
        cluster.install_pairs().await;
        let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
        let metadata = ObjectMeta { name: Some(namespace.to_owned()), ..ObjectMeta::default() };
        let made = Namespace { metadata, ..Namespace::default() };
        namespaces.create(&PostParams::default(), &made).await.expect("the namespace is new");
        cluster
    }

    /// Installs the kind `Pair`, and waits until it is served.
    pub(crate) async fn install_pairs(&self) {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let apply = PatchParams::apply("test").force();
        definitions
            .patch("pairs.example.windlass.dev", &apply, &Patch::Apply(Pair::crd()))
            .await
            .expect("a CRD");
        eventually("pairs are served", async || self.pairs().list(&Default::default()).await.is_ok()).await;
    }

    pub(crate) fn pairs(&self) -> Api<Pair> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Makes a pair.
    pub(crate) async fn create_pair(&self, name: &str) {
        let pair = Pair::new(name, PairSpec { value: "hello".to_owned() });
        self.pairs().create(&PostParams::default(), &pair).await.expect("a pair");
    }

    /// Changes a pair.
    pub(crate) async fn merge_pair(&self, name: &str, patch: Value) -> Pair {
        self.pairs().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.expect("a pair")
    }

    /// What a ConfigMap carries; `None` if there is none.
    pub(crate) async fn value_of(&self, config_map: &str) -> Option<String> {
        let found = self.config_maps().get_opt(config_map).await.expect("an answer")?;
        found.data.unwrap_or_default().get("value").cloned()
    }

    /// Creates a ConfigMap that has nothing to do with any pair.
    pub(crate) async fn create_config_map(&self, name: &str) {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let config_map = ConfigMap { metadata, ..ConfigMap::default() };
        self.config_maps().create(&PostParams::default(), &config_map).await.expect("it is made");
    }

    pub(crate) async fn delete_config_map(&self, name: &str) {
        self.config_maps().delete(name, &DeleteParams::default()).await.expect("it is there");
    }

    /// Whether a pair is ready as it is now, with both its ConfigMaps.
    pub(crate) async fn is_ready(&self, name: &str) -> bool {
        // While the server is away it is not ready.
        let Ok(pair) = self.pairs().get(name).await else { return false };
        let Some(status) = pair.status else { return false };
        let ready = status
            .conditions
            .iter()
            .any(|condition| condition.r#type == "Ready" && condition.status == "True");
        ready && status.observed_generation == pair.metadata.generation
    }

    /// Waits until a pair is ready, with both its ConfigMaps.
    pub(crate) async fn until_ready(&self, name: &str) {
        eventually(&format!("{name} is ready"), async || self.is_ready(name).await).await;
        for output in ["cm1", "cm2"] {
            assert!(
                self.value_of(&format!("{name}-{output}")).await.is_some(),
                "{name} is ready without {output}"
            );
        }
    }

    /// Puts an annotation on a pair that means nothing to its controller.
    pub(crate) async fn touch(&self, name: &str, value: &str) {
        self.merge_pair(name, json!({"metadata": {"annotations": {"touched": value}}})).await;
    }
}

/// The embedded server in this process.
pub(crate) struct Embedded {
    server: Server,
    options: ServerOptions,
    folder: tempfile::TempDir,
    pub(crate) cluster: Cluster,
}

impl Embedded {
    /// Starts one in memory.
    pub(crate) async fn start() -> Self {
        Embedded::start_with(false, true).await
    }

    /// Starts one that keeps its data.
    pub(crate) async fn start_durable() -> Self {
        Embedded::start_with(true, true).await
    }

    /// Starts one that does not know pairs.
    pub(crate) async fn start_without_pairs() -> Self {
        Embedded::start_with(false, false).await
    }

    /// Starts one that cannot select objects by shards.
    pub(crate) async fn start_without_shards() -> Self {
        let gates = FeatureGates { sharded_list_and_watch: false, ..FeatureGates::default() };
        Embedded::start_gated(false, true, gates).await
    }

    async fn start_with(durable: bool, with_pairs: bool) -> Self {
        Embedded::start_gated(durable, with_pairs, FeatureGates::default()).await
    }

    async fn start_gated(durable: bool, with_pairs: bool, gates: FeatureGates) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data: Option<PathBuf> = durable.then(|| folder.path().join("data"));
        let options = ServerOptions { data, tls: TlsSource::Off, gates, ..ServerOptions::default() };
        let server = Server::start(options.clone()).await.expect("the server starts");
        let kubeconfig = folder.path().join("kubeconfig");
        server.kubeconfig().write(&kubeconfig).expect("a kubeconfig");
        let client = client_of(&kubeconfig).await;
        let cluster = if with_pairs {
            Cluster::new(client, "test").await
        } else {
            Cluster { client, namespace: "default".to_owned() }
        };
        Embedded { server, options, folder, cluster }
    }

    /// Ends the server, and starts one at the same address with the same data.
    pub(crate) async fn restart(self) -> Self {
        self.restart_after(|_| {}).await
    }

    /// Ends the server, and starts one at the same address that knows the same credentials and nothing else.
    pub(crate) async fn restart_empty(self) -> Self {
        let forget = |data: &Path| {
            // The database, and the note of how far it was.
            for file in ["windlass.redb", "windlass.version"] {
                std::fs::remove_file(data.join(file)).expect("it is there");
            }
        };
        self.restart_after(forget).await
    }

    async fn restart_after(self, change: impl FnOnce(&Path)) -> Self {
        let Embedded { server, options, folder, cluster } = self;
        let address: SocketAddr = server.address();
        server.shutdown().await;
        change(options.data.as_deref().expect("it keeps its data"));
        let options = ServerOptions { listen: address, ..options };
        let server = Server::start(options.clone()).await.expect("the server starts again");
        Embedded { server, options, folder, cluster }
    }
}

/// A client with the rights of a kubeconfig.
pub(crate) async fn client_of(kubeconfig: &Path) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
    kube::Client::try_from(config.expect("a usable kubeconfig")).expect("a client")
}

/// Installs the kind of rings, and removes those of other scenarios.
pub(crate) async fn install_rings(cluster: &Cluster) {
    let definition = windlass_runtime::managers::ring_definition();
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let apply = PatchParams::apply("test").force();
    definitions
        .patch("controllerrings.windlass.dev", &apply, &Patch::Apply(definition))
        .await
        .expect("a CRD");
    let rings = rings(cluster);
    eventually("rings are served", async || rings.list(&Default::default()).await.is_ok()).await;
    for ring in rings.list(&Default::default()).await.expect("a list") {
        rings
            .delete(&ring.metadata.name.unwrap_or_default(), &DeleteParams::default())
            .await
            .expect("it is there");
    }
}

/// The rings of a cluster.
pub(crate) fn rings(cluster: &Cluster) -> Api<kube::api::DynamicObject> {
    let resource = kube::api::ApiResource {
        group: "windlass.dev".to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: "windlass.dev/v1alpha1".to_owned(),
        kind: "ControllerRing".to_owned(),
        plural: "controllerrings".to_owned(),
    };
    Api::all_with(cluster.client.clone(), &resource)
}
