//! The coroutine: an async reconcile that is polled by hand, one batch of asks at a time.
//!
//! A future cannot be cloned, hashed or compared, but its answers can. To continue from any point, start from scratch
//! and feed the answers again.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::ask::{Answer, Ask, AskKind};
use crate::bug::Bug;

/// A running reconcile. Nothing happens in it but between a call of [`Coroutine::resume`] and its return.
pub struct Coroutine<T> {
    controller: String,
    slot: Slot,
    future: Pin<Box<dyn Future<Output = T> + Send>>,
}

/// Where a coroutine has got to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CoroutineState<T> {
    /// It waits for an answer to each of these. They may be performed in any order.
    Ask(Vec<Ask>),
    /// It is over.
    End(T),
    /// Its code is wrong and it cannot go on.
    Bug(Bug),
}

impl<T> Coroutine<T> {
    /// Makes a coroutine; `body` gets the slot through which it asks.
    pub(crate) fn new<F>(controller: &str, body: impl FnOnce(Slot) -> F) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let slot = Slot::default();
        Coroutine { controller: controller.to_owned(), future: Box::pin(body(slot.clone())), slot }
    }

    /// Goes on until the next asks. `answers` are those to the asks of the previous step, in their order;
    /// the first call has none.
    ///
    /// # Panics
    /// If there are not as many answers as asks, or one is of the wrong kind: a driver that does this is broken.
    pub fn resume(&mut self, answers: Vec<Answer>) -> CoroutineState<T> {
        self.slot.answer(answers);
        let mut context = Context::from_waker(Waker::noop());
        let polled = catch_unwind(AssertUnwindSafe(|| self.future.as_mut().poll(&mut context)));
        match polled {
            Ok(Poll::Ready(end)) => CoroutineState::End(end),
            Ok(Poll::Pending) => {
                let asks = self.slot.asks();
                if asks.is_empty() {
                    CoroutineState::Bug(self.foreign_await())
                } else {
                    CoroutineState::Ask(asks)
                }
            }
            Err(panic) => CoroutineState::Bug(self.panicked(panic.as_ref())),
        }
    }

    /// The state that is running.
    pub fn state(&self) -> &'static str {
        self.slot.state()
    }

    fn foreign_await(&self) -> Bug {
        Bug::ForeignAwait { controller: self.controller.clone(), state: self.state().to_owned() }
    }

    fn panicked(&self, panic: &(dyn Any + Send)) -> Bug {
        Bug::Panicked {
            controller: self.controller.clone(),
            state: self.state().to_owned(),
            message: panic_message(panic),
        }
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| panic.downcast_ref::<String>().cloned());
    message.unwrap_or_else(|| "no message".to_owned())
}

/// What the inside and the outside of a coroutine share.
#[derive(Clone, Default)]
pub(crate) struct Slot(Arc<Mutex<Exchange>>);

#[derive(Default)]
struct Exchange {
    next_id: u64,
    waiting: Vec<Waiting>,
    answered: BTreeMap<u64, Answer>,
    state: &'static str,
}

/// An ask that is not answered yet.
struct Waiting {
    id: u64,
    kind: AskKind,
    /// Until the driver of the coroutine takes it.
    ask: Option<Ask>,
}

impl Slot {
    /// Asks, and waits for the answer.
    pub(crate) fn ask(&self, ask: Ask) -> Asking {
        Asking { slot: self.clone(), progress: Progress::NotAsked(Box::new(ask)) }
    }

    /// Notes which state runs, for messages.
    pub(crate) fn enter(&self, state: &'static str) {
        self.exchange().state = state;
    }

    pub(crate) fn state(&self) -> &'static str {
        self.exchange().state
    }

    /// Whether an answer is awaited.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.exchange().waiting.is_empty()
    }

    /// Takes what is asked for now.
    fn asks(&self) -> Vec<Ask> {
        self.exchange().waiting.iter_mut().filter_map(|waiting| waiting.ask.take()).collect()
    }

    fn answer(&self, answers: Vec<Answer>) {
        let mut exchange = self.exchange();
        let waiting = std::mem::take(&mut exchange.waiting);
        assert_eq!(
            waiting.len(),
            answers.len(),
            "a driver must answer every ask of a step, and nothing else"
        );
        for (Waiting { id, kind, .. }, answer) in waiting.into_iter().zip(answers) {
            assert!(kind.fits(&answer), "a driver answered {kind:?} with {answer:?}");
            exchange.answered.insert(id, answer);
        }
    }

    /// A panic in a state poisons the lock, but the exchange is whole: it is only changed by the code above.
    fn exchange(&self) -> MutexGuard<'_, Exchange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The future behind every method of `Cx` that awaits.
pub(crate) struct Asking {
    slot: Slot,
    progress: Progress,
}

enum Progress {
    NotAsked(Box<Ask>),
    Waiting(u64),
    Over,
}

impl Future for Asking {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Answer> {
        let this = &mut *self;
        let mut exchange = this.slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut this.progress, Progress::Over) {
            Progress::NotAsked(ask) => {
                let id = exchange.next_id;
                exchange.next_id += 1;
                exchange.waiting.push(Waiting { id, kind: ask.kind(), ask: Some(*ask) });
                this.progress = Progress::Waiting(id);
                Poll::Pending
            }
            Progress::Waiting(id) => match exchange.answered.remove(&id) {
                Some(answer) => Poll::Ready(answer),
                None => {
                    this.progress = Progress::Waiting(id);
                    Poll::Pending
                }
            },
            Progress::Over => panic!("a Cx future was polled after it had finished"),
        }
    }
}

/// An ask that is dropped before it is answered is withdrawn, so that it is not performed.
impl Drop for Asking {
    fn drop(&mut self) {
        if let Progress::Waiting(id) = self.progress {
            let mut exchange = self.slot.exchange();
            exchange.waiting.retain(|waiting| waiting.id != id);
            exchange.answered.remove(&id);
        }
    }
}

/// Polls several futures side by side, so that all their asks go out as one batch.
pub(crate) struct All<F: Future> {
    parts: Vec<Part<F>>,
}

enum Part<F: Future> {
    Running(Pin<Box<F>>),
    Finished(Option<F::Output>),
}

impl<F: Future> All<F> {
    pub(crate) fn new(futures: impl IntoIterator<Item = F>) -> Self {
        All { parts: futures.into_iter().map(|future| Part::Running(Box::pin(future))).collect() }
    }
}

// Running parts are boxed, and finished ones are only moved out, never pinned.
impl<F: Future> Unpin for All<F> {}

impl<F: Future> Future for All<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut pending = false;
        for part in &mut self.parts {
            if let Part::Running(future) = part {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *part = Part::Finished(Some(output)),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            return Poll::Pending;
        }
        let outputs = self.parts.iter_mut().filter_map(|part| match part {
            Part::Finished(output) => output.take(),
            Part::Running(_) => None,
        });
        Poll::Ready(outputs.collect())
    }
}
