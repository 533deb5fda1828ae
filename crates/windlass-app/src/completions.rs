//! `completions`: completion scripts for shells.

use std::io;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

/// Print a completion script for a shell.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  source <(PROGRAM completions bash)
  PROGRAM completions fish > ~/.config/fish/completions/PROGRAM.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script for all that a command line has.
pub(crate) fn run(arguments: &CompletionsArguments, mut command: Command) -> anyhow::Result<ExitCode> {
    let name = command.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut command, name, &mut io::stdout().lock());
    Ok(ExitCode::SUCCESS)
}
