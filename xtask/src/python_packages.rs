//! `cargo xtask python`: a Python with the packages that some tests need, made once and kept.
//!
//! The packages are those that `requirements.txt` beside the tests pins, each with its version.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::go_programs::cache;
use crate::prerequisites::{install, is_on_path, is_root};
use crate::process::{output, run as execute};

/// The variable by which tests find it.
pub(crate) const VARIABLE: &str = "WINDLASS_PYTHON";

/// The packages, from the root of the repository.
const REQUIREMENTS: &str = "crates/windlass-cli/tests/serve/python/requirements.txt";
/// Some packages need at least this version.
const MINOR_MIN: u32 = 11;

/// Provides it, and prints how to point tests to it.
pub(crate) fn run(root: &Path) -> Result<()> {
    println!("export {VARIABLE}={}", provide(root)?.display());
    Ok(())
}

/// The interpreter: the one that the environment names, or one in a folder of its own that is made if need be.
pub(crate) fn provide(root: &Path) -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(named));
    }
    let requirements = root.join(REQUIREMENTS);
    let pinned = fs::read(&requirements).with_context(|| format!("cannot read {REQUIREMENTS}"))?;
    prepare()?;
    let version = output(Command::new("python3").arg("--version"))?;
    let folder = cache()?.join("python").join(recipe(&pinned, &version));
    let python = folder.join("bin/python");
    // Written last, so that an interrupted installation does not look complete.
    let complete = folder.join("complete");
    if !complete.is_file() {
        eprintln!("installing the Python packages that tests need ...");
        let start = Instant::now();
        execute(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        execute(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"])
                .args(["--only-binary", ":all:", "--requirement"])
                .arg(&requirements),
        )?;
        fs::write(&complete, "").with_context(|| format!("cannot write {}", complete.display()))?;
        eprintln!("installed them in {:.0} s", start.elapsed().as_secs_f64());
    }
    Ok(python)
}

/// Makes sure that there is a Python that can make such a folder, or says what to do.
fn prepare() -> Result<()> {
    const NEEDED: &str = "Python 3.11 or later with `venv` (Debian: python3 and python3-venv)";
    let usable = || {
        is_on_path("python3")
            && output(Command::new("python3").args(["-c", "import ensurepip, venv"])).is_ok()
    };
    if !usable() {
        if !Path::new("/etc/debian_version").exists() || !is_root() {
            bail!("tests with Python clients need {NEEDED}, and it is missing");
        }
        eprintln!("installing python3 and python3-venv ...");
        install(&["python3", "python3-venv"])?;
    }
    let version = output(Command::new("python3").arg("--version"))?;
    match minor(&version) {
        Some(minor) if minor >= MINOR_MIN => Ok(()),
        _ => bail!("tests with Python clients need {NEEDED}, and the one on the path is {}", version.trim()),
    }
}

/// The minor number in `Python 3.11.7`.
fn minor(version: &str) -> Option<u32> {
    version.trim().strip_prefix("Python 3.")?.split('.').next()?.parse().ok()
}

/// A name for exactly these packages and this Python.
fn recipe(pinned: &[u8], version: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (pinned, version).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (version, expected) in [
            ("Python 3.11.7\n", Some(11)),
            ("Python 3.14.0rc1", Some(14)),
            ("Python 2.7.18", None),
            ("", None),
        ] {
            assert_eq!(minor(version), expected, "{version}");
        }
    }

    #[test]
    fn every_package_has_a_version() {
        let pinned = fs::read_to_string(crate::root().join(REQUIREMENTS)).unwrap();
        for line in pinned.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.split_once("==").is_some_and(|(_, version)| !version.is_empty()), "{line}");
        }
    }

    #[test]
    fn other_packages_go_elsewhere() {
        assert_ne!(recipe(b"a==1", "Python 3.11.7"), recipe(b"a==2", "Python 3.11.7"));
        assert_ne!(recipe(b"a==1", "Python 3.11.7"), recipe(b"a==1", "Python 3.12.0"));
    }
}
