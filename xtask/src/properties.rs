//! `cargo xtask properties`: runs the property tests on cases that no run has drawn before.
//!
//! All other runs draw the same cases, by the seed and the number in `.cargo/config.toml`: a test that fails now and then
//! says nothing about the change that it fails with.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::arguments::PropertiesPlan;
use crate::process::{cargo, run as execute};
use crate::workspace;

/// The variables that proptest reads.
const SEED: &str = "PROPTEST_RNG_SEED";
const CASES: &str = "PROPTEST_CASES";

/// Runs the property tests, and says how to draw the same cases again.
pub(crate) fn run(root: &Path, plan: &PropertiesPlan) -> Result<()> {
    let seed = match plan.seed {
        Some(seed) => seed,
        None => new_seed()?,
    };
    println!("properties: seed {seed}, {} cases", plan.cases);
    let mut good = true;
    for package in packages(root, plan.package.as_deref())? {
        let outcome = execute(&mut tests(root, &package, plan, seed));
        if let Err(error) = &outcome {
            eprintln!("xtask properties: {error:#}");
        }
        good &= outcome.is_ok();
    }
    if !good {
        bail!(
            "a property does not hold: keep the case that is shown above as a test. \
             Draw it again with `cargo xtask properties --cases {} --seed {seed}`",
            plan.cases
        );
    }
    Ok(())
}

fn tests(root: &Path, package: &str, plan: &PropertiesPlan, seed: u64) -> Command {
    let mut command = cargo(root);
    command.args(["test", "--no-fail-fast", "--package", package, "--lib", "--tests"]);
    command.args(&plan.name);
    command.env(SEED, seed.to_string()).env(CASES, plan.cases.to_string());
    command
}

/// The packages with property tests, or the one that is asked for. Their other tests run, too: a property test cannot be
/// identified by its name.
fn packages(root: &Path, wanted: Option<&str>) -> Result<Vec<String>> {
    let known: BTreeSet<String> = workspace::packages(root)?
        .into_iter()
        .filter(|package| package.dependencies.iter().any(|name| name == "proptest"))
        .map(|package| package.name)
        .collect();
    match wanted {
        None => Ok(known.into_iter().collect()),
        Some(name) if known.contains(name) => Ok(vec![name.to_owned()]),
        Some(name) => {
            let known: Vec<String> = known.into_iter().collect();
            bail!("`{name}` has no property tests; these have: {}", known.join(", "))
        }
    }
}

/// A seed that differs from run to run.
fn new_seed() -> Result<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock stands before 1970")?;
    // Seconds would be as good, but two runs may start in the same one.
    u64::try_from(now.as_micros()).context("the clock is too far in the future")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo passes what `.cargo/config.toml` says to the tests, this one too.
    #[test]
    fn the_default_run_is_reproducible() {
        assert!(std::env::var(SEED).is_ok_and(|seed| seed.parse::<u64>().is_ok()));
        assert!(std::env::var(CASES).is_ok_and(|cases| cases.parse::<u32>().is_ok()));
        assert!(std::env::var("PROPTEST_DISABLE_FAILURE_PERSISTENCE").is_ok());
    }

    #[test]
    fn packages_are_those_that_use_proptest() {
        let root = crate::root();
        let all = packages(&root, None).unwrap();
        assert!(all.contains(&"windlass-model".to_owned()), "{all:?}");
        assert!(!all.contains(&"xtask".to_owned()), "{all:?}");
        assert_eq!(packages(&root, Some("windlass-model")).unwrap(), ["windlass-model"]);
        let message = packages(&root, Some("xtask")).unwrap_err().to_string();
        assert!(message.contains("windlass-model"), "{message}");
    }

    #[test]
    fn seed_and_number_reach_the_tests() {
        let plan = PropertiesPlan { cases: 5, seed: None, package: None, name: Some("a".to_owned()) };
        let command = tests(Path::new("."), "windlass-model", &plan, 7);
        let values: Vec<_> = command.get_envs().collect();
        assert!(values.contains(&(SEED.as_ref(), Some("7".as_ref()))), "{values:?}");
        assert!(values.contains(&(CASES.as_ref(), Some("5".as_ref()))), "{values:?}");
        assert_eq!(command.get_args().last(), Some("a".as_ref()));
    }
}
