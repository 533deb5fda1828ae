//! What a step does to one part of the world. Each is remembered: the same part and the same step, the same result.

use windlass::Bug;

use crate::action::SlotIndex;
use crate::ids::{AnswerId, BacklogId, ChangeListId, HostId, JobId, JobSetId, NodeId, ViolationId};
use crate::index::KindIndex;

/// A change of a controller's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HostOp {
    /// The watch notifies of a job.
    Notify(JobId),
    /// The watch repeats the notification.
    NotifyAgain(JobId),
    /// A timer goes off.
    Timer(JobId),
    /// A change concerns a set of jobs.
    Mark(JobSetId),
    /// The next job of the queue is started.
    Start,
    /// A write was delivered; its answer is on its way.
    Answered { slot: SlotIndex, answer: AnswerId },
    /// An answer arrives.
    Receive { slot: SlotIndex, answer: AnswerId },
    /// One of the answers on their way arrives.
    Reply { slot: SlotIndex, reply: u8 },
    /// All that is local is forgotten, and the watch begins with a list of jobs.
    Crash { unseen: BacklogId, listed: JobSetId },
    /// The watch begins again with a list of jobs.
    Gap { unseen: BacklogId, listed: JobSetId },
    /// A list of changes was committed.
    Commit { changes: ChangeListId, is_cut: bool },
    /// The watch of a kind delivers one more change.
    Advance { kind: KindIndex },
    /// The clock jumps.
    ClockJump { forward: bool },
}

/// What it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostStep {
    /// The controller's state afterwards.
    pub(crate) host: HostId,
    /// A reconcile that has come to its end.
    pub(crate) ending: Option<Ending>,
    /// A violation that the step shows.
    pub(crate) violation: Option<ViolationId>,
}

/// The end of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) job: JobId,
    /// The point of its end.
    pub(crate) node: NodeId,
    /// Whether all states were done.
    pub(crate) done: bool,
}

/// A step that must never happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StepViolation {
    /// The controller's code has a bug.
    Code(Bug),
    /// A write hit another object than the one that was decided on.
    AnotherObject { controller: String, request: String },
}

/// The violation in words.
impl std::fmt::Display for StepViolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StepViolation::Code(bug) => bug.fmt(f),
            StepViolation::AnotherObject { controller, request } => write!(
                f,
                "controller `{controller}` changes another object than the one it decided on: its `{request}` hits one of the \
                 same name with another uid. Give the uid, or the resource version, that was read along"
            ),
        }
    }
}
