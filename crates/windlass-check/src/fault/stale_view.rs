//! Stale view: a controller's caches are behind the database, each kind and each object by itself.
//!
//! Only reads that may be answered from a cache are stale. Each watch delivers its changes one at a time, and a trigger
//! comes with each; the answer to a controller's own write brings that one object up to date; a restart may bring older
//! views back.

use super::Faults;
use crate::action::Action;
use crate::host::environment::EnvOp;
use crate::ids::ChangeListId;
use crate::index::{API_SERVER, ProcessIndex};
use crate::world::{HostOp, State, Step, Transitions};

impl Faults {
    /// Cached reads may be behind the database: the watch of each kind by itself, and each object by up to this
    /// number of writes. (By more in a partition.) A controller that starts again, or whose watches break, may find API
    /// server replicas that are further behind than the last ones: time goes back.
    #[must_use]
    pub fn stale(mut self, lag: u8) -> Self {
        self.stale = lag;
        self
    }
}

impl Transitions {
    pub(crate) fn view_actions(
        &mut self,
        state: &State,
        controller: ProcessIndex,
        actions: &mut Vec<Action>,
    ) {
        let behind = &self.cache.menu(state.host(controller)).behind;
        actions.extend(behind.iter().map(|kind| Action::Advance { controller, kind: *kind }));
    }

    /// The database has changed, and no watch has delivered it yet.
    pub(crate) fn commit(&mut self, step: &mut Step, changes: ChangeListId) {
        self.remember(step, changes);
        for controller in ProcessIndex::all(self.controllers()) {
            let is_cut = self.is_cut(&step.state, controller, API_SERVER);
            self.host_op(step, controller, HostOp::Commit { changes, is_cut });
        }
    }

    /// Remembers what a watch that begins again may not have seen, as long as one can.
    fn remember(&mut self, step: &mut Step, changes: ChangeListId) {
        let env = self.env(&step.state);
        let (left, oldest) = (env.left, env.oldest);
        if left.crashes > 0 || left.watch_gaps > 0 {
            let oldest = self.cache.oldest_after(oldest, changes);
            self.env_op(step, EnvOp::Oldest(oldest));
        }
    }

    /// No watch will begin again: what was before makes no difference any more.
    pub(crate) fn forget_old_views(&mut self, step: &mut Step) {
        let left = self.env(&step.state).left;
        if left.crashes == 0 && left.watch_gaps == 0 {
            self.env_op(step, EnvOp::Oldest(crate::world::NOTHING_UNSEEN));
        }
    }
}
