//! `windlass replay`: tries a saved counterexample again.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use windlass_check::{Counterexample, Replayed};

use crate::check::bundled;

/// Try a counterexample again that a bundled check has left: is it still wrong?
///
/// The exit code is 0 if it is no longer wrong, 1 if it still is, 2 for bad usage, 3 if the controller behaves otherwise than it
/// did, so that this trace cannot tell.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  windlass check second-first --trace-dir traces
  windlass replay traces/second-first.json")]
pub(crate) struct ReplayArguments {
    /// A .json file that `windlass check --trace-dir DIR` has left.
    file: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &ReplayArguments) -> anyhow::Result<ExitCode> {
    let counterexample = Counterexample::load(&arguments.file)?;
    let Some(bundled) = bundled::by_name(&counterexample.check) else {
        let known: Vec<&str> = bundled::all().iter().map(|known| known.name).collect();
        bail!(
            "{} is of the check {:?}, which is not bundled ({} are): replay it in a test, with Check::replay",
            arguments.file.display(),
            counterexample.check,
            known.join(", ")
        );
    };
    let replayed = (bundled.check)().replay(&counterexample);
    print!("{counterexample}\n{replayed}");
    Ok(ExitCode::from(match replayed {
        Replayed::NoLongerWrong { .. } => 0,
        Replayed::StillWrong { .. } => 1,
        Replayed::Diverged { .. } | Replayed::Undecided { .. } => 3,
    }))
}
