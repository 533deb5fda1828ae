//! All steps from a state.

use windlass::model::{Reason, Response, Status};
use windlass::{Answer, Ask, CallError, ObjectRef, Service};

use super::Explorer;
use super::meet::Collection;
use super::reconcile::SlotIndex;
use super::state::{Known, Message, Peer, Process, Slot, State, add, add_once};
use super::views::View;
use crate::machine::Register;

/// All steps from a state.
#[derive(Default)]
pub(super) struct Steps {
    pub(super) all: Vec<Step>,
    /// Whether the steps are described in words.
    pub(super) in_words: bool,
}

/// A step.
pub(super) struct Step {
    pub(super) is_fault: bool,
    pub(super) next: State,
    /// Who has sent what arrives in it, and what that is.
    pub(super) deed: Option<Deed>,
    /// In words, if they are wanted.
    pub(super) words: String,
}

/// A request that arrives, and who has sent it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Deed {
    pub(super) actor: Sender,
    pub(super) ask: Known<Ask>,
}

/// Who sends requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sender {
    /// A client, by the number of its script.
    Client(usize),
    /// A process, by its number.
    Process(usize),
    /// One of the cluster's own controllers.
    Cluster(&'static str),
}

impl Steps {
    /// Says what arrives in the step that was added last.
    fn with(&mut self, actor: Sender, ask: &Known<Ask>) {
        if let Some(step) = self.all.last_mut() {
            step.deed = Some(Deed { actor, ask: ask.clone() });
        }
    }

    /// What must happen sooner or later.
    fn fair(&mut self, next: State, words: impl FnOnce() -> String) {
        self.push(false, next, words);
    }

    /// What may happen or not.
    fn fault(&mut self, next: State, words: impl FnOnce() -> String) {
        self.push(true, next, words);
    }

    fn push(&mut self, is_fault: bool, next: State, words: impl FnOnce() -> String) {
        let words = if self.in_words { words() } else { String::new() };
        self.all.push(Step { is_fault, next, deed: None, words });
    }
}

