//! One exploration in a process of its own, so that its memory is its own too.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::arguments::Plan;
use crate::subject::{Bounds, Engine, Subject};
use crate::{ours, theirs};

/// What an engine has seen of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Explored {
    /// Distinct states.
    pub(crate) states: u64,
    /// Steps between them, those to states that were known already included.
    pub(crate) transitions: u64,
}

/// What an exploration took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) seconds: f64,
    /// By how much the most memory that the process ever had grew.
    pub(crate) bytes: u64,
}

impl Measurement {
    pub(crate) fn transitions_per_second(&self) -> f64 {
        self.transitions as f64 / self.seconds
    }

    pub(crate) fn bytes_per_state(&self) -> f64 {
        self.bytes as f64 / self.states as f64
    }
}

/// Explores here and now.
pub(crate) fn explore(
    subject: Subject,
    engine: Engine,
    bounds: Bounds,
    threads: usize,
) -> Result<Measurement> {
    let before = peak_bytes()?;
    let start = Instant::now();
    let explored = match engine {
        Engine::Windlass => ours::explore(subject, bounds, threads)?,
        Engine::StaterightBfs => theirs::explore(subject, bounds, threads, theirs::Order::BreadthFirst)?,
        Engine::StaterightDfs => theirs::explore(subject, bounds, threads, theirs::Order::DepthFirst)?,
    };
    let seconds = start.elapsed().as_secs_f64();
    let bytes = peak_bytes()?.saturating_sub(before);
    Ok(Measurement { states: explored.states, transitions: explored.transitions, seconds, bytes })
}

/// Explores in a child process.
pub(crate) fn explore_apart(plan: &Plan, subject: Subject, engine: Engine) -> Result<Measurement> {
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let output = Command::new(program)
        .args(plan.child_arguments(subject, engine))
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start another process of this program")?;
    if !output.status.success() {
        bail!("{} on {} failed ({})", subject.name(), engine.name(), output.status);
    }
    serde_json::from_slice(&output.stdout).context("the child process says nothing that makes sense")
}

/// The most memory that this process has had so far.
fn peak_bytes() -> Result<u64> {
    let status =
        fs::read_to_string("/proc/self/status").context("the peak of memory is known on Linux only")?;
    peak_of(&status)
}

/// Reads a line such as `VmHWM:     1234 kB`.
fn peak_of(status: &str) -> Result<u64> {
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.trim().strip_suffix("kB"));
    let kilobytes: u64 = kilobytes.context("/proc/self/status has no VmHWM in kB")?.trim().parse()?;
    Ok(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read() {
        assert_eq!(peak_of("VmPeak:\t  900 kB\nVmHWM:\t   12 kB\nVmRSS:\t    7 kB\n").unwrap(), 12 * 1024);
        assert!(peak_of("VmRSS:\t    7 kB\n").is_err());
        assert!(peak_bytes().unwrap() > 0);
    }
}
