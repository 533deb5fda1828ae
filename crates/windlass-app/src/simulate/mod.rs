//! `simulate`: runs the real protocol on virtual time, and shows what that does to the load.

mod arguments;
mod document;
mod plot;
mod run;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::{Args, Subcommand};
use windlass_shard::fleet::Scenario;

use arguments::{FleetArguments, ScenarioName};
use run::{minutes, run_all};

/// The exit code of a run in which something happened that must never happen.
const VIOLATED: u8 = 3;

/// Simulate many instances on virtual time.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  PROGRAM simulate fleet --instances 100 --objects 1000000")]
pub(crate) struct SimulateArguments {
    #[command(subcommand)]
    simulated: Simulated,
}

#[derive(Debug, Subcommand)]
enum Simulated {
    Fleet(FleetArguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &SimulateArguments, program: &str) -> anyhow::Result<ExitCode> {
    let Simulated::Fleet(fleet) = &arguments.simulated;
    let scenarios = fleet.scenarios()?;
    if let Some(path) = &fleet.plot {
        // Better now than after all of it has run.
        std::fs::write(path, "")
            .with_context(|| format!("{} cannot be written: give another file", path.display()))?;
    }
    Ok(ExitCode::from(simulate(&mut io::stdout().lock(), fleet, program, &scenarios)?))
}

/// Simulates scenarios, and shows each as soon as it is known; JSON comes as a whole, at the end.
/// Returns the exit code.
fn simulate(
    out: &mut impl Write,
    arguments: &FleetArguments,
    program: &str,
    scenarios: &[(ScenarioName, Scenario)],
) -> anyhow::Result<u8> {
    let (start, is_json) = (Instant::now(), arguments.output.is_json());
    if let Some((_, scenario)) = scenarios.first().filter(|_| !is_json) {
        writeln!(out, "{}", text::heading(scenario))?;
    }
    let runs = run_all(
        scenarios,
        |name| arguments.again(program, name),
        |run| {
            if !is_json {
                writeln!(out, "{run}")?;
                out.flush()?;
            }
            Ok(())
        },
    )?;
    if let Some(path) = &arguments.plot {
        std::fs::write(path, plot::svg(&runs))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let elapsed = start.elapsed().as_secs_f64();
    if is_json {
        writeln!(out, "{:#}", document::document(&runs, elapsed))?;
    } else {
        let virtual_time: f64 = runs.iter().map(|run| minutes(run.scenario.duration_ms)).sum();
        writeln!(out, "{virtual_time:.0} min of virtual time in {elapsed:.1} s")?;
    }
    Ok(if runs.iter().any(|run| run.report.is_violated()) { VIOLATED } else { 0 })
}
