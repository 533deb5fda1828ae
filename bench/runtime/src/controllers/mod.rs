//! The same controller three times: for each `Pair` two ConfigMaps and a status.

mod documented;
mod ours;
mod peer;
mod tuned;

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use kube::Client;

/// Who runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contestant {
    /// The machine of the first example, on `windlass_runtime::Manager`.
    Windlass,
    /// On `kube::runtime::Controller`, as its documentation shows it: every reconcile applies everything.
    KubeRs,
    /// The same by hand: caches that are shared, nothing sent that is so already, no reconcile on its own status.
    KubeRsTuned,
}

impl Contestant {
    pub(crate) const ALL: [Contestant; 3] =
        [Contestant::Windlass, Contestant::KubeRs, Contestant::KubeRsTuned];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Contestant::Windlass => "windlass",
            Contestant::KubeRs => "kube-rs",
            Contestant::KubeRsTuned => "kube-rs, tuned",
        }
    }
}

/// Runs a contestant on the cluster of the kubeconfig, in one namespace, until it is stopped. It looks at every
/// parent again after some time, if one is given.
pub(crate) async fn run(contestant: Contestant, namespace: &str, resync: Option<Duration>) -> Result<()> {
    let client = Client::try_default().await?;
    match contestant {
        Contestant::Windlass => ours::run(client, namespace, resync).await,
        Contestant::KubeRs => documented::run(client, namespace, resync).await,
        Contestant::KubeRsTuned => tuned::run(client, namespace, resync).await,
    }
}
