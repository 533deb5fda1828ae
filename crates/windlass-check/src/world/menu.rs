//! What can happen at a controller, worked out once per state of the controller.

use windlass::Shortcut;

/// What a controller's state offers.
#[derive(Debug)]
pub(crate) struct Menu {
    /// Jobs that the watch can notify of.
    pub(crate) fresh: Vec<u32>,
    /// Jobs whose notification it can repeat.
    pub(crate) again: Vec<u32>,
    /// Jobs whose timers can go off.
    pub(crate) timers: Vec<u32>,
    /// Whether a reconcile can start.
    pub(crate) can_start: bool,
    /// The asks that wait for an answer.
    pub(crate) slots: Vec<MenuSlot>,
    /// What its watches have not delivered, as the number of a backlog.
    pub(crate) unseen: u32,
    /// The kinds that its watches can deliver a change of.
    pub(crate) behind: Vec<u8>,
}

/// An ask that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MenuSlot {
    pub(crate) active: u8,
    pub(crate) slot: u8,
    pub(crate) message: u32,
    pub(crate) ask: u32,
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
