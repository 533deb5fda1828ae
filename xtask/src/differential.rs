//! `cargo xtask differential`: the differential test of the checker, with more worlds than a test run has time for.

use std::path::Path;

use anyhow::Result;

use crate::process::{cargo, run as execute};

/// Compares this many worlds, from a seed on. A disagreement is shown with the command that shows it again.
pub(crate) fn run(root: &Path, worlds: u64, seed: u64) -> Result<()> {
    execute(
        cargo(root)
            .args([
                "test",
                "--release",
                "-p",
                "windlass-check",
                "--test",
                "differential",
                "--",
                "--nocapture",
            ])
            .env("WINDLASS_DIFFERENTIAL", worlds.to_string())
            .env("WINDLASS_SEED", seed.to_string()),
    )
}
