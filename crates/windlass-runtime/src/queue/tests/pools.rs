//! The queue and the worker pools on it, under every interleaving, with pools that are dropped at any point.
//!
//! A state is kept as the actions that led to it: what happens in them is done by the production code, with real
//! futures that are polled and dropped by hand. That a future which was never polled drops its arguments and nothing
//! else is therefore not a claim of this model, but what the compiler makes of it.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use windlass_check::engine::{self, Property};

use super::*;
use crate::protocol_model::{Numbered, Protocol, ProtocolModel, explore};
use crate::queue::entry::Stage;
use crate::queue::{Backoff, Claim, SharedQueue, Work};

const OBJECTS: [&str; 2] = ["a", "b"];
const TRIGGERS: usize = 2;
const FAILURES: usize = 1;
const STOPS: usize = 1;
const DROPS: usize = 2;
/// How many reconciles of a pool may be active.
const LIMIT: usize = 2;

/// A mistake that the check must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// A task claims its object when it is polled for the first time.
    ClaimInTask,
    /// A claim that is dropped sends no notification.
    SilentRelease,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A change triggers an object.
    Trigger(usize),
    /// A pool starts on the queue: the lease was won.
    Start,
    /// The pool has a reason to look for work, and does.
    Wake,
    /// The time passes until the pool has a reason.
    Tick,
    /// A task of the pool is polled for the first time.
    Poll(usize),
    /// A task of the pool ends.
    Finish(usize, Requeue),
    /// The pool takes nothing any more, and is gone when its tasks are.
    Stop,
    /// The pool is dropped, and its tasks are aborted: each is gone a while later.
    Drop,
    /// A task of a pool that was dropped is gone.
    Abort(usize),
    /// A task of a pool that was dropped was just being polled, and comes to its end all the same.
    FinishLate(usize),
}

/// A reconcile: a future that ends when `end` says how.
struct Task {
    object: usize,
    future: Pin<Box<dyn Future<Output = ()>>>,
    end: Arc<Mutex<Option<Requeue>>>,
    polled: bool,
}

struct Pool {
    tasks: Vec<Task>,
    /// When it looks for work again by itself.
    until: Option<Instant>,
    /// Whether a task has ended that it has not yet heard of.
    joined: bool,
    stopping: bool,
}

/// Everything that is there after some actions.
struct Bench {
    mistake: Mistake,
    queue: Arc<SharedQueue>,
    clock: Arc<Mutex<Instant>>,
    pool: Option<Pool>,
    /// Tasks of pools that were dropped, on their way out.
    aborted: Vec<Task>,
    /// For each object, whether a trigger came for which no run has begun, or whose run did not end well.
    owed: [bool; 2],
    /// For each object, whether the run that holds it began for a trigger.
    began_owed: [bool; 2],
    violation: Option<String>,
}

/// The body of a task: what [`crate::worker::process`] does with its claim.
async fn reconcile(claim: Claim, end: Arc<Mutex<Option<Requeue>>>) {
    let finished = futures::future::poll_fn(|_| match *end.lock().expect("lock is not poisoned") {
        Some(finished) => std::task::Poll::Ready(finished),
        None => std::task::Poll::Pending,
    });
    let finished = finished.await;
    claim.finish(finished);
}

impl Task {
    fn new(mistake: Mistake, queue: &Arc<SharedQueue>, claim: Claim, work: &Work) -> Self {
        let object = OBJECTS.iter().position(|name| *name == work.key.name).expect("one of ours");
        let end: Arc<Mutex<Option<Requeue>>> = Arc::default();
        let (ends, queue, key) = (Arc::clone(&end), Arc::clone(queue), work.key.clone());
        let future: Pin<Box<dyn Future<Output = ()>>> = if mistake == Mistake::ClaimInTask {
            std::mem::forget(claim);
            Box::pin(async move { reconcile(Claim::new(&queue, &key), ends).await })
        } else {
            Box::pin(reconcile(claim, ends))
        };
        Task { object, future, end, polled: false }
    }

