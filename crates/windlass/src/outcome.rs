//! How a state ends: what comes next, or why not.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_model::{Reason, Status};

use crate::contested::{CONTESTED, is_contested};

/// What a state returns. It is a `Result`, so `?` works on everything that `Cx` does.
pub type Outcome<S> = Result<Transition<S>, Error>;

/// How a state that did not fail ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition<S> {
    /// This state is done; run that one.
    To(S),
    /// This state is done, and so is the reconcile.
    Done,
    /// As `Done`, but requeued after this time.
    DoneAndRequeue(Duration),
    /// This state waits for something: its outputs are applied, its condition is False, and the reconcile starts again
    /// later.
    Requeue {
        /// How much later.
        after: Duration,
        /// Why, in CamelCase, for programs.
        reason: String,
        /// Why, for people.
        message: String,
    },
}

/// This state is done; go on with another.
pub fn to<S>(state: S) -> Outcome<S> {
    Ok(Transition::To(state))
}

/// This state is done, and so is the reconcile.
pub fn done<S>() -> Outcome<S> {
    Ok(Transition::Done)
}

/// This state is done, and so is the reconcile; the parent is requeued after this time.
pub fn done_and_requeue_after<S>(after: Duration) -> Outcome<S> {
    Ok(Transition::DoneAndRequeue(after))
}

/// This state waits for something that is expected to come. The wait is not an error and never backs off. What the
/// state has ensured is applied first, so it can wait for what it makes.
///
/// `reason` becomes the condition's reason, so it must be CamelCase; anything else is converted to it.
pub fn requeue_after<S>(after: Duration, reason: impl Into<String>) -> Outcome<S> {
    waiting(after, reason, "")
}

/// [`requeue_after`] with a message for people.
pub fn waiting<S>(after: Duration, reason: impl Into<String>, message: impl Into<String>) -> Outcome<S> {
    Ok(Transition::Requeue { after, reason: reason.into(), message: message.into() })
}

/// This state failed, and another try may succeed. Retries back off exponentially. Nothing may have been ensured in
/// this state before.
pub fn fail<S>(reason: impl Into<String>, message: impl Into<String>) -> Outcome<S> {
    Err(Error::Failed { reason: reason.into(), message: message.into() })
}

/// This state failed, and only a change of the object can help. Nothing may have been ensured in this state before.
pub fn fail_for_good<S>(reason: impl Into<String>, message: impl Into<String>) -> Outcome<S> {
    Err(Error::Terminal { reason: reason.into(), message: message.into() })
}

/// A number of seconds.
pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Why a state failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The API refused a request. A conflict is retried and does not count as an error.
    #[error("{}", .0.message)]
    Api(Box<Status>),
    /// An external service failed.
    #[error("{0}")]
    Call(CallError),
    /// An object does not have the shape that the machine expects.
    #[error("{kind} {name:?} cannot be read: {message}")]
    Decode {
        /// The kind that was expected.
        kind: String,
        /// The object.
        name: String,
        /// What does not fit.
        message: String,
    },
    /// The state says that it failed; it is tried again.
    #[error("{message}")]
    Failed {
        /// CamelCase, for programs.
        reason: String,
        /// For people.
        message: String,
    },
    /// The state says that trying again is no use until the object changes.
    #[error("{message}")]
    Terminal {
        /// CamelCase, for programs.
        reason: String,
        /// For people.
        message: String,
    },
}

impl Error {
    /// The reason that the state's condition shows.
    pub fn reason(&self) -> &str {
        match self {
            Error::Api(status) if is_contested(status) => CONTESTED,
            Error::Api(status) if status.reason == Some(Reason::Conflict) => "Conflict",
            Error::Api(status) if status.code < 500 => "RequestRefused",
            Error::Api(_) => "RequestFailed",
            Error::Call(_) => "CallFailed",
            Error::Decode { .. } => "UnreadableObject",
            Error::Failed { reason, .. } | Error::Terminal { reason, .. } => reason,
        }
    }

    /// Whether another writer got in between: tried again, but not counted as an error.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::Api(status) if status.reason == Some(Reason::Conflict))
    }

    /// Whether trying again is no use until the object changes.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Error::Terminal { .. })
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Error::Api(Box::new(status))
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Error::Call(error)
    }
}

/// Why a call to an external service failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
pub enum CallError {
    /// No answer in time; whether the call had an effect is not known.
    #[error("{service} did not answer in time")]
    Timeout {
        /// The service.
        service: String,
    },
    /// The service could not be reached.
    #[error("{service} cannot be reached: {message}")]
    Unavailable {
        /// The service.
        service: String,
        /// What went wrong.
        message: String,
    },
    /// The service answered with an error of its own, or with something that makes no sense.
    #[error("{service} refused: {message}")]
    Refused {
        /// The service.
        service: String,
        /// What it said.
        message: String,
    },
}
