//! `cargo xtask agreement`: more runs of the checker, played against real processes, than a test run has time for.

use std::path::Path;

use anyhow::Result;

use crate::arguments::AgreementPlan;
use crate::process::{cargo, run as execute};

/// Plays runs, and the traces of all broken controllers of the zoo unless one world is asked for. A disagreement is shown
/// with the command that shows it again.
pub(crate) fn run(root: &Path, plan: &AgreementPlan) -> Result<()> {
    let mut command = cargo(root);
    command
        .args(["test", "-p", "agreement", "--test", "agreement", "--", "--nocapture", "--test-threads", "1"])
        .env("WINDLASS_AGREEMENT", plan.runs.to_string())
        .env("WINDLASS_SEED", plan.seed.to_string());
    if let Some(world) = &plan.world {
        command.env("WINDLASS_WORLD", world).arg("real_processes");
    }
    execute(&mut command)
}
