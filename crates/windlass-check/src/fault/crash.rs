//! Crash: a controller process dies at any time and starts again.

use windlass::Shortcut;

use super::Faults;
use crate::action::Action;
use crate::host::environment::EnvOp;
use crate::host::network::NetworkOp;
use crate::index::{API_SERVER, ProcessIndex};
use crate::world::{HostOp, State, Step, Transitions};

impl Faults {
    /// Maximum number of crashes. A controller can crash at any time. A crash forgets all that is local; requests that were
    /// sent stay on the network and arrive at any later time, also after what the restarted controller sends: nothing
    /// keeps requests of two processes in order.
    #[must_use]
    pub fn crashes(mut self, most: u8) -> Self {
        self.most.crashes = most;
        self
    }
}

impl Transitions {
    pub(crate) fn crash_actions(
        &mut self,
        state: &State,
        controller: ProcessIndex,
        actions: &mut Vec<Action>,
    ) {
        if self.env(state).left.crashes > 0 {
            // It may come up with an API server replica that is behind the one it knew: time goes back.
            let positions = 0..self.positions(state, controller).len() as u16;
            let crash = |position| Action::Crash { controller, position };
            actions.extend(positions.map(crash));
        }
    }

    pub(crate) fn crash(&mut self, step: &mut Step, controller: ProcessIndex, position: usize) {
        let unseen = self.positions(&step.state, controller)[position];
        self.spend(step, |left| left.crashes -= 1);
        self.forget_old_views(step);
        if self.is_cut(&step.state, controller, API_SERVER) {
            // A process that has just started lists before it does anything, so it sees nothing of what is left of the
            // partition: until it has listed it does nothing, cut off or not.
            self.env_op(step, EnvOp::Heal { controller, peer: API_SERVER });
        }
        let host = step.state.host(controller);
        let menu = self.cache.menu(host).clone();
        for slot in menu.slots.iter().filter(|slot| slot.effect && !slot.delivered) {
            // What the cache shows to be so already was never sent.
            if slot.shortcut == Shortcut::SkipIfUnchanged
                && let Some((_, seen)) = self.answer_of_caches(&step.state, controller, slot.ask)
                && !seen.changed
            {
                continue;
            }
            let message = slot.message;
            step.state.network = self.network_op(step.state.network, NetworkOp::AddLate(message));
        }
        if self.faults().duplicates {
            for slot in menu.slots.iter().filter(|slot| slot.delivered) {
                let op = NetworkOp::Abandon(slot.message);
                step.state.network = self.network_op(step.state.network, op);
            }
        }
        self.drop_dead_messages(step);
        let listed = self.cache.relist(step.state.cluster, controller, unseen);
        self.host_op(step, controller, HostOp::Crash { unseen, listed });
    }
}
