//! The pods of the networks, as a scheduler and kubelets make them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, CustomResourceExt};
use serde_json::json;
use windlass_klight::network::{LightNetwork, NETWORK_LABEL, PORT_ANNOTATION};

use crate::simulated::Simulated;

/// Number of concurrent requests.
const CLIENTS: usize = 16;
/// A type is served at the latest so long after its definition.
const UNTIL_SERVED: Duration = Duration::from_secs(30);

/// Makes networks known, and waits until they are served.
pub(crate) async fn install(client: &Client) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &LightNetwork::crd()).await?;
    let networks: Api<LightNetwork> = Api::all(client.clone());
    let begun = Instant::now();
    while let Err(error) = networks.list(&ListParams::default()).await {
        ensure!(begun.elapsed() < UNTIL_SERVED, "networks are not served: {error}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// Starts a peer for each pod, and makes the pods with the addresses of their peers. The first of all networks come first,
/// then the second, and so on.
pub(crate) async fn create(client: &Client, peers: &Simulated, networks: usize, pods: usize) -> Result<()> {
    let api: Api<Pod> = Api::default_namespaced(client.clone());
    let all = (0..pods).flat_map(|number| (0..networks).map(move |network| (network, number)));
    stream::iter(all)
        .map(|(network, number)| {
            let api = api.clone();
            async move {
                let port = peers.listen().await?.port();
                create_one(&api, &format!("net-{network}"), number, port).await
            }
        })
        .buffer_unordered(CLIENTS)
        .try_collect()
        .await
}

async fn create_one(api: &Api<Pod>, network: &str, number: usize, port: u16) -> Result<()> {
    let name = format!("{network}-{number}");
    let pod = json!({
        "metadata": {
            "name": name,
            "labels": { (NETWORK_LABEL): network },
            "annotations": { (PORT_ANNOTATION): port.to_string() },
        },
        "spec": { "containers": [{ "name": "lightpeer", "image": "lightpeer" }] },
    });
    api.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
    let status =
        json!({ "status": { "phase": "Running", "podIP": "127.0.0.1", "podIPs": [{ "ip": "127.0.0.1" }] } });
    api.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

/// How many pods are members of their networks.
pub(crate) async fn members(client: &Client) -> Result<usize> {
    let networks: Api<LightNetwork> = Api::default_namespaced(client.clone());
    let all = networks.list(&ListParams::default()).await.context("networks cannot be listed")?;
    Ok(all.iter().map(|network| network.stack().len()).sum())
}
