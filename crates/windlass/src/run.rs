//! Running the states of a machine, one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::bug::Bug;
use crate::coroutine::panic_message;
use crate::cx::Cx;
use crate::ensure;
use crate::io::Io;
use crate::kind::{Kind, from_value};
use crate::machine::Machine;
use crate::outcome::{Error, Transition};
use crate::output::shown;
use crate::reconcile::ReconcileState;
use crate::reconcile_result::{Event, ReconcileResult};
use crate::record::OutputRecord;
use crate::report::Report;
use crate::states::{StateInfo, States};

/// What a run of a machine did.
pub(crate) struct Run {
    pub(crate) graph: &'static [StateInfo],
    /// The states that are done, in order.
    pub(crate) done: Vec<usize>,
    /// The state that waits or failed.
    pub(crate) stopped_at: Option<usize>,
    pub(crate) end: End,
    /// What was ensured, in order.
    pub(crate) ensured: Vec<OutputRecord>,
    pub(crate) events: Vec<Event>,
    /// What it shows in the status.
    pub(crate) report: Report,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done { requeue_after: Option<Duration> },
    Requeue { after: Duration, reason: String, message: String },
    Failed { error: Error, message: String },
    Bug { bug: Box<Bug>, message: String },
}

impl End {
    pub(crate) fn failed(error: Error) -> Self {
        let message = error.to_string();
        End::Failed { error, message }
    }

    pub(crate) fn bug(bug: Bug) -> Self {
        let message = bug.to_string();
        End::Bug { bug: Box::new(bug), message }
    }

    pub(crate) fn reason(&self) -> &str {
        match self {
            End::Done { .. } => "Done",
            End::Requeue { reason, .. } => reason,
            End::Failed { error, .. } => error.reason(),
            End::Bug { bug, .. } => bug.reason(),
        }
    }

    pub(crate) fn message(&self) -> &str {
        match self {
            End::Done { .. } => "",
            End::Requeue { message, .. } | End::Failed { message, .. } | End::Bug { message, .. } => message,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self, End::Done { .. })
    }

    pub(crate) fn result(&self) -> ReconcileResult {
        let (reason, message) = (self.reason().to_owned(), self.message().to_owned());
        match self {
            End::Done { requeue_after } => ReconcileResult::Done { requeue_after: *requeue_after },
            End::Requeue { after, .. } => ReconcileResult::Requeue { after: *after, reason },
            End::Failed { error, .. } if error.is_conflict() => ReconcileResult::Conflict { reason, message },
            End::Failed { error, .. } if !error.is_terminal() => ReconcileResult::Failed { reason, message },
            End::Failed { .. } | End::Bug { .. } => ReconcileResult::Terminal { reason, message },
        }
    }
}

impl Run {
    /// A run that has not begun.
    fn new(graph: &'static [StateInfo]) -> Self {
        Run {
            graph,
            done: Vec::new(),
            stopped_at: None,
            end: End::Done { requeue_after: None },
            ensured: Vec::new(),
            events: Vec::new(),
            report: Report::default(),
        }
    }

    /// The run of a machine that is not there: done at once.
    pub(crate) fn nothing() -> Self {
        Run::new(&[])
    }

    /// A run that failed before its first state, or beside its states.
    pub(crate) fn failed(graph: &'static [StateInfo], error: Error) -> Self {
        Run { end: End::failed(error), ..Run::new(graph) }
    }

    /// The names of the states that ran, the one that stopped included.
    pub(crate) fn path(&self) -> Vec<&'static str> {
        let visited = self.done.iter().chain(self.stopped_at.as_ref());
        visited.filter_map(|index| self.graph.get(*index)).map(|state| state.name).collect()
    }
}

