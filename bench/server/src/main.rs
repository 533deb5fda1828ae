//! Measures the embedded server against kube-apiserver with etcd: the same requests from the same clients, both
//! durable, on the same machine, in turns.

mod contestant;
mod large;
mod phases;
mod result;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;

use contestant::Contestant;
use result::Results;

/// Measures the embedded server against kube-apiserver with etcd.
///
/// While one of the two is measured the other is stopped, so that neither takes time from the other. Both sync
/// every write to the disk.
#[derive(Parser)]
struct Arguments {
    /// How long each kind of request is sent to each server.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    seconds: f64,
    /// How many clients send at the same time, each over a connection of its own.
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: usize,
    /// How many watchers see each change.
    #[arg(long, value_name = "N", default_value_t = 50)]
    watchers: usize,
    /// Number of objects for the part that measures growth; 0 leaves it out.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    objects: usize,
    /// Everything short, to see that all is in order; the figures say little.
    #[arg(long)]
    quick: bool,
    /// The result as JSON.
    #[arg(long)]
    json: bool,
    /// The `windlass` program.
    #[arg(long, value_name = "FILE", env = "WINDLASS_PROGRAM", hide = true)]
    windlass: PathBuf,
}

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        arguments.seconds = 0.5;
        arguments.objects = arguments.objects.min(5_000);
    }
    let assets = conformance::kubernetes::assets().context("KUBEBUILDER_ASSETS is not set")?;
    let mut results = Results::new(&arguments);
    eprintln!("starting both servers");
    results.ready(contestant::ready_times(&arguments.windlass)?);
    let windlass = Contestant::windlass(&arguments.windlass)?;
    let kubernetes = Contestant::kubernetes(&assets)?;
    let contestants = [windlass, kubernetes];
    let span = Duration::from_secs_f64(arguments.seconds);
    for phase in phases::ALL {
        let mut rates = Vec::new();
        for contestant in &contestants {
            eprintln!("{}: {}", contestant.name, phase.name);
            rates.push(contestant.alone(&contestants, || (phase.run)(contestant, &arguments, span))?);
        }
        results.phase(phase, &rates);
    }
    for contestant in &contestants {
        results.memory(contestant.name, contestant.peak_bytes()?);
    }
    drop(contestants);
    if arguments.objects > 0 {
        eprintln!("windlass: {} objects", arguments.objects);
        results.large(&large::measure(&arguments.windlass, arguments.objects, arguments.clients)?);
    }
    print!("{}", if arguments.json { results.json() } else { results.table() });
    Ok(ExitCode::SUCCESS)
}
