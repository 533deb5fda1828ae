//! Lost reply: the request had its effect, and its sender never hears of it.

use super::Faults;
use crate::action::SlotIndex;
use crate::world::{Step, Transitions};

impl Faults {
    /// Maximum number of replies that are lost after the request was committed. The sender gets a timeout.
    #[must_use]
    pub fn lost_replies(mut self, most: u8) -> Self {
        self.most.lost_replies = most;
        self
    }
}

impl Transitions {
    pub(crate) fn lose_reply(&mut self, step: &mut Step, slot: SlotIndex) {
        self.spend(step, |left| left.lost_replies -= 1);
        self.time_out(step, slot);
    }
}
