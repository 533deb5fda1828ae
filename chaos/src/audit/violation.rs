//! What must not be in a history, each with the evidence.

use std::fmt;

use serde::Serialize;

use super::observation::{Deletion, Edit, Write};

/// A rule that the history breaks, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "rule", rename_all = "camelCase")]
pub enum Violation {
    /// A write of an old epoch after one of a newer epoch of the same slot.
    OldEpoch {
        /// The write of the newer epoch.
        newer: Write,
        /// The write that came after it.
        late: Write,
    },
    /// One epoch of a slot has two writers.
    TwoWriters {
        /// A write of the first one.
        first: Write,
        /// A write of the second one.
        second: Write,
    },
    /// The ring gives the slot to somebody else at the epoch of the write.
    NotTheOwner {
        /// The write.
        write: Write,
        /// Who is the owner at this epoch.
        owner: String,
    },
    /// The child does not say who wrote it, at which epoch and in which slot.
    Unmarked {
        /// The write.
        write: Write,
    },
    /// The child is in another slot than its parent.
    WrongSlot {
        /// The write.
        write: Write,
        /// The slot of the parent.
        slot: usize,
    },
    /// One change was written twice.
    Doubled {
        /// The first write.
        first: Write,
        /// The one that changed nothing, but was stored.
        second: Write,
    },
    /// A child has an older value than before.
    WentBack {
        /// The write of the newer value.
        newer: Write,
        /// The write that came after it.
        late: Write,
    },
    /// A child is gone, although its parent is not.
    Deleted {
        /// The deletion.
        deletion: Deletion,
    },
    /// The epoch of a slot became smaller, or the owner changed and the epoch did not.
    RingWentBack {
        /// The slot.
        slot: usize,
        /// The epoch and the owner before.
        before: (u64, String),
        /// The epoch and the owner after.
        after: (u64, String),
    },
    /// An edit was not followed by a write of the child in time.
    Late {
        /// The edit.
        edit: Edit,
        /// How long it waited without any further fault, in milliseconds.
        undisturbed_ms: u64,
        /// The write that came after all.
        write: Option<Write>,
    },
    /// In the end the child does not have what the parent wants.
    Lost {
        /// The last edit.
        edit: Edit,
        /// The last write of the child.
        write: Option<Write>,
    },
}

impl Violation {
    /// The rule that is broken, as JSON has it.
    pub fn rule(&self) -> &'static str {
        match self {
            Violation::OldEpoch { .. } => "oldEpoch",
            Violation::TwoWriters { .. } => "twoWriters",
            Violation::NotTheOwner { .. } => "notTheOwner",
            Violation::Unmarked { .. } => "unmarked",
            Violation::WrongSlot { .. } => "wrongSlot",
            Violation::Doubled { .. } => "doubled",
            Violation::WentBack { .. } => "wentBack",
            Violation::Deleted { .. } => "deleted",
            Violation::RingWentBack { .. } => "ringWentBack",
            Violation::Late { .. } => "late",
            Violation::Lost { .. } => "lost",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::OldEpoch { newer, late } => {
                write!(f, "a write of an old epoch after a newer one:\n    {newer}\n    {late}")
            }
            Violation::TwoWriters { first, second } => {
                write!(f, "one epoch of a slot has two writers:\n    {first}\n    {second}")
            }
            Violation::NotTheOwner { write, owner } => {
                write!(f, "a write of somebody who does not own the slot, {owner} does:\n    {write}")
            }
            Violation::Unmarked { write } => {
                write!(f, "a write without slot, epoch, writer or value:\n    {write}")
            }
            Violation::WrongSlot { write, slot } => {
                write!(f, "a child in another slot than its parent, which is in {slot}:\n    {write}")
            }
            Violation::Doubled { first, second } => {
                write!(f, "one change was written twice:\n    {first}\n    {second}")
            }
            Violation::WentBack { newer, late } => {
                write!(f, "an older value after a newer one:\n    {newer}\n    {late}")
            }
            Violation::Deleted { deletion: Deletion { at_ms, child } } => {
                write!(f, "{child} was deleted at {at_ms} ms, and its parent is there")
            }
            Violation::RingWentBack { slot, before, after } => write!(
                f,
                "the ring gave slot {slot} from {} at epoch {} to {} at epoch {}",
                before.1, before.0, after.1, after.0
            ),
            Violation::Late { edit, undisturbed_ms, write } => {
                write!(f, "an edit waited for {undisturbed_ms} ms without a further fault: ")?;
                outcome(f, edit, write.as_ref())
            }
            Violation::Lost { edit, write } => {
                write!(f, "an object was lost: ")?;
                outcome(f, edit, write.as_ref())
            }
        }
    }
}

fn outcome(f: &mut fmt::Formatter<'_>, edit: &Edit, write: Option<&Write>) -> fmt::Result {
    let Edit { at_ms, parent, value, .. } = edit;
    write!(f, "{parent} = {value} at {at_ms} ms\n    ")?;
    match write {
        Some(write) => write!(f, "{write}"),
        None => write!(f, "its child was never written"),
    }
}
