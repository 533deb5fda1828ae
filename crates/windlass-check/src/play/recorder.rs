//! Follows a run of the world, and notes what of it can be seen from outside.

use windlass::{Answer, Ask, Shortcut};
use windlass_model::Request;

use crate::action::{Action, SlotIndex};
use crate::engine::Model;
use crate::ids::{AskId, MessageId};
use crate::subject::Subject;
use crate::world::{MenuSlot, Move, State, Step};

use super::{Event, FinalState, Schedule};

/// A run under way.
pub(super) struct Recorder<'a> {
    subject: &'a mut Subject,
    state: State,
    events: Vec<Event>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(subject: &'a mut Subject) -> Self {
        let state = subject.world.initial();
        Recorder { subject, state, events: Vec::new() }
    }

    /// Everything that can happen now.
    pub(super) fn moves(&mut self) -> Vec<Move> {
        let mut moves = Vec::new();
        self.subject.actions(&self.state, &mut moves);
        moves
    }

    /// What an action is called in traces.
    pub(super) fn name(&mut self, next: &Move) -> String {
        self.subject.describe(&self.state, next).action
    }

    /// Takes a step.
    pub(super) fn take(&mut self, next: &Move) {
        let after = self.subject.world.transitions.perform(&self.state, next.action);
        let event = self.event(next.action, &after);
        self.events.extend(event);
        self.state = self.subject.world.make(&self.state, next).0;
    }

    /// What the run has come to.
    pub(super) fn finish(mut self) -> Schedule {
        let at_rest = self.moves().iter().all(|next| next.action.fault().is_some());
        let parts = self.subject.world.parts();
        let reached = FinalState::of_cluster(parts.database.cluster(self.state.cluster));
        drop(parts);
        Schedule { events: self.events, reached, at_rest }
    }

    /// What is seen of an action.
    fn event(&mut self, action: Action, after: &Step) -> Option<Event> {
        Some(match action {
            Action::Client { script } => Event::Client { script: script.index() },
            Action::Deliver { slot, .. } => self.delivery(slot, after),
            Action::DeliverAgain { slot } => {
                self.at(slot, |process, request| Event::DeliverAgain { process, request })
            }
            Action::Reply { slot, reply } => {
                let code = self.code(slot, reply);
                self.at(slot, |process, request| Event::Reply { process, request, code })
            }
            Action::Late { index } => {
                let message =
                    self.subject.world.transitions.cache.network(self.state.network).late[usize::from(index)];
                self.of_message(message, |process, request| Event::Late { process, request })
            }
            Action::Duplicate { index } => {
                let message = self.subject.world.transitions.cache.network(self.state.network).copies
                    [usize::from(index)];
                self.of_message(message, |process, request| Event::Duplicate { process, request })
            }
            Action::Crash { controller, .. } => {
                Event::Crash { process: controller.index(), sent: self.left_behind(after) }
            }
            Action::LoseRequest { slot } | Action::Error { slot }
                if self.menu_slot(slot).shortcut == Shortcut::Cache =>
            {
                Event::Other("a failure of a read that a cache answers")
            }
            Action::LoseRequest { slot } => {
                self.at(slot, |process, request| Event::LoseRequest { process, request })
            }
            Action::LoseReply { slot } => {
                self.at(slot, |process, request| Event::LoseReply { process, request })
            }
            Action::Error { slot } => self.at(slot, |process, request| Event::Error { process, request }),
            Action::Gap { controller, .. } => Event::BreakWatch { process: controller.index() },
            Action::Cut { .. } | Action::Heal { .. } | Action::Timeout { .. } => Event::Other("a partition"),
            Action::ClockJump { .. } => Event::Other("a jump of a clock"),
            // The cluster's own controllers, queues, caches and random values need no help.
            Action::Notify { .. }
            | Action::NotifyAgain { .. }
            | Action::Timer { .. }
            | Action::Start { .. }
            | Action::Collect { .. }
            | Action::Advance { .. }
            | Action::Draw { .. } => return None,
        })
    }

    /// A request that reaches its destination, unless the process answers it from its cache.
    fn delivery(&mut self, slot: SlotIndex, after: &Step) -> Event {
        let waiting = self.menu_slot(slot);
        let is_sent = if waiting.effect {
            let host = after.state.host(slot.process());
            let waiting = self.subject.world.transitions.cache.menu(host).slot(slot);
            waiting.is_some_and(|waiting| waiting.delivered)
        } else {
            waiting.shortcut == Shortcut::None
        };
        match is_sent {
            true => self.at(slot, |process, request| Event::Deliver { process, request }),
            false => Event::Read { process: slot.process().index() },
        }
    }

    /// The writes that a crash leaves on the network.
    fn left_behind(&mut self, after: &Step) -> Vec<Request> {
        let mut before = self.subject.world.transitions.cache.network(self.state.network).late.clone();
        let late = self.subject.world.transitions.cache.network(after.state.network).late.clone();
        let is_new = |message: &MessageId| match before.iter().position(|known| known == message) {
            Some(known) => {
                before.swap_remove(known);
                false
            }
            None => true,
        };
        let sent: Vec<MessageId> = late.into_iter().filter(is_new).collect();
        let asks: Vec<AskId> = sent
            .into_iter()
            .map(|message| self.subject.world.transitions.cache.message(message).ask)
            .collect();
        asks.into_iter().filter_map(|ask| self.request(ask)).collect()
    }

    fn menu_slot(&mut self, slot: SlotIndex) -> MenuSlot {
        *self.subject.world.transitions.menu_slot(&self.state, slot)
    }

    /// An event about the request of a reconcile.
    fn at(&mut self, slot: SlotIndex, event: impl FnOnce(usize, Request) -> Event) -> Event {
        let ask = self.menu_slot(slot).ask;
        self.request(ask).map_or(CALL, |request| event(slot.process().index(), request))
    }

    /// An event about a request that its sender waits for no more.
    fn of_message(&mut self, message: MessageId, event: impl FnOnce(usize, Request) -> Event) -> Event {
        let facts = self.subject.world.transitions.cache.message(message);
        self.request(facts.ask).map_or(CALL, |request| event(facts.sender.index(), request))
    }

    /// The request of an ask, if it goes to the API server.
    fn request(&self, ask: AskId) -> Option<Request> {
        match &**self.subject.world.parts().asks.get(ask) {
            Ask::Api { request, .. } => Some((**request).clone()),
            _ => None,
        }
    }

    /// The status code of an answer that is on its way.
    fn code(&mut self, slot: SlotIndex, reply: u8) -> u16 {
        let answer = self.subject.world.transitions.reply_answer(&self.state, slot, reply);
        let parts = self.subject.world.parts();
        match answer.map(|answer| &**parts.answers.get(answer)) {
            Some(Answer::Api(response)) => response.code,
            _ => 0,
        }
    }
}

const CALL: Event = Event::Other("a call of a service");
