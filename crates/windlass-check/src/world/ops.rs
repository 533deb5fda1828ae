//! What a step does to one part of the world. Each is remembered: the same part and the same step, the same result.

use windlass::Bug;

use crate::action::SlotIndex;

/// A change of a controller's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HostOp {
    /// The watch notifies of a job.
    Notify(u32),
    /// The watch repeats the notification.
    NotifyAgain(u32),
    /// A timer goes off.
    Timer(u32),
    /// A change concerns a set of jobs.
    Mark(u32),
    /// The next job of the queue is started.
    Start,
    /// A write was delivered; its answer is on its way.
    Answered { slot: SlotIndex, answer: u32 },
    /// An answer arrives.
    Receive { slot: SlotIndex, answer: u32 },
    /// One of the answers on their way arrives.
    Reply { slot: SlotIndex, reply: u8 },
    /// All that is local is forgotten, and the watch begins with a list of jobs.
    Crash { unseen: u32, listed: u32 },
    /// The watch begins again with a list of jobs.
    Gap { unseen: u32, listed: u32 },
    /// A list of changes was committed.
    Commit { changes: u32, is_cut: bool },
    /// The watch of a kind delivers one more change.
    Advance { kind: u8 },
    /// The clock jumps.
    ClockJump { forward: bool },
}

/// What it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostStep {
    /// The controller's state afterwards.
    pub(crate) host: u32,
    /// A reconcile that has come to its end.
    pub(crate) ending: Option<Ending>,
    /// A violation that the step shows.
    pub(crate) violation: Option<u32>,
}

/// The end of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) job: u32,
    /// The point of its end.
    pub(crate) node: u32,
    /// Whether all states were done.
    pub(crate) done: bool,
}

/// A change of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NetworkOp {
    /// A message stays behind.
    AddLate(u32),
    /// A message that stayed behind arrives, by its index.
    TakeLate(usize),
    /// A message may arrive again.
    AddCopy(u32),
    /// A message may arrive again while its sender waits.
    AddAwaitedCopy(u32),
    /// It has.
    UseCopy(u32),
    /// Its sender waits no more.
    Abandon(u32),
    /// Messages that can do nothing any more in this cluster are dropped.
    DropDead(u32),
}

/// A step that must never happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StepViolation {
    /// The controller's code has a bug.
    Code(Bug),
    /// A write hit another object than the one that was decided on.
    AnotherObject { controller: String, request: String },
}
