//! What can happen at a controller, worked out once per state of the controller.

use windlass::Shortcut;

use crate::ids::{AskId, BacklogId, JobId, MessageId};

/// What a controller's state offers.
#[derive(Debug)]
pub(crate) struct Menu {
    /// Jobs that the watch can notify of.
    pub(crate) fresh: Vec<JobId>,
    /// Jobs whose notification it can repeat.
    pub(crate) again: Vec<JobId>,
    /// Jobs whose timers can go off.
    pub(crate) timers: Vec<JobId>,
    /// Whether a reconcile can start.
    pub(crate) can_start: bool,
    /// The asks that wait for an answer.
    pub(crate) slots: Vec<MenuSlot>,
    /// What its watches have not delivered, as the number of a backlog.
    pub(crate) unseen: BacklogId,
    /// The kinds that its watches can deliver a change of.
    pub(crate) behind: Vec<u8>,
}

/// An ask that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MenuSlot {
    pub(crate) active: u8,
    pub(crate) slot: u8,
    pub(crate) message: MessageId,
    pub(crate) ask: AskId,
    /// 0 is the API server; the services follow.
    pub(crate) peer: usize,
    pub(crate) delivered: bool,
    /// How many answers are on their way back.
    pub(crate) replies: u8,
    /// Whether it can change anything.
    pub(crate) effect: bool,
    pub(crate) shortcut: Shortcut,
    /// Whether a random value is to be drawn, which takes no message.
    pub(crate) draws: bool,
}
