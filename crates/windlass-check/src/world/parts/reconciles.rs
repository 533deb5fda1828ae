//! Reconciles under way: they start, send what they ask, get answers, and end.

use windlass::{Answer, Ask, Detail, RandomBytes, ReconcileResult};
use windlass_model::{Request, Verb};

use super::{NO_MESSAGE, Parts};
use crate::action::SlotIndex;
use crate::host::controller::{Active, Host, Slot, insert};
use crate::host::database::{insists, key_of};
use crate::host::network::Message;
use crate::ids::{AnswerId, AskId, HostId, JobId, NodeId};
use crate::index::ProcessIndex;
use crate::steps::NodeNext;
use crate::world::ops::{Ending, StepViolation};

impl Parts {
    pub(super) fn start(
        &mut self,
        host: &mut Host,
        process: ProcessIndex,
    ) -> (Option<Ending>, Option<StepViolation>) {
        let index = host.first_to_start(self.setup.workers).expect("only a controller that can start does");
        let job = host.queue.remove(index);
        let description = self.jobs.get(job).clone();
        let node = self.steps.start(&description, &mut self.asks, &self.answers);
        self.enter(host, process, job, node)
    }

    /// A reconcile has reached a point: send what it asks, or end it.
    fn enter(
        &mut self,
        host: &mut Host,
        process: ProcessIndex,
        job: JobId,
        mut node: NodeId,
    ) -> (Option<Ending>, Option<StepViolation>) {
        loop {
            match self.steps.node(node).next.clone() {
                NodeNext::Bug(bug) => return (None, Some(StepViolation::Code((*bug).clone()))),
                NodeNext::End(ended) => {
                    if is_tried_again(&ended.result) {
                        // That it is time makes no parent.
                        insert(&mut host.timers, self.job_with(job, false));
                    }
                    return (
                        Some(Ending {
                            job,
                            node,
                            done: matches!(ended.result, ReconcileResult::Done { .. }),
                        }),
                        None,
                    );
                }
                NodeNext::Ask(asked) => {
                    let slots: Vec<Slot> =
                        asked.iter().map(|ask| self.send(host, process, node, *ask)).collect();
                    if slots.iter().any(|slot| slot.answer.is_none()) {
                        host.activate(Active { job, node, slots });
                        return (None, None);
                    }
                    // It asked for the time only, which takes no message.
                    let given = slots.iter().filter_map(|slot| slot.answer).collect();
                    node = self.steps.follow(node, given, &mut self.asks, &self.answers);
                }
            }
        }
    }

    fn send(&mut self, host: &Host, process: ProcessIndex, node: NodeId, ask: AskId) -> Slot {
        let request = match &**self.asks.get(ask) {
            Ask::Now => {
                let jump = i64::try_from(self.setup.faults.clock_jump.as_secs()).unwrap_or(0);
                let now = self.now.plus_seconds(i64::from(host.skew) * jump);
                let answer = self.answers.id(Answer::Now(now));
                return Slot { message: NO_MESSAGE, answer: Some(answer), ..Slot::default() };
            }
            Ask::Api { request, .. } => Some(request.clone()),
            Ask::Call { .. } | Ask::Random { .. } => None,
        };
        let decided_on = request.filter(|request| acts_on_what_it_saw(request)).and_then(|request| {
            self.steps.last_seen_uid(node, &key_of(&request)?, &self.asks, &self.answers)
        });
        let message = self.messages.id(Message { sender: process, ask, decided_on });
        Slot { message, ..Slot::default() }
    }

    /// A controller gets an answer; with the last one of a batch it goes on.
    pub(super) fn receive(
        &mut self,
        host: &mut Host,
        process: ProcessIndex,
        active: usize,
        slot: usize,
        answer: AnswerId,
    ) -> (Option<Ending>, Option<StepViolation>) {
        let ask = self.messages.get(host.active[active].slots[slot].message).ask;
        self.see_own_write(host, process, ask, answer);
        let answer = self.detail_of(ask, answer);
        let reconcile = &mut host.active[active];
        let message = reconcile.slots[slot].message;
        // Further answers to the same ask would be dropped.
        reconcile.slots[slot] = Slot { message, delivered: true, replies: Vec::new(), answer: Some(answer) };
        if reconcile.slots.iter().any(|slot| slot.answer.is_none()) {
            return (None, None);
        }
        let reconcile = host.active.remove(active);
        let given = reconcile.slots.iter().filter_map(|slot| slot.answer).collect();
        let node = self.steps.follow(reconcile.node, given, &mut self.asks, &self.answers);
        self.enter(host, process, reconcile.job, node)
    }

    /// What is looked at of the answer to a request of a reconcile.
    pub(super) fn detail(&mut self, host: &Host, slot: SlotIndex, answer: AnswerId) -> AnswerId {
        let waiting = &host.active[usize::from(slot.active)].slots[usize::from(slot.slot)];
        self.detail_of(self.messages.get(waiting.message).ask, answer)
    }

    fn detail_of(&mut self, ask: AskId, answer: AnswerId) -> AnswerId {
        let Ask::Api { detail: Detail::Identity, .. } = &**self.asks.get(ask) else { return answer };
        if let Some(known) = self.identities.get(&answer) {
            return *known;
        }
        let Answer::Api(response) = &**self.answers.get(answer) else { return answer };
        let identity = Detail::Identity.of(response.clone());
        let identity = self.answers.id(Answer::Api(identity));
        self.identities.insert(answer, identity);
        identity
    }

    /// One of the values that can be drawn at a point of a reconcile. They differ from those of earlier draws of the
    /// same reconcile; another reconcile may draw the same or others.
    pub(crate) fn drawn_answer(&mut self, host: HostId, slot: SlotIndex, value: u8) -> AnswerId {
        let host = self.hosts.get(host);
        let node = host.active[usize::from(slot.active)].node;
        let is_draw = |answer: &AnswerId| matches!(&**self.answers.get(*answer), Answer::Random(_));
        let mut earlier = usize::from(slot.slot);
        let mut at = self.steps.before(node);
        while let Some((before, answers)) = at {
            earlier += answers.iter().filter(|answer| is_draw(answer)).count();
            at = self.steps.before(before);
        }
        let number = 2 * earlier as u64 + u64::from(value);
        self.answers.id(Answer::Random(RandomBytes::numbered(number)))
    }
}

/// Whether a request changes an object that is there, whichever that is by then.
fn acts_on_what_it_saw(request: &Request) -> bool {
    matches!(request.verb, Verb::Update | Verb::Patch(_) | Verb::Delete) && !insists(request)
}

/// Whether a reconcile that ends like this is started again without anything having changed.
fn is_tried_again(result: &ReconcileResult) -> bool {
    match result {
        ReconcileResult::Gone | ReconcileResult::Idle | ReconcileResult::Terminal { .. } => false,
        ReconcileResult::Done { requeue_after } => requeue_after.is_some(),
        ReconcileResult::Requeue { .. }
        | ReconcileResult::Conflict { .. }
        | ReconcileResult::Failed { .. } => true,
    }
}
