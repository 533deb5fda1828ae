//! The `windlass` command line.

mod bundled_arguments;
mod checks;
mod child;
mod controllers;
mod demo;
mod droplet;
mod duration;
mod lightpeer;
mod local_cluster;
mod mizar;
mod serve;
mod until_input_ends;
mod up;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use windlass_allocator as _;
use windlass_app::{App, AppCommand, exit_code};

use bundled_arguments::BundledArguments;

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
    Up(up::UpArguments),
    Serve(serve::ServeArguments),
    #[command(flatten)]
    App(AppCommand<BundledArguments>),
    Lightpeer(lightpeer::LightpeerArguments),
    Droplet(droplet::DropletArguments),
    Workflows(mizar::WorkflowsArguments),
    Mizar(mizar::MizarArguments),
}

fn main() -> ExitCode {
    let app = match bundled() {
        Ok(app) => app,
        Err(error) => return exit_code(Err(error)),
    };
    let command = app.with_examples(Arguments::command());
    let matches = command.clone().get_matches();
    let parsed = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    exit_code(match parsed.command {
        Command::Demo => match demo::run() {
            Ok(()) => Ok(ExitCode::SUCCESS),
            // A demonstration that fails has failed, however it was called.
            Err(error) => {
                eprintln!("error: {error:#}");
                Ok(ExitCode::FAILURE)
            }
        },
        Command::Up(arguments) => up::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::App(command) => app.run(command, Arguments::command()),
        Command::Lightpeer(arguments) => lightpeer::run(&arguments),
        Command::Droplet(arguments) => droplet::run(&arguments),
        Command::Workflows(arguments) => mizar::run_workflows(&arguments),
        Command::Mizar(arguments) => mizar::run(&arguments),
    })
}

/// The bundled controllers and checks.
fn bundled() -> anyhow::Result<App<BundledArguments>> {
    let app = App::new("windlass").arguments().checks(checks::all());
    Ok(controllers::all()?.into_iter().fold(app, App::controller))
}
