//! Watch gap: a watch breaks, and what happened in between is never reported.

use super::Faults;
use crate::action::Action;
use crate::index::ProcessIndex;
use crate::world::{HostOp, State, Step, Transitions};

impl Faults {
    /// Maximum number of watch gaps: a watch breaks and starts again with a list of what is there now. Changes that
    /// were not delivered yet are coalesced, and deletions are not delivered at all.
    #[must_use]
    pub fn watch_gaps(mut self, most: u8) -> Self {
        self.most.watch_gaps = most;
        self
    }
}

impl Transitions {
    pub(crate) fn gap_actions(&mut self, state: &State, controller: ProcessIndex, actions: &mut Vec<Action>) {
        if self.env(state).left.watch_gaps > 0 {
            let positions = 0..self.positions(state, controller).len() as u16;
            let gap = |position| Action::Gap { controller, position };
            actions.extend(positions.map(gap));
        }
    }

    pub(crate) fn gap(&mut self, step: &mut Step, controller: ProcessIndex, position: usize) {
        let unseen = self.positions(&step.state, controller)[position];
        self.spend(step, |left| left.watch_gaps -= 1);
        self.forget_old_views(step);
        let listed = self.cache.relist(step.state.cluster, controller, unseen);
        self.host_op(step, controller, HostOp::Gap { unseen, listed });
    }
}
