//! The differences from Kubernetes that are known, with their reasons: the table in `docs/conformance.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::script::TargetKind;

/// One step of one script on which a target differs from Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// `crud/create`
    pub script: String,
    /// From 1.
    pub step: usize,
    /// The target that differs.
    pub target: TargetKind,
}

/// Reads all known differences from the page.
///
/// # Errors
/// If the page cannot be read, or a row of its table makes no sense.
pub fn read(page: &Path) -> Result<BTreeSet<Difference>> {
    let text = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    parse(&text).with_context(|| format!("cannot parse {}", page.display()))
}

/// Rows are `` | `script` | steps | targets | reason | ``; other lines are ignored.
fn parse(text: &str) -> Result<BTreeSet<Difference>> {
    let mut differences = BTreeSet::new();
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [script, steps, targets, reason] = cells.as_slice() else {
            bail!("a row has a script, its steps, the targets and a reason: {row}");
        };
        if reason.is_empty() {
            bail!("there is no reason: {row}");
        }
        for step in steps.split(',') {
            let step = step.trim().parse().with_context(|| format!("`{step}` is no step: {row}"))?;
            for target in targets.split(',') {
                let target = TargetKind::parse(target.trim())?;
                differences.insert(Difference { script: script.trim_matches('`').to_owned(), step, target });
            }
        }
    }
    Ok(differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        let text = "# A page\n\n| script | steps | targets | reason |\n| --- | --- | --- | --- |\n\
                    | `a/b` | 1, 3 | model, server | because |\n";
        let differences: Vec<_> =
            parse(text).unwrap().into_iter().map(|known| (known.step, known.target)).collect();
        use TargetKind::{Model, Server};
        assert_eq!(differences, [(1, Model), (1, Server), (3, Model), (3, Server)]);
    }

    #[test]
    fn rows_that_make_no_sense_are_refused() {
        for row in [
            "| `a` | 1 | model |",
            "| `a` | x | model | why |",
            "| `a` | 1 | moon | why |",
            "| `a` | 1 | model |  |",
        ] {
            assert!(parse(row).is_err(), "{row}");
        }
    }
}
