//! Properties that always hold and record what they see: what the checker reaches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::ConfigMap;
use windlass::model::Key;
use windlass::{Ask, Kind};
use windlass_check::{Between, Check, View};

use crate::machine::{Register, Thing};
use crate::visible::{Objects, Only, Reached, Seen, SeenStep};
use windlass::Service;

/// The names of the properties that record.
pub(crate) const RECORDED: &str = "recorded";

/// The objects of a world, numbered once for all explorers.
#[derive(Clone)]
pub(crate) struct SharedObjects(Arc<Mutex<Objects>>);

impl SharedObjects {
    pub(crate) fn new() -> Self {
        SharedObjects(Arc::new(Mutex::new(Objects::new())))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a property sees.
    fn seen(&self, view: &View<'_>) -> Seen {
        let maps = ConfigMap::kind_info().resource.plural;
        let find = |key: &Key| match *key.plural == *maps {
            true => view.raw::<ConfigMap>(&key.name),
            false => view.raw::<Thing>(&key.name),
        };
        self.lock().seen(find, view.service(Register::NAME))
    }

    /// What a rule on steps sees. An API request must be the same by either name.
    fn seen_step(&self, step: &Between<'_>) -> SeenStep {
        let (before, after) = (self.seen(&step.before), self.seen(&step.after));
        if let Some(Ask::Api { request, .. }) = step.request() {
            assert_eq!(step.api_request(), Some(&**request));
        }
        let deed = self.lock().deed(&step.actor().to_string(), step.request());
        SeenStep { before, after, deed }
    }
}

/// What the checker has reached, as far as it has got.
#[derive(Clone, Default)]
pub(crate) struct Recording(Arc<Mutex<Reached>>);

impl Recording {
    /// Adds properties that record. They must come before all others: the checker evaluates rules on steps, and those on
    /// ends, in their order, and only up to the first that is violated.
    pub(crate) fn added_to(&self, check: Check, objects: &SharedObjects) -> Check {
        let (states, state_objects) = (self.clone(), objects.clone());
        let (ends, end_objects) = (self.clone(), objects.clone());
        let (steps, step_objects) = (self.clone(), objects.clone());
        check
            .always(RECORDED, move |view| {
                states.lock().states.insert(state_objects.seen(view));
                true
            })
            .eventually(RECORDED, move |view| {
                ends.lock().ends.insert(end_objects.seen(view));
                true
            })
            .never_between(RECORDED, move |step| {
                steps.lock().steps.insert(step_objects.seen_step(step));
                false
            })
    }

    /// What was recorded.
    pub(crate) fn take(&self) -> Reached {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Reached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A check that is violated where something is reached: its report shows the way there.
pub(crate) fn forbids(check: Check, only: Only, is_reduced: bool, objects: &SharedObjects) -> Check {
    const NAME: &str = "what no other explorer reaches";
    let objects = objects.clone();
    let step_objects = objects.clone();
    let as_compared = move |view: &View<'_>| {
        let seen = objects.seen(view);
        objects.lock().as_compared(seen, is_reduced)
    };
    match only {
        Only::State(seen) => check.always(NAME, move |view| as_compared(view) != seen),
        Only::End(seen) => check.eventually(NAME, move |view| as_compared(view) != seen),
        Only::Step(wanted) => check.never_between(NAME, move |step| {
            let seen = step_objects.seen_step(step);
            step_objects.lock().step_as_compared(seen, is_reduced) == wanted
        }),
    }
}
