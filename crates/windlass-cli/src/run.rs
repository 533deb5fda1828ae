//! `windlass run`: the bundled controllers, on the cluster of the current kubeconfig.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use web_app::{Dns, HttpDns};
use windlass_klight::network::{LightpeerClient, LightpeerSettings, Lightpeers};
use windlass_runtime::operations::leader::{LeaderSettings, Timing};
use windlass_runtime::operations::telemetry::Telemetry;
use windlass_runtime::{DEFAULT_WORKERS, Manager};

use crate::address::address;
use crate::{controllers, logs};

/// Run bundled controllers on the cluster of the current kubeconfig or, in a pod, of its account.
///
/// Logs go to standard error; WINDLASS_LOG sets the level. Traces go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT
/// names, if it is set. SIGTERM and Ctrl-C let active reconciles finish.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  windlass serve --write-kubeconfig kubeconfig &
  KUBECONFIG=kubeconfig windlass run two-configmaps
  windlass run web-app --dns http://127.0.0.1:8053 --endpoints 127.0.0.1:8080 --namespace default
  windlass run klight --namespace blue --namespace green
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 windlass run two-configmaps")]
pub(crate) struct RunArguments {
    /// Names of the controllers to run. Default: all.
    names: Vec<String>,
    /// Watch only this namespace; may be repeated. Default: `default` for klight, all namespaces for the others.
    #[arg(long)]
    namespace: Vec<String>,
    /// Watch all namespaces.
    #[arg(long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Maximum number of concurrent reconciles of each controller.
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_WORKERS)]
    workers: usize,
    /// Serve /metrics, /healthz and /readyz on this address.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    endpoints: Option<SocketAddr>,
    /// Elect a leader with this Lease: of all processes that share it, only one reconciles.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    lease: Option<Lease>,
    /// URL of the DNS service of web-app. Without it, web-app reports in its status that it is missing.
    #[arg(long, value_name = "URL")]
    dns: Option<String>,
    /// Call lightpeers with TLS, and trust these certificate authorities (PEM).
    #[arg(long, value_name = "FILE")]
    lightpeer_authority: Option<PathBuf>,
    /// Log as lines of JSON.
    #[arg(long)]
    json_logs: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Lease {
    namespace: String,
    name: String,
}

fn lease(text: &str) -> Result<Lease, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok(Lease { namespace: namespace.to_owned(), name: name.to_owned() })
        }
        _ => Err("it is written NAMESPACE/NAME".to_owned()),
    }
}

pub(crate) fn run(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads of the manager")?;
    runtime.block_on(run_manager(arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn run_manager(arguments: &RunArguments) -> anyhow::Result<()> {
    let traces = Telemetry::from_environment("windlass")?;
    logs::start(arguments.json_logs, traces.as_ref());
    let ended = manager(arguments)?.run().await;
    if let Some(traces) = traces {
        traces.shutdown().await;
    }
    Ok(ended?)
}

fn manager(arguments: &RunArguments) -> anyhow::Result<Manager> {
    let mut manager = Manager::new().workers(arguments.workers);
    let bundled = controllers::named(&arguments.names)?;
    let namespaces = controllers::namespaces(&bundled, &arguments.namespace, arguments.all_namespaces);
    manager = manager.namespaces(namespaces.iter().map(String::as_str));
    manager = manager.service(Lightpeers, LightpeerClient::new(lightpeers(arguments)?));
    for bundled in bundled {
        tracing::info!(controller = bundled.name(), about = bundled.about, "starting controller");
        manager = manager.with_controller(bundled.controller);
    }
    if let Some(address) = arguments.endpoints {
        manager = manager.endpoints(address);
    }
    if let Some(Lease { namespace, name }) = arguments.lease.clone() {
        let settings = LeaderSettings { namespace, name, identity: identity(), timing: Timing::default() };
        manager = manager.leader_election(settings);
    }
    if let Some(url) = &arguments.dns {
        manager = manager.service(Dns, HttpDns::new(url));
    }
    Ok(manager)
}

/// How lightpeers are called.
fn lightpeers(arguments: &RunArguments) -> anyhow::Result<LightpeerSettings> {
    let read =
        |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let authority = arguments.lightpeer_authority.as_ref().map(read).transpose()?;
    let settings = LightpeerSettings { authority, ..LightpeerSettings::default() };
    settings.check().context("--lightpeer-authority must be a file with certificates (PEM)")?;
    Ok(settings)
}

/// The pod or machine, and what distinguishes this process from an earlier one on it.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "windlass".to_owned());
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{host}_{}_{}", std::process::id(), since.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_has_a_namespace_and_a_name() {
        let there = Lease { namespace: "a".to_owned(), name: "b".to_owned() };
        assert_eq!(lease("a/b"), Ok(there));
        for wrong in ["", "a", "/b", "a/"] {
            assert!(lease(wrong).is_err(), "{wrong}");
        }
    }
}
