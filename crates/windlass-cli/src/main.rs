//! The `windlass` command line.

mod address;
mod check;
mod controllers;
mod demo;
mod graph;
mod kubeconfig;
mod lightpeer;
mod local_cluster;
mod logs;
mod manifests;
mod output;
mod plan;
mod replay;
mod run;
mod serve;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Kubernetes controllers that are right: write one as a state machine, check every crash, run it anywhere.
#[derive(Parser)]
#[command(name = "windlass", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// See it work: the embedded server, all bundled controllers, six lightpeers, one of them killed, and a check.
    ///
    /// Needs no Kubernetes and no network, and takes less than half a minute.
    #[command(after_help = "Example:\n  windlass demo")]
    Demo,
    Check(check::CheckArguments),
    Plan(plan::PlanArguments),
    Replay(replay::ReplayArguments),
    Up(up::UpArguments),
    Serve(serve::ServeArguments),
    Run(run::RunArguments),
    Crd(manifests::CrdArguments),
    Manifests(manifests::ManifestsArguments),
    Graph(graph::GraphArguments),
    Lightpeer(lightpeer::LightpeerArguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Demo => match demo::run() {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => {
                eprintln!("error: {error:#}");
                return ExitCode::FAILURE;
            }
        },
        Command::Check(arguments) => check::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Up(arguments) => up::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Crd(arguments) => manifests::run_crd(&arguments),
        Command::Manifests(arguments) => manifests::run(&arguments),
        Command::Graph(arguments) => graph::run(&arguments),
        Command::Lightpeer(arguments) => lightpeer::run(&arguments),
    };
    // For a check, 1 means that something is violated; what it could not even start with is 2, as for usage.
    result.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        eprintln!("error: {error:#}");
        ExitCode::from(check::BAD_USAGE)
    })
}

/// Whether the reader of standard output, such as `head`, has closed the pipe.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.map(std::io::Error::kind).any(|kind| kind == std::io::ErrorKind::BrokenPipe)
}
