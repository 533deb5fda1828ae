//! `cargo xtask mutants`: the checker, broken on purpose in many ways, each of which a test must catch.
//!
//! A mutant is a patch in `crates/windlass-check/mutants`. Its first lines say what it breaks and, as `# test: ...`, which
//! test must fail. Mutants are applied, one at a time, to a copy of the workspace under `target/mutants`, which has a
//! target folder of its own: so only what a mutant changes is built again.

mod copy;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, output, shown};
use crate::workspace;

/// Where the patches are.
const FOLDER: &str = "crates/windlass-check/mutants";
/// The package whose tests must catch them.
const PACKAGE: &str = "windlass-check";

/// A way to break the checker.
#[derive(Clone, Debug, PartialEq)]
struct Mutant {
    name: String,
    patch: PathBuf,
    test: Test,
}

/// The test that must fail.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Test {
    /// `lib`, or the name of an integration test.
    target: String,
    /// A part of the names of the tests in it; all, if empty.
    name: String,
}

/// What has become of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Caught,
    Survived,
    /// It does not compile, so it shows nothing.
    NotBuilt,
}

/// Checks that every patch says what it must, and still applies.
pub(crate) fn check_patches(root: &Path) -> Result<()> {
    let mutants = all(root)?;
    for mutant in &mutants {
        let applied = output(copy::apply(root).arg("--check").arg(&mutant.patch));
        applied.with_context(|| format!("the mutant `{}` does not apply any more", mutant.name))?;
    }
    println!("{} mutants apply", mutants.len());
    Ok(())
}

/// Tries the mutants of these names, or all.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<()> {
    let mutants = chosen(all(root)?, names)?;
    let folder = workspace::target_directory(root)?.join("mutants");
    let copied = folder.join("workspace");
    let bench = Bench { root, copied: &copied, folder: &folder };
    bench.check_tests(&mutants)?;
    let mut lines = Vec::new();
    let mut is_good = true;
    for mutant in &mutants {
        let start = Instant::now();
        let fate = bench.try_out(mutant)?;
        is_good &= fate == Fate::Caught;
        let line = (mutant, fate, start.elapsed().as_secs_f64());
        println!("{}", row(&line));
        lines.push(line);
    }
    copy::update(root, &copied)?;
    println!("\n{:<32} {:<10} {:<40} seconds", "mutant", "", "test");
    lines.iter().for_each(|line| println!("{}", row(line)));
    if !is_good {
        bail!("a mutant is not caught: see {} for what its test printed", folder.display());
    }
    Ok(())
}

fn row((mutant, fate, seconds): &(&Mutant, Fate, f64)) -> String {
    let fate = match fate {
        Fate::Caught => "caught",
        Fate::Survived => "SURVIVED",
        Fate::NotBuilt => "NOT BUILT",
    };
    format!("{:<32} {fate:<10} {:<40} {seconds:7.1}", mutant.name, mutant.test.shown())
}

/// Where mutants are tried.
struct Bench<'a> {
    root: &'a Path,
    copied: &'a Path,
    folder: &'a Path,
}

impl Bench<'_> {
    /// The tests must pass as long as nothing is broken: otherwise every mutant would seem to be caught.
    fn check_tests(&self, mutants: &[Mutant]) -> Result<()> {
        copy::update(self.root, self.copied)?;
        let mut tests: Vec<&Test> = Vec::new();
        for mutant in mutants.iter().filter(|mutant| mutant.test.target != "lib") {
            if !tests.contains(&&mutant.test) {
                tests.push(&mutant.test);
            }
        }
        for test in tests {
            println!("without a mutant: {}", test.shown());
            if self.test(test, "unbroken")? != Fate::Survived {
                bail!(
                    "`{}` fails without a mutant: see unbroken.log in {}",
                    test.shown(),
                    self.folder.display()
                );
            }
        }
        Ok(())
    }

    fn try_out(&self, mutant: &Mutant) -> Result<Fate> {
        copy::update(self.root, self.copied)?;
        output(copy::apply(self.copied).arg(&mutant.patch))
            .with_context(|| format!("the mutant `{}` does not apply any more", mutant.name))?;
        self.test(&mutant.test, &mutant.name)
    }

    /// Builds and runs a test. What it prints is kept.
    fn test(&self, test: &Test, name: &str) -> Result<Fate> {
        let mut command = self.cargo_test(test);
        let built = command.arg("--no-run").output();
        let built = built.with_context(|| format!("cannot start `{}`", shown(&command)))?;
        let log = self.folder.join(format!("{name}.log"));
        if !built.status.success() {
            fs::write(&log, &built.stderr)?;
            return Ok(Fate::NotBuilt);
        }
        let mut command = self.cargo_test(test);
        let ran = command.args(["--", &test.name]).output();
        let ran = ran.with_context(|| format!("cannot start `{}`", shown(&command)))?;
        fs::write(&log, [ran.stdout.as_slice(), ran.stderr.as_slice()].concat())?;
        fate(ran.status.success(), &String::from_utf8_lossy(&ran.stdout))
            .with_context(|| format!("`{}`: see {}", shown(&command), log.display()))
    }

    fn cargo_test(&self, test: &Test) -> std::process::Command {
        let mut command = cargo(self.copied);
        command.args(["test", "--quiet", "-p", PACKAGE]);
        match test.target.as_str() {
            "lib" => command.arg("--lib"),
            target => command.args(["--test", target]),
        };
        command.env("CARGO_TARGET_DIR", self.folder.join("target"));
        command
    }
}