impl Explorer<'_> {
    /// Adds all steps from a state.
    pub(super) fn steps(&mut self, state: &State, steps: &mut Steps) {
        for process in 0..state.processes.len() {
            self.watch_steps(state, process, steps);
            self.start_step(state, process, steps);
            for (active, reconcile) in state.processes[process].active.iter().enumerate() {
                for (number, slot) in reconcile.slots.iter().enumerate() {
                    let at = SlotIndex { process, active, slot: number };
                    match slot.answer {
                        Some(_) => {}
                        None if state.cuts.contains(&(process, slot.message.peer())) => {
                            self.partition_step(state, at, slot, steps);
                        }
                        None if slot.delivered => self.steps_of_delivered(state, at, slot, steps),
                        None => self.steps_of_sent(state, at, slot, steps),
                    }
                }
            }
            self.crash_step(state, process, steps);
            self.clock_steps(state, process, steps);
            self.partition_steps(state, process, steps);
        }
        self.client_steps(state, steps);
        self.network_steps(state, steps);
        for Collection { controller, ask } in self.collections(&state.cluster).iter() {
            let mut next = state.clone();
            self.meet(&mut next, ask);
            steps.fair(next, || format!("the {controller}: {}", shown(ask)));
            steps.with(Sender::Cluster(controller), ask);
        }
    }

    /// Watch events, repeated ones, timers, and a watch that begins again.
    fn watch_steps(&mut self, state: &State, process: usize, steps: &mut Steps) {
        let now = &state.processes[process];
        for parent in &now.timers {
            let mut next = state.clone();
            let after = &mut next.processes[process];
            after.timers.remove(parent);
            enqueue(after, parent);
            steps.fair(next, || format!("{process}: the timer of {parent} goes off"));
        }
        if state.cuts.contains(&(process, Peer::Api)) {
            return;
        }
        for parent in &now.fresh {
            let mut next = state.clone();
            let after = &mut next.processes[process];
            after.fresh.remove(parent);
            if state.left.duplicates {
                after.observed.insert(parent.clone());
            }
            enqueue(after, parent);
            steps.fair(next, || format!("{process}: the watch shows {parent}"));
        }
        for parent in &now.observed {
            let mut next = state.clone();
            enqueue(&mut next.processes[process], parent);
            steps.fault(next, || format!("{process}: the watch shows {parent} again"));
        }
        self.view_steps(state, process, steps);
    }

    /// A watch shows one more change, or the watches begin again, perhaps with an older view.
    fn view_steps(&mut self, state: &State, process: usize, steps: &mut Steps) {
        let kinds = state.processes[process].view.as_ref().map(View::kinds_behind);
        for kind in kinds.into_iter().flatten() {
            let mut next = state.clone();
            let after = &mut next.processes[process];
            let change = after.view.as_mut().and_then(|view| view.deliver(&kind));
            self.trigger(after, process, &change.expect("it is behind"));
            steps.fair(next, || format!("{process}: the watch of {kind} delivers a change"));
        }
        if state.left.watch_gaps == 0 {
            return;
        }
        for view in self.views_after_restart(state) {
            let mut next = state.clone();
            next.left.watch_gaps -= 1;
            next.forget_what_cannot_come_back();
            let seen = view.as_ref().map_or(&state.cluster, |view| &view.seen);
            next.processes[process].fresh = self.listed(seen, process);
            next.processes[process].view = view;
            steps.fault(next, || format!("{process}: the watches begin again"));
        }
    }

    /// The first parent in the queue that is not being reconciled, if a worker is free.
    fn start_step(&mut self, state: &State, process: usize, steps: &mut Steps) {
        let Process { queue, active, .. } = &state.processes[process];
        if active.len() >= self.world.workers {
            return;
        }
        let is_free = |parent: &ObjectRef| active.iter().all(|reconcile| reconcile.target != *parent);
        if let Some(index) = queue.iter().position(is_free) {
            let mut next = state.clone();
            let target = next.processes[process].queue.remove(index);
            self.go_on(&mut next, process, target, Vec::new());
            steps.fair(next, || format!("{process}: the reconcile of {} starts", queue[index]));
        }
    }

    /// A request that has not arrived: it arrives, is lost, or is answered with an error.
    fn steps_of_sent(&mut self, state: &State, at: SlotIndex, slot: &Slot, steps: &mut Steps) {
        let what = || format!("{}: {}", at.process, shown(&slot.message.ask));
        if state.left.lost_requests > 0 {
            let mut next = state.clone();
            next.left.lost_requests -= 1;
            self.receive(&mut next, at, timeout(&slot.message));
            steps.fault(next, || what() + " is lost");
        }
        if state.left.errors > 0 {
            let mut next = state.clone();
            next.left.errors -= 1;
            self.receive(&mut next, at, unavailable(&slot.message));
            steps.fault(next, || what() + " is answered with 503");
        }
        let mut next = state.clone();
        if let Some(answer) = self.cached_answer(state, at.process, slot) {
            self.receive(&mut next, at, answer);
        } else if !slot.message.has_effect() {
            let answer = self.meet(&mut next, &slot.message.ask);
            self.receive(&mut next, at, answer);
        } else {
            self.answer(&mut next, at, &slot.message);
            self.keep_copy(&mut next, &slot.message);
        }
        steps.fair(next, || what() + " arrives");
        steps.with(Sender::Process(at.process), &slot.message.ask);
    }

    /// Whether a request is a write that is on its way: one that was sent, since the caches do not show that it would
    /// change nothing.
    fn is_on_its_way(&mut self, state: &State, process: usize, slot: &Slot) -> bool {
        !slot.delivered && slot.message.has_effect() && self.cached_answer(state, process, slot).is_none()
    }

    /// A write that has arrived: its answer does, or is lost; or the write arrives again.
    fn steps_of_delivered(&mut self, state: &State, at: SlotIndex, slot: &Slot, steps: &mut Steps) {
        let what = || format!("{}: {}", at.process, shown(&slot.message.ask));
        for reply in &slot.replies {
            let mut next = state.clone();
            self.receive(&mut next, at, reply.clone());
            steps.fair(next, || what() + " is answered");
        }
        if state.left.lost_replies > 0 {
            let mut next = state.clone();
            next.left.lost_replies -= 1;
            self.receive(&mut next, at, timeout(&slot.message));
            steps.fault(next, || what() + ": the answer is lost");
        }
        if state.copies.contains(&slot.message) {
            let mut next = state.clone();
            next.copies.retain(|copy| *copy != slot.message);
            self.answer(&mut next, at, &slot.message);
            steps.fault(next, || what() + " arrives again, and is answered again");
            steps.with(Sender::Process(at.process), &slot.message.ask);
        }
    }

    /// What cannot get through, or whose answer cannot. If messages can be reordered, a write that was sent and not
    /// delivered is still on its way.
    fn partition_step(&mut self, state: &State, at: SlotIndex, slot: &Slot, steps: &mut Steps) {
        let mut next = state.clone();
        let what = || format!("{}: {}", at.process, shown(&slot.message.ask));
        // A cache that cannot follow any more goes on answering.
        let is_asked = !slot.delivered && slot.message.peer() == Peer::Api;
        let from_cache = is_asked.then(|| self.cached_answer(state, at.process, slot)).flatten();
        if let Some(answer) = from_cache {
            self.receive(&mut next, at, answer);
            steps.fair(next, || what() + " is answered by the cache");
            return;
        }
        if state.left.reorders && self.is_on_its_way(state, at.process, slot) {
            add(&mut next.late, slot.message.clone());
        }
        self.receive(&mut next, at, timeout(&slot.message));
        steps.fair(next, || what() + " gets no answer");
    }

    /// A write takes effect, and its answer is on its way back.
    fn answer(&mut self, state: &mut State, at: SlotIndex, message: &Message) {
        let answer = self.meet(state, &message.ask);
        let slot = &mut state.processes[at.process].active[at.active].slots[at.slot];
        slot.delivered = true;
        add_once(&mut slot.replies, answer);
    }

    /// A process starts again: all that was local is gone, and what it had sent is still on its way.
    fn crash_step(&mut self, state: &State, process: usize, steps: &mut Steps) {
        if state.left.crashes == 0 {
            return;
        }
        let mut crashed = state.clone();
        crashed.left.crashes -= 1;
        crashed.forget_what_cannot_come_back();
        // Until it has listed it does nothing, so whether it could list sooner makes no difference.
        crashed.cuts.remove(&(process, Peer::Api));
        for slot in state.processes[process].active.iter().flat_map(|reconcile| &reconcile.slots) {
            if self.is_on_its_way(state, process, slot) {
                add(&mut crashed.late, slot.message.clone());
            }
        }
        for view in self.views_after_restart(state) {
            let mut next = crashed.clone();
            let seen = view.as_ref().map_or(&state.cluster, |view| &view.seen);
            next.processes[process] = Process {
                fresh: self.listed(seen, process),
                observed: state.processes[process].observed.clone(),
                // The clock is that of the machine, which goes on.
                skew: state.processes[process].skew,
                view,
                ..Process::default()
            };
            steps.fault(next, || format!("{process}: crashes"));
        }
    }

    fn clock_steps(&mut self, state: &State, process: usize, steps: &mut Steps) {
        if state.left.clock_jumps == 0 {
            return;
        }
        for jump in [1, -1] {
            let mut next = state.clone();
            next.left.clock_jumps -= 1;
            next.processes[process].skew += jump;
            steps.fault(next, || format!("{process}: the clock jumps by {jump}"));
        }
    }

    /// A process and a peer cannot reach each other any more, or can again.
    fn partition_steps(&mut self, state: &State, process: usize, steps: &mut Steps) {
        let peers = [Some(Peer::Api), self.world.has_service.then_some(Peer::Service)];
        for peer in peers.into_iter().flatten() {
            let mut next = state.clone();
            if next.cuts.remove(&(process, peer)) {
                steps.fair(next, || format!("{process}: can reach {peer:?} again"));
            } else if state.left.partitions > 0 {
                next.left.partitions -= 1;
                next.cuts.insert((process, peer));
                steps.fault(next, || format!("{process}: is cut off from {peer:?}"));
            }
        }
    }

    fn client_steps(&mut self, state: &State, steps: &mut Steps) {
        for (script, events) in self.world.scripts.iter().enumerate() {
            if let Some(event) = events.get(state.scripts[script]) {
                let mut next = state.clone();
                next.scripts[script] += 1;
                let ask = Known::new(event.ask());
                self.meet(&mut next, &ask);
                steps.fair(next, || format!("client {script}: {event:?}"));
                steps.with(Sender::Client(script), &ask);
            }
        }
    }

    /// Requests that are late arrive; requests that have arrived do so again.
    fn network_steps(&mut self, state: &State, steps: &mut Steps) {
        let gets_through = |message: &Message| !state.cuts.contains(&(message.sender, message.peer()));
        for (index, message) in state.late.iter().enumerate().filter(|(_, message)| gets_through(message)) {
            let mut next = state.clone();
            next.late.remove(index);
            self.meet(&mut next, &message.ask);
            self.keep_copy(&mut next, message);
            steps.fair(next, || format!("{}: {} arrives late", message.sender, shown(&message.ask)));
            steps.with(Sender::Process(message.sender), &message.ask);
        }
        for (index, message) in state.copies.iter().enumerate().filter(|(_, message)| gets_through(message)) {
            let mut next = state.clone();
            next.copies.remove(index);
            self.meet(&mut next, &message.ask);
            steps.fault(next, || format!("{}: {} arrives again", message.sender, shown(&message.ask)));
            steps.with(Sender::Process(message.sender), &message.ask);
        }
    }

    fn keep_copy(&self, state: &mut State, message: &Message) {
        if state.left.duplicates {
            add_once(&mut state.copies, message.clone());
        }
    }
}

