//! Everything that can happen next in the world.

use crate::ids::JobId;
use crate::index::{KindIndex, PeerIndex, ProcessIndex, ScriptIndex};

/// The slot of an ask: the controller process, its reconcile, and the ask in it, each counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlotIndex {
    pub(crate) controller: ProcessIndex,
    pub(crate) active: u8,
    pub(crate) slot: u8,
}

impl SlotIndex {
    /// The number of the controller process.
    pub(crate) fn process(self) -> ProcessIndex {
        self.controller
    }
}

/// What is odd about a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Oddity {
    /// Nothing.
    Regular,
    /// The answer comes from a view that is behind, and differs from what the database would say.
    Stale,
}

/// One thing that happens. Numbers are those of the world's interners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// A client does the next event of a script.
    Client { script: ScriptIndex },
    /// The watch notifies a controller that a parent, or something of it, changed.
    Notify { controller: ProcessIndex, job: JobId },
    /// The watch repeats a notification.
    NotifyAgain { controller: ProcessIndex, job: JobId },
    /// A timer puts a parent back into the queue.
    Timer { controller: ProcessIndex, job: JobId },
    /// A controller takes the next parent from its queue and starts a reconcile.
    Start { controller: ProcessIndex },
    /// An ask reaches the database or a service, and is answered.
    Deliver { slot: SlotIndex, oddity: Oddity },
    /// It reaches it again.
    DeliverAgain { slot: SlotIndex },
    /// A random value is drawn: one of two.
    Draw { slot: SlotIndex, value: u8 },
    /// An answer reaches the controller.
    Reply { slot: SlotIndex, reply: u8 },
    /// A request that no process waits for any more reaches the database.
    Late { index: u16 },
    /// A request that was delivered once reaches the database again.
    Duplicate { index: u16 },
    /// One of the cluster's own controllers does one thing: the garbage collector, the kubelet.
    Collect { index: u16 },
    /// A controller crashes and starts again. The position says with which view, among those that its watches may begin
    /// with.
    Crash { controller: ProcessIndex, position: u16 },
    /// A request is lost.
    LoseRequest { slot: SlotIndex },
    /// An answer is lost.
    LoseReply { slot: SlotIndex },
    /// A request is answered with a transient error.
    Error { slot: SlotIndex },
    /// A controller is cut off from the API server (peer 0) or from a service.
    Cut { controller: ProcessIndex, peer: PeerIndex },
    /// They reach each other again.
    Heal { controller: ProcessIndex, peer: PeerIndex },
    /// A controller gives up waiting for a peer that it is cut off from.
    Timeout { slot: SlotIndex },
    /// A controller's watch of a kind delivers one more change.
    Advance { controller: ProcessIndex, kind: KindIndex },
    /// The watches break and start again with lists, at a position as after a crash.
    Gap { controller: ProcessIndex, position: u16 },
    /// A controller's clock jumps.
    ClockJump { controller: ProcessIndex, forward: bool },
}

/// The names of the kinds of actions, in the order of [`Action::kind`].
pub(crate) const KINDS: [&str; 23] = [
    "client event",
    "notice",
    "repeated notice",
    "timer",
    "start",
    "delivery",
    "stale read",
    "repeated delivery",
    "answer",
    "late delivery",
    "duplicate",
    "collection",
    "crash",
    "lost request",
    "lost reply",
    "error answer",
    "partition",
    "healing",
    "timeout",
    "watch event",
    "watch gap",
    "clock jump",
    "random draw",
];

impl Action {
    /// The index of its kind in [`KINDS`].
    pub(crate) fn kind(self) -> usize {
        match self {
            Action::Client { .. } => 0,
            Action::Notify { .. } => 1,
            Action::NotifyAgain { .. } => 2,
            Action::Timer { .. } => 3,
            Action::Start { .. } => 4,
            Action::Deliver { oddity: Oddity::Regular, .. } => 5,
            Action::Deliver { oddity: Oddity::Stale, .. } => 6,
            Action::DeliverAgain { .. } => 7,
            Action::Reply { .. } => 8,
            Action::Late { .. } => 9,
            Action::Duplicate { .. } => 10,
            Action::Collect { .. } => 11,
            Action::Crash { .. } => 12,
            Action::LoseRequest { .. } => 13,
            Action::LoseReply { .. } => 14,
            Action::Error { .. } => 15,
            Action::Cut { .. } => 16,
            Action::Heal { .. } => 17,
            Action::Timeout { .. } => 18,
            Action::Advance { .. } => 19,
            Action::Gap { .. } => 20,
            Action::ClockJump { .. } => 21,
            Action::Draw { .. } => 22,
        }
    }

    /// The process that it is about; `None` for what clients, network and the cluster's own controllers do.
    pub(crate) fn process(self) -> Option<ProcessIndex> {
        match self {
            Action::Client { .. }
            | Action::Late { .. }
            | Action::Duplicate { .. }
            | Action::Collect { .. } => None,
            Action::Notify { controller, .. }
            | Action::NotifyAgain { controller, .. }
            | Action::Timer { controller, .. }
            | Action::Start { controller }
            | Action::Crash { controller, .. }
            | Action::Cut { controller, .. }
            | Action::Heal { controller, .. }
            | Action::Advance { controller, .. }
            | Action::Gap { controller, .. }
            | Action::ClockJump { controller, .. } => Some(controller),
            Action::Deliver { slot, .. }
            | Action::DeliverAgain { slot }
            | Action::Draw { slot, .. }
            | Action::Reply { slot, .. }
            | Action::LoseRequest { slot }
            | Action::LoseReply { slot }
            | Action::Error { slot }
            | Action::Timeout { slot } => Some(slot.process()),
        }
    }

    /// The name of the fault that strikes here. What is left is what must happen sooner or later.
    pub(crate) fn fault(self) -> Option<&'static str> {
        let strikes = matches!(
            self,
            Action::NotifyAgain { .. }
                | Action::Deliver { oddity: Oddity::Stale, .. }
                | Action::DeliverAgain { .. }
                | Action::Duplicate { .. }
                | Action::Crash { .. }
                | Action::LoseRequest { .. }
                | Action::LoseReply { .. }
                | Action::Error { .. }
                | Action::Cut { .. }
                | Action::Gap { .. }
                | Action::ClockJump { .. }
        );
        strikes.then(|| KINDS[self.kind()])
    }
}
