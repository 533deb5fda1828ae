//! Nodes of a cluster on this machine, each with the daemon of its droplet in a process of its own.

use anyhow::Context;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use windlass_mizar::api::ADDRESS_ANNOTATION;

use crate::child::ServerProcess;

/// Starts this many daemons, and makes the nodes that a kubelet would have registered.
pub(crate) async fn start(client: &Client, count: u8) -> anyhow::Result<Vec<ServerProcess>> {
    let nodes: Api<Node> = Api::all(client.clone());
    let mut daemons = Vec::new();
    for number in 1..=count {
        let name = format!("node{number}");
        let (ip, mac) = (format!("192.168.0.{number}"), format!("02:00:00:00:00:{number:02x}"));
        let daemon = ServerProcess::start("droplet", &name, &["--ip", &ip, "--mac", &mac])?;
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": name, "annotations": { (ADDRESS_ANNOTATION): daemon.address } },
        });
        let applied = nodes.patch(&name, &PatchParams::apply("windlass").force(), &Patch::Apply(&node)).await;
        applied.with_context(|| format!("cannot make the node {name}"))?;
        daemons.push(daemon);
    }
    Ok(daemons)
}
