//! `cargo xtask conformance`: performs the request scripts and says where the targets differ.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Parser;

use conformance::kubernetes::{self, Kubernetes};
use conformance::script::TargetKind;
use conformance::server::Server;
use conformance::suite::{Report, Suite, Target};
use conformance::target::http::HttpTarget;

/// Perform request scripts against the model, the embedded server and a real kube-apiserver, and compare.
#[derive(Parser)]
#[command(name = "cargo xtask conformance")]
#[command(after_help = "Example: cargo xtask conformance --only apply/ --against model,kubernetes")]
struct Arguments {
    /// Only scripts with this in their name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Only these targets: model, server, kubernetes [default: all, but kubernetes only where KUBEBUILDER_ASSETS is set]
    #[arg(long, value_delimiter = ',', value_name = "TARGETS")]
    against: Vec<String>,
    /// List the scripts and stop
    #[arg(long)]
    list: bool,
    /// Keep the answers of the real kube-apiserver as those to compare with
    #[arg(long)]
    record: bool,
    /// The `windlass` program to serve with
    #[arg(long, value_name = "FILE")]
    windlass: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the package has no parent folder")?;
    let suite = Suite::read(root, arguments.only.as_deref())?;
    if arguments.list {
        for script in suite.scripts() {
            println!("{:40} {}", script.name, script.about);
        }
        println!("{} scripts", suite.scripts().len());
        return Ok(true);
    }
    let parts = suite.by_gates();
    if arguments.record {
        let mut report = Report::default();
        for (gates, suite) in &parts {
            let kubernetes = Kubernetes::start_with(gates)?;
            let target = Target::Kubernetes(HttpTarget::new("kubernetes", kubernetes.access())?);
            report.add(suite.record(&target)?);
        }
        report.faults.iter().for_each(|fault| println!("{fault}"));
        println!(
            "recorded {} scripts with {} steps; {} failed",
            report.scripts,
            report.steps,
            report.faults.len()
        );
        return Ok(report.faults.is_empty());
    }
    let kinds = kinds(&arguments.against)?;
    // They share nothing, and a real API server spends much of its time waiting.
    let results: Vec<Result<bool>> = thread::scope(|scope| {
        let parts = &parts;
        let start = |kind| scope.spawn(move || compare(parts, kind, arguments));
        let running: Vec<_> = kinds.into_iter().map(start).collect();
        running
            .into_iter()
            .map(|run| run.join().unwrap_or_else(|_| bail!("a target's thread ended")))
            .collect()
    });
    results.into_iter().try_fold(true, |good, result| Ok(good & result?))
}

fn kinds(names: &[String]) -> Result<Vec<TargetKind>> {
    if !names.is_empty() {
        return names.iter().map(|name| TargetKind::parse(name)).collect();
    }
    let mut kinds = TargetKind::ALL.to_vec();
    if kubernetes::assets().is_none() {
        println!("kubernetes is left out: {} is not set", kubernetes::VARIABLE);
        kinds.retain(|kind| *kind != TargetKind::Kubernetes);
    }
    Ok(kinds)
}

/// Starts a target for each set of feature gates, performs the scripts on it, prints what differs, and says whether all is well.
fn compare(parts: &[(String, Suite)], kind: TargetKind, arguments: &Arguments) -> Result<bool> {
    let start = Instant::now();
    let mut report = Report::default();
    for (gates, suite) in parts {
        report.add(perform(suite, kind, gates, arguments)?);
    }
    print(kind, &report, start);
    Ok(report.faults.is_empty())
}

/// Performs scripts that need the same feature gates.
fn perform(suite: &Suite, kind: TargetKind, gates: &str, arguments: &Arguments) -> Result<Report> {
    match kind {
        TargetKind::Model => suite.compare(&Target::Model(gates.parse()?)),
        TargetKind::Server => {
            let Some(windlass) = &arguments.windlass else {
                bail!("--windlass names the program to serve with")
            };
            let server = Server::start(windlass, &["--authorization", "rbac", "--feature-gates", gates])?;
            suite.compare(&Target::Server(HttpTarget::new("server", server.access())?))
        }
        TargetKind::Kubernetes => {
            let kubernetes = Kubernetes::start_with(gates)?;
            suite.compare(&Target::Kubernetes(HttpTarget::new("kubernetes", kubernetes.access())?))
        }
    }
}

fn print(kind: TargetKind, report: &Report, start: Instant) {
    let faults: String = report.faults.iter().map(|fault| format!("{fault}\n")).collect();
    println!(
        "{faults}{}: {} scripts, {} steps, {} known differences, {} faults, {:.1} s",
        kind.name(),
        report.scripts,
        report.steps,
        report.known,
        report.faults.len(),
        start.elapsed().as_secs_f64()
    );
}
