//! Lost request: it never arrives, and its sender hears nothing until it gives up.

use super::Faults;
use crate::action::SlotIndex;
use crate::world::{HostOp, Step, Transitions};

impl Faults {
    /// Maximum number of requests that are lost. The sender gets a timeout, and cannot know whether there was an effect.
    #[must_use]
    pub fn lost_requests(mut self, most: u8) -> Self {
        self.most.lost_requests = most;
        self
    }
}

impl Transitions {
    pub(crate) fn lose_request(&mut self, step: &mut Step, slot: SlotIndex) {
        self.spend(step, |left| left.lost_requests -= 1);
        self.time_out(step, slot);
    }

    /// The sender waits no longer.
    pub(crate) fn time_out(&mut self, step: &mut Step, slot: SlotIndex) {
        self.abandon(step, slot);
        let message = self.menu_slot(&step.state, slot).message;
        let answer = self.parts().timeout_answer(message);
        step.answer = Some(answer);
        self.host_op(step, slot.process(), HostOp::Receive { slot, answer });
    }
}
