//! Describes in words what happens in a step of the world.

mod objects;
mod services;

use windlass::Ask;

use crate::action::{Action, KINDS, SlotIndex};
use crate::ids::JobId;
use crate::index::{KindIndex, PeerIndex, ProcessIndex, ScriptIndex};
use crate::show;
use crate::trace::TraceStep;
use crate::world::{State, Step, Transitions};

/// An action in words, and what it changes.
pub(crate) fn describe(transitions: &mut Transitions, before: &State, action: Action) -> TraceStep {
    let step = transitions.perform(before, action);
    let mut story = Story { transitions, before, action, step: &step };
    let (actor, receiver, text) = story.words();
    TraceStep {
        action: story.name(),
        actor,
        receiver,
        fault: action.fault().map(str::to_owned),
        changes: story.changes(),
        services: story.service_changes(),
        objects: story.mentions(&text),
        text,
    }
}

/// What names an action among all that are possible.
pub(crate) fn name(transitions: &mut Transitions, before: &State, action: Action) -> String {
    let step = transitions.perform(before, action);
    Story { transitions, before, action, step: &step }.name()
}

struct Story<'a> {
    transitions: &'a mut Transitions,
    before: &'a State,
    action: Action,
    step: &'a Step,
}

const DATABASE: &str = "database";

