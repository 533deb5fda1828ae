//! A namespace of a cluster, with pods that are objects and peers that run in this process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace as NamespaceObject, Pod};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, CustomResourceExt};
use serde_json::{Value, json};
use windlass_klight::network::{LightNetwork, NETWORK_LABEL, PORT_ANNOTATION};
use windlass_klight::peer::{Peer, PeerSettings};

/// Timeout of each wait.
const TIMEOUT: Duration = Duration::from_secs(120);
const ASK_EVERY: Duration = Duration::from_millis(20);

/// A cluster that knows networks.
pub(crate) struct Cluster {
    client: kube::Client,
    kubeconfig: PathBuf,
}

impl Cluster {
    pub(crate) async fn new(kubeconfig: &Path) -> Self {
        let read = kube::config::Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(read, &Default::default()).await;
        let client = kube::Client::try_from(config.expect("a usable kubeconfig")).expect("a client");
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        definitions.create(&PostParams::default(), &LightNetwork::crd()).await.expect("a CRD");
        let networks: Api<LightNetwork> = Api::all(client.clone());
        eventually("networks are served", async || networks.list(&ListParams::default()).await.is_ok()).await;
        Cluster { client, kubeconfig: kubeconfig.to_owned() }
    }

    /// Makes a namespace.
    pub(crate) async fn namespace(&self, name: &str) -> Namespace {
        println!("{name}");
        let namespaces: Api<NamespaceObject> = Api::all(self.client.clone());
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let made = NamespaceObject { metadata, ..NamespaceObject::default() };
        namespaces.create(&PostParams::default(), &made).await.expect("the namespace is new");
        self.existing(name)
    }

    /// A namespace that is there already.
    pub(crate) fn existing(&self, name: &str) -> Namespace {
        Namespace { client: self.client.clone(), name: name.to_owned(), kubeconfig: self.kubeconfig.clone() }
    }
}

/// A namespace.
pub(crate) struct Namespace {
    client: kube::Client,
    pub(crate) name: String,
    pub(crate) kubeconfig: PathBuf,
}

impl Namespace {
    /// A pod whose lightpeer listens on a port of this machine.
    pub(crate) async fn pod(&self, name: &str, network: &str, port: &str) {
        let containers = json!([{ "name": "lightpeer", "image": "lightpeer" }]);
        self.pod_with(name, network, json!({ PORT_ANNOTATION: port }), containers).await;
    }

    pub(crate) async fn pod_with(&self, name: &str, network: &str, annotations: Value, containers: Value) {
        let labels = json!({ NETWORK_LABEL: network });
        let pod = json!({
            "metadata": { "name": name, "labels": labels, "annotations": annotations },
            "spec": { "containers": containers },
        });
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        self.pods().create(&PostParams::default(), &pod).await.expect("a pod");
        let status = Patch::Merge(json!({ "status": { "phase": "Running", "podIP": "127.0.0.1" } }));
        self.pods().patch_status(name, &PatchParams::default(), &status).await.expect("a status");
    }

    /// A pod with a lightpeer that runs.
    pub(crate) async fn pod_with_peer(&self, name: &str, network: &str) -> Peer {
        let settings = PeerSettings { check_interval: Duration::from_millis(200), ..PeerSettings::default() };
        let peer = Peer::start(settings).await.expect("a free port");
        self.pod(name, network, port_of(peer.address())).await;
        peer
    }

    pub(crate) async fn delete_pod(&self, name: &str) {
        self.pods().delete(name, &DeleteParams::default().grace_period(0)).await.expect("it is there");
    }

    /// A network; `None` if it is not made yet.
    pub(crate) async fn network(&self, name: &str) -> Option<LightNetwork> {
        let networks: Api<LightNetwork> = Api::namespaced(self.client.clone(), &self.name);
        networks.get_opt(name).await.expect("an answer")
    }

    /// The pods of its stack, the newest first.
    pub(crate) async fn members(&self, network: &str) -> Vec<String> {
        let network = self.network(network).await;
        network.iter().flat_map(LightNetwork::stack).map(|contact| contact.pod.clone()).collect()
    }

    /// Status and message of a condition of a network.
    pub(crate) async fn condition(&self, network: &str, kind: &str) -> (String, String) {
        let status = self.network(network).await.and_then(|network| network.status).unwrap_or_default();
        let found = status.machine.conditions.into_iter().find(|condition| condition.r#type == kind);
        found.map(|condition| (condition.status, condition.message)).unwrap_or_default()
    }

    pub(crate) async fn is_ready(&self, network: &str) -> bool {
        self.condition(network, "Ready").await.0 == "True"
    }

    /// What the events of a reason say.
    pub(crate) async fn events(&self, reason: &str) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.name);
        let events = events.list(&ListParams::default()).await.expect("an answer");
        let such = events.items.into_iter().filter(|event| event.reason.as_deref() == Some(reason));
        such.filter_map(|event| event.note).collect()
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.name)
    }
}

pub(crate) fn port_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(_, port)| port)
}

/// Waits until something holds; fails with `what` if it never does.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(ASK_EVERY).await;
        }
    };
    assert!(tokio::time::timeout(TIMEOUT, waiting).await.is_ok(), "this never came: {what}");
}
