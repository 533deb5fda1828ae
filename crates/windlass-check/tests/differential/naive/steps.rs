//! All steps from a state.

use windlass::model::{Reason, Response, Status};
use windlass::{Answer, Ask, ObjectRef, Shortcut};

use super::Explorer;
use super::meet::sent;
use super::reconcile::Place;
use super::state::{Known, Message, Process, Slot, State, add, add_once};

/// Steps: whether each is a fault, and what it leads to.
type Steps = Vec<(bool, State)>;

const FAULT: bool = true;
const FAIR: bool = false;

impl Explorer<'_> {
    /// Adds all steps from a state.
    pub(super) fn steps(&mut self, state: &State, steps: &mut Steps) {
        for process in 0..state.processes.len() {
            self.watch_steps(state, process, steps);
            self.start_step(state, process, steps);
            for (active, reconcile) in state.processes[process].active.iter().enumerate() {
                for (number, slot) in reconcile.slots.iter().enumerate() {
                    let at = Place { process, active, slot: number };
                    match slot.answer {
                        Some(_) => {}
                        None if slot.delivered => self.steps_of_delivered(state, at, slot, steps),
                        None => self.steps_of_sent(state, at, slot, steps),
                    }
                }
            }
            self.crash_step(state, process, steps);
        }
        self.client_steps(state, steps);
        self.network_steps(state, steps);
        for ask in self.collections(&state.cluster).iter() {
            let mut next = state.clone();
            self.meet(&mut next, ask);
            steps.push((FAIR, next));
        }
    }

    /// Watch events, repeated ones, timers, and a watch that begins again.
    fn watch_steps(&mut self, state: &State, process: usize, steps: &mut Steps) {
        let now = &state.processes[process];
        for parent in &now.fresh {
            let mut next = state.clone();
            let after = &mut next.processes[process];
            after.fresh.remove(parent);
            if state.left.duplicates {
                after.observed.insert(parent.clone());
            }
            enqueue(after, parent);
            steps.push((FAIR, next));
        }
        for parent in &now.timers {
            let mut next = state.clone();
            let after = &mut next.processes[process];
            after.timers.remove(parent);
            enqueue(after, parent);
            steps.push((FAIR, next));
        }
        for parent in &now.observed {
            let mut next = state.clone();
            enqueue(&mut next.processes[process], parent);
            steps.push((FAULT, next));
        }
        if state.left.watch_gaps > 0 {
            let mut next = state.clone();
            next.left.watch_gaps -= 1;
            next.processes[process].fresh = self.listed(&state.cluster, process);
            steps.push((FAULT, next));
        }
    }

    /// The first parent in the queue that is not being reconciled, if a worker is free.
    fn start_step(&mut self, state: &State, process: usize, steps: &mut Steps) {
        let Process { queue, active, .. } = &state.processes[process];
        if active.len() >= self.world.workers {
            return;
        }
        let is_free = |parent: &ObjectRef| active.iter().all(|reconcile| reconcile.target != *parent);
        if let Some(place) = queue.iter().position(is_free) {
            let mut next = state.clone();
            let target = next.processes[process].queue.remove(place);
            self.go_on(&mut next, process, target, Vec::new());
            steps.push((FAIR, next));
        }
    }

    /// A request that has not arrived: it arrives, is lost, or is answered with an error.
    fn steps_of_sent(&mut self, state: &State, at: Place, slot: &Slot, steps: &mut Steps) {
        if state.left.lost_requests > 0 {
            let mut next = state.clone();
            next.left.lost_requests -= 1;
            self.receive(&mut next, at, timeout());
            steps.push((FAULT, next));
        }
        if state.left.errors > 0 {
            let mut next = state.clone();
            next.left.errors -= 1;
            self.receive(&mut next, at, failure(503, Reason::ServiceUnavailable, "not now"));
            steps.push((FAULT, next));
        }
        let mut next = state.clone();
        let effect = self.effect(&state.cluster, &slot.message.ask);
        let is_read = !slot.message.ask.has_effect();
        if is_read || (shortcut(slot) == Shortcut::SkipIfUnchanged && effect.changes.is_empty()) {
            self.receive(&mut next, at, effect.answer.clone());
        } else {
            self.answer(&mut next, at, &slot.message);
            self.keep_copy(&mut next, &slot.message);
        }
        steps.push((FAIR, next));
    }

    /// A write that has arrived: its answer does, or is lost; or the write arrives again.
    fn steps_of_delivered(&mut self, state: &State, at: Place, slot: &Slot, steps: &mut Steps) {
        for reply in &slot.replies {
            let mut next = state.clone();
            self.receive(&mut next, at, reply.clone());
            steps.push((FAIR, next));
        }
        if state.left.lost_replies > 0 {
            let mut next = state.clone();
            next.left.lost_replies -= 1;
            self.receive(&mut next, at, timeout());
            steps.push((FAULT, next));
        }
        if state.copies.contains(&slot.message) {
            let mut next = state.clone();
            next.copies.retain(|copy| *copy != slot.message);
            self.answer(&mut next, at, &slot.message);
            steps.push((FAULT, next));
        }
    }

    /// A write takes effect, and its answer is on its way back.
    fn answer(&mut self, state: &mut State, at: Place, message: &Message) {
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
        let mut next = state.clone();
        next.left.crashes -= 1;
        let slots = state.processes[process].active.iter().flat_map(|reconcile| &reconcile.slots);
        for slot in slots.filter(|slot| !slot.delivered && slot.message.ask.has_effect()) {
            let changes = !self.effect(&state.cluster, &slot.message.ask).changes.is_empty();
            if changes || shortcut(slot) == Shortcut::None {
                add(&mut next.late, slot.message.clone());
            }
        }
        next.processes[process] = Process {
            fresh: self.listed(&state.cluster, process),
            observed: state.processes[process].observed.clone(),
            ..Process::default()
        };
        steps.push((FAULT, next));
    }

    fn client_steps(&mut self, state: &State, steps: &mut Steps) {
        for (script, events) in self.world.scripts.iter().enumerate() {
            if let Some(event) = events.get(state.scripts[script]) {
                let mut next = state.clone();
                next.scripts[script] += 1;
                self.meet(&mut next, &sent(event.request()));
                steps.push((FAIR, next));
            }
        }
    }

    /// Requests that are late arrive; requests that have arrived do so again.
    fn network_steps(&mut self, state: &State, steps: &mut Steps) {
        for (index, message) in state.late.iter().enumerate() {
            let mut next = state.clone();
            next.late.remove(index);
            self.meet(&mut next, &message.ask);
            self.keep_copy(&mut next, message);
            steps.push((FAIR, next));
        }
        for (index, message) in state.copies.iter().enumerate() {
            let mut next = state.clone();
            next.copies.remove(index);
            self.meet(&mut next, &message.ask);
            steps.push((FAULT, next));
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

fn shortcut(slot: &Slot) -> Shortcut {
    match &*slot.message.ask {
        Ask::Api { shortcut, .. } => *shortcut,
        _ => Shortcut::None,
    }
}

/// What a sender is told whose request or reply is lost.
fn timeout() -> Known<Answer> {
    failure(504, Reason::Timeout, "no answer in time")
}

fn failure(code: u16, reason: Reason, message: &str) -> Known<Answer> {
    Known::new(Answer::Api(Response::status(Status::failure(code, reason, message))))
}
