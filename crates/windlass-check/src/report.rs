//! The verdict of a check, with its bounds.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use windlass::Bug;
use windlass_model::{Cluster, Store};

use crate::faults::Faults;
use crate::trace::{Trace, without_counters};

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The controllers that were checked.
    pub controllers: String,
    /// What was allowed to go wrong.
    pub faults: Faults,
    /// How many objects there were at first or are created by clients.
    pub objects: usize,
    /// Distinct states of the world.
    pub states: u64,
    /// Steps between them.
    pub transitions: u64,
    /// How often controller code was run.
    pub executions: u64,
    /// The longest shortest way to a state.
    pub depth: u32,
    /// How long it took.
    pub elapsed: Duration,
    /// Bytes that the visited states take.
    pub bytes: usize,
    /// How many distinct parts the states are made of.
    pub parts: String,
    /// Whether every state within the bounds was seen.
    pub complete: bool,
    /// What is wrong.
    pub violation: Option<Violation>,
    /// The distinct sets of objects in which fair runs end up, as JSON lines without resource versions.
    pub ends: Vec<String>,
    /// Where in a reconcile crashes struck: the state and the request that was under way.
    pub crash_points: BTreeSet<String>,
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub enum Violation {
    /// A state breaks an `always`.
    Always {
        /// The property.
        property: String,
        /// The shortest way there.
        trace: Trace,
    },
    /// A fair run ends up where an `eventually` does not hold.
    Eventually {
        /// The property.
        property: String,
        /// The shortest way there.
        trace: Trace,
        /// What repeats for ever from there; empty if nothing more happens.
        repeats: Trace,
    },
    /// No state satisfies a `sometimes`: the check may be vacuous.
    Never {
        /// The property.
        property: String,
    },
    /// The controller's code is wrong in itself.
    Code {
        /// How.
        bug: Bug,
        /// The shortest way there.
        trace: Trace,
    },
}

impl Report {
    /// Whether everything holds, in every state within the bounds.
    pub fn holds(&self) -> bool {
        self.complete && self.violation.is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match &self.violation {
            Some(_) => "VIOLATED",
            None if self.complete => "holds",
            None => "NOT DECIDED (the state limit was reached)",
        };
        let plural = if self.objects == 1 { "" } else { "s" };
        writeln!(
            f,
            "{}: {verdict} for {} object{plural}, {}: {} states, {} transitions, {:.1} s; controller code ran {} times",
            self.controllers,
            self.objects,
            self.faults,
            grouped(self.states),
            grouped(self.transitions),
            self.elapsed.as_secs_f64(),
            grouped(self.executions),
        )?;
        match &self.violation {
            None => Ok(()),
            Some(violation) => write!(f, "{violation}"),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Always { property, trace } => {
                write!(f, "always \"{property}\" does not hold after these steps:\n{trace}")
            }
            Violation::Eventually { property, trace, repeats } => {
                write!(f, "eventually \"{property}\" does not come true. After these steps:\n{trace}")?;
                if repeats.steps.is_empty() {
                    writeln!(f, "nothing more happens.")
                } else {
                    write!(f, "this repeats for ever:\n{repeats}")
                }
            }
            Violation::Never { property } => {
                writeln!(
                    f,
                    "sometimes \"{property}\" is true in no state: the check shows less than it seems to"
                )
            }
            Violation::Code { bug, trace } => write!(f, "{bug}\nafter these steps:\n{trace}"),
        }
    }
}

/// `1,204,551`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// All objects of a cluster, one per line, without what only counts writes.
pub(crate) fn settled_objects(cluster: &Cluster) -> String {
    let objects = cluster.store().all().map(|(_, object)| without_counters(&object).to_string());
    objects.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn groups_digits() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_204_551, "1,204,551")] {
            assert_eq!(super::grouped(number), text);
        }
    }
}
