//! What all workers share: each has the same handle, and memories of its own in front of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::parts::Parts;
use super::plans::{NumberedSituations, PlansOfAll};
use super::setup::{Setup, SetupFacts};
use super::state::State;
use super::symmetry::Permutation;

/// A value behind a lock, for all workers.
pub(crate) struct Locked<T>(Arc<Mutex<T>>);

impl<T> Locked<T> {
    pub(super) fn new(value: T) -> Self {
        Locked(Arc::new(Mutex::new(value)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        // A worker that panicked has left nothing half done: whatever is added, is added in one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Locked<T> {
    fn clone(&self) -> Self {
        Locked(self.0.clone())
    }
}

/// The parts of one world, its plans, and what never changes.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) parts: Locked<Parts>,
    pub(super) situations: Locked<NumberedSituations>,
    pub(super) plans: Locked<PlansOfAll>,
    pub(super) facts: Arc<SetupFacts>,
    /// The permutations of names and processes.
    pub(super) permutations: Arc<[Permutation]>,
    pub(super) initial: State,
}

impl Shared {
    pub(super) fn new(setup: Setup) -> Self {
        let facts = Arc::new(SetupFacts::of(&setup));
        let mut parts = Parts::new(setup);
        let initial = parts.initial();
        Shared {
            facts,
            initial,
            permutations: parts.permutations.all.as_slice().into(),
            parts: Locked::new(parts),
            situations: Locked::new(NumberedSituations::default()),
            plans: Locked::new(PlansOfAll::new()),
        }
    }
}