    fn poll(&mut self) {
        self.polled = true;
        let _ = self.future.as_mut().now_or_never();
    }
}

impl Bench {
    fn new(start: Instant, mistake: Mistake) -> Self {
        let clock = Arc::new(Mutex::new(start));
        let read = Arc::clone(&clock);
        let backoff = Backoff { initial: Duration::from_secs(1), max: Duration::from_secs(1) };
        let settings = QueueSettings { backoff, ..QueueSettings::default() };
        let queue =
            SharedQueue::with_clock(settings, Box::new(move || *read.lock().expect("lock is not poisoned")));
        Bench {
            mistake,
            queue,
            clock,
            pool: None,
            aborted: Vec::new(),
            owed: [false; 2],
            began_owed: [false; 2],
            violation: None,
        }
    }

    /// Everything that is there after these actions.
    fn after(start: Instant, mistake: Mistake, history: &[Action]) -> Self {
        let mut bench = Bench::new(start, mistake);
        history.iter().for_each(|action| bench.perform(*action));
        bench
    }

    fn now(&self) -> Instant {
        *self.clock.lock().expect("lock is not poisoned")
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Trigger(object) => {
                self.queue.add([(key(OBJECTS[object]), live(Cause::Parent, "x"))]);
                self.owed[object] = true;
            }
            Action::Start => {
                self.pool = Some(Pool { tasks: Vec::new(), until: None, joined: false, stopping: false });
                self.start_due();
            }
            Action::Wake => {
                let _ = self.queue.changed().now_or_never();
                self.start_due();
            }
            Action::Tick => {
                let until = self.pool.as_ref().and_then(|pool| pool.until).expect("it waits");
                *self.clock.lock().expect("lock is not poisoned") = until;
            }
            Action::Poll(task) => self.pool_mut().tasks[task].poll(),
            Action::Finish(task, how) => {
                let task = self.pool_mut().tasks.remove(task);
                self.finish(task, how);
                let pool = self.pool_mut();
                pool.joined = true;
                if pool.stopping && pool.tasks.is_empty() {
                    self.pool = None;
                }
            }
            Action::Stop => {
                self.pool_mut().stopping = true;
                if self.pool_mut().tasks.is_empty() {
                    self.pool = None;
                }
            }
            Action::Drop => {
                let pool = self.pool.take().expect("there is one");
                self.aborted.extend(pool.tasks);
            }
            Action::Abort(task) => {
                let task = self.aborted.remove(task);
                let object = task.object;
                self.release(|| drop(task));
                self.owed[object] |= std::mem::take(&mut self.began_owed[object]);
            }
            Action::FinishLate(task) => {
                let task = self.aborted.remove(task);
                self.finish(task, Requeue::OnTrigger);
            }
        }
    }

    fn pool_mut(&mut self) -> &mut Pool {
        self.pool.as_mut().expect("there is one")
    }

    fn start_due(&mut self) {
        let (queue, mistake) = (Arc::clone(&self.queue), self.mistake);
        let room = LIMIT - self.pool_mut().tasks.len();
        let mut started: Vec<(Task, Work)> = Vec::new();
        let until = queue.start_due(room, |claim, work| {
            started.push((Task::new(mistake, &queue, claim, &work), work));
        });
        for (task, work) in started {
            self.begin(&task, &work);
            self.pool_mut().tasks.push(task);
        }
        let pool = self.pool_mut();
        (pool.until, pool.joined) = (until, false);
    }

    fn begin(&mut self, task: &Task, work: &Work) {
        let tasks = self.pool.iter().flat_map(|pool| &pool.tasks).chain(&self.aborted);
        if tasks.into_iter().any(|other| other.object == task.object) {
            self.violation = Some(format!("{} is reconciled twice at once", work.key));
        }
        self.began_owed[task.object] = std::mem::take(&mut self.owed[task.object]);
    }

    fn finish(&mut self, mut task: Task, how: Requeue) {
        *task.end.lock().expect("lock is not poisoned") = Some(how);
        let object = task.object;
        self.release(|| task.poll());
        let began_owed = std::mem::take(&mut self.began_owed[object]);
        self.owed[object] |= how == Requeue::WithBackoff && began_owed;
    }

    /// Does something that releases a claim.
    fn release(&mut self, release: impl FnOnce()) {
        if self.mistake != Mistake::SilentRelease {
            return release();
        }
        let notified = self.queue.changed().now_or_never().is_some();
        release();
        let _ = self.queue.changed().now_or_never();
        if notified {
            self.queue.add([]);
        }
    }

    /// Whether the pool has a reason to look for work. Nothing but this and [`Bench::summary`] may follow: it uses up the
    /// notification.
    fn has_reason(&self) -> bool {
        let notified = self.queue.changed().now_or_never().is_some();
        let Some(pool) = &self.pool else { return false };
        !pool.stopping && (notified || pool.joined || pool.until.is_some_and(|until| until <= self.now()))
    }

    /// Everything that decides what can happen next, as text.
    fn summary(&self, budgets: [usize; 4]) -> String {
        let task = |task: &Task| format!("{}{}", OBJECTS[task.object], if task.polled { "*" } else { "" });
        let tasks = |tasks: &[Task]| tasks.iter().map(task).collect::<Vec<_>>().join(",");
        let pool = self.pool.as_ref().map(|pool| {
            let until = pool.until.map(|until| until.saturating_duration_since(self.now()));
            format!("{} {until:?} {} {}", tasks(&pool.tasks), pool.joined, pool.stopping)
        });
        let notified = self.queue.changed().now_or_never().is_some();
        let (queue, aborted, owed) = (self.shown_queue(), tasks(&self.aborted), (self.owed, self.began_owed));
        format!("{budgets:?} {queue} {pool:?} {aborted} {owed:?} {notified}")
    }

    /// The objects in the queue and their stages. Counters and causes decide nothing, and times count relative to now.
    fn shown_queue(&self) -> String {
        let (now, queue) = (self.now(), self.queue.lock());
        let mut ready = queue.ready.clone();
        let line = std::iter::from_fn(|| ready.pop(now, queue.settings.background_aging));
        let line: Vec<String> = line.map(|key| key.name.clone()).collect();
        let stage = |stage: &Stage| match stage {
            Stage::Ready { .. } => "ready".to_owned(),
            Stage::Backoff { until, .. } => format!("backoff {:?}", until.saturating_duration_since(now)),
            Stage::Timer { until } => format!("timer {:?}", until.saturating_duration_since(now)),
            Stage::Halted => "halted".to_owned(),
            Stage::Active { again, .. } => format!("active {}", again.is_some()),
        };
        let stages =
            queue.entries.iter().map(|(key, entry)| format!("{}: {}", key.name, stage(&entry.stage)));
        format!("{line:?} {:?}", stages.collect::<Vec<_>>())
    }
}

