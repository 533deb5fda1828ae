//! What an action leads to.

use windlass::Ask;

use super::{Step, Transitions};
use crate::action::{Action, SlotIndex};
use crate::host::environment::EnvOp;
use crate::host::network::NetworkOp;
use crate::ids::{AnswerId, AskId, MessageId};
use crate::index::{API_SERVER, ProcessIndex, ScriptIndex};
use crate::world::ops::HostOp;
use crate::world::parts::NO_MARKS;
use crate::world::state::State;

impl Transitions {
    /// Performs an action.
    pub(crate) fn perform(&mut self, state: &State, action: Action) -> Step {
        let mut step = Step::from(state);
        match action {
            Action::Client { script } => self.client_event(&mut step, script),
            Action::Notify { controller, job } => self.host_op(&mut step, controller, HostOp::Notify(job)),
            Action::NotifyAgain { controller, job } => {
                self.host_op(&mut step, controller, HostOp::NotifyAgain(job));
            }
            Action::Timer { controller, job } => self.host_op(&mut step, controller, HostOp::Timer(job)),
            Action::Start { controller } => self.host_op(&mut step, controller, HostOp::Start),
            Action::Deliver { slot, .. } => self.deliver_first(&mut step, slot),
            Action::DeliverAgain { slot } => {
                let message = self.menu_slot(&step.state, slot).message;
                self.use_copy(&mut step, message);
                self.deliver(&mut step, slot);
            }
            Action::Draw { slot, value } => {
                let host = state.host(slot.process());
                let answer = self.parts().drawn_answer(host, slot, value);
                step.answer = Some(answer);
                self.host_op(&mut step, slot.process(), HostOp::Receive { slot, answer });
            }
            Action::Reply { slot, reply } => {
                self.abandon(&mut step, slot);
                self.host_op(&mut step, slot.process(), HostOp::Reply { slot, reply });
            }
            Action::Late { index } => self.deliver_late(&mut step, index.into()),
            Action::Duplicate { index } => self.duplicate(&mut step, index.into()),
            Action::Collect { index } => {
                let ask = self.cache.collections(state.cluster)[usize::from(index)].ask;
                self.meet_database(&mut step, ask);
            }
            Action::Crash { controller, position } => self.crash(&mut step, controller, position.into()),
            Action::LoseRequest { slot } => self.lose_request(&mut step, slot),
            Action::LoseReply { slot } => self.lose_reply(&mut step, slot),
            Action::Error { slot } => self.answer_with_error(&mut step, slot),
            Action::Cut { controller, peer } => self.cut(&mut step, controller, peer),
            Action::Heal { controller, peer } => self.heal(&mut step, controller, peer),
            Action::Timeout { slot } => self.time_out_in_partition(&mut step, slot),
            Action::Advance { controller, kind } => {
                self.host_op(&mut step, controller, HostOp::Advance { kind })
            }
            Action::Gap { controller, position } => self.gap(&mut step, controller, position.into()),
            Action::ClockJump { controller, forward } => self.jump(&mut step, controller, forward),
        }
        step
    }

    fn client_event(&mut self, step: &mut Step, script: ScriptIndex) {
        let (ask, event) =
            (self.script_ask(&step.state, script), self.env(&step.state).scripts[script.index()]);
        self.env_op(step, EnvOp::Script(script));
        // What it has waited for is so, which changes nothing else.
        let Some(ask) = ask else { return };
        if matches!(&**self.parts().asks.get(ask), Ask::Call { .. }) {
            self.meet_service(step, ask);
        } else {
            self.meet_database(step, ask);
        }
        if let Some(answer) = step.answer {
            self.parts().note_event(script, event, answer);
        }
    }

    fn deliver_first(&mut self, step: &mut Step, slot: SlotIndex) {
        let waiting = *self.menu_slot(&step.state, slot);
        if self.deliver(step, slot) && waiting.effect {
            self.keep_awaited_copy(step, waiting.message);
        }
    }

