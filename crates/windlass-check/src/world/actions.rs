//! What can happen in a state.

use windlass::Shortcut;

use super::{MenuSlot, State, World};
use crate::action::{Action, Oddity, SlotIndex};
use crate::host::network::Network;
use crate::ids::MessageId;

/// How many values are tried for each random draw: two are enough to differ.
const DRAWS: u8 = 2;

/// What must be so on the network for an action of a controller to be possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Condition {
    /// Nothing.
    Free,
    /// This message may arrive once more.
    Copied(MessageId),
    /// Nothing; and if this message cannot arrive once more, the action is ample.
    AmpleUnlessCopied(MessageId),
}

/// A condition in one word: which it is, below the number of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedCondition(u32);

impl PackedCondition {
    pub(crate) const FREE: PackedCondition = PackedCondition(0);

    pub(crate) fn unpack(self) -> Condition {
        let message = MessageId::from_word(self.0 >> 2);
        match self.0 & 3 {
            0 => Condition::Free,
            1 => Condition::Copied(message),
            _ => Condition::AmpleUnlessCopied(message),
        }
    }
}

impl Condition {
    pub(crate) fn pack(self) -> PackedCondition {
        let (which, message) = match self {
            Condition::Free => (0, MessageId::FIRST),
            Condition::Copied(message) => (1, message),
            Condition::AmpleUnlessCopied(message) => (2, message),
        };
        assert!(message.word() < 1 << 30, "fewer than 2^30 distinct messages fit in memory");
        PackedCondition(message.word() << 2 | which)
    }

    pub(crate) fn holds(self, network: &Network) -> bool {
        match self {
            Condition::Free | Condition::AmpleUnlessCopied(_) => true,
            Condition::Copied(message) => network.copies.contains(&message),
        }
    }

    /// Whether an action of this condition is an ample set by itself, for partial-order reduction.
    pub(crate) fn is_ample(self, network: &Network) -> bool {
        matches!(self, Condition::AmpleUnlessCopied(message) if !network.copies.contains(&message))
    }
}

impl World {
    /// Everything that can happen next, in a fixed order.
    pub(crate) fn actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        let mut possible = Vec::new();
        for process in 0..self.controllers() {
            self.host_actions(state, process, &mut possible);
            let network = self.network(state.network);
            let now = possible.drain(..).filter(|(_, condition)| condition.holds(network));
            actions.extend(now.map(|(action, _)| action));
        }
        self.common_actions(state, actions);
    }

    /// What clients, the network and the cluster's own controllers can do.
    pub(crate) fn common_actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        for script in 0..self.script_lengths.len() {
            if self.goes_on(state, script) {
                actions.push(Action::Client { script: script as u8 });
            }
        }
        self.late_actions(state, actions);
        if self.faults().duplicates {
            self.duplicate_actions(state, actions);
        }
        let collections = self.collections(state.cluster).len();
        actions.extend((0..collections as u16).map(|index| Action::Collect { index }));
    }

    /// What a process can do, whatever is on the network, with what must be so there.
    pub(crate) fn host_actions(
        &mut self,
        state: &State,
        process: usize,
        possible: &mut Vec<(Action, Condition)>,
    ) {
        let menu = self.menu(state.hosts[process]).clone();
        let controller = process as u8;
        let watches = !self.is_cut(state, process, 0);
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
        process: usize,
        waiting: &MenuSlot,
        possible: &mut Vec<(Action, Condition)>,
    ) {
        let slot = SlotIndex { controller: process as u8, active: waiting.active, slot: waiting.slot };
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

    /// Whether a delivery is answered from a view that is behind, and differently for it.
    pub(crate) fn is_stale(&mut self, state: &State, process: usize, slot: &MenuSlot) -> bool {
        let is_behind = !self.menu(state.hosts[process]).behind.is_empty();
        if !is_behind || slot.peer != 0 || slot.shortcut == Shortcut::None {
            return false;
        }
        let Some((_, seen)) = self.answer_of_caches(state, process, slot.ask) else { return false };
        let real = self.effect(state.cluster, slot.ask);
        match slot.shortcut {
            Shortcut::SkipIfUnchanged => !seen.changed && seen.answer != real.answer,
            _ => seen.answer != real.answer,
        }
    }

    fn late_actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        let late = self.network(state.network).late.clone();
        for (index, message) in late.iter().enumerate() {
            // Of equal messages it makes no difference which arrives first.
            if !late[..index].contains(message) && self.is_connected(state, *message) {
                actions.push(Action::Late { index: index as u16 });
            }
        }
    }

    /// Whether a controller cannot reach a peer.
    pub(crate) fn is_cut(&mut self, state: &State, process: usize, peer: usize) -> bool {
        self.env(state).cuts.contains(&(process, peer))
    }

    /// Whether nothing holds up a message.
    pub(crate) fn is_connected(&mut self, state: &State, message: MessageId) -> bool {
        let facts = self.message(message);
        !self.is_cut(state, facts.sender, facts.peer)
    }
}
