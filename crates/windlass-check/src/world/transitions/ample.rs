//! Partial-order reduction: in some states, one action is an ample set by itself.
//!
//! An ample set is a subset of the enabled actions that is enough to explore: it is independent of all others, no
//! property sees it, and it cannot postpone the others for ever.

use super::Transitions;
use crate::action::Action;
use crate::index::ProcessIndex;
use crate::world::state::State;

impl Transitions {
    /// An ample action: an answer that can be received at once, by its index among the actions.
    ///
    /// Receiving an answer touches nothing but its controller's reconcile, so it commutes with everything but what
    /// could strike that reconcile before: a crash, the loss of the answer, a partition, a jump of the clock that it
    /// asks for next, or a second answer to the same request. Where none of these can happen any more, it
    /// is independent of all other actions; no property sees it, unless ends of reconciles are counted; and each answer
    /// is received once, so this cannot go on for ever.
    pub(crate) fn ample_answer(
        &mut self,
        state: &State,
        mut actions: impl Iterator<Item = Action>,
    ) -> Option<usize> {
        actions.position(|action| match action {
            Action::Reply { slot, .. } => {
                let Some(waiting) = self.waiting(state, slot).copied() else { return false };
                waiting.replies == 1
                    && self.answers_are_independent(state, slot.process())
                    && !self.cache.network(state.network).copies.contains(&waiting.message)
            }
            _ => false,
        })
    }

    /// Whether answers to a process are independent of all other actions: nothing but a second answer can strike a
    /// reconcile that waits for one.
    pub(crate) fn answers_are_independent(&mut self, state: &State, process: ProcessIndex) -> bool {
        // An answer brings the caches up to date, which whatever else runs in the process can read.
        if self.faults().can_lag()
            && (self.facts.workers > 1 || self.cache.menu(state.host(process)).slots.len() > 1)
        {
            return false;
        }
        let env = self.env(state);
        let left = env.left;
        let strikes = [left.crashes, left.lost_replies, left.partitions, left.clock_jumps] != [0; 4];
        !strikes && env.cuts.is_empty() && self.facts.clock_limit == 0
    }
}
