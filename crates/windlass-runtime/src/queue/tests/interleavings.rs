//! Every interleaving of triggers, workers and the clock, for two objects, by the checker's own engine.

use windlass_check::engine::{self, Property};

use super::*;
use crate::protocol_model::{Numbered, Protocol, ProtocolModel, explore};
use crate::queue::Backoff;

const OBJECTS: [&str; 2] = ["a", "b"];

/// A queue with two workers, and a few triggers and failures that come at any time.
#[derive(Clone)]
struct Workers {
    start: Instant,
}

#[derive(Clone, Debug)]
struct State {
    queue: Queue,
    now: Instant,
    triggers_left: u8,
    /// How many runs may still end other than well.
    failures_left: u8,
    /// For each object, whether a worker has it.
    active: [bool; 2],
    /// For each object, whether a trigger came for which no run has begun, or whose run failed.
    owed: [bool; 2],
    /// For each object, whether the run that is active began for a trigger.
    began_owed: [bool; 2],
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Trigger { object: usize, spec_changed: bool },
    Take,
    Finish { object: usize, how: Requeue },
    Tick(Instant),
}

impl Workers {
    fn trigger(&self, state: &mut State, object: usize, spec_changed: bool) {
        let reason = Reason { spec_changed, ..live(Cause::Parent, "x") };
        state.queue.add(key(OBJECTS[object]), reason, state.now);
        state.triggers_left -= 1;
        state.owed[object] = true;
    }

    fn take(&self, state: &mut State) -> Result<(), String> {
        let Next::Take(work) = state.queue.next(state.now) else { return Ok(()) };
        let object = OBJECTS.iter().position(|name| *name == work.key.name).expect("one of ours");
        if std::mem::replace(&mut state.active[object], true) {
            return Err(format!("{} is reconciled twice at once", work.key));
        }
        state.began_owed[object] = std::mem::replace(&mut state.owed[object], false);
        Ok(())
    }

    fn finish(&self, state: &mut State, object: usize, how: Requeue) {
        state.queue.finished(&key(OBJECTS[object]), how, state.now);
        state.active[object] = false;
        let failed = matches!(how, Requeue::WithBackoff);
        state.failures_left -= u8::from(failed);
        state.owed[object] |= failed && state.began_owed[object];
        state.began_owed[object] = false;
    }
}

impl Protocol for Workers {
    type State = State;
    type Action = Action;

    fn initial(&self) -> State {
        let backoff = Backoff { initial: Duration::from_secs(1), max: Duration::from_secs(1) };
        State {
            queue: Queue::new(QueueSettings { backoff, ..QueueSettings::default() }),
            now: self.start,
            triggers_left: 4,
            failures_left: 2,
            active: [false; 2],
            owed: [false; 2],
            began_owed: [false; 2],
        }
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for object in 0..OBJECTS.len() {
            if state.triggers_left > 0 {
                let both = [false, true];
                actions.extend(both.map(|spec_changed| Action::Trigger { object, spec_changed }));
            }
            if state.active[object] {
                actions.push(Action::Finish { object, how: Requeue::OnTrigger });
            }
            if state.active[object] && state.failures_left > 0 {
                actions.push(Action::Finish { object, how: Requeue::WithBackoff });
            }
        }
        match state.queue.clone().next(state.now) {
            Next::Take(_) => actions.push(Action::Take),
            Next::WaitUntil(until) => actions.push(Action::Tick(until)),
            Next::Idle => {}
        }
    }

    fn next(&self, state: &State, action: &Action) -> engine::Next<State> {
        let mut next = state.clone();
        match *action {
            Action::Trigger { object, spec_changed } => self.trigger(&mut next, object, spec_changed),
            Action::Finish { object, how } => self.finish(&mut next, object, how),
            Action::Tick(until) => next.now = until,
            Action::Take => {
                if let Err(violation) = self.take(&mut next) {
                    return engine::Next::Violation(violation);
                }
            }
        }
        engine::Next::State(next)
    }

    fn properties(&self) -> Vec<Property<ProtocolModel<Self>>> {
        vec![
            Property::eventually(
                "every trigger is followed by a run that went well",
                |_, state: &Numbered<State>| state.owed == [false; 2],
            ),
            Property::eventually("nothing is kept", |_, state: &Numbered<State>| {
                state.queue.entries.is_empty()
            }),
            Property::sometimes("two objects are active", |_, state: &Numbered<State>| {
                state.active == [true; 2]
            }),
        ]
    }
}

#[test]
fn no_interleaving_loses_a_trigger() {
    let found = explore(&Workers { start: Instant::now() });
    assert!(found.holds(), "{:?} {:?}", found.stop_reason, found.violation);
    assert_eq!((found.states, found.ends), (6_191, 21));
}
