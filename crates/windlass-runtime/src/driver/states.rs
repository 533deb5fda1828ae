//! Which states a reconcile went through: how long each took, and the span in which its requests are made.

use std::time::Duration;

use tokio::time::Instant;
use tracing::Span;

use crate::operations::spans;

/// The states of one reconcile.
#[derive(Default)]
pub(super) struct States {
    current: Option<State>,
    finished: Vec<(&'static str, Duration)>,
}

struct State {
    name: &'static str,
    since: Instant,
    span: Span,
}

impl States {
    /// A state runs; nothing happens if it is the one that ran before.
    pub(super) fn enter(&mut self, name: &'static str) {
        if self.current.as_ref().is_some_and(|current| current.name == name) {
            return;
        }
        self.leave();
        let span = spans::state(&Span::current(), name);
        self.current = Some(State { name, since: Instant::now(), span });
    }

    /// The span of the state that runs.
    pub(super) fn span(&self) -> Span {
        self.current.as_ref().map_or_else(Span::none, |current| current.span.clone())
    }

    /// The states that ran, with the time that each took.
    pub(super) fn finish(mut self) -> Vec<(&'static str, Duration)> {
        self.leave();
        self.finished
    }

    fn leave(&mut self) {
        let Some(State { name, since, .. }) = self.current.take() else { return };
        // What stands in brackets is the framework's own work around the states.
        if !name.starts_with('(') {
            self.finished.push((name, since.elapsed()));
        }
    }
}
