//! What can happen in a state.

use super::{Condition, Transitions};
use crate::action::{Action, Oddity, SlotIndex};
use crate::index::{API_SERVER, ProcessIndex, ScriptIndex};
use crate::world::parts::MenuSlot;
use crate::world::state::State;

/// How many values are tried for each random draw: two are enough to differ.
const DRAWS: u8 = 2;

impl Transitions {
    /// Everything that can happen next, in a fixed order.
    pub(crate) fn actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        let mut possible = Vec::new();
        for process in ProcessIndex::all(self.controllers()) {
            self.host_actions(state, process, &mut possible);
            let network = self.cache.network(state.network);
            let now = possible.drain(..).filter(|(_, condition)| condition.holds(network));
            actions.extend(now.map(|(action, _)| action));
        }
        self.common_actions(state, actions);
    }

    /// What clients, the network and the cluster's own controllers can do.
    pub(crate) fn common_actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        for script in ScriptIndex::all(self.facts.script_lengths.len()) {
            if self.goes_on(state, script) {
                actions.push(Action::Client { script });
            }
        }
        self.late_actions(state, actions);
        if self.faults().duplicates {
            self.duplicate_actions(state, actions);
        }
        let collections = self.cache.collections(state.cluster).len();
        actions.extend((0..collections as u16).map(|index| Action::Collect { index }));
    }

    /// Whether a client's script has an event left and does not wait for something that is not so.
    fn goes_on(&mut self, state: &State, script: ScriptIndex) -> bool {
        let done = self.env(state).scripts[script.index()];
        if done >= self.facts.script_lengths[script.index()] {
            return false;
        }
        let key = (script, state.visible());
        if let Some(known) = self.waits.get(&key) {
            return *known;
        }
        let event = self.parts().setup.scripts[script.index()][done].clone();
        let seen = self.seen(state);
        let goes_on = event.wait().is_none_or(|wait| wait.is_over(&seen.view()));
        if let Some(wait) = event.wait()
            && self.tries_other_numbers()
            && wait.is_over(&seen.with_other_numbers().view()) != goes_on
        {
            self.note_dependence(&format!("what a script waits for, {wait},"));
        }
        self.waits.insert(key, goes_on);
        goes_on
    }

    /// What a process can do, whatever is on the network, with what must be so there.
    pub(crate) fn host_actions(
        &mut self,
        state: &State,
        process: ProcessIndex,
        possible: &mut Vec<(Action, Condition)>,
    ) {
        let menu = self.cache.menu(state.host(process)).clone();
        let controller = process;
        let watches = !self.is_cut(state, process, API_SERVER);
        let mut actions = Vec::new();
        if watches {
            actions.extend(menu.fresh.iter().map(|job| Action::Notify { controller, job: *job }));
        }
        actions.extend(menu.timers.iter().map(|job| Action::Timer { controller, job: *job }));
        if watches {
            actions.extend(menu.again.iter().map(|job| Action::NotifyAgain { controller, job: *job }));
            self.view_actions(state, process, &mut actions);
        }
        if menu.can_start {
            actions.push(Action::Start { controller });
        }
        possible.extend(actions.drain(..).map(|action| (action, Condition::Free)));
        for slot in &menu.slots {
            self.slot_actions(state, process, slot, possible);
        }
        self.crash_actions(state, process, &mut actions);
        if watches {
            self.gap_actions(state, process, &mut actions);
        }
        self.clock_actions(state, process, &mut actions);
        if self.faults().most.partitions > 0 {
            self.partition_actions(state, process, &mut actions);
        }
        possible.extend(actions.into_iter().map(|action| (action, Condition::Free)));
    }

    fn slot_actions(
        &mut self,
        state: &State,
        process: ProcessIndex,
        waiting: &MenuSlot,
        possible: &mut Vec<(Action, Condition)>,
    ) {
        let slot = SlotIndex { controller: process, active: waiting.active, slot: waiting.slot };
        let mut free = |action| possible.push((action, Condition::Free));
        if waiting.draws {
            (0..DRAWS).for_each(|value| free(Action::Draw { slot, value }));
            return;
        }
        if self.is_cut(state, process, waiting.peer) {
            // A cache answers whoever is cut off, with what it had seen until then.
            let is_answered = !waiting.delivered && self.cached_answer(state, process, waiting).is_some();
            free(match is_answered {
                true => Action::Deliver { slot, oddity: Oddity::Regular },
                false => Action::Timeout { slot },
            });
            return;
        }
        let left = self.env(state).left;
        if !waiting.delivered {
            if left.lost_requests > 0 {
                free(Action::LoseRequest { slot });
            }
            if left.errors > 0 {
                free(Action::Error { slot });
            }
            // Where only partitions make caches old, a partition is the fault.
            let stale = self.faults().stale > 0 && self.is_stale(state, process, waiting);
            let oddity = if stale { Oddity::Stale } else { Oddity::Regular };
            possible.push((Action::Deliver { slot, oddity }, Condition::Free));
            return;
        }
        let is_independent = waiting.replies == 1 && self.answers_are_independent(state, process);
        let condition =
            if is_independent { Condition::AmpleUnlessCopied(waiting.message) } else { Condition::Free };
        possible.extend((0..waiting.replies).map(|reply| (Action::Reply { slot, reply }, condition)));
        if waiting.replies > 0 && left.lost_replies > 0 {
            possible.push((Action::LoseReply { slot }, Condition::Free));
        }
        possible.push((Action::DeliverAgain { slot }, Condition::Copied(waiting.message)));
    }

    fn late_actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        let late = self.cache.network(state.network).late.clone();
        for (index, message) in late.iter().enumerate() {
            // Of equal messages it makes no difference which arrives first.
            if !late[..index].contains(message) && self.is_connected(state, *message) {
                actions.push(Action::Late { index: index as u16 });
            }
        }
    }
}
