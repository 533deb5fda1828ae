//! `cargo xtask bench`: builds and runs a comparison in `bench/`, a workspace of its own with what is compared.

use std::path::Path;

use anyhow::Result;

use crate::arguments::BenchPlan;
use crate::process::{cargo, run as execute};

/// Builds the comparison and runs it with its own arguments.
pub(crate) fn run(root: &Path, plan: &BenchPlan) -> Result<()> {
    execute(cargo(&root.join("bench")).args(["build", "--release", "--bin", &plan.name]))?;
    let run = ["run", "--quiet", "--release", "--bin", &plan.name, "--"];
    execute(cargo(&root.join("bench")).args(run).args(&plan.arguments))
}
