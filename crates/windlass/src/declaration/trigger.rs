//! Why a reconcile is due.

use crate::kind::ObjectRef;

/// Why a reconcile of a parent is due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trigger {
    /// The parent.
    pub parent: ObjectRef,
    /// What changed.
    pub cause: Cause,
}

/// What changed when a reconcile is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The parent itself.
    Parent,
    /// One of its outputs.
    Output,
    /// Something that the machine watches.
    Watched,
    /// Something outside the cluster, of which the program around the controller knows.
    Source,
}

impl Cause {
    /// Whether this can make a parent that does not exist: a parent that was deleted is not made again by its own
    /// deletion or by that of its outputs.
    pub fn creates_missing(self) -> bool {
        match self {
            Cause::Parent | Cause::Output => false,
            Cause::Watched | Cause::Source => true,
        }
    }
}
