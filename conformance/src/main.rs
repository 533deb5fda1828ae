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
use conformance::suite::{Suite, Target};
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
    if arguments.record {
        let kubernetes = Kubernetes::start()?;
        let target = Target::Kubernetes(HttpTarget::new("kubernetes", kubernetes.access())?);
        let report = suite.record(&target)?;
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
        let suite = &suite;
        let start = |kind| scope.spawn(move || compare(suite, kind, arguments));
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

/// Starts a target, performs all scripts on it, prints what differs, and says whether all is well.
fn compare(suite: &Suite, kind: TargetKind, arguments: &Arguments) -> Result<bool> {
    let start = Instant::now();
    let report = match kind {
        TargetKind::Model => suite.compare(&Target::Model)?,
        TargetKind::Server => {
            let Some(windlass) = &arguments.windlass else {
                bail!("--windlass names the program to serve with")
            };
            let server = Server::start(windlass, &["--authorization", "rbac"])?;
            suite.compare(&Target::Server(HttpTarget::new("server", server.access())?))?
        }
        TargetKind::Kubernetes => {
            let kubernetes = Kubernetes::start()?;
            suite.compare(&Target::Kubernetes(HttpTarget::new("kubernetes", kubernetes.access())?))?
        }
    };
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
    Ok(report.faults.is_empty())
}
