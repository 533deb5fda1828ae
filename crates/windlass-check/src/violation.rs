//! The one type for what a check, an exploration or a simulation finds to be violated.

use std::fmt;

use windlass::Bug;

use crate::trace::{Trace, numbered};

/// A rule that does not hold, and how to get where it is broken.
///
/// An exploration finds traces with as few faults as possible, and of those the ones with the fewest steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A state breaks an `always`.
    Always {
        /// The name of the property.
        property: String,
        /// The steps that lead there.
        trace: Trace,
    },
    /// A fair run ends up where an `eventually` does not hold.
    Eventually {
        /// The name of the property.
        property: String,
        /// The steps that lead there.
        trace: Trace,
        /// What repeats for ever from there; empty if nothing more happens.
        repeats: Trace,
    },
    /// No state satisfies a `sometimes`: the check may be vacuous.
    Never {
        /// The name of the property.
        property: String,
    },
    /// A step that must never happen: a `never between`, or a write that hits the wrong object.
    Step {
        /// What happened.
        message: String,
        /// The steps that lead there, with the step itself.
        trace: Trace,
    },
    /// A fair run ends up where the model rejects the states that it stays in: a built-in rule is broken.
    AtRest {
        /// Which rule, and how.
        message: String,
        /// The steps that lead there.
        trace: Trace,
        /// What repeats for ever from there; empty if nothing more happens.
        repeats: Trace,
    },
    /// The controller's own code has a bug. The engine knows nothing of controllers and reports it as a
    /// [`Violation::Step`]; a [`Report`](crate::Report) has it as this.
    Code {
        /// The bug.
        bug: Bug,
        /// The steps that lead there.
        trace: Trace,
    },
}

impl Violation {
    /// Recognises a bug in controller code by its message.
    pub(crate) fn with_bug(self, bugs: impl Fn(&str) -> Option<Bug>) -> Self {
        match self {
            Violation::Step { message, trace } => match bugs(&message) {
                Some(bug) => Violation::Code { bug, trace },
                None => Violation::Step { message, trace },
            },
            other => other,
        }
    }

    /// The rule that is violated, in one line: `always "cm2 implies cm1"`.
    pub fn rule(&self) -> String {
        match self {
            Violation::Always { property, .. } => format!("always {property:?}"),
            Violation::Eventually { property, .. } => format!("eventually {property:?}"),
            Violation::Never { property } => format!("sometimes {property:?}"),
            Violation::Step { message, .. } | Violation::AtRest { message, .. } => {
                message.lines().next().unwrap_or_default().to_owned()
            }
            Violation::Code { bug, .. } => bug.reason().to_owned(),
        }
    }

    /// Whether the rule is one that the user has written, and not one that every check has.
    pub(crate) fn is_of_the_user(&self) -> bool {
        match self {
            Violation::Always { .. } | Violation::Eventually { .. } | Violation::Never { .. } => true,
            Violation::Step { message, .. } => !message.starts_with('"'),
            Violation::AtRest { .. } => false,
            Violation::Code { .. } => true,
        }
    }

    /// The steps that lead to the violation. `None` for a `sometimes` that never holds.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Violation::Always { trace, .. }
            | Violation::Eventually { trace, .. }
            | Violation::Step { trace, .. }
            | Violation::AtRest { trace, .. }
            | Violation::Code { trace, .. } => Some(trace),
            Violation::Never { .. } => None,
        }
    }

    /// What repeats for ever after the trace, where fair runs decide.
    pub(crate) fn repeats(&self) -> Option<&Trace> {
        match self {
            Violation::Eventually { repeats, .. } | Violation::AtRest { repeats, .. } => Some(repeats),
            _ => None,
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
                let (trace, repeats) = numbered(trace, repeats);
                write!(f, "eventually \"{property}\" does not come true. After these steps:\n{trace}")?;
                write_loop(f, &repeats)
            }
            Violation::AtRest { message, trace, repeats } => {
                let (trace, repeats) = numbered(trace, repeats);
                // The particulars stand on lines of their own.
                let end = if message.contains('\n') { "\n" } else { ". " };
                write!(f, "{message}{end}After these steps:\n{trace}")?;
                write_loop(f, &repeats)
            }
            Violation::Never { property } => {
                writeln!(
                    f,
                    "sometimes \"{property}\" is true in no state: the check shows less than it seems to"
                )
            }
            Violation::Step { message, trace } => {
                write!(f, "{message}, with the last of these steps:\n{trace}")
            }
            Violation::Code { bug, trace } => write!(f, "{bug}\nafter these steps:\n{trace}"),
        }
    }
}

fn write_loop(f: &mut fmt::Formatter<'_>, repeats: &Trace) -> fmt::Result {
    if repeats.steps.is_empty() {
        writeln!(f, "nothing more happens.")
    } else {
        write!(f, "this repeats for ever:\n{repeats}")
    }
}
