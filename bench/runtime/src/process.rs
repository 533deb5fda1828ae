//! A contestant as a process, and what it has used.

use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::controllers::Contestant;

/// Linux counts the time of a process in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;
/// A process that has used no time for so long has nothing to do.
const QUIET: Duration = Duration::from_millis(1500);

/// One that is still busy after so long has no end in sight.
const MOST_PATIENCE: Duration = Duration::from_secs(300);

/// A running contestant, killed when it is dropped.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    pub(crate) fn start(contestant: Contestant, kubeconfig: &Path, namespace: &str) -> Result<Self> {
        let name = contestant.to_possible_value().context("every contestant has a name")?;
        let child = Command::new(std::env::current_exe()?)
            .args(["--run", name.get_name(), "--namespace", namespace])
            .env("KUBECONFIG", kubeconfig)
            .spawn()?;
        Ok(Process { child })
    }

    /// The seconds that it has computed.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks = |place: usize| -> Result<f64> { Ok(fields.get(place).context("too short")?.parse()?) };
        Ok((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
    }

    /// The most memory that it has had, in MiB.
    pub(crate) fn peak_mebibytes(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
    }

    /// Waits until it has nothing to do, and returns the seconds that it has computed.
    pub(crate) fn settle(&self) -> Result<f64> {
        let mut used = self.cpu_seconds()?;
        let begun = Instant::now();
        loop {
            sleep(QUIET);
            ensure!(begun.elapsed() < MOST_PATIENCE, "a contestant is busy although there is nothing to do");
            let now = self.cpu_seconds()?;
            // What keeps connections alive takes a tick now and then.
            if now - used <= 1.0 / TICKS_PER_SECOND {
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
