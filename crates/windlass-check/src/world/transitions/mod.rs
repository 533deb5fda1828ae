//! The transition relation: what can happen in a state (`actions`), and what it leads to (`perform`).
//!
//! Each fault has its part of both in a file of its own, in [`fault`](crate::fault).

mod actions;
mod ample;
mod cached_answers;
mod condition;
mod deferred;
mod perform;

use std::sync::{Arc, MutexGuard};

use rustc_hash::FxHashMap;

pub(super) use condition::{Condition, PackedCondition};
pub(super) use deferred::Deferred;

use super::cache::PartsCache;
use super::ops::Ending;
use super::parts::{MenuSlot, Parts};
use super::seen::Seen;
use super::setup::SetupFacts;
use super::state::{State, Visible};
use crate::action::{Action, SlotIndex};
use crate::fault::Faults;
use crate::host::environment::Environment;
use crate::ids::{AnswerId, AskId, BacklogId, ClusterId, MessageId, ViolationId};
use crate::index::{PeerIndex, ProcessIndex, ScriptIndex};

/// What can happen in a state, and what it leads to, as one worker works it out.
pub(crate) struct Transitions {
    /// What this worker knows of the parts.
    pub(crate) cache: PartsCache,
    pub(crate) facts: Arc<SetupFacts>,
    /// Collects what a step does to parts that a plan leaves open.
    deferred: Option<Deferred>,
    /// By script, and what properties see: whether a script that waits goes on.
    waits: FxHashMap<(ScriptIndex, Visible), bool>,
}

/// A step of the world under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) state: State,
    /// The answer that was given, for traces.
    pub(crate) answer: Option<AnswerId>,
    /// The cluster and the ask that met, for traces.
    pub(crate) met: Option<(ClusterId, AskId)>,
    /// A reconcile that came to its end.
    pub(crate) ending: Option<Ending>,
    /// Something that must never happen.
    pub(crate) violation: Option<ViolationId>,
}

impl Step {
    /// One that has not changed anything yet.
    pub(crate) fn from(state: &State) -> Self {
        Step { state: *state, answer: None, met: None, ending: None, violation: None }
    }
}

impl Transitions {
    pub(super) fn new(cache: PartsCache, facts: Arc<SetupFacts>) -> Self {
        Transitions { cache, facts, deferred: None, waits: FxHashMap::default() }
    }

    pub(crate) fn parts(&self) -> MutexGuard<'_, Parts> {
        self.cache.parts()
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.facts.faults
    }

    /// How many controller processes there are.
    pub(crate) fn controllers(&self) -> usize {
        self.facts.processes
    }

    /// The name of a process: that of its controller, numbered if there are several of it.
    pub(crate) fn process_name(&self, process: ProcessIndex) -> String {
        match self.parts().setup.controller_of(process) {
            (name, 0) => name,
            (name, number) => format!("{name}#{}", number + 1),
        }
    }

    pub(crate) fn env(&mut self, state: &State) -> &Arc<Environment> {
        self.cache.environment(state.environment)
    }

    /// What properties see of a state.
    pub(crate) fn seen(&self, state: &State) -> Seen {
        Seen::of(&self.parts(), state.visible())
    }

    /// The ask of a slot, which waits for an answer.
    pub(crate) fn menu_slot(&mut self, state: &State, slot: SlotIndex) -> &MenuSlot {
        self.waiting(state, slot).expect("an action is about an ask that waits")
    }

    /// The ask of a slot, if it waits for an answer.
    pub(crate) fn waiting(&mut self, state: &State, slot: SlotIndex) -> Option<&MenuSlot> {
        self.cache.menu(state.host(slot.process())).slot(slot)
    }

    /// Whether a controller cannot reach a peer.
    pub(crate) fn is_cut(&mut self, state: &State, process: ProcessIndex, peer: PeerIndex) -> bool {
        self.env(state).cuts.contains(&(process, peer))
    }

    /// Whether nothing holds up a message.
    pub(crate) fn is_connected(&mut self, state: &State, message: MessageId) -> bool {
        let facts = self.cache.message(message);
        !self.is_cut(state, facts.sender, facts.peer)
    }

    /// The backlogs with which a process's watches may begin again here.
    pub(crate) fn positions(&mut self, state: &State, process: ProcessIndex) -> Arc<[BacklogId]> {
        let oldest = self.env(state).oldest;
        self.cache.positions(process, oldest)
    }

    /// The message of a controller that an action delivers.
    pub(crate) fn message_of(&mut self, state: &State, action: Action) -> Option<MessageId> {
        match action {
            Action::Deliver { slot, .. } | Action::DeliverAgain { slot } => {
                self.waiting(state, slot).map(|waiting| waiting.message)
            }
            Action::Late { index } => self.cache.network(state.network).late.get(usize::from(index)).copied(),
            Action::Duplicate { index } => {
                self.cache.network(state.network).copies.get(usize::from(index)).copied()
            }
            _ => None,
        }
    }

    /// Whether user code is tried on other versions, generations and uids: until something is found that depends on them.
    pub(crate) fn tries_other_numbers(&self) -> bool {
        self.facts.renumbers && self.parts().tries_other_numbers()
    }

    /// Notes that something depends on the very numbers of versions, so that states must not be renumbered.
    pub(crate) fn note_dependence(&self, what: &str) {
        self.parts().note_dependence(what);
    }
}
