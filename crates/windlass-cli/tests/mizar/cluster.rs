//! A cluster with the definitions of mizar, and how tests look at it.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Client, Config, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_mizar::api::{Allocation, Bouncer, Divider, Droplet, Endpoint, Subnet, Vpc, definitions};
use windlass_mizar::audit::compare;
use windlass_mizar::tables::Inventory;
use windlass_mizar::workflows::{Tracked, progress};

use crate::droplets::Droplets;

pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) kubeconfig: PathBuf,
    /// How many processes run the operators.
    pub(crate) instances: usize,
}

impl Cluster {
    /// The cluster of a kubeconfig, with the definitions of mizar.
    pub(crate) async fn new(kubeconfig: &Path) -> Self {
        let read = kube::config::Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(read, &Default::default()).await.expect("a cluster");
        let client = Client::try_from(config).expect("a client");
        let all: Api<CustomResourceDefinition> = Api::all(client.clone());
        let sharding = windlass_runtime::managers::ring_definition();
        let sharding = serde_json::from_value(sharding).expect("a definition");
        for definition in definitions().into_iter().chain([sharding]) {
            let name = definition.metadata.name.clone().expect("a name");
            all.create(&PostParams::default(), &definition).await.expect("the definition is accepted");
            until("the definition is established", async || {
                let conditions =
                    all.get(&name).await.expect("it is there").status.and_then(|status| status.conditions);
                conditions.iter().flatten().any(|one| one.type_ == "Established" && one.status == "True")
            })
            .await;
        }
        let cluster = Cluster { client, kubeconfig: kubeconfig.to_owned(), instances: 1 };
        until("the kinds are served", async || {
            Api::<Vpc>::all(cluster.client.clone()).list(&ListParams::default()).await.is_ok()
        })
        .await;
        cluster
    }

    /// All objects of a kind.
    pub(crate) async fn all<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        Api::<K>::all(self.client.clone())
            .list(&ListParams::default())
            .await
            .expect("they can be listed")
            .items
    }

    pub(crate) async fn get<K>(&self, name: &str) -> Option<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        Api::<K>::namespaced(self.client.clone(), "default").get_opt(name).await.expect("it can be read")
    }

    /// Applies an object as a user has written it.
    pub(crate) async fn apply(&self, object: Value) {
        let (api, name) = self.api_of(&object);
        let params = PatchParams::apply("test").force();
        api.patch(&name, &params, &Patch::Apply(&object)).await.expect("the object is accepted");
    }

    pub(crate) async fn delete(&self, object: Value) {
        let (api, name) = self.api_of(&object);
        let params = DeleteParams::default().grace_period(0);
        api.delete(&name, &params).await.expect("the object is deleted");
    }

    fn api_of(&self, object: &Value) -> (Api<DynamicObject>, String) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        let api = if ["Node", "Namespace"].contains(&kind.as_str()) {
            Api::all_with(self.client.clone(), &resource)
        } else {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        };
        (api, text(&object["metadata"]["name"]))
    }

    /// The reason of the Ready condition of an object.
    pub(crate) async fn ready(&self, kind: &str, name: &str) -> (String, String, String) {
        let api_version = if kind == "Pod" { "v1" } else { "mizar.com/v1" };
        let key =
            serde_json::json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name } });
        let (api, name) = self.api_of(&key);
        let object = api.get_opt(&name).await.expect("it can be read");
        let status = object.map(|object| object.data["status"].clone()).unwrap_or_default();
        let ready =
            status["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == "Ready").cloned();
        let text = |field: &str| {
            ready.as_ref().and_then(|ready| ready[field].as_str()).unwrap_or_default().to_owned()
        };
        (text("status"), text("reason"), text("message"))
    }

    pub(crate) async fn until_ready(&self, kind: &str, name: &str) {
        until(&format!("{kind} {name} is ready"), async || self.ready(kind, name).await.0 == "True").await;
    }

    pub(crate) async fn inventory(&self) -> Inventory {
        Inventory { dividers: self.all().await, bouncers: self.all().await, endpoints: self.all().await }
    }

    /// Waits until the tables of all droplets that run are what the objects say.
    pub(crate) async fn until_tables_match(&self, droplets: &Droplets) {
        let differences = async || {
            let inventory = self.inventory().await;
            let running = droplets.running();
            let compared =
                running.flat_map(|(name, daemon)| compare(name, &inventory.rows(name), &daemon.rows()));
            compared.map(|one| format!("{} {} {}", one.droplet, one.row, one.kind)).collect::<Vec<String>>()
        };
        let begun = tokio::time::Instant::now();
        loop {
            let found = differences().await;
            if found.is_empty() {
                return;
            }
            if begun.elapsed() > TIMEOUT {
                let history = droplets.calls_about(&found);
                panic!("tables are not what the objects say: {found:#?}, after these calls: {history:#?}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until every workflow has come to its end: no object has a condition left to wait for.
    pub(crate) async fn until_workflows_are_finished(&self) {
        until("all workflows are finished", async || {
            let all = [
                unfinished(&self.all::<Vpc>().await),
                unfinished(&self.all::<Subnet>().await),
                unfinished(&self.all::<Divider>().await),
                unfinished(&self.all::<Bouncer>().await),
                unfinished(&self.all::<Droplet>().await),
                unfinished(&self.all::<Endpoint>().await),
            ];
            all.iter().sum::<usize>() == 0
        })
        .await;
    }

    /// Whether nothing of virtual networks is left but the droplets.
    pub(crate) async fn is_empty(&self) -> bool {
        self.all::<Endpoint>().await.is_empty()
            && self.all::<Bouncer>().await.is_empty()
            && self.all::<Divider>().await.is_empty()
            && self.all::<Subnet>().await.is_empty()
            && self.all::<Vpc>().await.is_empty()
            && self.all::<Allocation>().await.is_empty()
    }

    pub(crate) async fn droplets(&self) -> Vec<Droplet> {
        self.all().await
    }
}

fn unfinished<K: Tracked>(objects: &[K]) -> usize {
    objects.iter().filter_map(progress).filter(|progress| !progress.finished).count()
}

/// Far longer than needed: it only ends broken tests.
const TIMEOUT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    assert!(tokio::time::timeout(TIMEOUT, wait).await.is_ok(), "in vain: {what}");
}
