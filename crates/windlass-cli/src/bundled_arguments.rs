//! The flags that the bundled controllers add to `run` and `manifests`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use web_app::{Dns, HttpDns};
use windlass_app::ManagerArguments;
use windlass_klight::network::{LightpeerClient, LightpeerSettings, Lightpeers};
use windlass_mizar::droplets::{DropletClient, Droplets};
use windlass_mizar::workflows::WorkflowMetrics;
use windlass_runtime::Manager;

/// How the bundled controllers reach what is outside the cluster.
#[derive(Args, Debug)]
pub(crate) struct BundledArguments {
    /// URL of the DNS service of web-app. Without it, web-app reports in its status that it is missing.
    #[arg(long, value_name = "URL")]
    dns: Option<String>,
    /// Call lightpeers with TLS, and trust these certificate authorities (PEM).
    #[arg(long, value_name = "FILE")]
    lightpeer_authority: Option<PathBuf>,
}

impl ManagerArguments for BundledArguments {
    fn configure(&self, manager: Manager) -> anyhow::Result<Manager> {
        let manager = manager
            .service(Lightpeers, LightpeerClient::new(self.lightpeers()?))
            .service(Droplets, DropletClient::default())
            .observe(|metrics| WorkflowMetrics::default().add_to(metrics));
        Ok(match &self.dns {
            Some(url) => manager.service(Dns, HttpDns::new(url)),
            None => manager,
        })
    }
}

impl BundledArguments {
    /// How lightpeers are called.
    fn lightpeers(&self) -> anyhow::Result<LightpeerSettings> {
        let read =
            |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        let authority = self.lightpeer_authority.as_ref().map(read).transpose()?;
        let settings = LightpeerSettings { authority, ..LightpeerSettings::default() };
        settings.check().context("--lightpeer-authority must be a file with certificates (PEM)")?;
        Ok(settings)
    }
}
