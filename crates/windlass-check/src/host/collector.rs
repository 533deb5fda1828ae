//! The cluster's own controllers: garbage collector, namespace controller, definition controller, storage protection.
//!
//! They work asynchronously, one request at a time, at any moment, with the preconditions that Kubernetes' own have.

use windlass_model::{Cluster, Request, definitions, gc, namespaces, protection};

/// What they would do to a cluster now: who, and what.
pub(crate) fn next_requests(cluster: &Cluster) -> Vec<(&'static str, Request)> {
    let (store, types) = (cluster.store(), cluster.types());
    let named =
        |name: &'static str, requests: Vec<Request>| requests.into_iter().map(move |next| (name, next));
    named("garbage collector", gc::next_requests(store, types))
        .chain(named("namespace controller", namespaces::next_requests(store, types, cluster.now())))
        .chain(named("definition controller", definitions::next_requests(store, types, cluster.now())))
        .chain(named("storage protection", protection::next_requests(store)))
        .collect()
}
