//! Reconciles: started, given their answers, and run again from the start for every new one.

use std::rc::Rc;

use windlass::model::{Body, Key, Request, Verb, object};
use windlass::{Answer, Ask, CoroutineState, ObjectRef, ReconcileResult};

use super::Explorer;
use super::state::{Known, Message, Past, Reconcile, Slot, State};
use crate::world::JUMP;

/// Where a reconcile has got to.
pub(super) enum Point {
    /// It waits for the answers to these.
    Asks(Vec<Known<Ask>>),
    /// It is over, to be tried again after a while or not.
    Over { again: bool },
    /// Its code has a bug.
    Bug,
}

impl Explorer<'_> {
    /// What a reconcile does next, after all that it was answered.
    fn point(&mut self, process: usize, target: &ObjectRef, past: &Past) -> Rc<Point> {
        let key = (process, target.clone(), past.clone());
        if let Some(known) = self.memory.points.get(&key) {
            return known.clone();
        }
        let mut coroutine = self.controllers[process].reconcile(target, false);
        let mut step = coroutine.resume(Vec::new());
        for batch in past {
            step = coroutine.resume(batch.iter().map(|(_, answer)| (**answer).clone()).collect());
        }
        let point = Rc::new(match step {
            CoroutineState::Ask(asks) => Point::Asks(asks.into_iter().map(Known::new).collect()),
            CoroutineState::End(ended) if ended.bug.is_none() => {
                Point::Over { again: is_tried_again(&ended.result) }
            }
            CoroutineState::End(_) | CoroutineState::Bug(_) => Point::Bug,
        });
        self.memory.points.insert(key, point.clone());
        point
    }

    /// A reconcile goes on: it sends what it asks next, or ends.
    pub(super) fn go_on(&mut self, state: &mut State, process: usize, target: ObjectRef, mut past: Past) {
        loop {
            let point = self.point(process, &target, &past);
            let asks = match &*point {
                Point::Asks(asks) => asks,
                Point::Over { again } => {
                    if *again {
                        state.processes[process].timers.insert(target);
                    }
                    return;
                }
                Point::Bug => {
                    self.has_bug = true;
                    return;
                }
            };
            let slots: Vec<Slot> = asks.iter().map(|ask| slot(state, process, ask, &past)).collect();
            if slots.iter().any(|slot| slot.answer.is_none()) {
                let active = &mut state.processes[process].active;
                let index = active.partition_point(|known| known.target < target);
                active.insert(index, Reconcile { target, past, slots });
                return;
            }
            // It has asked for the time only.
            past.push(answered(slots));
        }
    }

    /// An answer arrives. With the last one of a batch the reconcile goes on.
    pub(super) fn receive(&mut self, state: &mut State, at: SlotIndex, answer: Known<Answer>) {
        let ask = state.processes[at.process].active[at.active].slots[at.slot].message.ask.clone();
        self.learn(state, at.process, &ask, &answer);
        let active = &mut state.processes[at.process].active;
        let slot = &mut active[at.active].slots[at.slot];
        slot.delivered = true;
        slot.replies.clear();
        slot.answer = Some(answer);
        if active[at.active].slots.iter().all(|slot| slot.answer.is_some()) {
            let Reconcile { target, mut past, slots } = active.remove(at.active);
            past.push(answered(slots));
            self.go_on(state, at.process, target, past);
        }
    }
}

/// Which ask of which reconcile of which process.
#[derive(Clone, Copy)]
pub(super) struct SlotIndex {
    pub(super) process: usize,
    pub(super) active: usize,
    pub(super) slot: usize,
}

fn answered(slots: Vec<Slot>) -> Vec<(Known<Ask>, Known<Answer>)> {
    let pairs = slots.into_iter().map(|slot| (slot.message.ask, slot.answer));
    pairs.map(|(ask, answer)| (ask, answer.expect("all are answered"))).collect()
}

fn slot(state: &State, sender: usize, ask: &Known<Ask>, past: &Past) -> Slot {
    let (answer, decided_on) = match &**ask {
        Ask::Now => {
            let jumped = i64::from(state.processes[sender].skew) * JUMP as i64;
            (Some(Known::new(Answer::Now(state.cluster.now().plus_seconds(jumped)))), None)
        }
        Ask::Api { request, .. } => (None, decided_on(request, past)),
        Ask::Call { .. } => (None, None),
        Ask::Random { .. } => panic!("no machine here asks for this: {ask:?}"),
    };
    let message = Message { sender, ask: ask.clone(), decided_on };
    Slot { message, delivered: false, replies: Vec::new(), answer }
}

fn is_tried_again(result: &ReconcileResult) -> bool {
    match result {
        ReconcileResult::Done { requeue_after } => requeue_after.is_some(),
        ReconcileResult::Requeue { .. }
        | ReconcileResult::Conflict { .. }
        | ReconcileResult::Failed { .. } => true,
        ReconcileResult::Gone | ReconcileResult::Idle | ReconcileResult::Terminal { .. } => false,
    }
}

/// The uid of the object that a write is meant for: what the reconcile last saw under the name, if the request
/// leaves open which object it is.
fn decided_on(request: &Request, past: &Past) -> Option<String> {
    let body = request.body.as_ref();
    let fixed = request.options.preconditions.uid.is_some()
        || request.options.preconditions.resource_version.is_some()
        || body
            .is_some_and(|body| !object::uid(body).is_empty() || !object::resource_version(body).is_empty());
    if fixed || !matches!(request.verb, Verb::Update | Verb::Patch(_) | Verb::Delete) {
        return None;
    }
    let key = Key::new(
        &request.resource.group,
        &request.resource.plural,
        request.namespace.as_deref()?,
        request.name.as_deref()?,
    );
    past.iter()
        .rev()
        .flat_map(|batch| batch.iter().rev())
        .find_map(|(ask, answer)| seen(&key, ask, answer))?
}

/// What an answer says of an object: its uid, or that there is none.
fn seen(key: &Key, ask: &Ask, answer: &Answer) -> Option<Option<String>> {
    let (Ask::Api { request, .. }, Answer::Api(response)) = (ask, answer) else { return None };
    if (request.resource.group.as_str(), request.resource.plural.as_str()) != (&*key.group, &*key.plural) {
        return None;
    }
    let names = |found: &serde_json::Value| {
        (object::namespace(found), object::name(found)) == (&*key.namespace, &*key.name)
    };
    match &response.body {
        Body::Object(found) => names(found).then(|| Some(object::uid(found).to_owned())),
        Body::List(list) => {
            let found = list.items.iter().find(|item| names(item))?;
            Some(Some(object::uid(found).to_owned()))
        }
        Body::Status(status) => {
            (status.code == 404 && request.name.as_deref() == Some(&*key.name)).then_some(None)
        }
    }
}
