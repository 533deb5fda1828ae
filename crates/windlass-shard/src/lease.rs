//! The lease of an instance: it is alive as long as this keeps changing.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The name of an instance. It may be stable: an instance that restarts under the same name keeps its slots.
///
/// At most one process at a time may have a name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceId(Arc<str>);

impl InstanceId {
    /// The instance of this name.
    pub fn new(name: &str) -> Self {
        InstanceId(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Counts the lives of an instance, from 1: it grows when its process restarts, and when it has lost its lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(pub u64);

impl Incarnation {
    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        Incarnation(self.0 + 1)
    }
}

/// What the lease of an instance says. Each renewal gives it another [`Version`](crate::Version), which is all that
/// others look at: times that somebody wrote are never compared with a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// Whose lease it is.
    pub incarnation: Incarnation,
    /// Whether this incarnation may go on. Once false, only a later incarnation can make it true.
    pub alive: bool,
}
