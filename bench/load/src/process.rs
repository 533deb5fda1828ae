//! What a process has used, as Linux counts it.

use anyhow::{Context, Result};

/// Linux counts the time of a process in hundredths of a second: no figure is finer.
pub const TICK_SECONDS: f64 = 0.01;

/// The seconds that a process has computed.
///
/// # Errors
/// When there is no such process.
pub fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |place: usize| -> Result<f64> { Ok(fields.get(place).context("too short")?.parse()?) };
    Ok((ticks(11)? + ticks(12)?) * TICK_SECONDS)
}

/// The most memory that a process has had, in MiB.
///
/// # Errors
/// When there is no such process.
pub fn peak_mebibytes(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}
