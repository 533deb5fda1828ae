//! The chores of this repository: `cargo xtask --help` lists them.

mod agreement;
mod arguments;
mod bench;
mod chaos;
mod ci;
mod conformance;
mod differential;
mod envtest;
mod examples;
mod files;
mod fuzz;
mod go_programs;
mod helm;
mod layering;
mod links;
mod mutants;
mod prerequisites;
mod process;
mod properties;
mod python_packages;
mod test_run;
mod types;
mod words;
mod workspace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Arguments, Task};

/// Where `cargo xtask types` writes to.
const TYPES: &str = "crates/windlass-model/src/schema/builtin/builtin.types";
const MESSAGES: &str = "crates/windlass-model/src/protobuf/builtin.protobuf";

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Option<Task>) -> anyhow::Result<()> {
    let root = root();
    let Some(task) = task else { return Ok(Arguments::command().print_help()?) };
    match task {
        Task::Ci => ci::run(&root)?,
        Task::Layering => layering::run(&root)?,
        Task::Links => links::run(&root)?,
        Task::Words => words::run(&root)?,
        Task::Test { pure } => test_run::run(&root, pure)?,
        Task::Types { swagger } => {
            types::generate(&swagger, &root.join(TYPES), &root.join(MESSAGES))?;
            println!("wrote {TYPES} and {MESSAGES}");
        }
        Task::Fuzz(plan) => fuzz::run(&root, &plan)?,
        Task::Properties(plan) => properties::run(&root, &plan)?,
        Task::Differential { worlds, seed } => differential::run(&root, worlds, seed)?,
        Task::Mutants { names } => mutants::run(&root, &names)?,
        Task::Agreement(plan) => agreement::run(&root, &plan)?,
        Task::Chaos(plan) => chaos::run(&root, &plan)?,
        Task::Bench(plan) => bench::run(&root, &plan)?,
        Task::Conformance(plan) => conformance::run(&root, &plan)?,
        Task::Envtest => envtest::run(&root)?,
        Task::Python => python_packages::run(&root)?,
    }
    Ok(())
}

/// The root of the repository: the directory above this package.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}
