//! Runs a fleet under faults and reports what the auditor has found: `chaos --minutes 20 --seed 7`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use chaos::plan::{Plan, Programs, RegistryKind, ServerKind};
use chaos::report::Report;
use chaos::run::run;
use clap::{Parser, ValueEnum};

/// Run real instances of a sharded controller under kill -9, pauses, partitions and restarts of servers, and prove from
/// the history of the API server that no object ever had two writers, and none was lost.
#[derive(Debug, Parser)]
#[command(
    name = "chaos",
    after_help = "Examples:
  cargo xtask chaos --minutes 20
  cargo xtask chaos --minutes 2 --server embedded --registry api --seed 7"
)]
struct Arguments {
    /// How long faults are made, in all runs together.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// Draws the faults and the edits [default: a new one, which is printed]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// The API server: one run on each if it is both.
    #[arg(long, value_enum, default_value_t = Servers::Both)]
    server: Servers,
    /// Where instances find each other: one run with each if it is both.
    #[arg(long, value_enum, default_value_t = Registries::Both)]
    registry: Registries,
    /// Number of instances.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=50))]
    instances: u16,
    /// Number of parents.
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    objects: u32,
    /// Duration of a lease, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 6, value_parser = clap::value_parser!(u64).range(3..=60))]
    lease: u64,
    /// The longest that an edit may wait after the last fault, in seconds [default: one and a half leases]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    bar: Option<u64>,
    /// Edits of parents per second.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    edits: u32,
    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Servers {
    Embedded,
    Kubernetes,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Registries {
    Api,
    Etcd,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

fn main() -> ExitCode {
    match try_main(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("chaos: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn try_main(arguments: &Arguments) -> Result<bool> {
    let seed = match arguments.seed {
        Some(seed) => seed,
        // Short enough to be typed again.
        None => u64::from(SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_micros()),
    };
    eprintln!("chaos: seed {seed}");
    let programs = programs()?;
    let plans = plans(arguments, seed);
    let mut reports = Vec::new();
    for plan in &plans {
        eprintln!("chaos: {} instances on {}, registry in {}", plan.instances, plan.server, plan.registry);
        let report = tokio::runtime::Runtime::new()?.block_on(interruptible(plan, &programs))?;
        if arguments.output == Output::Text {
            print!("{report}");
        }
        reports.push(report);
    }
    if arguments.output == Output::Json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    }
    let is_good = reports.iter().all(Report::is_good);
    if !is_good {
        eprintln!(
            "chaos: rules were violated; run it again with --seed {seed}, and read the logs of the writers above"
        );
    }
    Ok(is_good)
}

/// Ctrl-C ends a run with all of its processes.
async fn interruptible(plan: &Plan, programs: &Programs) -> Result<Report> {
    tokio::select! {
        report = run(plan, programs, &|line| eprintln!("chaos: {line}")) => report,
        _ = tokio::signal::ctrl_c() => bail!("the run was interrupted"),
    }
}

/// One plan for each server and registry; they share the time.
fn plans(arguments: &Arguments, seed: u64) -> Vec<Plan> {
    let servers: &[ServerKind] = match arguments.server {
        Servers::Embedded => &[ServerKind::Embedded],
        Servers::Kubernetes => &[ServerKind::Kubernetes],
        Servers::Both => &[ServerKind::Embedded, ServerKind::Kubernetes],
    };
    let registries: &[RegistryKind] = match arguments.registry {
        Registries::Api => &[RegistryKind::Api],
        Registries::Etcd => &[RegistryKind::Etcd],
        Registries::Both => &[RegistryKind::Api, RegistryKind::Etcd],
    };
    let count = (servers.len() * registries.len()) as u32;
    let duration = Duration::from_secs(arguments.minutes * 60) / count;
    let bar = arguments.bar.map_or(Duration::from_secs(arguments.lease) * 3 / 2, Duration::from_secs);
    let plan = |server, registry| Plan {
        duration,
        server,
        registry,
        instances: arguments.instances.into(),
        objects: arguments.objects as usize,
        edits_per_second: arguments.edits,
        lease_seconds: arguments.lease,
        bar,
        ..Plan::new(seed)
    };
    servers
        .iter()
        .flat_map(|server| registries.iter().map(move |registry| plan(*server, *registry)))
        .collect()
}

/// The other programs of this package are beside this one.
fn programs() -> Result<Programs> {
    let own = std::env::current_exe().context("where this program is, is not known")?;
    let folder = own.parent().context("a program without a folder")?;
    Ok(Programs {
        tasks: folder.join("chaos-tasks"),
        server: folder.join("chaos-server"),
        assets: conformance::kubernetes::assets(),
        faketime: faketime(),
    })
}

/// The library that makes clocks jump, if it is installed.
fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    let libraries = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    libraries.into_iter().find(|library: &PathBuf| Path::is_file(library))
}
