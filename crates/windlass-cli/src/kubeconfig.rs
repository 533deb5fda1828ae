//! Which cluster a command is about.

use std::path::Path;

use anyhow::Context;

/// The cluster of a kubeconfig or, without one, of the environment.
pub(crate) async fn config(kubeconfig: Option<&Path>) -> anyhow::Result<kube::Config> {
    let Some(path) = kubeconfig else {
        return kube::Config::infer().await.with_context(not_configured);
    };
    let unusable = || format!("{} cannot be used as a kubeconfig", path.display());
    let read = kube::config::Kubeconfig::read_from(path).with_context(unusable)?;
    kube::Config::from_custom_kubeconfig(read, &Default::default()).await.with_context(unusable)
}

fn not_configured() -> String {
    match std::env::var("KUBECONFIG") {
        Ok(named) if !named.is_empty() => {
            format!(
                "KUBECONFIG is {named}, which cannot be used: set it to a kubeconfig, or give --kubeconfig FILE"
            )
        }
        _ => "no cluster is configured: set KUBECONFIG, or give --kubeconfig FILE".to_owned(),
    }
}
