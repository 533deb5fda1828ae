//! What is wrong now: the last error of each operation, and a log that does not repeat itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::EtcdError;

/// An error that has not occurred for this long is over, if its operation has not been tried since.
const OVER_AFTER: Duration = Duration::from_secs(60);
/// Time between two logs of an operation that fails in the same way.
const SAME_AGAIN: Duration = Duration::from_secs(60);
/// Time between two logs of an operation that fails in different ways.
const OTHER_AGAIN: Duration = Duration::from_secs(5);

/// What is done in etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    ReadRing,
    ReadLeases,
    SwapRing,
    SwapLease,
    WatchRing,
    ListInstance,
}

impl Operation {
    fn shown(self) -> &'static str {
        match self {
            Operation::ReadRing => "cannot read the ring",
            Operation::ReadLeases => "cannot read leases",
            Operation::SwapRing => "cannot write the ring",
            Operation::SwapLease => "cannot write a lease",
            Operation::WatchRing => "cannot watch the ring",
            Operation::ListInstance => "cannot list this instance",
        }
    }
}

/// The errors of a registry.
#[derive(Debug)]
pub(crate) struct Problems {
    controller_type: String,
    operations: Mutex<BTreeMap<Operation, Problem>>,
}

#[derive(Debug, Default)]
struct Problem {
    /// The last error and its time, unless the operation has succeeded since.
    error: Option<(String, Instant)>,
    /// The last error that was logged.
    logged: Option<(String, Instant)>,
}

impl Problems {
    pub(crate) fn new(controller_type: &str) -> Self {
        Problems { controller_type: controller_type.to_owned(), operations: Mutex::default() }
    }

    /// The operation succeeded.
    pub(crate) fn clear(&self, operation: Operation) {
        if let Some(problem) = self.operations().get_mut(&operation)
            && problem.error.take().is_some()
            && problem.logged.take().is_some()
        {
            tracing::info!(controller_type = self.controller_type, "etcd: {}: over", operation.shown());
        }
    }

    /// The operation failed.
    pub(crate) fn note(&self, operation: Operation, error: &EtcdError) {
        if self.record(operation, &error.to_string()) {
            tracing::warn!(controller_type = self.controller_type, "etcd: {}: {error}", operation.shown());
        }
    }

    /// Returns whether to log it.
    fn record(&self, operation: Operation, error: &str) -> bool {
        let now = Instant::now();
        let mut operations = self.operations();
        let problem = operations.entry(operation).or_default();
        problem.error = Some((error.to_owned(), now));
        let is_due = problem.logged.as_ref().is_none_or(|(logged, time)| {
            now.duration_since(*time) >= if logged == error { SAME_AGAIN } else { OTHER_AGAIN }
        });
        if is_due {
            problem.logged = Some((error.to_owned(), now));
        }
        is_due
    }

    /// The error that is not over. If several operations fail, the first of them in the order above.
    pub(crate) fn last_error(&self) -> Option<String> {
        let now = Instant::now();
        let is_on = |time: &Instant| now.duration_since(*time) < OVER_AFTER;
        self.operations().iter().find_map(|(operation, problem)| {
            let (error, _) = problem.error.as_ref().filter(|(_, time)| is_on(time))?;
            Some(format!("{}: {error}", operation.shown()))
        })
    }

    fn operations(&self) -> MutexGuard<'_, BTreeMap<Operation, Problem>> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_log_does_not_repeat_itself() {
        let problems = Problems::new("vm");
        let record = |error| problems.record(Operation::SwapLease, error);
        assert!(record("full"));
        assert!(!record("full"));
        assert!(!record("gone"));
        tokio::time::advance(OTHER_AGAIN).await;
        assert!(!record("full"));
        assert!(record("gone"));
        tokio::time::advance(SAME_AGAIN).await;
        assert!(record("gone"));
        problems.clear(Operation::SwapLease);
        assert!(record("gone"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_is_shown_until_it_is_over() {
        let problems = Problems::new("vm");
        assert_eq!(problems.last_error(), None);
        problems.record(Operation::SwapRing, "too large");
        problems.record(Operation::ReadRing, "gone");
        assert_eq!(problems.last_error().as_deref(), Some("cannot read the ring: gone"));
        problems.clear(Operation::ReadRing);
        assert_eq!(problems.last_error().as_deref(), Some("cannot write the ring: too large"));
        tokio::time::advance(OVER_AFTER).await;
        assert_eq!(problems.last_error(), None);
    }
}