fn enqueue(process: &mut Process, parent: &ObjectRef) {
    if !process.queue.contains(parent) {
        process.queue.push(parent.clone());
    }
}

/// What a sender gets whose request or reply is lost.
fn timeout(message: &Message) -> Known<Answer> {
    Known::new(match message.peer() {
        Peer::Service => Answer::Call(Err(CallError::Timeout { service: Register::NAME.to_owned() })),
        Peer::Api => {
            let text = "no answer in time: whether the request had an effect is not known";
            Answer::Api(Response::status(Status::failure(504, Reason::Timeout, text)))
        }
    })
}

/// What a sender gets whose peer is not available just now.
fn unavailable(message: &Message) -> Known<Answer> {
    let text = "the server is currently unable to handle the request";
    Known::new(match message.peer() {
        Peer::Service => {
            let (service, message) = (Register::NAME.to_owned(), text.to_owned());
            Answer::Call(Err(CallError::Unavailable { service, message }))
        }
        Peer::Api => Answer::Api(Response::status(Status::failure(503, Reason::ServiceUnavailable, text))),
    })
}

fn shown(ask: &Ask) -> String {
    match ask {
        Ask::Api { request, .. } => {
            let name = request.name.as_deref().unwrap_or_default();
            let body = request.body.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{:?} {} {name} {body}", request.verb, request.resource.plural)
        }
        other => format!("{other:?}"),
    }
}
