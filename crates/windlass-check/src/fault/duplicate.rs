//! Duplicate: a message that was delivered arrives once more.

use super::Faults;
use crate::action::{Action, SlotIndex};
use crate::ids::MessageId;
use crate::world::{MenuSlot, NetworkOp, State, Step, World};

impl Faults {
    /// Each request of a controller may be delivered a second time, at any later time; a watch may repeat
    /// a notification.
    #[must_use]
    pub fn duplicates(mut self) -> Self {
        self.duplicates = true;
        self
    }
}

impl World {
    pub(crate) fn duplicate_actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        let copies = self.network(state.network).copies.len();
        for index in 0..copies {
            let message = self.network(state.network).copies[index];
            if self.is_connected(state, message) {
                actions.push(Action::Duplicate { index: index as u16 });
            }
        }
    }

    /// A message that no process waits for arrives again.
    pub(crate) fn duplicate(&mut self, step: &mut Step, index: usize) {
        let message = self.network(step.state.network).copies[index];
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
        let slots = &self.menu(step.state.hosts[slot.process()]).slots;
        let at = |waiting: &&MenuSlot| (waiting.active, waiting.slot) == (slot.active, slot.slot);
        let Some(message) =
            slots.iter().find(at).filter(|waiting| waiting.delivered).map(|waiting| waiting.message)
        else {
            return;
        };
        if slots.iter().filter(|waiting| waiting.delivered && waiting.message == message).count() > 1 {
            return;
        }
        step.state.network = self.network_op(step.state.network, NetworkOp::Abandon(message));
        self.drop_dead_messages(step);
    }

    pub(crate) fn use_copy(&mut self, step: &mut Step, message: MessageId) {
        step.state.network = self.network_op(step.state.network, NetworkOp::UseCopy(message));
    }
}
