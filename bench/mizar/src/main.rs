//! Measures mizar: how long endpoints take until all droplets know them, and what one costs with few and many.

mod cluster;
mod measured;
mod result;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use measured::Sizes;
use result::Results;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measures mizar.
///
/// Server, operators and daemons share this process and its cores. The networks are there before the first endpoint is
/// created; the clock runs from the first creation until all endpoints are Provisioned, and then all tables are compared.
#[derive(Parser)]
struct Arguments {
    /// Number of endpoints; may be given several times.
    #[arg(long, value_name = "N", default_values_t = [1_000, 10_000])]
    endpoints: Vec<usize>,
    /// Number of networks.
    #[arg(long, value_name = "N", default_value_t = 10)]
    networks: usize,
    /// Number of bouncers of each network.
    #[arg(long, value_name = "N", default_value_t = 3)]
    bouncers: usize,
    /// Number of droplets.
    #[arg(long, value_name = "N", default_value_t = 20)]
    droplets: usize,
    /// Everything short, to see that all is in order; the figures say little.
    #[arg(long)]
    quick: bool,
    /// The result as JSON.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        (arguments.endpoints, arguments.networks, arguments.droplets) = (vec![20, 40], 2, 4);
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let mut results = Results::new(arguments.bouncers);
    for endpoints in &arguments.endpoints {
        eprintln!("{endpoints} endpoints");
        let sizes = Sizes {
            endpoints: *endpoints,
            networks: arguments.networks,
            bouncers: arguments.bouncers,
            droplets: arguments.droplets,
        };
        results.add(runtime.block_on(measured::measure(&sizes))?);
    }
    print!("{}", if arguments.json { results.json() } else { results.table() });
    Ok(ExitCode::SUCCESS)
}
