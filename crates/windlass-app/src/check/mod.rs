//! `check`: runs checks and reports what they found.

mod finding;
mod interrupt;
mod numbers;
mod progress;
mod protocol;
mod simulate;
mod size;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;
use windlass_check::engine::{Options, SimulationOptions};
use windlass_check::{Check, Reductions};

use finding::{Finding, Verdict};

use crate::app_check::{AppCheck, CheckSubject};
use crate::output::OutputArguments;

/// Default maximum number of states of a check, after which it is undecided.
const MAX_STATES: usize = 20_000_000;

/// Check controllers: every crash, duplicate and reordering, on every interleaving.
///
/// Without names, all of them are checked but the specimens, which are broken on purpose. The exit code is 0 if
/// everything holds, 1 if something is violated, 2 for bad usage, 3 if something could not be decided.
#[derive(Args, Debug, Default)]
#[command(after_help = "Examples:
  PROGRAM check                                 check everything
  PROGRAM check CHECK-NAME --trace-dir traces   keep the trace of what is violated
  PROGRAM check CHECK-NAME --memory 2G --output json
  PROGRAM check PROTOCOL/WORLD                  explore one world of a protocol")]
pub(crate) struct CheckArguments {
    /// Names of the checks to run; `--list` prints them. A protocol is checked in all of its worlds, or in the one that
    /// is named behind a slash.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the checks and exit.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    output: OutputArguments,
    /// Number of worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<usize>,
    /// Maximum number of states to explore before continuing with random runs. Default: 20 million, or more for a world that
    /// is known to have more.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    max_states: Option<usize>,
    /// Maximum memory of the explored states before continuing with random runs, such as 512M or 2G.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<usize>,
    /// Disable symmetry reduction: distinguish states that differ only in names, or in which replica is which.
    #[arg(long)]
    no_symmetry: bool,
    /// Disable partial-order reduction: try every order, even of independent steps.
    #[arg(long)]
    no_partial_order: bool,
    /// Disable subsumption: also visit states that allow no more behaviour than an explored one.
    #[arg(long)]
    no_subsumption: bool,
    /// Write the counterexample of each violated check to this folder, as NAME.json, NAME.html and NAME.mmd.
    #[arg(long, value_name = "DIR")]
    trace_dir: Option<PathBuf>,
    /// Simulate random runs for this many seconds instead of exploring all states. Without a finding the check is
    /// undecided.
    #[arg(long, value_name = "SECONDS", value_parser = at_least_one)]
    simulate: Option<usize>,
    /// Explore the large worlds of protocols as well, which takes minutes.
    #[arg(long)]
    large: bool,
    /// Seed of the random runs, to repeat them.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.replace('_', "").parse() {
        Ok(0) | Err(_) => Err("give a whole number, 1 or more".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &CheckArguments, checks: &[AppCheck]) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    if arguments.list {
        list(&mut out, checks, arguments.output.is_json())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(folder) = &arguments.trace_dir {
        // Better now than after an hour.
        std::fs::create_dir_all(folder).with_context(|| {
            format!("{} cannot be used for traces: give another folder", folder.display())
        })?;
    }
    if let Some(unknown) = arguments.names.iter().find(|name| !protocol::is_known(checks, name)) {
        bail!("there is no check {unknown:?}; --list prints those that there are");
    }
    let chosen: Vec<&AppCheck> = checks.iter().filter(|known| is_chosen(known, &arguments.names)).collect();
    let stop = interrupt::watch()?;
    let worst = check_all(&mut out, &chosen, arguments, &stop)?;
    Ok(ExitCode::from(worst.exit_code()))
}

/// The check with a name.
pub(crate) fn by_name<'a>(checks: &'a [AppCheck], name: &str) -> Option<&'a AppCheck> {
    checks.iter().find(|known| known.name == name)
}

fn is_chosen(known: &AppCheck, names: &[String]) -> bool {
    let is_named = |name: &String| name.split('/').next() == Some(known.name);
    if names.is_empty() { !known.is_specimen } else { names.iter().any(is_named) }
}

