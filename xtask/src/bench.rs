//! `cargo xtask bench`: builds and runs a comparison in `bench/`, a workspace of its own with what is compared.

use std::path::Path;

use anyhow::Result;

use crate::arguments::{BenchPlan, Comparison};
use crate::envtest;
use crate::process::{cargo, run as execute};

/// Builds the comparison and runs it with its own arguments.
pub(crate) fn run(root: &Path, plan: &BenchPlan) -> Result<()> {
    let program = plan.comparison.program();
    let mut command = cargo(&root.join("bench"));
    command.args(["run", "--quiet", "--release", "--bin", program, "--"]).args(&plan.arguments);
    if plan.comparison == Comparison::Server {
        execute(cargo(root).args(["build", "--release", "--package", "windlass-cli"]))?;
        command.env("WINDLASS_PROGRAM", root.join("target/release/windlass"));
    }
    if matches!(plan.comparison, Comparison::Server | Comparison::Runtime) {
        command.env(envtest::VARIABLE, envtest::provide(root)?);
    }
    execute(cargo(&root.join("bench")).args(["build", "--release", "--bin", program]))?;
    execute(&mut command)
}
