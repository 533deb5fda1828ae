//! Lost reply: the request had its effect, and its sender never hears of it.

use super::Faults;
use crate::action::Place;
use crate::world::{Step, World};

impl Faults {
    /// So many replies are lost in all, after the request was committed. The sender gets a timeout.
    #[must_use]
    pub fn lost_replies(mut self, most: u8) -> Self {
        self.most.lost_replies = most;
        self
    }
}

impl World {
    pub(crate) fn lose_reply(&mut self, step: &mut Step, place: Place) {
        self.spend(step, |left| left.lost_replies -= 1);
        self.time_out(step, place);
    }
}
