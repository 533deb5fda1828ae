//! Who is notified of changes of parents, for metrics of a program's own.

use std::sync::{PoisonError, RwLock};

use serde_json::Value;

/// What happens to a parent.
#[derive(Clone, Copy, Debug)]
pub enum ParentChange<'a> {
    /// It came, changed or went.
    Changed {
        /// As it was; none if it came.
        before: Option<&'a Value>,
        /// As it is; none if it went.
        after: Option<&'a Value>,
    },
    /// It is this instance's from now on.
    Assigned(&'a Value),
    /// It is another instance's from now on.
    Released(&'a Value),
}

type Observer = Box<dyn Fn(&str, ParentChange<'_>) + Send + Sync>;

/// All who are notified.
#[derive(Default)]
pub(super) struct Observers(RwLock<Vec<Observer>>);

impl Observers {
    pub(super) fn add(&self, observer: impl Fn(&str, ParentChange<'_>) + Send + Sync + 'static) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(observer));
    }

    pub(super) fn notify(&self, controller: &str, change: ParentChange<'_>) {
        for observer in &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            observer(controller, change);
        }
    }
}
