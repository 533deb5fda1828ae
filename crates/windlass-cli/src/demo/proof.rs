//! The last part of the demonstration: every interleaving, and a mistake that is found.

use anyhow::ensure;
use two_configmaps::{SecondFirst, TwoConfigMaps};

use crate::checks;

/// Checks a controller that is right, and the same with a mistake; prints what comes out.
pub(super) fn show() -> anyhow::Result<()> {
    let report = checks::pairs(TwoConfigMaps).run();
    say!("   {}", report.to_string().trim_end());
    ensure!(report.holds(), "the bundled controller does not hold");
    say!("\n   The same controller with its two ConfigMaps in the wrong order:");
    let report = checks::pairs(SecondFirst).run();
    ensure!(!report.holds(), "the mistake was not found");
    say!("{}", indent(&report.to_string()).trim_end());
    Ok(())
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("   {line}\n")).collect()
}
