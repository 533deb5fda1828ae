//! Error answer: the API server, or a service, says that it cannot just now. Nothing has happened.

use super::Faults;
use crate::action::SlotIndex;
use crate::world::{HostOp, Step, Transitions};

impl Faults {
    /// Maximum number of requests that are answered with a transient error: 503, with no effect.
    #[must_use]
    pub fn errors(mut self, most: u8) -> Self {
        self.most.errors = most;
        self
    }
}

impl Transitions {
    pub(crate) fn answer_with_error(&mut self, step: &mut Step, slot: SlotIndex) {
        self.spend(step, |left| left.errors -= 1);
        let message = self.menu_slot(&step.state, slot).message;
        let answer = self.parts().unavailable_answer(message);
        step.answer = Some(answer);
        self.host_op(step, slot.process(), HostOp::Receive { slot, answer });
    }
}
