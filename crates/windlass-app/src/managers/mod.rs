//! `managers`: all controller managers of a cluster, and which of them live.

mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use windlass_runtime::Api;
use windlass_runtime::managers::{ManagerError, ManagerRow, Overview};

use crate::kubeconfig::config;
use crate::output::OutputArguments;
use crate::watching;

/// How often the managers are read with --watch.
const EVERY: Duration = Duration::from_secs(1);

/// Print all controller managers: their types, whether they live, their controllers with workers and active reconciles.
///
/// Whether a manager lives is decided by its Lease, and not by the status of its object.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  PROGRAM managers
  PROGRAM managers --watch --kubeconfig kubeconfig")]
pub(crate) struct ManagersArguments {
    /// Print them again whenever something changes, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Namespace of the managers' Leases. Default: what the status of each manager says.
    #[arg(long)]
    namespace: Option<String>,
    /// Kubeconfig of the cluster. Default: what kubectl would use or, in a pod, its service account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &ManagersArguments, program: &str) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start a runtime")?.block_on(print(arguments, program))?;
    Ok(ExitCode::SUCCESS)
}

async fn print(arguments: &ManagersArguments, program: &str) -> anyhow::Result<()> {
    let config = config(arguments.kubeconfig.as_deref()).await?;
    let client = kube::Client::try_from(config).context("the kubeconfig cannot be used")?;
    let mut overview = Overview::new(Api::new(client), arguments.namespace.as_deref());
    let read = async || overview.read().await.map_err(|error| explain(error, program));
    let differ = |before: &Vec<ManagerRow>, after: &Vec<ManagerRow>| table::differ(before, after);
    let watch = arguments.watch.then_some(EVERY);
    watching::print(watch, read, differ, |rows| text(rows, arguments, program)).await
}

fn text(rows: &[ManagerRow], arguments: &ManagersArguments, program: &str) -> anyhow::Result<String> {
    if arguments.output.is_json() {
        return Ok(format!("{}\n", serde_json::to_string_pretty(rows)?));
    }
    Ok(match rows {
        [] => {
            format!("There are no controller managers: start one with `{program} run --manager-type NAME`.\n")
        }
        _ => table::table(rows),
    })
}

fn explain(error: ManagerError, program: &str) -> anyhow::Error {
    match error {
        ManagerError::NoDefinitions => anyhow::anyhow!(
            "the cluster has no controller managers: install their definitions with `{program} crd --sharding | \
             kubectl apply -f -`"
        ),
        error => error.into(),
    }
}
