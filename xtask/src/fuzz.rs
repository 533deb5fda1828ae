//! `cargo xtask fuzz`: runs the fuzz targets with libFuzzer, on ordinary stable Rust.
//!
//! The coverage that libFuzzer steers by is made by a pass of LLVM, and stable rustc can run that. Only
//! the sanitizers would need a nightly compiler, and they look for mistakes that safe code cannot make.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::arguments::FuzzPlan;
use crate::prerequisites::is_on_path;
use crate::process::{cargo, output, run as execute};

/// What makes the compiler count which edges run and what is compared with what.
const INSTRUMENTATION: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// An input that takes longer counts as a failure, as does one that needs more memory.
const TIMEOUT_SECONDS: u64 = 10;
const MEMORY_MB: u64 = 2048;
const MAX_INPUT_BYTES: u64 = 16 * 1024;

/// Builds the targets and runs them.
pub(crate) fn run(root: &Path, plan: &FuzzPlan) -> Result<()> {
    let fuzz = root.join("fuzz");
    let targets = choose(&targets(&fuzz)?, plan.target.as_deref())?;
    require_cpp_compiler()?;
    let host = host()?;
    execute(
        cargo(&fuzz)
            .args(["build", "--release", "--features", "libfuzzer,server", "--target", &host])
            .env_remove("RUSTFLAGS")
            .env("CARGO_ENCODED_RUSTFLAGS", INSTRUMENTATION.join("\u{1f}")),
    )?;
    for target in &targets {
        let program = fuzz.join("target").join(&host).join("release").join(target);
        match &plan.input {
            Some(input) => execute(Command::new(program).arg(input))?,
            None => fuzz_one(&fuzz, &program, target, plan.seconds)?,
        }
    }
    Ok(())
}

fn fuzz_one(fuzz: &Path, program: &Path, target: &str, seconds: u64) -> Result<()> {
    let corpus = fuzz.join("corpus").join(target);
    let artifacts = fuzz.join("artifacts").join(target);
    for directory in [&corpus, &artifacts] {
        fs::create_dir_all(directory).with_context(|| format!("creating {}", directory.display()))?;
    }
    let mut command = Command::new(program);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={TIMEOUT_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .arg(format!("-max_len={MAX_INPUT_BYTES}"))
        // The trailing slash makes it a directory.
        .arg(format!("-artifact_prefix={}/", artifacts.display()));
    let words = fuzz.join("seeds").join(format!("{target}.dict"));
    if words.exists() {
        command.arg(format!("-dict={}", words.display()));
    }
    // New inputs go to the first directory; the seeds stay as they are.
    command.arg(corpus);
    let seeds = fuzz.join("seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let before = files(&artifacts)?;
    let Err(error) = execute(&mut command) else { return Ok(()) };
    let found = files(&artifacts)?.into_iter().find(|file| !before.contains(file));
    match found {
        None => Err(error),
        Some(input) => bail!(
            "`{target}` found an input that fails; run it with `cargo xtask fuzz {target} {}`, \
             fix what it shows, and move the file to fuzz/seeds/{target}",
            input.display()
        ),
    }
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    files.sort();
    Ok(files)
}

/// The targets, by the names of their files.
fn targets(fuzz: &Path) -> Result<Vec<String>> {
    let sources = files(&fuzz.join("targets"))?;
    let sources = sources.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    Ok(sources.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect())
}

fn choose(targets: &[String], wanted: Option<&str>) -> Result<Vec<String>> {
    match wanted {
        None => Ok(targets.to_vec()),
        Some(name) if targets.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => bail!("there is no fuzz target `{name}`; there are: {}", targets.join(", ")),
    }
}

/// libFuzzer itself is C++ and is compiled with the targets.
fn require_cpp_compiler() -> Result<()> {
    if std::env::var_os("CXX").is_none() && !is_on_path("c++") {
        bail!(
            "libFuzzer is written in C++, and there is no `c++`: install one, on Debian with `apt-get install g++`"
        );
    }
    Ok(())
}

/// The platform to build for. Naming it keeps the instrumentation away from build scripts and macros.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = output(Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_files() {
        let targets = targets(&crate::root().join("fuzz")).unwrap();
        assert!(targets.contains(&"model_request".to_owned()), "{targets:?}");
        assert_eq!(choose(&targets, None).unwrap(), targets);
        assert_eq!(choose(&targets, Some("model_request")).unwrap(), ["model_request"]);
        let message = choose(&targets, Some("nothing")).unwrap_err().to_string();
        assert!(message.contains("there are: ") && message.contains("model_request"), "{message}");
    }

    #[test]
    fn the_host_is_known() {
        assert!(host().unwrap().contains('-'));
    }
}
