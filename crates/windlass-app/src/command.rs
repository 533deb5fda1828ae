//! The subcommands that every program has.

use std::process::ExitCode;

use clap::{ArgMatches, Command, Error, FromArgMatches, Subcommand};

use crate::app::App;
use crate::arguments::ManagerArguments;
use crate::{check, completions, graph, managers, manifests, plan, replay, ring, run, simulate};

/// One of the subcommands of a program. A program with commands of its own flattens this into its own enum:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
/// use two_configmaps::TwoConfigMaps;
/// use windlass_app::{App, AppCommand, NoArguments, exit_code};
///
/// #[derive(Parser)]
/// #[command(name = "pairs")]
/// struct Arguments {
///     #[command(subcommand)]
///     command: Command,
/// }
///
/// #[derive(Subcommand)]
/// enum Command {
///     /// Say hello.
///     Hello,
///     #[command(flatten)]
///     App(AppCommand<NoArguments>),
/// }
///
/// fn main() -> ExitCode {
///     let app = App::new("pairs").controller(TwoConfigMaps);
///     // Examples in help texts show the names of this program and of its controllers.
///     let command = app.with_examples(Arguments::command());
///     let matches = command.clone().get_matches();
///     let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
///     exit_code(match arguments.command {
///         Command::Hello => {
///             println!("hello");
///             Ok(ExitCode::SUCCESS)
///         }
///         Command::App(command_of_app) => app.run(command_of_app, command),
///     })
/// }
/// ```
pub struct AppCommand<A: ManagerArguments>(Commands<A>);

#[derive(Subcommand)]
enum Commands<A: ManagerArguments> {
    Check(check::CheckArguments),
    Plan(plan::PlanArguments),
    Replay(replay::ReplayArguments),
    Run(run::RunArguments<A>),
    Crd(manifests::CrdArguments),
    Manifests(manifests::ManifestsArguments<A>),
    Managers(managers::ManagersArguments),
    Ring(ring::RingArguments),
    Graph(graph::GraphArguments),
    Simulate(simulate::SimulateArguments),
    Completions(completions::CompletionsArguments),
}

impl<A: ManagerArguments> AppCommand<A> {
    pub(crate) fn run(self, app: App<A>, root: Command) -> anyhow::Result<ExitCode> {
        match &self.0 {
            Commands::Check(arguments) => check::run(arguments, app.all_checks()),
            Commands::Plan(arguments) => plan::run(arguments, &app),
            Commands::Replay(arguments) => replay::run(arguments, &app),
            Commands::Run(arguments) => run::run(arguments, app),
            Commands::Crd(arguments) => manifests::run_crd(arguments, app.controllers()),
            Commands::Manifests(arguments) => manifests::run(arguments, &app),
            Commands::Managers(arguments) => managers::run(arguments, app.name()),
            Commands::Ring(arguments) => ring::run(arguments, app.name()),
            Commands::Graph(arguments) => graph::run(arguments, app.controllers()),
            Commands::Simulate(arguments) => simulate::run(arguments, app.name()),
            Commands::Completions(arguments) => completions::run(arguments, root),
        }
    }
}

// By hand, so that the arguments of each subcommand stay private.
impl<A: ManagerArguments> FromArgMatches for AppCommand<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Commands::from_arg_matches(matches).map(AppCommand)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<A: ManagerArguments> Subcommand for AppCommand<A> {
    fn augment_subcommands(command: Command) -> Command {
        Commands::<A>::augment_subcommands(command)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Commands::<A>::augment_subcommands_for_update(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Commands::<A>::has_subcommand(name)
    }
}