#[derive(Clone)]
struct State {
    history: Vec<Action>,
    summary: String,
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.summary)
    }
}

impl State {
    /// How often something of a kind may still happen.
    fn left(&self, most: usize, is_one: impl Fn(&Action) -> bool) -> usize {
        most - self.history.iter().filter(|action| is_one(action)).count()
    }

    fn budgets(&self) -> [usize; 4] {
        [
            self.left(TRIGGERS, |action| matches!(action, Action::Trigger(_))),
            self.left(FAILURES, |action| matches!(action, Action::Finish(_, Requeue::WithBackoff))),
            self.left(STOPS, |action| matches!(action, Action::Stop)),
            self.left(DROPS, |action| matches!(action, Action::Drop)),
        ]
    }
}

#[derive(Clone)]
struct Pools {
    start: Instant,
    mistake: Mistake,
}

impl Pools {
    fn new(mistake: Mistake) -> Self {
        Pools { start: Instant::now(), mistake }
    }

    fn bench(&self, state: &State) -> Bench {
        Bench::after(self.start, self.mistake, &state.history)
    }
}

impl Protocol for Pools {
    type State = State;
    type Action = Action;

    fn initial(&self) -> State {
        let mut state = State { history: Vec::new(), summary: String::new() };
        state.summary = self.bench(&state).summary(state.budgets());
        state
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let [triggers, failures, stops, drops] = state.budgets();
        let bench = self.bench(state);
        if triggers > 0 {
            actions.extend((0..OBJECTS.len()).map(Action::Trigger));
        }
        for (number, task) in bench.aborted.iter().enumerate() {
            actions.push(Action::Abort(number));
            if task.polled {
                actions.push(Action::FinishLate(number));
            }
        }
        let Some(pool) = &bench.pool else {
            actions.push(Action::Start);
            return;
        };
        for (number, task) in pool.tasks.iter().enumerate() {
            if !task.polled {
                actions.push(Action::Poll(number));
                continue;
            }
            actions.push(Action::Finish(number, Requeue::OnTrigger));
            if failures > 0 {
                actions.push(Action::Finish(number, Requeue::WithBackoff));
            }
        }
        if stops > 0 && !pool.stopping {
            actions.push(Action::Stop);
        }
        if drops > 0 {
            actions.push(Action::Drop);
        }
        if !pool.stopping && pool.until.is_some_and(|until| until > bench.now()) {
            actions.push(Action::Tick);
        }
        if bench.has_reason() {
            actions.push(Action::Wake);
        }
    }