    /// An ask reaches its destination; says whether it got there at all. The answer to a read is received in
    /// the same step: whether a controller waits for its answer or for the delivery of what it asks next
    /// makes no difference to anybody, and a crash in between loses nothing but the read.
    fn deliver(&mut self, step: &mut Step, slot: SlotIndex) -> bool {
        let waiting = *self.menu_slot(&step.state, slot);
        if let Some((view, answer)) = self.cached_answer(&step.state, slot.process(), &waiting) {
            step.met = Some((view, waiting.ask));
            step.answer = Some(answer);
            self.host_op(step, slot.process(), HostOp::Receive { slot, answer });
            return false;
        }
        self.execute(step, waiting.message);
        let Some(answer) = step.answer else { return true };
        let received =
            if waiting.effect { HostOp::Answered { slot, answer } } else { HostOp::Receive { slot, answer } };
        self.host_op(step, slot.process(), received);
        true
    }

    fn deliver_late(&mut self, step: &mut Step, index: usize) {
        let message = self.cache.network(step.state.network).late[index];
        step.state.network = self.network_op(step.state.network, NetworkOp::TakeLate(index));
        self.execute(step, message);
        self.keep_copy(step, message);
    }

    /// A message takes effect: on the database, with the watches it concerns, or on a service.
    pub(crate) fn execute(&mut self, step: &mut Step, message: MessageId) {
        let facts = self.cache.message(message);
        if facts.peer != API_SERVER {
            self.meet_service(step, facts.ask);
            return;
        }
        if facts.decided {
            step.violation = step.violation.or(self.cache.hits_another_object(step.state.cluster, message));
        }
        self.meet_database(step, facts.ask);
    }

    fn meet_service(&mut self, step: &mut Step, ask: AskId) {
        let services = self.env(&step.state).services;
        let (services, answer) = self.cache.call(services, ask);
        self.env_op(step, EnvOp::Services(services));
        step.answer = Some(answer);
        step.met = Some((step.state.cluster, ask));
    }

    fn meet_database(&mut self, step: &mut Step, ask: AskId) {
        let before = step.state.cluster;
        let effect = self.cache.effect(before, ask);
        step.met = Some((before, ask));
        step.answer = Some(effect.answer);
        if !effect.changed {
            return;
        }
        step.state.cluster = effect.cluster;
        if self.faults().can_lag() {
            self.commit(step, effect.changes);
        } else if effect.marks != NO_MARKS {
            let marks = self.cache.marks(effect.marks).clone();
            for (controller, jobs) in ProcessIndex::all(marks.len()).zip(marks.iter()) {
                self.host_op(step, controller, HostOp::Mark(*jobs));
            }
        }
        self.drop_dead_messages(step);
    }

    /// Messages that can never do anything again make no difference.
    pub(crate) fn drop_dead_messages(&mut self, step: &mut Step) {
        let is_known = self.knows_network();
        let network = self.cache.network(step.state.network);
        if !is_known || !network.late.is_empty() || !network.copies.is_empty() {
            let op = NetworkOp::DropDead(step.state.cluster);
            step.state.network = self.network_op(step.state.network, op);
        }
    }

    /// What a client's script asks for next; `None` if it waits for something.
    pub(crate) fn script_ask(&mut self, state: &State, script: ScriptIndex) -> Option<AskId> {
        let done = self.env(state).scripts[script.index()];
        self.parts().scripts[script.index()][done]
    }

    /// The answer that is on its way.
    pub(crate) fn reply_answer(&mut self, state: &State, slot: SlotIndex, reply: u8) -> Option<AnswerId> {
        let parts = self.parts();
        let host = parts.hosts.get(state.host(slot.process()));
        let waiting = &host.active[usize::from(slot.active)].slots[usize::from(slot.slot)];
        waiting.replies.get(usize::from(reply)).copied()
    }
}
