//! What a process's caches answer, which may be behind the database.

use windlass::Shortcut;

use super::Transitions;
use crate::ids::{AnswerId, AskId, ClusterId};
use crate::index::{API_SERVER, ProcessIndex};
use crate::world::parts::{Effect, MenuSlot};
use crate::world::state::State;

impl Transitions {
    /// The cluster that a process sees.
    pub(crate) fn view_of(&mut self, state: &State, process: ProcessIndex) -> ClusterId {
        let unseen = self.cache.menu(state.host(process)).unseen;
        self.cache.view(state.cluster, unseen)
    }

    /// The answer of a process's caches to a request, if they have one.
    pub(crate) fn answer_of_caches(
        &mut self,
        state: &State,
        process: ProcessIndex,
        ask: AskId,
    ) -> Option<(ClusterId, Effect)> {
        let view = self.view_of(state, process);
        let seen = self.cache.effect(view, ask);
        // A view that is never behind answers as the API server would, so it makes no difference who does.
        let is_current = !self.faults().can_lag();
        (is_current || self.parts().is_cached(process, ask, seen.answer)).then_some((view, seen))
    }

    /// What a driver answers from its view, and that view: reads that allow it, and writes that would change nothing
    /// there.
    pub(crate) fn cached_answer(
        &mut self,
        state: &State,
        process: ProcessIndex,
        slot: &MenuSlot,
    ) -> Option<(ClusterId, AnswerId)> {
        // What was sent is on the network, whatever the cache says by now.
        if slot.peer != API_SERVER || slot.shortcut == Shortcut::None || slot.delivered {
            return None;
        }
        let (view, seen) = self.answer_of_caches(state, process, slot.ask)?;
        (slot.shortcut == Shortcut::Cache || !seen.changed).then_some((view, seen.answer))
    }

    /// Whether a delivery is answered from a view that is behind, and differently for it.
    pub(crate) fn is_stale(&mut self, state: &State, process: ProcessIndex, slot: &MenuSlot) -> bool {
        let is_behind = !self.cache.menu(state.host(process)).behind.is_empty();
        if !is_behind || slot.peer != API_SERVER || slot.shortcut == Shortcut::None {
            return false;
        }
        let Some((_, seen)) = self.answer_of_caches(state, process, slot.ask) else { return false };
        let real = self.cache.effect(state.cluster, slot.ask);
        match slot.shortcut {
            Shortcut::SkipIfUnchanged => !seen.changed && seen.answer != real.answer,
            _ => seen.answer != real.answer,
        }
    }
}
