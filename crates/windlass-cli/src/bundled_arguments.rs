//! The flags that the bundled controllers add to `run` and `manifests`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use web_app::{Dns, HttpDns};
use windlass_app::ManagerArguments;
use windlass_klight::network::{LightpeerClient, LightpeerSettings, Lightpeers};
use windlass_klight::wire::ClientTls;
use windlass_mizar::droplets::{DropletClient, Droplets};
use windlass_mizar::workflows::WorkflowMetrics;
use windlass_runtime::Manager;

use crate::lightpeer::{key_pair, read};

/// How the bundled controllers reach what is outside the cluster.
#[derive(Args, Debug)]
pub(crate) struct BundledArguments {
    /// URL of the DNS service of web-app. Without it, web-app reports in its status that it is missing.
    #[arg(long, value_name = "URL")]
    dns: Option<String>,
    /// Call lightpeers with TLS, and trust these certificate authorities (PEM).
    #[arg(long, value_name = "FILE")]
    lightpeer_authority: Option<PathBuf>,
    /// Show lightpeers this certificate chain (PEM); they refuse a controller without one, unless they allow it.
    #[arg(long, value_name = "FILE", requires_all = ["lightpeer_key", "lightpeer_authority"])]
    lightpeer_certificate: Option<PathBuf>,
    /// Private key of the certificate for lightpeers (PEM).
    #[arg(long, value_name = "FILE", requires = "lightpeer_certificate")]
    lightpeer_key: Option<PathBuf>,
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
        let own = key_pair(self.lightpeer_certificate.as_deref(), self.lightpeer_key.as_deref())?;
        let tls = match &self.lightpeer_authority {
            Some(authority) => Some(ClientTls { authority: read(authority)?, own }),
            None => None,
        };
        let settings = LightpeerSettings { tls, ..LightpeerSettings::default() };
        settings.check().context("--lightpeer-authority must be a file with certificates (PEM)")?;
        Ok(settings)
    }
}
