//! Duplicate: a message that was delivered arrives once more.

use super::Faults;
use crate::action::{Action, Place};
use crate::world::{HOSTS, MenuSlot, NETWORK, NetworkOp, Step, Words, World};

impl Faults {
    /// Each request of a controller may be delivered a second time, at any later moment; a watch may repeat
    /// what it has told.
    #[must_use]
    pub fn duplicates(mut self) -> Self {
        self.duplicates = true;
        self
    }
}

impl World {
    pub(crate) fn duplicate_actions(&mut self, state: &Words, actions: &mut Vec<Action>) {
        let copies = self.network(state[NETWORK]).copies.len();
        for index in 0..copies {
            let message = self.network(state[NETWORK]).copies[index];
            if self.is_connected(state, message) {
                actions.push(Action::Duplicate { index: index as u16 });
            }
        }
    }

    /// A message that nobody waits for arrives again.
    pub(crate) fn duplicate(&mut self, step: &mut Step, index: usize) {
        let message = self.network(step.state[NETWORK]).copies[index];
        self.use_copy(step, message);
        self.execute(step, message);
    }

    /// A write that was delivered may be delivered once more.
    pub(crate) fn keep_copy(&mut self, step: &mut Step, message: u32) {
        self.add_copy(step, NetworkOp::AddCopy(message));
    }

    /// The same for a write whose sender waits: it gets the answer to either.
    pub(crate) fn keep_awaited_copy(&mut self, step: &mut Step, message: u32) {
        self.add_copy(step, NetworkOp::AddAwaitedCopy(message));
    }

    fn add_copy(&mut self, step: &mut Step, op: NetworkOp) {
        if self.faults().duplicates {
            step.state[NETWORK] = self.network_op(step.state[NETWORK], op);
            self.drop_dead_messages(step);
        }
    }

    /// The sender of a write waits no more, unless it has sent the same twice and waits for the other.
    pub(crate) fn abandon(&mut self, step: &mut Step, place: Place) {
        if !self.faults().duplicates {
            return;
        }
        let slots = &self.menu(step.state[HOSTS + place.process()]).slots;
        let at = |slot: &&MenuSlot| (slot.active, slot.slot) == (place.active, place.slot);
        let Some(message) = slots.iter().find(at).filter(|slot| slot.delivered).map(|slot| slot.message)
        else {
            return;
        };
        if slots.iter().filter(|slot| slot.delivered && slot.message == message).count() > 1 {
            return;
        }
        step.state[NETWORK] = self.network_op(step.state[NETWORK], NetworkOp::Abandon(message));
        self.drop_dead_messages(step);
    }

    pub(crate) fn use_copy(&mut self, step: &mut Step, message: u32) {
        step.state[NETWORK] = self.network_op(step.state[NETWORK], NetworkOp::UseCopy(message));
    }
}