impl Story<'_> {
    /// Who does it, to whom, and what.
    fn words(&mut self) -> (String, Option<String>, String) {
        let process = Some::<ProcessIndex>;
        let (who, whom, text) = match self.action {
            Action::Client { script } => match self.waited_for(script) {
                Some(what) => (None, None, format!("has waited for {what}")),
                None => (None, Some(self.peer()), self.exchange()),
            },
            Action::Notify { controller, job } => {
                return self.notification(controller, "", job);
            }
            Action::NotifyAgain { controller, job } => {
                return self.notification(controller, " AGAIN", job);
            }
            Action::Timer { controller, job } => {
                (process(controller), None, format!("it is time to look at {} again", self.target(job)))
            }
            Action::Start { controller } => {
                let target = self.next_in_queue(controller);
                (process(controller), None, format!("starts to reconcile {target}"))
            }
            Action::Deliver { slot, .. } => {
                let how = match self.action.fault() {
                    Some(_) => "gets a STALE answer ",
                    None => "",
                };
                (process(slot.controller), Some(self.peer()), format!("{how}{}", self.request_of(slot)))
            }
            Action::DeliverAgain { slot } => {
                (process(slot.controller), Some(self.peer()), format!("AGAIN, {}", self.request_of(slot)))
            }
            Action::Draw { slot, .. } => {
                (process(slot.controller), None, format!("draws the random value {}", self.answer()))
            }
            Action::Reply { slot, .. } => {
                (process(slot.controller), None, format!("gets the answer {}", self.answer()))
            }
            Action::Late { .. } => {
                return (
                    "network".to_owned(),
                    Some(self.peer()),
                    format!("delivers LATE: {}", self.exchange()),
                );
            }
            Action::Duplicate { .. } => {
                return (
                    "network".to_owned(),
                    Some(self.peer()),
                    format!("delivers AGAIN: {}", self.exchange()),
                );
            }
            Action::Collect { .. } => {
                return (self.collector(), Some(DATABASE.to_owned()), self.exchange());
            }
            Action::Crash { controller, position } => {
                let doing = self.under_way(controller);
                let text = format!("CRASHES{doing} and starts again{}", self.view(controller, position));
                (process(controller), None, text)
            }
            Action::LoseRequest { slot } => (
                process(slot.controller),
                None,
                format!("{} is LOST on the way; it times out", self.ask_at(slot)),
            ),
            Action::LoseReply { slot } => {
                let text = format!("the answer to {} is LOST; it times out", self.ask_at(slot));
                (process(slot.controller), None, text)
            }
            Action::Error { slot } => {
                let text = format!("{} is answered with an ERROR: {}", self.ask_at(slot), self.answer());
                (process(slot.controller), Some(self.lane_at(slot)), text)
            }
            Action::Cut { controller, peer } => {
                let text = format!("is CUT OFF from {}", self.peer_name(peer));
                (process(controller), Some(self.peer_lane(peer)), text)
            }
            Action::Heal { controller, peer } => {
                let text = format!("reaches {} again", self.peer_name(peer));
                (process(controller), Some(self.peer_lane(peer)), text)
            }
            Action::Timeout { slot } => {
                (process(slot.controller), None, format!("gives up waiting for {}", self.ask_at(slot)))
            }
            Action::Advance { controller, kind } => {
                let delivered = format!("delivers {}", self.undelivered(controller, kind));
                return self.watch(controller, delivered);
            }
            Action::Gap { controller, position } => {
                let text = format!("BREAKS, and begins again with a list{}", self.view(controller, position));
                return self.watch(controller, text);
            }
            Action::ClockJump { controller, forward } => {
                let way = if forward { "FORWARD" } else { "BACK" };
                (process(controller), None, format!("its clock JUMPS {way}"))
            }
        };
        (who.map_or("client".to_owned(), |number| self.transitions.process_name(number)), whom, text)
    }

    /// `notifies two-configmaps: default/a changed`
    fn notification(
        &mut self,
        controller: ProcessIndex,
        again: &str,
        job: JobId,
    ) -> (String, Option<String>, String) {
        let process = self.transitions.process_name(controller);
        let text = format!("notifies {process}{again}: {} changed", self.target(job));
        ("watch".to_owned(), Some(process), text)
    }

    /// `of two-configmaps BREAKS, and begins again with a list`
    fn watch(&mut self, controller: ProcessIndex, text: String) -> (String, Option<String>, String) {
        let process = self.transitions.process_name(controller);
        ("watch".to_owned(), Some(process.clone()), format!("of {process} {text}"))
    }

    /// A name for the action that does not depend on the order in which parts were met.
    fn name(&mut self) -> String {
        let kind = KINDS[self.action.kind()];
        let what = match self.action {
            Action::Client { script } => {
                let what = self.waited_for(script).map(|what| format!("wait for {what}"));
                format!("{}: {}", script.index() + 1, what.unwrap_or_else(|| self.message()))
            }
            Action::Notify { controller, job }
            | Action::NotifyAgain { controller, job }
            | Action::Timer { controller, job } => {
                format!("{}: {}", self.transitions.process_name(controller), self.target(job))
            }
            Action::Start { controller } => {
                format!("{}: {}", self.transitions.process_name(controller), self.next_in_queue(controller))
            }
            Action::Deliver { slot, .. }
            | Action::DeliverAgain { slot }
            | Action::LoseRequest { slot }
            | Action::LoseReply { slot }
            | Action::Error { slot }
            | Action::Timeout { slot } => self.at(slot),
            Action::Draw { slot, value } => format!("{}, value {}", self.at(slot), value + 1),
            Action::Reply { slot, reply } => format!("{}, answer {}", self.at(slot), reply + 1),
            Action::Late { .. } | Action::Duplicate { .. } => self.message(),
            Action::Collect { .. } => format!("{}: {}", self.collector(), self.message()),
            Action::Crash { controller, position } | Action::Gap { controller, position } => {
                let view = self.view(controller, position);
                format!("{}{view}", self.transitions.process_name(controller))
            }
            Action::Cut { controller, peer } | Action::Heal { controller, peer } => {
                format!("{} and {}", self.transitions.process_name(controller), self.peer_name(peer))
            }
            Action::Advance { controller, kind } => {
                let name = self.transitions.process_name(controller);
                format!("{name}: {}", self.transitions.parts().views.kind_name(kind))
            }
            Action::ClockJump { controller, forward } => {
                format!(
                    "{} {}",
                    self.transitions.process_name(controller),
                    if forward { "forward" } else { "back" }
                )
            }
        };
        format!("{kind} {what}")
    }

    fn at(&mut self, slot: SlotIndex) -> String {
        let (target, _) = self.reconcile_at(slot);
        let number = if slot.slot > 0 { format!(", request {}", slot.slot + 1) } else { String::new() };
        format!("{}: {target}: {}{number}", self.transitions.process_name(slot.process()), self.ask_at(slot))
    }

    fn request_of(&mut self, slot: SlotIndex) -> String {
        let (target, state) = self.reconcile_at(slot);
        format!("in state {state} of {target}: {}{}", self.exchange(), self.by_now(slot))
    }

    /// Which watches of a process begin with an old view, and how old: ` with configmaps 1 write behind`.
    fn view(&mut self, controller: ProcessIndex, position: u16) -> String {
        let unseen = self.transitions.positions(self.before, controller)[usize::from(position)];
        let parts = self.transitions.parts();
        let backlog = parts.views.backlogs.get(unseen);
        let behind: Vec<String> = backlog
            .kinds()
            .map(|kind| {
                let writes = backlog.of(kind).len();
                let plural = if writes == 1 { "" } else { "s" };
                format!("{} {writes} write{plural} behind", parts.views.kind_name(kind))
            })
            .collect();
        if behind.is_empty() { String::new() } else { format!(" with {}", behind.join(" and ")) }
    }

    /// The next change that a watch delivers.
    fn undelivered(&mut self, controller: ProcessIndex, kind: KindIndex) -> String {
        let unseen = self.transitions.cache.menu(self.before.host(controller)).unseen;
        let parts = self.transitions.parts();
        match parts.views.backlogs.get(unseen).of(kind).first() {
            Some(change) => show::change(parts.views.changes.get(*change)),
            None => parts.views.kind_name(kind).to_owned(),
        }
    }

    /// What a stale answer does not know yet: `; by now spec.replicas: 2 -> 3`.
    fn by_now(&mut self, slot: SlotIndex) -> String {
        if !matches!(self.action, Action::Deliver { .. }) {
            return String::new();
        }
        match (self.replaced_by(), self.stale_and_real(slot)) {
            (Some((key, _)), _) => show::by_now_another(&key),
            (None, Some((stale, real))) => show::by_now(&stale, &real),
            (None, None) => String::new(),
        }
    }

    /// The parent and the state of the reconcile that asks.
    fn reconcile_at(&self, slot: SlotIndex) -> (String, String) {
        let parts = self.transitions.parts();
        let host = parts.hosts.get(self.before.host(slot.process()));
        let active = &host.active[usize::from(slot.active)];
        (parts.jobs.get(active.job).target.to_string(), parts.steps.node(active.node).state.to_owned())
    }

    fn ask_at(&mut self, slot: SlotIndex) -> String {
        let ask = self.ask_number(slot);
        show::ask(self.transitions.parts().asks.get(ask))
    }

    fn target(&self, job: JobId) -> String {
        self.transitions.parts().jobs.get(job).target.to_string()
    }

    fn next_in_queue(&self, controller: ProcessIndex) -> String {
        let parts = self.transitions.parts();
        let host = parts.hosts.get(self.before.host(controller));
        let index = host.first_to_start(parts.setup.workers);
        index.map_or(String::new(), |index| parts.jobs.get(host.queue[index]).target.to_string())
    }

    fn under_way(&self, controller: ProcessIndex) -> String {
        let parts = self.transitions.parts();
        let host = parts.hosts.get(self.before.host(controller));
        let doing: Vec<String> = host
            .active
            .iter()
            .map(|active| {
                let (job, node) = (parts.jobs.get(active.job), parts.steps.node(active.node));
                format!("{} in state {}", job.target, node.state)
            })
            .collect();
        if doing.is_empty() { String::new() } else { format!(" while it reconciles {}", doing.join(" and ")) }
    }

    /// What the next event of a script waits for, if it does.
    fn waited_for(&mut self, script: ScriptIndex) -> Option<String> {
        let done = self.transitions.env(self.before).scripts[script.index()];
        let parts = self.transitions.parts();
        parts.setup.scripts[script.index()][done].wait().map(ToString::to_string)
    }

    fn collector(&mut self) -> String {
        let Action::Collect { index } = self.action else { return String::new() };
        self.transitions.cache.collections(self.before.cluster)[usize::from(index)].actor.to_owned()
    }

    /// The request that met the database or a service.
    fn message(&self) -> String {
        let parts = self.transitions.parts();
        self.step.met.map_or(String::new(), |(_, ask)| show::ask(parts.asks.get(ask)))
    }

    fn exchange(&mut self) -> String {
        let decided_on = self.decided_on().map_or(String::new(), |(key, _)| show::decided_on(&key));
        format!("{} -> {}{decided_on}", self.message(), self.answer())
    }

    fn answer(&mut self) -> String {
        let answer = match self.action {
            Action::Reply { slot, reply } => self.transitions.reply_answer(self.before, slot, reply),
            _ => self.step.answer,
        };
        answer.map_or(String::new(), |answer| show::answer(self.transitions.parts().answers.get(answer)))
    }

    fn peer(&self) -> String {
        let met = self.step.met.map(|(_, ask)| self.transitions.parts().asks.get(ask).clone());
        match met.as_deref() {
            Some(Ask::Call { service, .. }) => self.service_lane(service),
            _ => DATABASE.to_owned(),
        }
    }

    fn peer_name(&self, peer: PeerIndex) -> String {
        self.service_name(peer).unwrap_or_else(|| "the API server".to_owned())
    }
}
