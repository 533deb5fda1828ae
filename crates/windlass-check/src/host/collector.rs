//! The cluster's own controllers: garbage collector, namespace controller, definition controller, storage protection, and
//! those of workloads if a check asks for them.
//!
//! They work asynchronously, one request at a time, at any time, with the preconditions that Kubernetes' own have.

use windlass_model::{Cluster, Request, definitions, gc, namespaces, protection, workloads};

/// What they would do to a cluster now: who, and what.
pub(crate) fn next_requests(cluster: &Cluster, with_workloads: bool) -> Vec<(&'static str, Request)> {
    let (store, types) = (cluster.store(), cluster.types());
    let named =
        |name: &'static str, requests: Vec<Request>| requests.into_iter().map(move |next| (name, next));
    let workloads = if with_workloads { workloads::next_requests(store, cluster.now()) } else { Vec::new() };
    named("garbage collector", gc::next_requests(store, types))
        .chain(named("namespace controller", namespaces::next_requests(store, types, cluster.now())))
        .chain(named("definition controller", definitions::next_requests(store, types, cluster.now())))
        .chain(named("storage protection", protection::next_requests(store)))
        .chain(workloads.into_iter().map(|step| (step.controller, step.request)))
        .collect()
}
