//! Lost request: it never arrives, and its sender hears nothing until it gives up.

use super::Faults;
use crate::action::Place;
use crate::world::{HostOp, Step, World};

impl Faults {
    /// So many requests are lost in all. The sender gets a timeout, and cannot know whether there was an effect.
    #[must_use]
    pub fn lost_requests(mut self, most: u8) -> Self {
        self.most.lost_requests = most;
        self
    }
}

impl World {
    pub(crate) fn lose_request(&mut self, step: &mut Step, place: Place) {
        self.spend(step, |left| left.lost_requests -= 1);
        self.time_out(step, place);
    }

    /// The sender waits no longer.
    pub(crate) fn time_out(&mut self, step: &mut Step, place: Place) {
        self.abandon(step, place);
        let message = self.menu_slot(step, place).message;
        let answer = self.timeout_answer(message);
        step.answer = Some(answer);
        self.host_op(step, place.process(), HostOp::Receive { place, answer });
    }
}