/// Runs the states of a machine from the initial one. It ends, since declared edges make no cycle and
/// an undeclared one stops it.
pub(crate) async fn run_machine<M: Machine>(
    machine: &M,
    reconcile: &mut ReconcileState,
    deleting: bool,
) -> Run {
    let graph = M::State::GRAPH;
    let parent = match from_value(&reconcile.parent) {
        Ok(parent) => parent,
        Err(error) => {
            // Only a change of the object can fix this.
            let (reason, message) = (error.reason().to_owned(), error.to_string());
            return Run::failed(graph, Error::Terminal { reason, message });
        }
    };
    let mut run = Run::new(graph);
    let cx: Cx<M::Parent> = Cx::new(parent, reconcile.target(), reconcile.io.clone(), deleting);
    let mut state = M::State::initial();
    loop {
        let index = state.index();
        cx.io().enter(graph.get(index).map_or("?", |state| state.name));
        let controller = &reconcile.declaration.name;
        let outcome = Guarded { controller, io: cx.io(), state: Box::pin(machine.run(state, &cx)) }.await;
        run.events.extend(cx.take_events());
        run.report.extend(cx.take_report());
        let ended = match outcome {
            Ok(Ok(next)) => finish_state(&cx, reconcile, &mut run, index, next).await,
            Ok(Err(error)) => Err(failed_state(&cx, reconcile, error)),
            Err(bug) => Err(End::bug(bug)),
        };
        match ended {
            Ok(Flow::With(next)) => {
                run.done.push(index);
                state = next;
            }
            Ok(Flow::Stop { requeue_after }) => {
                run.done.push(index);
                run.end = End::Done { requeue_after };
                return run;
            }
            Ok(Flow::Wait(end)) | Err(end) => {
                run.stopped_at = Some(index);
                run.end = end;
                return run;
            }
        }
    }
}

/// Polls a state so that its mistakes end the state and not the reconcile: the status can still say so.
struct Guarded<'a, F> {
    controller: &'a str,
    io: &'a Io,
    state: Pin<Box<F>>,
}

impl<F: Future> Future for Guarded<'_, F> {
    type Output = Result<F::Output, Bug>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.state.as_mut().poll(context)));
        let key = || (self.controller.to_owned(), self.io.state().to_owned());
        match polled {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) if self.io.is_waiting() => Poll::Pending,
            Ok(Poll::Pending) => {
                let (controller, state) = key();
                Poll::Ready(Err(Bug::ForeignAwait { controller, state }))
            }
            Err(panic) => {
                let ((controller, state), message) = (key(), panic_message(panic.as_ref()));
                Poll::Ready(Err(Bug::Panicked { controller, state, message }))
            }
        }
    }
}

enum Flow<S> {
    With(S),
    Stop { requeue_after: Option<Duration> },
    Wait(End),
}

/// Applies the outputs of a state that is done or waits, and says where to go on. A state that waits is applied too:
/// what it waits for is often what it has just ensured.
async fn finish_state<P: Kind, S: States>(
    cx: &Cx<P>,
    reconcile: &mut ReconcileState,
    run: &mut Run,
    index: usize,
    next: Transition<S>,
) -> Result<Flow<S>, End> {
    let next = match next {
        Transition::To(state) => {
            let declared = run.graph.get(index).is_some_and(|from| from.next.contains(&state.index()));
            if !declared {
                return Err(End::bug(undeclared_transition(reconcile, run, index, state.index())));
            }
            Flow::With(state)
        }
        Transition::DoneAndRequeue(after) => Flow::Stop { requeue_after: Some(after) },
        Transition::Done => Flow::Stop { requeue_after: None },
        Transition::Requeue { after, reason, message } => Flow::Wait(End::Requeue { after, reason, message }),
    };
    for output in cx.take_outputs() {
        ensure::apply(reconcile, &mut run.ensured, &output, cx.is_deleting()).await?;
    }
    Ok(next)
}

/// How a state ends that failed. Its outputs are not applied, since it did not get to its end, and that is never
/// silent: a failure of the API or of a service names them in its message, and is tried again. A failure that the
/// machine itself decides on would drop them for good, so it is a bug.
fn failed_state<P: Kind>(cx: &Cx<P>, reconcile: &ReconcileState, error: Error) -> End {
    let target = reconcile.target();
    let outputs = cx.take_outputs();
    let names: Vec<String> = outputs.iter().map(|output| shown(&output.kind, &output.key(&target))).collect();
    if names.is_empty() {
        return End::failed(error);
    }
    let outputs = names.join(", ");
    match error {
        Error::Failed { reason, message } | Error::Terminal { reason, message } => {
            End::bug(Bug::OutputNotApplied {
                controller: reconcile.declaration.name.clone(),
                state: reconcile.io.state().to_owned(),
                outputs,
                reason,
                message,
            })
        }
        error => {
            let message = format!("{error}; not applied yet: {outputs}");
            End::Failed { error, message }
        }
    }
}

fn undeclared_transition(reconcile: &ReconcileState, run: &Run, from: usize, to: usize) -> Bug {
    let name = |index: usize| run.graph.get(index).map_or("?", |state| state.name).to_owned();
    Bug::UndeclaredTransition {
        controller: reconcile.declaration.name.clone(),
        from: name(from),
        to: name(to),
    }
}