/// What a test run that ended like this says: a test has failed, or all have passed and there was at least one.
fn fate(is_success: bool, printed: &str) -> Result<Fate> {
    let results: Vec<&str> = printed.lines().filter(|line| line.starts_with("test result: ")).collect();
    if results.is_empty() || results.iter().all(|line| line.contains(" 0 passed; 0 failed")) {
        bail!("no test has come to its end");
    }
    Ok(if is_success { Fate::Survived } else { Fate::Caught })
}

impl Test {
    fn shown(&self) -> String {
        format!("{} {}", self.target, self.name)
    }
}

/// All mutants, by name.
fn all(root: &Path) -> Result<Vec<Mutant>> {
    let folder = root.join(FOLDER);
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut mutants = Vec::new();
    for entry in entries {
        let patch = entry?.path();
        if patch.extension().is_some_and(|extension| extension == "patch") {
            let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let test = test_of(&fs::read_to_string(&patch)?);
            let test = test.with_context(|| format!("the mutant `{name}`"))?;
            mutants.push(Mutant { name, patch, test });
        }
    }
    mutants.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(mutants)
}

fn chosen(mutants: Vec<Mutant>, names: &[String]) -> Result<Vec<Mutant>> {
    let known = |name: &&String| mutants.iter().any(|mutant| mutant.name == **name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let known: Vec<&str> = mutants.iter().map(|mutant| mutant.name.as_str()).collect();
        bail!("there is no mutant `{unknown}`; there are: {}", known.join(", "));
    }
    Ok(mutants.into_iter().filter(|mutant| names.is_empty() || names.contains(&mutant.name)).collect())
}

/// The test that the comment at the beginning of a patch names.
fn test_of(patch: &str) -> Result<Test> {
    let comment: Vec<&str> = patch.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let test = comment.iter().find_map(|line| line.strip_prefix("test:")).map(str::trim);
    let test = test.filter(|test| !test.is_empty()).context("it does not say `# test: TARGET NAME`")?;
    if comment.len() < 2 {
        bail!("it does not say what it breaks");
    }
    let (target, name) = test.split_once(' ').unwrap_or((test, ""));
    Ok(Test { target: target.to_owned(), name: name.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_says_what_it_breaks_and_which_test_must_fail() {
        let test = |target: &str, name: &str| Test { target: target.to_owned(), name: name.to_owned() };
        let of = |text: &str| test_of(text).map_err(|error| error.to_string());
        assert_eq!(of("# Breaks it.\n# test: it a::b\n--- a/x\n"), Ok(test("it", "a::b")));
        assert_eq!(of("# Breaks it.\n# test: differential\n"), Ok(test("differential", "")));
        assert_eq!(of("# test: it a\n"), Err("it does not say what it breaks".to_owned()));
        assert!(of("# Breaks it.\n--- a/x\n# test: it a\n").unwrap_err().contains("# test:"));
    }

    #[test]
    fn a_mutant_is_caught_if_a_test_fails_and_not_if_none_runs() {
        let run = "running 1 test\ntest result: FAILED. 0 passed; 1 failed; 0 ignored";
        assert_eq!(fate(false, run).unwrap(), Fate::Caught);
        assert_eq!(fate(true, "test result: ok. 1 passed; 0 failed").unwrap(), Fate::Survived);
        assert!(fate(true, "test result: ok. 0 passed; 0 failed").is_err());
        assert!(fate(false, "").is_err());
    }

    #[test]
    fn mutants_are_chosen_by_name() {
        let test = Test { target: "it".to_owned(), name: String::new() };
        let mutant = |name: &str| Mutant { name: name.to_owned(), patch: PathBuf::new(), test: test.clone() };
        let mutants = vec![mutant("a"), mutant("b")];
        assert_eq!(chosen(mutants.clone(), &[]).unwrap(), mutants);
        assert_eq!(chosen(mutants.clone(), &["b".to_owned()]).unwrap(), [mutant("b")]);
        let error = chosen(mutants, &["c".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "there is no mutant `c`; there are: a, b");
    }
}
