//! `cargo xtask bench`: builds and runs a comparison in `bench/`, a workspace of its own with what is compared.

use std::path::Path;

use anyhow::Result;

use crate::arguments::BenchPlan;
use crate::envtest;
use crate::process::{cargo, run as execute};

/// The comparison that needs our program and a real API server.
const SERVER: &str = "server";
/// The comparison that needs a real API server.
const RUNTIME: &str = "runtime";

/// Builds the comparison and runs it with its own arguments.
pub(crate) fn run(root: &Path, plan: &BenchPlan) -> Result<()> {
    let mut command = cargo(&root.join("bench"));
    command.args(["run", "--quiet", "--release", "--bin", &plan.name, "--"]).args(&plan.arguments);
    if plan.name == SERVER {
        execute(cargo(root).args(["build", "--release", "--package", "windlass-cli"]))?;
        command.env("WINDLASS_PROGRAM", root.join("target/release/windlass"));
    }
    if plan.name == SERVER || plan.name == RUNTIME {
        command.env(envtest::VARIABLE, envtest::provide(root)?);
    }
    execute(cargo(&root.join("bench")).args(["build", "--release", "--bin", &plan.name]))?;
    execute(&mut command)
}
