//! Measures the runtime against `kube::runtime::Controller`: the same controller, on the same API server, in turns.

mod bare;
mod cluster;
mod controllers;
mod process;
mod requests;
mod result;
mod rounds;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;

use cluster::Cluster;
use controllers::Contestant;
use result::Results;
use rounds::Trial;

/// The least number for which a figure means something.
const PARENTS_IN_ALL: u64 = 5000;

/// The allocator, which keeps threads from waiting for memory: the same for all contestants, since all are this program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measures the runtime against `kube::runtime::Controller`.
///
/// Each contestant is a process of its own that makes two ConfigMaps and a status for each of many parents, which are
/// there before it starts. Then every parent is touched in a way that changes nothing, and the process is started
/// again. A bare client that sends the same writes shows what the API server can take.
#[derive(Parser)]
struct Arguments {
    /// Number of parents; may be given several times.
    #[arg(long, value_name = "N", default_values_t = [1000, 5000], value_parser = clap::value_parser!(u64).range(1..))]
    parents: Vec<u64>,
    /// Number of clients that make the parents, touch them, and are the bare client.
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: usize,
    /// Number of rounds; the median of each figure is shown. Without it, as many as make 5,000 parents together: a short
    /// round says less than a long one.
    #[arg(long, value_name = "N")]
    rounds: Option<u64>,
    /// Everything short, to see that all is in order; the figures say little.
    #[arg(long)]
    quick: bool,
    /// Only these contestants; may be given several times.
    #[arg(long, value_name = "CONTESTANT")]
    only: Vec<Contestant>,
    /// Ends each measurement when all parents are ready: nothing is touched, and nothing started again.
    #[arg(long)]
    only_converge: bool,
    /// The result as JSON.
    #[arg(long)]
    json: bool,
    /// Is a contestant, instead of measuring them.
    #[arg(long, value_name = "CONTESTANT", hide = true, requires = "namespace")]
    run: Option<Contestant>,
    #[arg(long, hide = true)]
    namespace: Option<String>,
    /// Looks at everything again after this many seconds.
    #[arg(long, hide = true)]
    resync: Option<u64>,
}

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::parse();
    if let (Some(contestant), Some(namespace)) = (arguments.run, &arguments.namespace) {
        let resync = arguments.resync.map(Duration::from_secs);
        tokio::runtime::Runtime::new()?.block_on(controllers::run(contestant, namespace, resync))?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.quick {
        (arguments.parents, arguments.rounds) = (vec![50], Some(1));
    }
    let assets = conformance::kubernetes::assets().context("KUBEBUILDER_ASSETS is not set")?;
    eprintln!("starting kube-apiserver and etcd");
    let cluster = Cluster::start(&assets)?;
    let mut results = Results::default();
    let contestants: &[Contestant] =
        if arguments.only.is_empty() { &Contestant::ALL } else { &arguments.only };
    for parents in &arguments.parents {
        let rounds = arguments.rounds.unwrap_or(PARENTS_IN_ALL / parents).max(1);
        for round in 0..rounds {
            let namespace = |name: &str| format!("{name}-{parents}-{round}");
            let bare = |moment: &str| {
                eprintln!("{parents} parents: a bare client");
                let namespace = namespace(&format!("bare-{moment}"));
                let figures = bare::measure(&cluster, &namespace, *parents, arguments.clients)?;
                eprintln!("  {}", result::bare_in_short(&figures, *parents));
                anyhow::Ok(figures)
            };
            let mut bare_figures = vec![bare("before")?];
            for contestant in contestants.iter().copied() {
                eprintln!("{parents} parents: {}", contestant.name());
                let namespace = namespace(&contestant.name().replace(", ", "-"));
                let trial = Trial {
                    cluster: &cluster,
                    contestant,
                    namespace: &namespace,
                    parents: *parents,
                    clients: arguments.clients,
                };
                let figures = if arguments.only_converge { trial.converge()? } else { trial.measure()? };
                eprintln!("  {}", result::in_short(&figures, *parents));
                results.round(*parents, contestant, figures);
                if contestant == Contestant::Windlass {
                    // Before and after, so that neither of the two always has the younger server.
                    bare_figures.push(bare("after")?);
                }
            }
            results.bare(*parents, &bare_figures);
        }
    }
    print!("{}", if arguments.json { results.json() } else { results.table() });
    Ok(ExitCode::SUCCESS)
}