fn list(out: &mut impl Write, all: &[AppCheck], as_json: bool) -> io::Result<()> {
    if as_json {
        let entry = |known: &AppCheck| {
            let worlds = protocol::names(known);
            json!({ "name": known.name, "about": known.about, "specimen": known.is_specimen, "worlds": worlds })
        };
        return writeln!(out, "{:#}", json!(all.iter().map(entry).collect::<Vec<_>>()));
    }
    let width = all.iter().map(|known| known.name.len()).max().unwrap_or(0);
    for known in all {
        let note = if known.is_specimen { " (broken on purpose: only on request)" } else { "" };
        writeln!(out, "{:width$}  {}{note}", known.name, known.about)?;
        protocol::list(out, known, width)?;
    }
    Ok(())
}

/// Checks one after the other and shows each as soon as it is known; JSON comes as a whole, at the end.
fn check_all(
    out: &mut impl Write,
    chosen: &[&AppCheck],
    arguments: &CheckArguments,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Verdict> {
    let mut worst = Verdict::Holds;
    let mut documents = Vec::new();
    for known in chosen {
        let mut show = |finding: Finding| -> anyhow::Result<()> {
            worst = worst.max(finding.verdict);
            if arguments.output.is_json() {
                documents.push(finding.to_json());
            } else {
                writeln!(out, "{finding}")?;
            }
            Ok(())
        };
        match &known.subject {
            CheckSubject::Controllers(make) => show(check_one(known.name, make(), arguments, stop)?)?,
            CheckSubject::Protocol(worlds) => {
                for world in protocol::chosen(known.name, worlds, arguments) {
                    show(protocol::check_one(world, arguments, stop))?;
                }
            }
        }
    }
    if arguments.output.is_json() {
        let all =
            json!({ "windlass": env!("CARGO_PKG_VERSION"), "verdict": worst.word(), "checks": documents });
        writeln!(out, "{all:#}")?;
    }
    Ok(worst)
}

fn check_one(
    name: &'static str,
    check: Check,
    arguments: &CheckArguments,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Finding> {
    if stop.load(Ordering::Relaxed) {
        return Ok(Finding::not_started(name, check.bounds()));
    }
    let mut finding = match arguments.simulate {
        Some(seconds) => {
            let simulate = |options: &SimulationOptions| check.simulate(options);
            let simulation = simulate::run(simulate, seconds, arguments.seed, stop);
            Finding::simulated(name, &check, &simulation)
        }
        None => {
            let check = check.options(options(name, arguments, stop)).reductions_among(allowed(arguments));
            let report = check.run();
            progress::clear();
            Finding::explored(name, &check, &report)
        }
    };
    if let (Some(folder), Some(counterexample)) = (&arguments.trace_dir, &finding.counterexample) {
        finding.saved = Some(windlass_check::save_all(Path::new(folder), counterexample)?);
    }
    Ok(finding)
}

fn options(name: &'static str, arguments: &CheckArguments, stop: &Arc<AtomicBool>) -> Options {
    let all = Options::default();
    Options {
        threads: arguments.threads.unwrap_or(all.threads),
        max_states: arguments.max_states.unwrap_or(MAX_STATES),
        memory_bytes: arguments.memory.unwrap_or(all.memory_bytes),
        stop: stop.clone(),
        progress: progress::line(name),
        // What is too large to be explored is at least simulated.
        then_simulate: Some(simulate::after_a_limit(arguments.seed, stop)),
        ..all
    }
}

fn allowed(arguments: &CheckArguments) -> Reductions {
    Reductions {
        symmetry: !arguments.no_symmetry,
        replicas: !arguments.no_symmetry,
        partial_order: !arguments.no_partial_order,
        subsumption: !arguments.no_subsumption,
        ..Reductions::default()
    }
}

#[cfg(test)]
mod tests;
