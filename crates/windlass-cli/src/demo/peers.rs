//! Lightpeers as processes, and the pods that a kubelet would have made for them.

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use windlass_klight::network::{NETWORK_LABEL, PORT_ANNOTATION};
use windlass_klight::wire::{Client, ClientSettings};

use crate::child::ServerProcess;

/// A lightpeer in a process of its own, killed when it is dropped.
pub(super) struct LightpeerProcess(ServerProcess);

impl LightpeerProcess {
    /// Starts one on a free port, and returns when it serves.
    pub(super) fn start(name: &str) -> anyhow::Result<Self> {
        ServerProcess::start("lightpeer", name, &["--peers-check", "500ms"]).map(LightpeerProcess)
    }

    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn address(&self) -> &str {
        &self.0.address
    }

    pub(super) fn process_id(&self) -> u32 {
        self.0.process_id()
    }

    /// Kills it without warning, as a machine that fails does.
    pub(super) fn kill(self) -> anyhow::Result<()> {
        self.0.kill()
    }

    pub(super) async fn persist(&self, text: &str) -> anyhow::Result<()> {
        self.client()?.persist(text.into()).await?;
        Ok(())
    }

    /// What the network has kept, as this peer knows it.
    pub(super) async fn query(&self) -> anyhow::Result<Vec<String>> {
        let blocks = self.client()?.query().await?;
        Ok(blocks.iter().map(|block| String::from_utf8_lossy(block).into_owned()).collect())
    }

    fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::new(self.address(), &ClientSettings::default())?)
    }
}

/// Makes the pod of a lightpeer, running at its address, as a kubelet reports it.
pub(super) async fn create_pod(
    pods: &Api<Pod>,
    peer: &LightpeerProcess,
    network: &str,
) -> anyhow::Result<()> {
    let (ip, port) = peer.address().rsplit_once(':').context("an address has a port")?;
    let pod = json!({
        "metadata": {
            "name": peer.name(),
            "labels": { (NETWORK_LABEL): network },
            "annotations": { (PORT_ANNOTATION): port },
        },
        "spec": { "containers": [{ "name": "lightpeer", "image": "windlass" }] },
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
    let status = json!({ "status": { "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }] } });
    pods.patch_status(peer.name(), &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

/// Deletes the pod of a lightpeer, at once.
pub(super) async fn delete_pod(pods: &Api<Pod>, name: &str) -> anyhow::Result<()> {
    let deleted = pods.delete(name, &DeleteParams::default().grace_period(0)).await?;
    ensure!(deleted.right().is_some() || pods.get_opt(name).await?.is_none(), "pod {name} is still there");
    Ok(())
}
