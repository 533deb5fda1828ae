//! `cargo xtask test`: all tests, and one line at the end that says how it went.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::arguments::ConformancePlan;
use crate::conformance;
use crate::envtest;
use crate::helm;
use crate::prerequisites::{self, PREREQUISITES, prepare};
use crate::process::{cargo, shown};
use crate::python_packages;
use crate::workspace;

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Summary {
    passed: u64,
    failed: u64,
    ignored: u64,
    filtered_out: u64,
}

/// Tests that need the real kubectl, kube-apiserver or etcd, by a part of their names.
const NEED_KUBERNETES: &[&str] = &["kubectl::", "real_etcd::"];
/// Tests that need Helm.
const NEED_HELM: &[&str] = &["helm::"];
/// Tests that need Python clients.
const NEED_PYTHON: &[&str] = &["python::"];

/// Runs the tests of the workspace, the seeds of the fuzz targets and the conformance scripts, or only the tests of the
/// pure crates.
pub(crate) fn run(root: &Path, pure: bool) -> Result<()> {
    let start = Instant::now();
    let mut skipped = prepare(PREREQUISITES)?;
    let assets = if pure { None } else { provided(envtest::provide(root), NEED_KUBERNETES, &mut skipped)? };
    let helm = if pure { None } else { provided(helm::provide(root), NEED_HELM, &mut skipped)? };
    let python =
        if pure { None } else { provided(python_packages::provide(root), NEED_PYTHON, &mut skipped)? };
    let mut tests = workspace_tests(root, pure, &skipped)?;
    if let Some(assets) = &assets {
        tests.env(envtest::VARIABLE, assets);
    }
    if let Some(helm) = &helm {
        tests.env(helm::VARIABLE, helm);
    }
    if let Some(python) = &python {
        tests.env(python_packages::VARIABLE, python);
    }
    let mut commands = vec![tests];
    if !pure {
        let mut seeds = cargo(&root.join("fuzz"));
        // In the same folder, most of what they depend on is built already.
        seeds.args(["test", "--no-fail-fast", "--target-dir"]).arg(workspace::target_directory(root)?);
        commands.push(seeds);
    }
    let mut summary = Summary::default();
    let mut good = true;
    for command in &mut commands {
        good &= run_and_count(command, &mut summary)?;
    }
    if !pure && let Err(error) = conformance::run(root, &ConformancePlan::default()) {
        eprintln!("xtask test: {error:#}");
        good = false;
    }
    println!("xtask test: {} in {:.1} s", summary.shown(), start.elapsed().as_secs_f64());
    if !good {
        bail!(
            "see above for what failed, and run it by itself with `cargo test -p PACKAGE NAME` or `cargo xtask conformance`"
        );
    }
    Ok(())
}

/// Something that tests need from elsewhere. Where it cannot be had, they are skipped; but nothing is with `CI=true`.
fn provided(
    found: Result<PathBuf>,
    tests: &[&'static str],
    skipped: &mut Vec<&'static str>,
) -> Result<Option<PathBuf>> {
    match found {
        Ok(path) => Ok(Some(path)),
        Err(error) if prerequisites::is_ci() => Err(error),
        Err(error) => {
            eprintln!("tests are skipped ({}): {error:#}", tests.join(", "));
            skipped.extend(tests);
            Ok(None)
        }
    }
}

fn workspace_tests(root: &Path, pure: bool, skipped: &[&str]) -> Result<Command> {
    let mut command = cargo(root);
    command.args(["test", "--no-fail-fast"]);
    if pure {
        for package in workspace::packages(root)?.iter().filter(|package| package.is_pure()) {
            command.args(["--package", &package.name]);
        }
    } else {
        command.arg("--workspace");
    }
    command.arg("--").args(skipped.iter().flat_map(|test| ["--skip", test]));
    Ok(command)
}

/// Shows what the command prints, adds up the results in it, and says whether it ended well.
fn run_and_count(command: &mut Command, summary: &mut Summary) -> Result<bool> {
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot start `{}`", shown(command)))?;
    for line in BufReader::new(child.stdout.take().context("no output to read")?).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        summary.add(&line);
    }
    Ok(child.wait()?.success())
}

impl Summary {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; others count for nothing.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ").and_then(|(_, rest)| rest.split_once(". "))
        else {
            return;
        };
        for part in counts.split("; ") {
            let Some((number, what)) = part.split_once(' ') else { continue };
            let number: u64 = number.parse().unwrap_or_default();
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                "filtered out" => self.filtered_out += number,
                _ => {}
            }
        }
    }

    fn shown(&self) -> String {
        let Summary { passed, failed, ignored, filtered_out } = self;
        format!("{passed} passed, {failed} failed, {} skipped", ignored + filtered_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up() {
        let mut script = Command::new("sh");
        script.arg("-c").arg(
            "echo 'running 3 tests'
             echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s'
             echo 'test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.01s'
             exit 1",
        );
        let mut summary = Summary::default();
        assert!(!run_and_count(&mut script, &mut summary).unwrap());
        assert_eq!(summary, Summary { passed: 13, failed: 2, ignored: 1, filtered_out: 4 });
        assert_eq!(summary.shown(), "13 passed, 2 failed, 5 skipped");
        assert!(run_and_count(&mut Command::new("true"), &mut summary).unwrap());
    }
}
