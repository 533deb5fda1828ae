//! Measures how instances share objects: against the bars, and against kube-rs with a fixed modulo and controller-runtime
//! with a leader, on the embedded server.

mod cluster;
mod controllers;
mod failover;
mod fleet;
mod proxy;
mod pure;
mod result;
mod throughput;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use controllers::{Contestant, Work};
use result::Results;

/// The allocator, which keeps threads from waiting for memory: the same for all contestants in Rust, since all are this
/// program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measures how instances share objects.
///
/// Balance and memory need no cluster. For throughput and failover each instance is a process, on an embedded server that
/// is started for each measurement. Peers: kube-rs, where a parent's uid modulo the number of instances names its owner,
/// and controller-runtime, where a leader does everything.
#[derive(Parser)]
#[command(after_help = "Example: cargo xtask bench shard --only failover --repetitions 10")]
struct Arguments {
    /// Only this part; may be given several times.
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// Number of rounds of each measurement of throughput; the median of each figure is shown.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Number of instances that share the objects.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(2..=50))]
    instances: u64,
    /// Number of parents of each instance, when reconciles wait for something outside.
    #[arg(long, value_name = "N", default_value_t = 800, value_parser = clap::value_parser!(u64).range(10..))]
    parents: u64,
    /// Number of parents of one instance that waits for nothing.
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(10..))]
    busy_parents: u64,
    /// How long a reconcile waits for something outside.
    #[arg(long, value_name = "MS", default_value_t = 20)]
    wait_ms: u64,
    /// Number of workers of an instance whose reconciles wait: so few that the processors do not decide.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    workers: u64,
    /// How often an instance is killed.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    repetitions: u64,
    /// Number of parents of all instances together, when one of these is killed.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(10..))]
    failover_parents: u64,
    /// Everything short, to see that all is in order; the figures say little.
    #[arg(long)]
    quick: bool,
    /// The result as JSON.
    #[arg(long)]
    json: bool,
    /// The `windlass` program.
    #[arg(long, value_name = "FILE", env = "WINDLASS_PROGRAM", hide = true)]
    windlass: PathBuf,
    /// The program on controller-runtime.
    #[arg(long, value_name = "FILE", env = "WINDLASS_CONTROLLER_RUNTIME", hide = true)]
    controller_runtime: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// How evenly objects are spread over 100 instances, and how many move
    Balance,
    /// What a tracked object takes, and how long a membership change of a million takes
    Memory,
    /// Reconciles per second of one instance, sharded and not
    Overhead,
    /// Reconciles per second of one instance and of several
    Throughput,
    /// What all instances read of their outputs
    Bytes,
    /// How long the objects of a killed instance wait
    Failover,
}

/// How much of everything.
struct Sizes<'a> {
    rounds: usize,
    instances: usize,
    parents: u64,
    busy_parents: u64,
    waiting: Work,
    repetitions: usize,
    failover_parents: u64,
    windlass: &'a PathBuf,
    /// The program on controller-runtime, if there is one.
    go: Option<&'a PathBuf>,
}

impl Sizes<'_> {
    /// Those of the contestants that are there.
    fn peers(&self, wanted: &[Contestant]) -> Vec<Contestant> {
        let is_there = |one: &&Contestant| **one != Contestant::ControllerRuntime || self.go.is_some();
        wanted.iter().filter(is_there).copied().collect()
    }
}

impl Arguments {
    fn make_quick(&mut self) {
        (self.rounds, self.repetitions) = (1, 1);
        (self.parents, self.busy_parents, self.failover_parents) = (100, 200, 100);
    }

    fn sizes(&self) -> Sizes<'_> {
        Sizes {
            rounds: self.rounds as usize,
            instances: self.instances as usize,
            parents: self.parents,
            busy_parents: self.busy_parents,
            waiting: Work { workers: self.workers as usize, wait_ms: self.wait_ms },
            repetitions: self.repetitions as usize,
            failover_parents: self.failover_parents,
            windlass: &self.windlass,
            go: self.controller_runtime.as_ref(),
        }
    }
}

fn main() -> Result<ExitCode> {
    // An instance is this program too.
    match std::env::args().nth(1).as_deref() {
        Some("run") => return Ok(controllers::ours::main()),
        Some("modulo") => return controllers::modulo::main().map(|()| ExitCode::SUCCESS),
        _ => {}
    }
    let mut arguments = Arguments::parse();
    if arguments.quick {
        arguments.make_quick();
    }
    let sizes = arguments.sizes();
    let mut results = Results::default();
    let is_wanted = |part: &&Part| arguments.only.is_empty() || arguments.only.contains(part);
    for part in Part::value_variants().iter().filter(is_wanted) {
        eprintln!("{}", part.to_possible_value().context("every part has a name")?.get_name());
        measure(*part, &sizes, &mut results)?;
    }
    if sizes.go.is_none() && [Part::Throughput, Part::Failover].iter().any(|part| is_wanted(&part)) {
        results.note("controller-runtime is left out: there is no Go to build it with".to_owned());
    }
    print!("{}", if arguments.json { results.json() } else { results.table() });
    Ok(ExitCode::SUCCESS)
}

fn measure(part: Part, sizes: &Sizes<'_>, results: &mut Results) -> Result<()> {
    match part {
        Part::Balance => pure::balance(results),
        Part::Memory => pure::memory(results),
        Part::Overhead => throughput::overhead(sizes, results)?,
        Part::Throughput => throughput::together(sizes, results)?,
        Part::Bytes => throughput::watch_bytes(sizes, results)?,
        Part::Failover => failover::measure(sizes, results)?,
    }
    Ok(())
}
