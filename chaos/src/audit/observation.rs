//! What the auditor sees from outside: edits of parents, writes of children, and the ring, in the order of their
//! resource versions.

use std::fmt;

use serde::Serialize;

/// One thing that was seen in a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A parent was created, or its value changed.
    Edited(Edit),
    /// A child was created or changed.
    Written(Write),
    /// A child is gone.
    Deleted(Deletion),
    /// The ring was written.
    RingWritten(RingSeen),
    /// The server had forgotten a part of the history: of each object only the last write of that part was seen.
    HistoryLost,
}

/// A parent and the value that it wants from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// When it was seen, in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The name of the parent, which is that of its child, too.
    pub parent: String,
    /// The uid of the parent: its slot is computed from it.
    pub uid: String,
    /// What the child must have.
    pub value: u64,
}

/// A child as it was written, and who says that he has written it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Write {
    /// When it was seen, in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The resource version of the child.
    pub version: u64,
    /// The name of the child.
    pub child: String,
    /// The slot in its label.
    pub slot: Option<usize>,
    /// The epoch in its annotation.
    pub epoch: Option<u64>,
    /// The instance and its incarnation: `app-2/7`.
    pub writer: Option<String>,
    /// What it has.
    pub value: Option<u64>,
}

impl Write {
    /// The name of the instance that wrote it, without the incarnation.
    pub fn instance(&self) -> Option<&str> {
        Some(self.writer.as_deref()?.split_once('/')?.0)
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |part: Option<u64>| part.map_or_else(|| "?".to_owned(), |part| part.to_string());
        write!(
            f,
            "{} = {} by {} at epoch {} of slot {} (version {}, at {} ms)",
            self.child,
            known(self.value),
            self.writer.as_deref().unwrap_or("?"),
            known(self.epoch),
            known(self.slot.map(|slot| slot as u64)),
            self.version,
            self.at_ms
        )
    }
}

/// A child that is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deletion {
    /// When it was seen, in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The name of the child.
    pub child: String,
}

/// The ring as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingSeen {
    /// When it was seen, in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The resource version of the ring.
    pub version: u64,
    /// Who owns which slots.
    pub runs: Vec<OwnedRun>,
}

/// Consecutive slots with one owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnedRun {
    /// The first slot.
    pub from: usize,
    /// The last slot.
    pub to: usize,
    /// Their epoch.
    pub epoch: u64,
    /// The owner and its incarnation: `app-2/7`.
    pub owner: String,
}
