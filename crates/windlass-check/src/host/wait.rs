//! What a client's script waits for before it goes on.

use std::fmt;
use std::sync::Arc;

use crate::rules::StatePredicate;
use crate::view::View;

/// A condition on the abstract state, and what it is called in traces.
#[derive(Clone)]
pub(crate) struct Wait {
    what: String,
    predicate: StatePredicate,
}

impl Wait {
    pub(crate) fn new(what: String, predicate: impl Fn(&View<'_>) -> bool + Send + Sync + 'static) -> Self {
        Wait { what, predicate: Arc::new(predicate) }
    }

    /// Whether what it waits for is so.
    pub(crate) fn is_over(&self, view: &View<'_>) -> bool {
        (self.predicate)(view)
    }
}

/// What is waited for: `deployments web`.
impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wait({})", self.what)
    }
}

/// Functions cannot be compared: two waits are equal if one is a clone of the other.
impl PartialEq for Wait {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what && Arc::ptr_eq(&self.predicate, &other.predicate)
    }
}
