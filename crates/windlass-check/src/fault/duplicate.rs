//! Duplicate: a message that was delivered arrives once more.

use super::Faults;
use crate::action::{Action, SlotIndex};
use crate::host::network::NetworkOp;
use crate::ids::MessageId;
use crate::world::{State, Step, Transitions};

impl Faults {
    /// Each request of a controller may be delivered a second time, at any later time; a watch may repeat
    /// a notification.
    #[must_use]
    pub fn duplicates(mut self) -> Self {
        self.duplicates = true;
        self
    }
}

impl Transitions {
    pub(crate) fn duplicate_actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        let copies = self.cache.network(state.network).copies.len();
        for index in 0..copies {
            let message = self.cache.network(state.network).copies[index];
            if self.is_connected(state, message) {
                actions.push(Action::Duplicate { index: index as u16 });
            }
        }
    }

    /// A message that no process waits for arrives again.
    pub(crate) fn duplicate(&mut self, step: &mut Step, index: usize) {
        let message = self.cache.network(step.state.network).copies[index];
        self.use_copy(step, message);
        self.execute(step, message);
    }

    /// A write that was delivered may be delivered once more.
    pub(crate) fn keep_copy(&mut self, step: &mut Step, message: MessageId) {
        self.add_copy(step, NetworkOp::AddCopy(message));
    }

    /// The same for a write whose sender waits: it gets the answer to either.
    pub(crate) fn keep_awaited_copy(&mut self, step: &mut Step, message: MessageId) {
        self.add_copy(step, NetworkOp::AddAwaitedCopy(message));
    }

    fn add_copy(&mut self, step: &mut Step, op: NetworkOp) {
        if self.faults().duplicates {
            step.state.network = self.network_op(step.state.network, op);
            self.drop_dead_messages(step);
        }
    }

    /// The sender of a write waits no more, unless it has sent the same twice and waits for the other.
    pub(crate) fn abandon(&mut self, step: &mut Step, slot: SlotIndex) {
        if !self.faults().duplicates {
            return;
        }
        let menu = self.cache.menu(step.state.host(slot.process()));
        let Some(message) =
            menu.slot(slot).filter(|waiting| waiting.delivered).map(|waiting| waiting.message)
        else {
            return;
        };
        let alike = menu.slots.iter().filter(|waiting| waiting.delivered && waiting.message == message);
        if alike.count() > 1 {
            return;
        }
        step.state.network = self.network_op(step.state.network, NetworkOp::Abandon(message));
        self.drop_dead_messages(step);
    }

    pub(crate) fn use_copy(&mut self, step: &mut Step, message: MessageId) {
        step.state.network = self.network_op(step.state.network, NetworkOp::UseCopy(message));
    }
}
