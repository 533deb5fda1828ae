//! The result of a replay in words.

use std::fmt;

use super::{Now, Replayed};
use crate::trace::TraceStep;

/// Maximum number of possible actions that are shown; the rest is counted.
const SHOWN: usize = 8;

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Replayed::Reproduced { message } => writeln!(f, "still wrong: {message}"),
            Replayed::NotReproduced { message } => writeln!(f, "no longer wrong: {message}"),
            Replayed::Undecided { message } => writeln!(f, "not decided: {message}"),
            Replayed::Diverged { step, recorded, now } => {
                writeln!(f, "step {step} diverges:")?;
                labelled(f, "recorded", recorded)?;
                write!(f, "{now}")
            }
        }
    }
}

impl fmt::Display for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Now::Otherwise(step) => labelled(f, "now", step),
            Now::Violation(message) => writeln!(f, "  {:>8}: {message}", "now"),
            Now::Possible(steps) if steps.is_empty() => writeln!(f, "  {:>8}: nothing is possible", "now"),
            Now::Possible(steps) => {
                writeln!(f, "  {:>8}: not possible; these are:", "now")?;
                for step in steps.iter().take(SHOWN) {
                    writeln!(f, "            {}", one_line(step))?;
                }
                match steps.len().saturating_sub(SHOWN) {
                    0 => Ok(()),
                    more => writeln!(f, "            and {more} more"),
                }
            }
        }
    }
}

fn labelled(f: &mut fmt::Formatter<'_>, label: &str, step: &TraceStep) -> fmt::Result {
    writeln!(f, "  {label:>8}: {}", one_line(step))?;
    for change in &step.changes {
        writeln!(f, "              {}", change.summary)?;
    }
    Ok(())
}

fn one_line(step: &TraceStep) -> String {
    format!("{}  {}", step.actor, step.text)
}
