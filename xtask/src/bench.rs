//! `cargo xtask bench`: builds and runs a comparison in `bench/`, a workspace of its own with what is compared.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::arguments::{BenchPlan, Comparison};
use crate::envtest;
use crate::go_programs::{Module, Program};
use crate::process::{cargo, run as execute};

/// The peer in Go of `bench shard`, built from `bench/shard/controller-runtime`.
pub(crate) const CONTROLLER_RUNTIME: Module = Module {
    name: "controller-runtime",
    sources: "bench/shard/controller-runtime",
    programs: &[Program { name: "controller-runtime", package: "." }],
    linker_flags: "-s -w",
};

/// Builds the comparison and runs it with its own arguments.
pub(crate) fn run(root: &Path, plan: &BenchPlan) -> Result<()> {
    let program = plan.comparison.program();
    let mut command = cargo(&root.join("bench"));
    command.args(["run", "--quiet", "--release", "--bin", program, "--"]).args(&plan.arguments);
    if matches!(plan.comparison, Comparison::Server | Comparison::Shard) {
        execute(cargo(root).args(["build", "--release", "--package", "windlass-cli"]))?;
        command.env("WINDLASS_PROGRAM", root.join("target/release/windlass"));
    }
    if matches!(plan.comparison, Comparison::Server | Comparison::Runtime) {
        command.env(envtest::VARIABLE, envtest::provide(root)?);
    }
    if plan.comparison == Comparison::Shard
        && let Some(peer) = controller_runtime(root)
    {
        command.env("WINDLASS_CONTROLLER_RUNTIME", peer);
    }
    execute(cargo(&root.join("bench")).args(["build", "--release", "--bin", program]))?;
    execute(&mut command)
}

/// The peer in Go; none where it cannot be built, which is said.
fn controller_runtime(root: &Path) -> Option<PathBuf> {
    match CONTROLLER_RUNTIME.provide(root) {
        Ok(folder) => Some(folder.join("controller-runtime")),
        Err(error) => {
            eprintln!("without controller-runtime: {error:#}");
            None
        }
    }
}
