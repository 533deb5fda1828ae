//! Watch gap: a watch breaks, and what happened in between is never told.

use super::Faults;
use crate::action::Action;
use crate::world::{HostOp, Step, Words, World};

impl Faults {
    /// So many times in all, a watch breaks and starts again with a list of what is there now: changes that
    /// were not told yet are told as one, and deletions not at all.
    #[must_use]
    pub fn watch_gaps(mut self, most: u8) -> Self {
        self.most.watch_gaps = most;
        self
    }
}

impl World {
    pub(crate) fn gap_actions(&mut self, state: &Words, controller: usize, actions: &mut Vec<Action>) {
        if self.env(state).left.watch_gaps > 0 {
            let oldest = self.oldest_view(state);
            actions.extend((0..=oldest).map(|behind| Action::Gap { controller: controller as u8, behind }));
        }
    }

    pub(crate) fn gap(&mut self, step: &mut Step, controller: usize, behind: u8) {
        self.spend(step, |left| left.watch_gaps -= 1);
        let listed = self.relist(&step.state, controller, behind);
        self.host_op(step, controller, HostOp::Gap { behind, listed });
    }
}
