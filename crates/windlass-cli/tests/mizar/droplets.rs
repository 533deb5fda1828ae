//! Nodes with daemons, in this process.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_mizar::daemon::{DaemonSettings, DropletDaemon};

use crate::cluster::{Cluster, until};

pub(crate) struct Droplets {
    daemons: BTreeMap<String, DropletDaemon>,
    pub(crate) results: tempfile::TempDir,
}

impl Droplets {
    /// Starts daemons, and creates their nodes.
    pub(crate) async fn start(cluster: &Cluster, names: impl IntoIterator<Item = String>) -> Self {
        let results = tempfile::tempdir().expect("a temporary folder");
        let mut droplets = Droplets { daemons: BTreeMap::new(), results };
        for (number, name) in names.into_iter().enumerate() {
            let settings = DaemonSettings {
                ip: Some(format!("192.168.0.{}", number + 1)),
                mac: format!("02:00:00:00:00:{:02x}", number + 1),
                cni_results: Some(droplets.results.path().join(&name)),
                ..DaemonSettings::new(&name)
            };
            let daemon = DropletDaemon::start(settings).await.expect("a free port");
            cluster.apply(node(&name, &daemon.address().to_string())).await;
            droplets.daemons.insert(name, daemon);
        }
        droplets
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = (&str, &DropletDaemon)> {
        self.daemons.iter().map(|(name, daemon)| (name.as_str(), daemon))
    }

    /// The calls about rows that are not as they should be, for whoever looks for the reason.
    pub(crate) fn calls_about(&self, differences: &[String]) -> Vec<String> {
        let calls = self.running().flat_map(|(name, daemon)| {
            daemon
                .calls()
                .into_iter()
                .map(move |call| (call.at, format!("{name} {} {}", call.name, call.key)))
        });
        let is_about = |call: &String| {
            let key = call.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')).map(|(_, key)| key);
            key.is_some_and(|key| differences.iter().any(|one| one.contains(key)))
        };
        let mut about: Vec<(i64, String)> = calls.filter(|(_, call)| is_about(call)).collect();
        about.sort();
        about.into_iter().map(|(at, call)| format!("{at} {call}")).collect()
    }

    /// Ends the daemon of a droplet for good.
    pub(crate) async fn lose(&mut self, name: &str) {
        let daemon = self.daemons.remove(name).expect("there is one");
        daemon.shutdown().await;
    }

    /// Ends all, and deletes the nodes.
    pub(crate) async fn end(self, cluster: &Cluster, all: impl IntoIterator<Item = String>) {
        for name in all {
            cluster.delete(node(&name, "")).await;
        }
        until("all droplets are gone", async || cluster.droplets().await.is_empty()).await;
        for daemon in self.daemons.into_values() {
            assert!(
                daemon.rows().is_empty(),
                "rows are left: {:?}",
                daemon.rows().keys().collect::<Vec<_>>()
            );
            daemon.shutdown().await;
        }
    }
}

pub(crate) fn node(name: &str, address: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "annotations": { "mizar.com/droplet-address": address } },
    })
}
