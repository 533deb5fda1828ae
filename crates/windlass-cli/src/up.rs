//! `windlass up`: runs the embedded server and all bundled controllers until it is stopped.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use windlass_mizar::MizarSettings;
use windlass_server::{FeatureGates, ServerOptions};

use crate::droplet::nodes;
use crate::local_cluster::LocalCluster;
use windlass_app::{AppController, address, logs};

/// Run the embedded server and all bundled controllers on this machine, until Ctrl-C.
///
/// Prints how to reach both. Logs go to standard error; WINDLASS_LOG sets the level.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  windlass up
  windlass up --data DIR                                       keep everything for the next time
  windlass up --droplets 5                                     with nodes for virtual networks
  kubectl --kubeconfig windlass.kubeconfig get lightnetworks   from another terminal")]
pub(crate) struct UpArguments {
    /// Listen on this address; port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Store everything in this folder. Default: in memory, lost at the end.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Write a ready-to-use kubeconfig to this file.
    #[arg(long, value_name = "FILE", default_value = "windlass.kubeconfig")]
    write_kubeconfig: PathBuf,
    /// Serve /metrics, /healthz, /readyz and /debug/recordings on this address; port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, default_value = "127.0.0.1:0")]
    endpoints: SocketAddr,
    /// Start this many nodes, each with the daemon of a droplet in a process of its own: for virtual networks, see docs/mizar.md.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=200))]
    droplets: u8,
    /// Run the workload controllers, too: pods become ready without running anything, rollouts and Jobs end.
    #[arg(long)]
    workloads: bool,
    /// Switch features on or off: MutatingAdmissionPolicy (default: false), ShardedListAndWatch (default: true).
    #[arg(long, value_name = "NAME=BOOL,...", default_value = "", hide_default_value = true)]
    feature_gates: FeatureGates,
    /// Log as lines of JSON.
    #[arg(long)]
    json_logs: bool,
}

pub(crate) fn run(arguments: &UpArguments) -> anyhow::Result<ExitCode> {
    logs::start(arguments.json_logs, None);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads of the server")?;
    runtime.block_on(up(arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn up(arguments: &UpArguments) -> anyhow::Result<()> {
    // Installed before anything starts, so that no signal is missed.
    let stop = windlass_runtime::signalled().context("signals cannot be caught")?;
    let options = ServerOptions {
        listen: arguments.listen,
        data: arguments.data.clone(),
        service_accounts: true,
        workloads: arguments.workloads,
        gates: arguments.feature_gates,
        ..ServerOptions::default()
    };
    let mizar = MizarSettings::from_environment()?;
    let cluster =
        LocalCluster::start(options, &mizar, arguments.endpoints, &arguments.write_kubeconfig).await?;
    let droplets = nodes::start(&cluster.client, arguments.droplets).await?;
    announce(&cluster, droplets.len());
    stop.await;
    tracing::info!("shutting down");
    cluster.stop().await;
    drop(droplets);
    Ok(())
}

fn announce(cluster: &LocalCluster, droplets: usize) {
    println!("ready        {}", cluster.url());
    println!("kubeconfig   {}", cluster.kubeconfig.display());
    if let Some(endpoints) = cluster.endpoints() {
        println!("metrics      http://{endpoints}/metrics");
        println!("recordings   http://{endpoints}/debug/recordings");
    }
    println!("controllers  {}", AppController::names_of(&cluster.controllers));
    let kubectl = format!("kubectl --kubeconfig {}", cluster.kubeconfig.display());
    println!("try          {kubectl} apply -f examples/01-two-configmaps/pair.yaml");
    println!("             {kubectl} get lightnetworks,pairs,webapps,configmaps");
    if droplets > 0 {
        println!("droplets     {droplets}, each with a node");
        println!("             {kubectl} apply -f operators/mizar/samples/pods.yaml");
    }
    println!("end          Ctrl-C");
}
