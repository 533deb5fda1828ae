//! The machine of the first example.

use anyhow::Result;
use kube::Client;
use two_configmaps::TwoConfigMaps;
use windlass_runtime::Manager;

/// The peers publish no events and ask for no permissions, so neither does this.
pub(super) async fn run(client: Client, namespace: &str) -> Result<()> {
    let manager = Manager::new().controller(TwoConfigMaps).client(client).namespace(namespace);
    Ok(manager.events(false).preflight(false).run().await?)
}
