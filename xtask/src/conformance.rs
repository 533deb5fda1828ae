//! `cargo xtask conformance`: builds what the scripts are performed against, and performs them.

use std::path::Path;

use anyhow::Result;

use crate::envtest;
use crate::process::{cargo, run as execute};

/// Builds the embedded server and the runner, finds a real API server, and hands on the arguments.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let wants =
        |target: &str| arguments.iter().any(|argument| argument.split(',').any(|word| word == target));
    let chosen = arguments.iter().any(|argument| argument.starts_with("--against"));
    let wants_real = wants("kubernetes") || wants("--against=kubernetes") || wants("--record");
    let assets = if wants_real { Some(envtest::provide(root)?) } else { envtest::find(root)? };
    let only_listed = wants("--list") || wants("--help") || wants("--record");
    let mut command = cargo(root);
    command.args(["run", "--quiet", "--package", "conformance", "--"]).args(arguments);
    if let Some(assets) = assets {
        command.env(envtest::VARIABLE, assets);
    }
    if !only_listed && (!chosen || wants("server") || wants("--against=server")) {
        execute(cargo(root).args(["build", "--quiet", "--package", "windlass-cli"]))?;
        command.arg("--windlass").arg(root.join("target/debug/windlass"));
    }
    execute(&mut command)
}
