//! `replay`: replays a saved counterexample or a recorded reconcile.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};
use windlass::recording::{self, Recording};
use windlass_check::{Counterexample, Replayed};

use crate::app::App;
use crate::app_check::{AppCheck, CheckSubject};
use crate::app_controller::{AppController, names};
use crate::arguments::ManagerArguments;
use crate::check::by_name;
use crate::output::OutputArguments;

/// Replay a saved counterexample of a check, or a recorded reconcile of a running controller.
///
/// For a counterexample the exit code is 0 if the violation is gone and 1 if it still occurs. For a reconcile it is 0 if this
/// version of the controller sends the same requests and ends in the same way, and 1 if it ends in another way. It is 2 for
/// bad usage, and 3 if the controller sends other requests than recorded.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  PROGRAM check --trace-dir traces
  PROGRAM replay traces/NAME.json                              is the violation still there?
  curl -s localhost:8080/debug/recordings                      what a running controller has kept
  curl -s localhost:8080/debug/recordings/ID > reconcile.json
  PROGRAM replay reconcile.json                                does this version do the same?")]
pub(crate) struct ReplayArguments {
    /// A .json file from `check --trace-dir DIR`, or a recording of a running controller.
    file: PathBuf,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub(crate) fn run<A: ManagerArguments>(
    arguments: &ReplayArguments,
    app: &App<A>,
) -> anyhow::Result<ExitCode> {
    match recorded(&arguments.file) {
        Some(text) => replay_recording(arguments, &text, app.controllers()),
        None => replay_counterexample(arguments, app.all_checks()),
    }
}

/// The text of the file, if it is meant to be a recording.
fn recorded(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let document: Value = serde_json::from_str(&text).ok()?;
    Recording::is_one(&document).then_some(text)
}

fn replay_recording(
    arguments: &ReplayArguments,
    text: &str,
    controllers: &[AppController],
) -> anyhow::Result<ExitCode> {
    let file = arguments.file.display();
    let recording =
        Recording::from_json(text).with_context(|| format!("{file} is no recording that can be used"))?;
    let Some(known) = controllers.iter().find(|known| known.name() == recording.controller) else {
        bail!(
            "{file} is of the controller {:?}, which this program does not have (it has {}): replay it with the program \
             that made it",
            recording.controller,
            names(controllers)
        );
    };
    let replayed = recording::replay(known.controller(), &recording);
    if arguments.output.is_json() {
        println!("{:#}", json!(replayed));
    } else {
        let Recording { controller, target, at, causes, .. } = &recording;
        println!("{controller} reconciled {target} at {at}, because of {}", causes.join(", "));
        print!("{replayed}");
    }
    Ok(ExitCode::from(match replayed {
        recording::Replayed::Same { .. } => 0,
        recording::Replayed::EndedOtherwise { .. } => 1,
        recording::Replayed::Diverged { .. } => 3,
    }))
}

fn replay_counterexample(arguments: &ReplayArguments, checks: &[AppCheck]) -> anyhow::Result<ExitCode> {
    let counterexample = Counterexample::load(&arguments.file)?;
    let found = by_name(checks, &counterexample.check).map(|known| &known.subject);
    // Counterexamples are of controllers: the trace of a protocol is not saved.
    let Some(CheckSubject::Controllers(make)) = found else {
        let known: Vec<&str> = checks.iter().map(|known| known.name).collect();
        bail!(
            "{} is of the check {:?}, which this program does not have (it has {}): replay it in a test, with \
             Check::replay",
            arguments.file.display(),
            counterexample.check,
            known.join(", ")
        );
    };
    let replayed = make().replay(&counterexample);
    let (word, code) = match replayed {
        Replayed::NotReproduced { .. } => ("no-longer-wrong", 0),
        Replayed::Reproduced { .. } => ("still-wrong", 1),
        Replayed::Diverged { .. } => ("diverged", 3),
        Replayed::Undecided { .. } => ("undecided", 3),
    };
    if arguments.output.is_json() {
        println!("{:#}", json!({ "replayed": word, "message": replayed.to_string() }));
    } else {
        print!("{counterexample}\n{replayed}");
    }
    Ok(ExitCode::from(code))
}
