//! Which cluster a command is about.

use std::path::Path;

use anyhow::Context;
use windlass_runtime::StartError;

/// The cluster of a kubeconfig or, without one, of the environment: what kubectl would use, or the pod's own account.
///
/// # Errors
/// There is no cluster to use, or the file cannot be read.
pub async fn config(kubeconfig: Option<&Path>) -> anyhow::Result<kube::Config> {
    let Some(path) = kubeconfig else {
        return Ok(kube::Config::infer().await.map_err(StartError::Config)?);
    };
    let unusable = || format!("{} cannot be used as a kubeconfig", path.display());
    let read = kube::config::Kubeconfig::read_from(path).with_context(unusable)?;
    kube::Config::from_custom_kubeconfig(read, &Default::default()).await.with_context(unusable)
}
