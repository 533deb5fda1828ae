//! The controller as a process: klight, on the cluster of the kubeconfig.

use std::io::Write;

use anyhow::{Context, Result};
use tokio::io::AsyncReadExt;
use windlass_klight::network::{LightNetworks, LightpeerClient, Lightpeers};
use windlass_runtime::Manager;

/// Runs until its input ends. The first line says where its metrics are.
pub(crate) async fn run() -> Result<()> {
    let manager = Manager::new()
        .controller(LightNetworks::default())
        .service(Lightpeers, LightpeerClient::default())
        .endpoints(([127, 0, 0, 1], 0).into())
        .preflight(false)
        .events(false);
    let running = manager.start().await?;
    let address = running.endpoints().context("metrics are served")?;
    println!("{address}");
    std::io::stdout().flush()?;
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    running.stop().await;
    Ok(())
}