    fn next(&self, state: &State, action: &Action) -> engine::Next<State> {
        let mut next = state.clone();
        next.history.push(*action);
        let bench = self.bench(&next);
        if let Some(violation) = bench.violation {
            return engine::Next::Violation(violation);
        }
        next.summary = bench.summary(next.budgets());
        engine::Next::State(next)
    }

    fn is_fault(&self, action: &Action) -> bool {
        matches!(action, Action::Drop)
    }

    fn properties(&self) -> Vec<Property<ProtocolModel<Self>>> {
        let is_empty = |model: &mut ProtocolModel<Self>, state: &Numbered<State>| {
            model.bench(state).queue.lock().entries.is_empty()
        };
        vec![
            Property::eventually(
                "every enqueued object is reconciled",
                |model: &mut ProtocolModel<Self>, state| model.bench(state).owed == [false; 2],
            ),
            Property::eventually("nothing stays in the queue", is_empty),
            Property::sometimes(
                "a task is aborted before its first poll",
                |model: &mut ProtocolModel<Self>, state| {
                    model.bench(state).aborted.iter().any(|task| !task.polled)
                },
            ),
            Property::sometimes(
                "a pool starts while tasks of the last one go",
                |model: &mut ProtocolModel<Self>, state| {
                    let bench = model.bench(state);
                    !bench.aborted.is_empty() && bench.pool.is_some()
                },
            ),
        ]
    }
}

#[test]
fn every_enqueued_object_is_reconciled_whenever_pools_are_dropped() {
    let found = explore(&Pools::new(Mistake::None));
    assert!(found.holds(), "{:?} {:?}", found.stop_reason, found.violation);
    assert_eq!((found.states, found.ends), (3_148, 6));
}

fn refuted(mistake: Mistake) -> Vec<String> {
    let found = explore(&Pools::new(mistake));
    let Some(engine::Violation::Eventually { trace, .. }) = found.violation else {
        panic!("{mistake:?}: {:?} {:?}", found.stop_reason, found.violation);
    };
    trace.steps.iter().map(|step| step.action.clone()).collect()
}

#[test]
fn a_claim_that_is_made_in_the_task_is_found_out() {
    let trace = refuted(Mistake::ClaimInTask);
    assert_eq!(trace, ["Trigger(0)", "Trigger(0)", "Start", "Wake", "Stop", "Drop", "Abort(0)", "Start"]);
}

#[test]
fn a_claim_that_is_released_silently_is_found_out() {
    let trace = refuted(Mistake::SilentRelease);
    assert_eq!(trace, ["Trigger(0)", "Trigger(0)", "Start", "Wake", "Stop", "Drop", "Start", "Abort(0)"]);
}
