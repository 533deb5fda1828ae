//! Partial-order reduction: what can be done first, because nothing gets in its way.

use super::{HOSTS, Move, NETWORK, Words, World};
use crate::action::Action;

impl World {
    /// An answer that can be received at once, by its place among the actions.
    ///
    /// Receiving an answer touches nothing but its controller's reconcile, so it commutes with everything but what
    /// could strike that reconcile before: a crash, the loss of the answer, a partition, a jump of the clock that it
    /// asks for next, or a second answer to the same request. Where none of these can happen any more, nothing is
    /// lost if the answer comes first; no property sees it, unless ends of reconciles are counted; and each answer
    /// is received once, so this cannot go on for ever.
    pub(crate) fn undisturbed_answer(&mut self, state: &Words, actions: &[Move]) -> Option<usize> {
        (0..actions.len()).find(|index| match actions[*index].action {
            Action::Reply { place, .. } => {
                let menu = self.menu(state[HOSTS + place.process()]);
                let found =
                    menu.slots.iter().find(|slot| (slot.active, slot.slot) == (place.active, place.slot));
                let Some(slot) = found.copied() else { return false };
                slot.replies == 1
                    && self.leaves_answers_alone(state, place.process())
                    && !self.network(state[NETWORK]).copies.contains(&slot.message)
            }
            _ => false,
        })
    }

    /// Whether nothing can strike a reconcile of a process that waits for an answer, but for a second answer.
    pub(crate) fn leaves_answers_alone(&mut self, state: &Words, process: usize) -> bool {
        // An answer brings the caches up to date, which whatever else runs in the process can read.
        if self.faults().can_lag() && (self.workers > 1 || self.menu(state[HOSTS + process]).slots.len() > 1)
        {
            return false;
        }
        let env = self.env(state);
        let left = env.left;
        let strikes = [left.crashes, left.lost_replies, left.partitions, left.clock_jumps] != [0; 4];
        !strikes && env.cuts.is_empty() && self.clock_limit == 0
    }
}
