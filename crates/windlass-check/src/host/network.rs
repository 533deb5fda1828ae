//! The network: messages that were sent and that nobody waits for any more.
//!
//! A request whose sender waits is kept with the sender. What is here still has effect, but its answer
//! reaches nobody.

use std::sync::Arc;

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Message {
    /// The controller process that sent it.
    pub(crate) sender: usize,
    /// The number of what it asks.
    pub(crate) ask: u32,
    /// The uid of the object that its sender had seen under that name, unless the request itself insists on it.
    pub(crate) decided_on: Option<Arc<str>>,
}

/// Messages on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    /// Sent by a controller that waits no more, and not delivered yet: the sender and the number of the
    /// message. In the order of sending, or sorted if messages may overtake each other anyway.
    pub(crate) late: Vec<(usize, u32)>,
    /// Delivered once, and to be delivered once more if messages can be duplicated. Sorted numbers.
    pub(crate) copies: Vec<u32>,
}

impl Network {
    pub(crate) fn add_late(&mut self, sender: usize, message: u32, any_order: bool) {
        self.late.push((sender, message));
        if any_order {
            self.late.sort_unstable();
        }
    }

    /// Whether a message of this sender is still on its way.
    pub(crate) fn has_late(&self, sender: usize) -> bool {
        self.late.iter().any(|(known, _)| *known == sender)
    }
}
