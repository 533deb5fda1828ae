//! Stale view: a controller reads from an API server replica that lags behind the database.
//!
//! Only reads that may be answered from a cache are stale. The view moves on one write at a time, and its
//! notices come with it; a controller's own write moves it to the present; a restart may move it back.

use super::Faults;
use crate::action::Action;
use crate::world::{EnvOp, HOSTS, HostOp, Step, Words, World};

impl Faults {
    /// Cached reads may lag behind the database, by up to so many writes; and a controller that starts
    /// again, or whose watch breaks, may find an API server replica that is further behind than the last one:
    /// time goes back.
    #[must_use]
    pub fn stale(mut self, lag: u8) -> Self {
        self.stale = lag;
        self
    }
}

impl World {
    pub(crate) fn view_actions(&mut self, state: &Words, controller: usize, actions: &mut Vec<Action>) {
        if self.menu(state[HOSTS + controller]).behind > 0 {
            actions.push(Action::Advance { controller: controller as u8 });
        }
    }

    /// How far behind a replica can be here.
    pub(crate) fn oldest_view(&mut self, state: &Words) -> u8 {
        u8::try_from(self.env(state).recent.len()).unwrap_or(u8::MAX)
    }

    /// The cluster that a controller sees, so many writes ago.
    pub(crate) fn view_of(&mut self, state: &Words, behind: u8) -> u32 {
        let recent = &self.env(state).recent;
        match behind {
            0 => state[crate::world::CLUSTER],
            behind => recent[recent.len() - usize::from(behind)],
        }
    }

    /// A replica hears of one more write, and tells the controller that watches it.
    pub(crate) fn advance(&mut self, step: &mut Step, controller: usize) {
        let behind = self.menu(step.state[HOSTS + controller]).behind;
        let (before, after) = (self.view_of(&step.state, behind), self.view_of(&step.state, behind - 1));
        let told = self.jobs_between(before, after, controller);
        self.host_op(step, controller, HostOp::Advance { told });
    }

    /// The database has changed: all views fall one write behind, and that of the writer comes to the present.
    pub(crate) fn fall_behind(&mut self, step: &mut Step, old: u32, writer: Option<usize>) {
        let most = self.faults().stale;
        let new = std::mem::replace(&mut step.state[crate::world::CLUSTER], old);
        for controller in 0..self.controllers() {
            if self.menu(step.state[HOSTS + controller]).behind == most {
                self.advance(step, controller);
            }
        }
        step.state[crate::world::CLUSTER] = new;
        self.env_op(step, EnvOp::Remember { cluster: old, most });
        for controller in 0..self.controllers() {
            self.host_op(step, controller, HostOp::FallBehind);
            while writer == Some(controller) && self.menu(step.state[HOSTS + controller]).behind > 0 {
                self.advance(step, controller);
            }
        }
    }
}
