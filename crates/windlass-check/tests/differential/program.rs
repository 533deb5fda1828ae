//! Machines as data: what the states of a machine do, step by step.

/// The names of the parents.
pub(crate) const PARENTS: [&str; 2] = ["p", "q"];
/// The largest value that [`Source::Next`] leads to.
pub(crate) const MAX_VALUE: u32 = 2;

/// A machine.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// What each stage does.
    pub(crate) stages: Vec<Vec<Op>>,
    /// What happens before the parent goes.
    pub(crate) cleanup: Option<Vec<Op>>,
    /// Whether a change of the shared ConfigMap triggers both parents.
    pub(crate) watches_shared: bool,
}

/// A ConfigMap, by the parent that is reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Map {
    /// `p-x` for the parent `p`.
    X,
    /// `p-y` for the parent `p`.
    Y,
    /// `shared`.
    Shared,
}

/// Where a written value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Is(&'static str),
    ParentName,
    ParentValue,
    ParentGeneration,
    ParentVersion,
    ParentUid,
    /// The value of the ConfigMap that was read last.
    ReadValue,
    /// One more than that, up to [`MAX_VALUE`].
    Next,
    /// The resource version of the ConfigMap that was read last.
    ReadVersion,
    /// What the service answered last.
    Answer,
}

/// What must still be so for an output to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    None,
    Forced,
    Unchanged,
    Absent,
    /// It is as it was read last: if nothing was read, nothing is ensured.
    SinceRead,
}

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// The last read has found something.
    Found,
    /// The last read has found nothing.
    Missing,
    /// What it found has this value.
    ReadIs(Source),
    /// The parent has this value.
    ParentIs(&'static str),
    /// There are at least this many ConfigMaps.
    AtLeast(usize),
    /// The clock is ahead of that of the API server.
    ClockAhead,
    /// The service has answered this.
    AnswerIs(&'static str),
}

/// What a machine says to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// What is its value?
    Read,
    /// It takes this value.
    Put(Source),
    /// It counts one more, up to this.
    Add(u32),
}

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Get(Map),
    Cached(Map),
    /// A request whose answer is not used: something may happen meanwhile.
    Pause,
    If(Test, Vec<Op>),
    Ensure(Map, Source, Fence),
    Create(Map, Source),
    /// Of what was read last: with its resource version, or without.
    Update {
        value: Source,
        versioned: bool,
    },
    Patch(Map, Source),
    /// A patch of what was read last, of that very version.
    PatchRead(Source),
    /// What was read last, by its uid.
    DeleteRead,
    /// Whatever has the name.
    Delete(Map),
    Report(Source),
    /// Both at the same time: two patches.
    Both([(Map, Source); 2]),
    Call(Call),
    /// The state with this number.
    To(usize),
    Done,
    Requeue,
    Fail,
    FailForGood,
}
