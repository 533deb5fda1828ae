//! What parents without conditions wait for, so that each wait is logged once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass::ObjectRef;

/// The reasons for which parents wait. Of those that do not, nothing is kept.
#[derive(Default)]
pub(crate) struct Waits(Mutex<BTreeMap<ObjectRef, String>>);

impl Waits {
    /// A parent waits; returns whether it waited for nothing, or for something else, before.
    pub(crate) fn begin(&self, parent: &ObjectRef, reason: &str) -> bool {
        let mut waits = self.lock();
        if waits.get(parent).is_some_and(|known| known == reason) {
            return false;
        }
        waits.insert(parent.clone(), reason.to_owned());
        true
    }

    /// A parent waits no more; returns whether it did.
    pub(crate) fn end(&self, parent: &ObjectRef) -> bool {
        self.lock().remove(parent).is_some()
    }

    /// Nothing that runs under the lock panics half-way.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectRef, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
