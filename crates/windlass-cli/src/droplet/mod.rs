//! `windlass droplet`: the daemon on a node, and commands to a running one.

mod client;
pub(crate) mod nodes;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use windlass_app::address;
use windlass_mizar::daemon::{DaemonSettings, DropletDaemon, Failure};

use crate::duration;
use crate::until_input_ends::input_ends;
use client::ClientCommand;

/// Run the daemon of a droplet: it keeps the tables that the operators of mizar program.
///
/// Prints `ready ADDRESS` once it serves. The interfaces of pods are written to --cni-results, one file each, and survive a
/// restart; the tables are programmed again.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  windlass droplet --name node1
  windlass droplet --name node1 --listen 10.0.0.1:50051 --mac 02:00:0a:00:00:01 --cni-results /run/windlass/cni
  windlass droplet show 127.0.0.1:50051
  windlass droplet fail 127.0.0.1:50051 slow=500ms"
)]
pub(crate) struct DropletArguments {
    #[command(subcommand)]
    client: Option<ClientCommand>,
    /// Name of the droplet: that of its node. Default: the name of this machine.
    #[arg(long)]
    name: Option<String>,
    /// Listen on this address; port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, default_value = "127.0.0.1:50051")]
    listen: SocketAddr,
    /// Address of the node in the network that carries the packets. Default: where it listens.
    #[arg(long)]
    ip: Option<String>,
    /// MAC address of that interface.
    #[arg(long, default_value = "02:00:00:00:00:01")]
    mac: String,
    /// Name of that interface.
    #[arg(long, default_value = "eth0")]
    itf: String,
    /// Write the interface of each pod to a file in this folder, as a result in the format of CNI. Default: nowhere.
    #[arg(long, value_name = "DIR")]
    cni_results: Option<PathBuf>,
    /// Where the tables are kept.
    #[arg(long, value_enum, default_value_t = Backend::Memory)]
    backend: Backend,
    /// Fail from the start: `fail`, `hang`, or `slow=DURATION`. For tests.
    #[arg(long, value_name = "FAILURE", value_parser = failure)]
    inject: Option<Failure>,
    /// Log as lines of JSON.
    #[arg(long)]
    json_logs: bool,
    /// End when standard input does: for programs that start a daemon and may be killed.
    #[arg(long, hide = true)]
    until_input_ends: bool,
}

/// Where tables are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// In this process; no packet is moved.
    Memory,
}

/// `none`, `fail`, `hang`, `restart` or `slow=500ms`.
pub(super) fn failure(text: &str) -> Result<Failure, String> {
    match text.split_once('=').unwrap_or((text, "")) {
        ("none", "") => Ok(Failure::None),
        ("fail", "") => Ok(Failure::Fail),
        ("hang", "") => Ok(Failure::Hang),
        ("restart", "") => Ok(Failure::Restart),
        ("slow", delay) if !delay.is_empty() => duration::parse(delay).map(Failure::Slow),
        _ => Err("it is none, fail, hang, restart or slow=DURATION, as in slow=500ms".to_owned()),
    }
}

pub(crate) fn run(arguments: &DropletArguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads of the daemon")?;
    match &arguments.client {
        Some(command) => runtime.block_on(client::run(command))?,
        None => {
            windlass_app::logs::start(arguments.json_logs, None);
            runtime.block_on(serve(arguments))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(arguments: &DropletArguments) -> anyhow::Result<()> {
    // Installed before the daemon starts, so that no signal is missed.
    let stop = windlass_runtime::signalled().context("signals cannot be caught")?;
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => host_name().context("the name of this machine is not known: use --name")?,
    };
    let daemon = DropletDaemon::start(DaemonSettings {
        listen: arguments.listen,
        ip: arguments.ip.clone(),
        mac: arguments.mac.clone(),
        itf: arguments.itf.clone(),
        cni_results: arguments.cni_results.clone(),
        failure: arguments.inject.unwrap_or_default(),
        ..DaemonSettings::new(&name)
    })
    .await?;
    let (address, Backend::Memory) = (daemon.address(), arguments.backend);
    tracing::info!(name, %address, "droplet is serving");
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready {address}")
        .and_then(|()| stdout.flush())
        .context("cannot say that it is ready")?;
    tokio::select! {
        _ = stop => {}
        () = input_ends(), if arguments.until_input_ends => {}
    }
    tracing::info!("shutting down");
    daemon.shutdown().await;
    Ok(())
}

fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The milliseconds of a delay, as the protocol has them.
fn milliseconds(delay: Duration) -> u32 {
    u32::try_from(delay.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_known_by_name() {
        assert_eq!(failure("slow=500ms"), Ok(Failure::Slow(Duration::from_millis(500))));
        assert_eq!(failure("restart"), Ok(Failure::Restart));
        for wrong in ["", "slow", "slow=", "fail=1s", "explode"] {
            assert!(failure(wrong).is_err(), "{wrong:?}");
        }
    }
}
