//! `cargo xtask ci`: every check but the tests, in order, up to the first that fails.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::process::{cargo, run as execute};
use crate::{examples, layering, links, mutants, words, workspace};

/// One check.
struct Step {
    name: &'static str,
    check: fn(&Path) -> Result<()>,
    /// What to do when it fails.
    remedy: &'static str,
}

const STEPS: [Step; 8] = [
    Step { name: "fmt", check: fmt, remedy: "run `cargo fmt --all`, and look at what it changed" },
    Step { name: "clippy", check: clippy, remedy: "see above; `cargo clippy --fix` fixes some of it" },
    Step { name: "layering", check: layering::run, remedy: "move the code to a crate that may do this" },
    Step { name: "doc", check: doc, remedy: "see above; rustdoc names each broken link" },
    Step {
        name: "links",
        check: links::run,
        remedy: "fix the links, or the files and headings that they name",
    },
    Step { name: "words", check: words::run, remedy: "use the word of the field; see GLOSSARY.md" },
    Step {
        name: "mutants",
        check: mutants::check_patches,
        remedy: "update the patch for the current code, and verify with `cargo xtask mutants NAME` that it is caught",
    },
    Step { name: "examples", check: examples::run, remedy: "run the example by itself and see why it fails" },
];

/// Runs all checks.
pub(crate) fn run(root: &Path) -> Result<()> {
    let start = Instant::now();
    for step in &STEPS {
        println!("== {}", step.name);
        let step_start = Instant::now();
        if let Err(error) = (step.check)(root) {
            bail!("ci stops at `{}`: {error:#}\nwhat to do: {}", step.name, step.remedy);
        }
        println!("== {} is good ({:.1} s)", step.name, step_start.elapsed().as_secs_f64());
    }
    println!("xtask ci: {} checks passed in {:.1} s", STEPS.len(), start.elapsed().as_secs_f64());
    Ok(())
}

fn fmt(root: &Path) -> Result<()> {
    execute(cargo(root).args(["fmt", "--all", "--check"]))?;
    // The fuzz targets and the comparisons are workspaces of their own.
    execute(cargo(&root.join("fuzz")).args(["fmt", "--check"]))?;
    execute(cargo(&root.join("bench")).args(["fmt", "--check"]))
}

fn clippy(root: &Path) -> Result<()> {
    execute(cargo(root).args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // In the same folder, most of what the other two workspaces depend on is checked already.
    let target = workspace::target_directory(root)?;
    for folder in ["fuzz", "bench"] {
        execute(
            cargo(&root.join(folder))
                .args(["clippy", "--workspace", "--all-targets", "--all-features", "--target-dir"])
                .arg(&target)
                .args(["--", "-D", "warnings"])
                // Clippy links nothing, so that libFuzzer need not be compiled, and no C++ compiler be there.
                .env("CUSTOM_LIBFUZZER_PATH", target.join("none/libfuzzer.a")),
        )?;
    }
    Ok(())
}

fn doc(root: &Path) -> Result<()> {
    execute(cargo(root).args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}
