//! The `windlass` command line.

mod demo;

use clap::{Parser, Subcommand};

/// Kubernetes controllers that are right: write one as a state machine, check every crash, run it anywhere.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a controller on a cluster in memory, crash it on the way, then check every interleaving.
    ///
    /// Needs no Kubernetes and no network, and takes a few seconds.
    #[command(after_help = "Example:\n  windlass demo")]
    Demo,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Demo => demo::run(),
    }
}
