//! The Go toolchain that programs are built with.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::prerequisites::{install, is_on_path, is_root};
use crate::process::output;

/// From this version on, Go fetches by itself the newer toolchain that a module asks for.
const MINOR_MIN: u32 = 21;
const NEEDED: &str =
    "Go 1.21 or later (it fetches the toolchain that Kubernetes asks for, Go 1.25, by itself)";

/// Makes sure that there is a Go that is new enough, or says what to do.
pub(super) fn prepare(what: &str) -> Result<()> {
    if !is_on_path("go") {
        if !Path::new("/etc/debian_version").exists() || !is_root() {
            bail!("{what} needs {NEEDED} on the path, and there is none: see https://go.dev/doc/install");
        }
        eprintln!("installing golang-go ...");
        install(&["golang-go"])?;
    }
    let version = output(Command::new("go").args(["env", "GOVERSION"]))?;
    let version = version.trim();
    match minor(version) {
        Some(minor) if minor >= MINOR_MIN => Ok(()),
        _ => bail!(
            "{what} needs {NEEDED}, and the one on the path is {version}: Debian 13 packages one that will do; \
             otherwise see https://go.dev/doc/install"
        ),
    }
}

/// The minor number in `go1.25.3`.
fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("go1.")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (version, expected) in [
            ("go1.19.8", Some(19)),
            ("go1.25", Some(25)),
            ("go1.26rc1", Some(26)),
            ("devel +abc", None),
            ("", None),
        ] {
            assert_eq!(minor(version), expected, "{version}");
        }
    }
}
