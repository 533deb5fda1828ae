//! A contestant as a process, and what it has used.

use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use windlass_bench_load::process;

use crate::controllers::Contestant;

/// A process that has used no time for so long has nothing to do.
const QUIET: Duration = Duration::from_millis(1500);

/// One that is still busy after so long has no end in sight.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(300);

/// A running contestant, killed when it is dropped.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts it; it looks at everything again after some time, if one is given.
    pub(crate) fn start(
        contestant: Contestant,
        kubeconfig: &Path,
        namespace: &str,
        resync: Option<Duration>,
    ) -> Result<Self> {
        let name = contestant.to_possible_value().context("every contestant has a name")?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--run", name.get_name(), "--namespace", namespace]).env("KUBECONFIG", kubeconfig);
        if let Some(interval) = resync {
            command.args(["--resync", &interval.as_secs().to_string()]);
        }
        Ok(Process { child: command.spawn()? })
    }

    /// The seconds that it has computed.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        process::cpu_seconds(self.child.id())
    }

    /// The most memory that it has had, in MiB.
    pub(crate) fn peak_mebibytes(&self) -> Result<f64> {
        process::peak_mebibytes(self.child.id())
    }

    /// Waits until it has nothing to do, and returns the seconds that it has computed.
    pub(crate) fn settle(&self) -> Result<f64> {
        let mut used = self.cpu_seconds()?;
        let begun = Instant::now();
        loop {
            sleep(QUIET);
            ensure!(begun.elapsed() < SETTLE_TIMEOUT, "a contestant is busy although there is nothing to do");
            let now = self.cpu_seconds()?;
            // What keeps connections alive takes a tick now and then.
            if now - used <= process::TICK_SECONDS {
                return Ok(now);
            }
            used = now;
        }
    }

    /// Asks it to end.
    pub(crate) fn terminate(mut self) -> Result<()> {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        let status = self.child.wait()?;
        ensure!(status.success(), "a contestant ended with {status}");
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
