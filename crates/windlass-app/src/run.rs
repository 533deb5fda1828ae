//! `run`: the controllers, on the cluster of the current kubeconfig.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use windlass_runtime::Manager;
use windlass_runtime::operations::leader::{LeaderSettings, Timing};
use windlass_runtime::operations::telemetry::Telemetry;

use crate::address::address;
use crate::app::App;
use crate::app_controller::{named, namespaces};
use crate::arguments::ManagerArguments;
use crate::kubeconfig::config;
use crate::logs;
use crate::managed_arguments::ManagedArguments;
use crate::shard_arguments::ShardArguments;

/// Run controllers on the cluster of the current kubeconfig or, in a pod, of its account.
///
/// Logs go to standard error; WINDLASS_LOG sets the level. Traces go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT
/// names, if it is set. SIGTERM and Ctrl-C let active reconciles finish.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  windlass serve --write-kubeconfig kubeconfig &               a cluster for this machine
  PROGRAM run CONTROLLER --kubeconfig kubeconfig
  PROGRAM run CONTROLLER --endpoints 127.0.0.1:8080 --namespace blue --namespace green
  PROGRAM run --manager-type pods --manager-id uuid1           as one of many controller managers
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 PROGRAM run CONTROLLER")]
pub(crate) struct RunArguments<A: ManagerArguments> {
    /// Names of the controllers to run. Default: all.
    names: Vec<String>,
    /// Watch only this namespace; may be repeated. Default: what each controller says, or all namespaces.
    #[arg(long)]
    namespace: Vec<String>,
    /// Watch all namespaces.
    #[arg(long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Maximum number of concurrent reconciles of each controller. Default: 32, unless the program sets another.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["manager_config", "manager_type", "manager_id"])]
    workers: Option<usize>,
    /// Serve /metrics, /healthz and /readyz on this address.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    endpoints: Option<SocketAddr>,
    /// Elect a leader with this Lease: of all processes that share it, only one reconciles.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = lease)]
    lease: Option<Lease>,
    /// Kubeconfig of the cluster. Default: what kubectl would use or, in a pod, its service account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Write a file for each failed reconcile to this folder, for `replay`.
    #[arg(long, value_name = "DIR")]
    recordings: Option<PathBuf>,
    #[command(flatten)]
    manager: A,
    #[command(flatten)]
    sharding: ShardArguments,
    /// Log as lines of JSON.
    #[arg(long)]
    json_logs: bool,
    #[command(flatten)]
    managed: ManagedArguments,
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

pub(crate) fn run<A: ManagerArguments>(arguments: &RunArguments<A>, app: App<A>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads of the manager")?;
    runtime.block_on(run_manager(arguments, app))?;
    Ok(ExitCode::SUCCESS)
}

async fn run_manager<A: ManagerArguments>(
    arguments: &RunArguments<A>,
    mut app: App<A>,
) -> anyhow::Result<()> {
    let traces = Telemetry::from_environment(app.name())?;
    logs::start(arguments.json_logs, traces.as_ref());
    let mut manager = manager(arguments, &mut app)?;
    if let Some(kubeconfig) = &arguments.kubeconfig {
        let config = config(Some(kubeconfig)).await?;
        manager = manager.client(kube::Client::try_from(config).context("the kubeconfig cannot be used")?);
    }
    let ended = manager.run().await;
    if let Some(traces) = traces {
        traces.shutdown().await;
    }
    Ok(ended?)
}

fn manager<A: ManagerArguments>(arguments: &RunArguments<A>, app: &mut App<A>) -> anyhow::Result<Manager> {
    let mut manager = app.configure(Manager::new())?;
    if let Some(workers) = arguments.workers {
        manager = manager.workers(workers);
    }
    let controllers = named(app.controllers(), &arguments.names)?;
    let namespaces = namespaces(&controllers, &arguments.namespace, arguments.all_namespaces);
    if !namespaces.is_empty() || arguments.all_namespaces {
        manager = manager.namespaces(namespaces.iter().map(String::as_str));
    }
    let config = arguments.managed.config()?;
    for known in controllers {
        // Which ones start may be configured in the cluster.
        if config.is_none() {
            tracing::info!(controller = known.name(), about = known.description(), "starting controller");
        }
        manager = manager.with_controller(known.controller().clone());
    }
    if let Some(folder) = &arguments.recordings {
        manager = manager.recordings(folder);
    }
    if let Some(address) = arguments.endpoints {
        manager = manager.endpoints(address);
    }
    if let Some(Lease { namespace, name }) = arguments.lease.clone() {
        let settings = LeaderSettings { namespace, name, identity: identity(), timing: Timing::default() };
        manager = manager.leader_election(settings);
    }
    if let Some(settings) = arguments.sharding.settings()? {
        manager = manager.sharded(settings);
    }
    if let Some(config) = config {
        manager = manager.managed(config);
    }
    arguments.manager.configure(manager)
}

/// The pod or machine, and what distinguishes this process from an earlier one on it.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "windlass".to_owned());
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{host}_{}_{}", std::process::id(), since.as_nanos())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::NoArguments;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArguments<NoArguments>,
    }

    #[test]
    fn worker_counts_are_configured_in_one_place() {
        let parsed = |line: &str| {
            let words = std::iter::once("program").chain(line.split_whitespace());
            Line::try_parse_from(words).map(|line| line.run.workers).map_err(|error| error.to_string())
        };
        assert_eq!(parsed("--workers 3"), Ok(Some(3)));
        for flag in ["--manager-config api", "--manager-type pods", "--manager-id a"] {
            let error = parsed(&format!("--workers 3 {flag}")).expect_err(flag);
            assert!(error.contains("cannot be used with"), "{error}");
        }
    }

    #[test]
    fn a_lease_has_a_namespace_and_a_name() {
        let there = Lease { namespace: "a".to_owned(), name: "b".to_owned() };
        assert_eq!(lease("a/b"), Ok(there));
        for wrong in ["", "a", "/b", "a/"] {
            assert!(lease(wrong).is_err(), "{wrong}");
        }
    }
}
