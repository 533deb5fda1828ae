//! What some tests need beyond Rust: Debian packages, installed where that is possible.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{output, run};

/// A Debian package that some tests need.
#[derive(Debug, PartialEq)]
pub(crate) struct Prerequisite {
    /// As `apt-get install` knows it.
    pub(crate) package: &'static str,
    /// A program that is on the path once it is there.
    pub(crate) program: &'static str,
    /// The tests that cannot run without it, by a part of their names.
    pub(crate) tests: &'static [&'static str],
}

/// All of them.
pub(crate) const PREREQUISITES: &[Prerequisite] =
    &[Prerequisite { package: "chromium", program: "chromium", tests: &["in_a_browser"] }];

/// What can be done about packages here.
#[derive(Clone, Copy)]
struct Machine {
    /// On Debian, as root.
    can_install: bool,
    /// Under `CI=true` nothing may be skipped.
    is_ci: bool,
}

/// Installs what is missing, and returns the tests to skip where that is not possible.
pub(crate) fn prepare(wanted: &'static [Prerequisite]) -> Result<Vec<&'static str>> {
    let missing: Vec<&Prerequisite> =
        wanted.iter().filter(|prerequisite| !is_on_path(prerequisite.program)).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let machine =
        Machine { can_install: Path::new("/etc/debian_version").exists() && is_root(), is_ci: is_ci() };
    decide(&missing, machine, install)
}

/// Whether nothing may be skipped.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

fn decide(
    missing: &[&Prerequisite],
    machine: Machine,
    install: impl Fn(&[&str]) -> Result<()>,
) -> Result<Vec<&'static str>> {
    let packages: Vec<&str> = missing.iter().map(|prerequisite| prerequisite.package).collect();
    let advice = format!("install with `apt-get install {}`", packages.join(" "));
    if machine.can_install {
        install(&packages).with_context(|| format!("some tests need {}", packages.join(", ")))?;
        return Ok(Vec::new());
    }
    if machine.is_ci {
        bail!("with CI=true no test may be skipped, and {} is missing: {advice}", packages.join(", "));
    }
    for prerequisite in missing {
        println!(
            "without {} these tests are skipped: {}",
            prerequisite.package,
            prerequisite.tests.join(", ")
        );
    }
    println!("to run them, {advice}");
    Ok(missing.iter().flat_map(|prerequisite| prerequisite.tests).copied().collect())
}

/// Installs Debian packages.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    run(Command::new("apt-get").args(["update", "-qq"]))?;
    run(Command::new("apt-get")
        .args(["install", "-qq", "-y", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Whether a program can be started by its name.
pub(crate) fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Whether packages can be installed by whom this runs as.
pub(crate) fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETCD: Prerequisite =
        Prerequisite { package: "etcd-server", program: "etcd", tests: &["against_etcd", "survives_etcd"] };
    const JQ: Prerequisite = Prerequisite { package: "jq", program: "jq", tests: &["prints_json"] };

    fn decide_on(can_install: bool, is_ci: bool, works: bool) -> Result<Vec<&'static str>> {
        decide(&[&ETCD, &JQ], Machine { can_install, is_ci }, |packages| {
            assert_eq!(packages, ["etcd-server", "jq"]);
            if works { Ok(()) } else { bail!("no network") }
        })
    }

    #[test]
    fn what_is_missing_is_installed_or_skipped_or_an_error() {
        assert!(decide_on(true, false, true).unwrap().is_empty());
        assert!(decide_on(true, true, true).unwrap().is_empty());
        assert_eq!(decide_on(false, false, true).unwrap(), ["against_etcd", "survives_etcd", "prints_json"]);
        let message = decide_on(false, true, true).unwrap_err().to_string();
        assert!(message.contains("apt-get install etcd-server jq"), "{message}");
        let message = format!("{:#}", decide_on(true, false, false).unwrap_err());
        assert_eq!(message, "some tests need etcd-server, jq: no network");
    }

    #[test]
    fn nothing_is_installed_for_what_is_there() {
        const SHELL: &[Prerequisite] = &[Prerequisite { package: "dash", program: "sh", tests: &[] }];
        assert!(prepare(SHELL).unwrap().is_empty());
        assert!(!is_on_path("no-such-program"));
    }
}
