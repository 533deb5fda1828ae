//! Clock jump: the clock of a controller's machine is set forward or back.

use std::time::Duration;

use super::Faults;
use crate::action::Action;
use crate::index::ProcessIndex;
use crate::world::{HostOp, State, Step, Transitions};

impl Faults {
    /// Maximum number of clock jumps: the clock of a controller jumps by this much, forward or back.
    #[must_use]
    pub fn clock_jumps(mut self, most: u8, by: Duration) -> Self {
        self.most.clock_jumps = most;
        self.clock_jump = by;
        self
    }
}

impl Transitions {
    pub(crate) fn clock_actions(
        &mut self,
        state: &State,
        controller: ProcessIndex,
        actions: &mut Vec<Action>,
    ) {
        if self.env(state).left.clock_jumps > 0 {
            actions.extend([true, false].map(|forward| Action::ClockJump { controller, forward }));
        }
    }

    pub(crate) fn jump(&mut self, step: &mut Step, controller: ProcessIndex, forward: bool) {
        self.spend(step, |left| left.clock_jumps -= 1);
        self.host_op(step, controller, HostOp::ClockJump { forward });
    }
}
