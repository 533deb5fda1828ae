//! A controller process: started, watched and killed for real.

use std::net::SocketAddr;
use std::process::Stdio;

use agreement::World;
use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::http::{Sent, Target};

/// A controller process that runs.
pub(crate) struct Process {
    child: Child,
    endpoints: Target,
}

/// What a process says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// Whether its caches have been filled.
    pub(crate) is_ready: bool,
    /// Objects that are due or being reconciled.
    pub(crate) busy: f64,
    /// Objects that wait for a time.
    pub(crate) delayed: f64,
    /// How often an object came into the queue.
    pub(crate) adds: f64,
    /// How often one was put back because it failed.
    pub(crate) retries: f64,
}

impl Process {
    /// Starts a process of a world, on this API server.
    pub(crate) async fn start(world: &World, process: usize, server: SocketAddr) -> Result<Self> {
        let show_errors = std::env::var_os("WINDLASS_SHOW_PROCESSES").is_some();
        let mut child = Command::new(env!("CARGO_BIN_EXE_agreement-controller"))
            .args([world.to_string(), process.to_string(), format!("http://{server}")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(if show_errors { Stdio::inherit() } else { Stdio::null() })
            .kill_on_drop(true)
            .spawn()
            .context("cannot start a controller process")?;
        let output = child.stdout.take().context("its output is piped")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).await?;
        let address = line.trim().parse().with_context(|| format!("the process said {line:?}"))?;
        Ok(Process { child, endpoints: Target { address, token: None } })
    }

    /// Kills it, with a signal that it cannot catch.
    pub(crate) async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Asks it how it is doing.
    pub(crate) async fn sample(&self) -> Result<Sample> {
        let ask = async |path: &str| self.endpoints.ask(&Sent::get(path)).await;
        let is_ready = ask("/readyz").await?.code.is_success();
        let metrics = ask("/metrics").await?;
        let text = String::from_utf8_lossy(&metrics.body);
        let sum = |name: &str| {
            let series = text.lines().filter_map(|line| line.strip_prefix(name));
            let series = series.filter(|rest| rest.starts_with('{') || rest.starts_with(' '));
            series.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>()
        };
        Ok(Sample {
            is_ready,
            busy: sum("workqueue_depth") + sum("controller_runtime_active_workers"),
            delayed: sum("windlass_queue_delayed"),
            adds: sum("workqueue_adds_total"),
            retries: sum("workqueue_retries_total"),
        })
    }
}

impl Sample {
    /// Whether there is nothing to do, now or later.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_ready && self.busy == 0.0 && self.delayed == 0.0
    }
}
