//! How a reconcile ended, and what the driver should do about it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bug::Bug;

/// How a reconcile ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reconciled {
    /// What the driver should do next.
    pub result: ReconcileResult,
    /// The states that ran, in order.
    pub path: Vec<&'static str>,
    /// A mistake in the controller's code that this run met. The result is then terminal.
    pub bug: Option<Bug>,
    /// Events to publish about the parent.
    pub events: Vec<Event>,
    /// How the parent's Ready condition changed with this run. `None` if status and reason are as they were, and for
    /// parents that have no room for conditions.
    pub ready: Option<ReadyChange>,
}

/// A change of the parent's Ready condition, of its status or of its reason.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReadyChange {
    /// `True` or `False`.
    pub status: &'static str,
    /// CamelCase.
    pub reason: String,
    /// For people.
    pub message: String,
    /// The status before; `Unknown` if there was none.
    pub previous_status: String,
    /// The reason before; empty if there was none.
    pub previous_reason: String,
}

/// What the driver should do after a reconcile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReconcileResult {
    /// The parent does not exist; forget it.
    Gone,
    /// The parent is suspended or not selected, or is being deleted and not held by this controller.
    Idle,
    /// All is as it should be; requeued later if a time is given.
    Done {
        /// When to reconcile again, if nothing triggers it before.
        requeue_after: Option<Duration>,
    },
    /// A state waits; start again after this time. Never backs off.
    Requeue {
        /// How much later.
        after: Duration,
        /// Why.
        reason: String,
    },
    /// Another writer got in between; start again, with backoff, and count no error.
    Conflict {
        /// CamelCase.
        #[serde(default)]
        reason: String,
        /// What the API said.
        message: String,
    },
    /// It failed; start again, with backoff.
    Failed {
        /// CamelCase.
        reason: String,
        /// For people.
        message: String,
    },
    /// It ended with a terminal error; do not start again until the parent changes.
    Terminal {
        /// CamelCase.
        reason: String,
        /// For people.
        message: String,
    },
}

/// A Kubernetes Event about the parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// Whether something is wrong.
    pub warning: bool,
    /// CamelCase, for programs.
    pub reason: String,
    /// For people.
    pub message: String,
}

impl Event {
    /// Something that went well.
    pub fn normal(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Event { warning: false, reason: reason.into(), message: message.into() }
    }

    /// Something that is wrong.
    pub fn warning(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Event { warning: true, reason: reason.into(), message: message.into() }
    }
}
