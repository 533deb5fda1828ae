//! The two servers, as processes that can be killed and started again.

use std::path::PathBuf;

use conformance::kubernetes::Kubernetes;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, CustomResourceExt};
use serde::de::DeserializeOwned;
use two_configmaps::{Pair, pair};

use crate::eventually::eventually;
use crate::served::Served;

/// An API server as a process, with data that outlive it.
pub(super) enum Server {
    /// `windlass serve --data`.
    Embedded { served: Option<Served>, data: tempfile::TempDir },
    /// kube-apiserver, with an etcd beside it.
    Real(Box<Kubernetes>),
}

impl Server {
    pub(super) fn embedded() -> Server {
        Server::embedded_with(&[])
    }

    pub(super) fn embedded_with(arguments: &[&str]) -> Server {
        let data = tempfile::tempdir().expect("a temporary folder");
        let in_data = ["--data", data.path().to_str().expect("a plain path")];
        let served = Served::start(&[&in_data, arguments].concat());
        Server::Embedded { served: Some(served), data }
    }

    pub(super) fn real() -> Server {
        Server::Real(Box::new(Kubernetes::start().expect("a kube-apiserver")))
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        match self {
            Server::Embedded { served, .. } => served.as_ref().expect("it runs").kubeconfig(),
            Server::Real(kubernetes) => kubernetes.kubeconfig(),
        }
    }

    /// Kills it without warning; it is back at the same address, with the same data, when this returns.
    pub(super) fn kill_and_restart(&mut self) {
        match self {
            Server::Embedded { served, data } => {
                let data = data.path().to_str().expect("a plain path");
                *served = served.take().map(|served| served.restart(&["--data", data]));
            }
            Server::Real(kubernetes) => kubernetes.kill_and_restart().expect("it starts again"),
        }
    }

    /// A client with all rights.
    pub(super) async fn client(&self) -> Client {
        let kubeconfig = kube::config::Kubeconfig::read_from(self.kubeconfig()).expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
        Client::try_from(config.expect("a usable kubeconfig")).expect("a client")
    }
}

/// Makes a kind known, and waits until it is served.
pub(super) async fn install<Installed>(client: &Client)
where
    Installed:
        CustomResourceExt + kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &Installed::crd()).await.expect("a definition");
    let all: Api<Installed> = Api::all(client.clone());
    eventually("it is served", async || all.list(&ListParams::default()).await.is_ok()).await;
}

/// Pairs in the namespace `default`.
pub(super) fn pairs(client: &Client) -> Api<Pair> {
    Api::namespaced(client.clone(), "default")
}

/// Creates a pair, though the server may be away.
pub(super) async fn create_pair(client: &Client, name: &str) {
    let (pairs, wanted) = (pairs(client), pair(name));
    eventually("a pair is made", async || match pairs.create(&PostParams::default(), &wanted).await {
        Ok(_) => true,
        // It was made, but the answer was lost.
        Err(kube::Error::Api(status)) => status.code == 409,
        Err(_) => false,
    })
    .await;
}

/// How many pairs are ready as they are now.
pub(super) async fn count_ready(client: &Client) -> usize {
    let Ok(found) = pairs(client).list(&ListParams::default()).await else { return 0 };
    let is_ready = |pair: &&Pair| {
        let conditions = pair.status.iter().flat_map(|status| &status.conditions);
        let mut ready = conditions.filter(|condition| condition.r#type == "Ready");
        ready.any(|ready| {
            ready.status == "True" && Some(ready.observed_generation) == pair.metadata.generation
        })
    };
    found.items.iter().filter(is_ready).count()
}

/// The names of all ConfigMaps that the controller of pairs has made, in order.
pub(super) async fn made(client: &Client) -> Vec<String> {
    let config_maps: Api<ConfigMap> = Api::all(client.clone());
    let ours = ListParams::default().labels("windlass.dev/controller=two-configmaps");
    let found = config_maps.list(&ours).await.expect("ConfigMaps").items;
    let mut names: Vec<String> = found.into_iter().filter_map(|found| found.metadata.name).collect();
    names.sort();
    names
}
