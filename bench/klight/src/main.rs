//! Measures klight: many pods in many networks, real calls over gRPC, peers that do nothing but answer.

mod controller;
mod measured;
mod pods;
mod result;
mod simulated;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use result::Results;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measures klight.
///
/// The controller is a process of its own, on an embedded server, and finds all pods there when it starts. Networks have
/// the same size whatever their number, so what a pod costs should not depend on how many there are.
#[derive(Parser)]
struct Arguments {
    /// Number of networks; may be given several times.
    #[arg(long, value_name = "N", default_values_t = [5, 50, 200])]
    networks: Vec<usize>,
    /// Number of pods in each network.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pods: usize,
    /// Everything short, to see that all is in order; the figures say little.
    #[arg(long)]
    quick: bool,
    /// The result as JSON.
    #[arg(long)]
    json: bool,
    /// Is the controller, instead of measuring it.
    #[arg(long, hide = true)]
    run: bool,
}

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    if arguments.run {
        runtime.block_on(controller::run())?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.quick {
        (arguments.networks, arguments.pods) = (vec![2, 4], 5);
    }
    let mut results = Results::new(arguments.pods);
    for networks in &arguments.networks {
        eprintln!("{networks} networks of {} pods", arguments.pods);
        results.add(*networks, runtime.block_on(measured::measure(*networks, arguments.pods))?);
    }
    print!("{}", if arguments.json { results.json() } else { results.table() });
    Ok(ExitCode::SUCCESS)
}
