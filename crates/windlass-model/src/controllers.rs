//! The controllers that every cluster has, as one pure step: garbage collector, namespace controller, definition
//! controller and storage protection.
//!
//! They look at the store instead of keeping a state of their own, so that they never lag, and the same store gives the
//! same requests. Each request is an ordinary one, with the preconditions that make it safe to deliver late or twice.

use crate::request::Request;
use crate::store::{Change, Store};
use crate::time::Timestamp;
use crate::types::Types;
use crate::{definitions, gc, namespaces, protection};

/// What one of the controllers would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which of them: `garbage collector`, `deployment controller`.
    pub controller: &'static str,
    /// What it would ask the API to do.
    pub request: Request,
}

const GARBAGE_COLLECTOR: &str = "garbage collector";
const NAMESPACE_CONTROLLER: &str = "namespace controller";
const DEFINITION_CONTROLLER: &str = "definition controller";
const STORAGE_PROTECTION: &str = "storage protection";

/// Everything that they would do now, one controller after the other.
pub fn next_requests<S: Store + ?Sized>(store: &S, types: &Types, now: Timestamp) -> Vec<Step> {
    steps([
        (DEFINITION_CONTROLLER, definitions::next_requests(store, types, now)),
        (NAMESPACE_CONTROLLER, namespaces::next_requests(store, types, now)),
        (GARBAGE_COLLECTOR, gc::next_requests(store, types)),
        (STORAGE_PROTECTION, protection::next_requests(store)),
    ])
}

/// What they would do now because of some changes, which the store shows.
///
/// This is fast if the store has an index of [dependents](Store::dependents). A change of the types that are served may
/// concern everything.
pub fn requests_after<S: Store + ?Sized>(
    store: &S,
    types: &Types,
    now: Timestamp,
    changes: &[Change],
) -> Vec<Step> {
    steps([
        (DEFINITION_CONTROLLER, definitions::requests_after(store, types, now, changes)),
        (NAMESPACE_CONTROLLER, namespaces::requests_after(store, types, now, changes)),
        (GARBAGE_COLLECTOR, gc::requests_about(store, types, gc::concerned(store, types, changes))),
        (STORAGE_PROTECTION, protection::requests_after(store, changes)),
    ])
}

fn steps(all: [(&'static str, Vec<Request>); 4]) -> Vec<Step> {
    let of_one = |(controller, requests): (&'static str, Vec<Request>)| {
        requests.into_iter().map(move |request| Step { controller, request })
    };
    all.into_iter().flat_map(of_one).collect()
}
