//! The network: messages that were sent and that nobody waits for any more.
//!
//! A request whose sender waits is kept with the sender. What is here still has effect, but its answer
//! reaches nobody.

/// Messages on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    /// Sent by a controller that has crashed since, and not delivered yet: the controller and the number of the
    /// ask. In the order of sending, or sorted if messages may overtake each other anyway.
    pub(crate) late: Vec<(usize, u32)>,
    /// Delivered once, and to be delivered once more if messages can be duplicated. Sorted numbers of asks.
    pub(crate) copies: Vec<u32>,
}

impl Network {
    pub(crate) fn add_late(&mut self, sender: usize, ask: u32, any_order: bool) {
        self.late.push((sender, ask));
        if any_order {
            self.late.sort_unstable();
        }
    }

    /// Whether a message of this sender is still on its way.
    pub(crate) fn has_late(&self, sender: usize) -> bool {
        self.late.iter().any(|(known, _)| *known == sender)
    }
}
