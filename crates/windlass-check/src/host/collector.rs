//! The cluster's own controllers: garbage collector, namespace controller, definition controller, storage protection, and
//! those of workloads if a check asks for them.
//!
//! They work asynchronously, one request at a time, at any time, with the preconditions that Kubernetes' own have.

use windlass_model::controllers::{self, Step};
use windlass_model::{Cluster, workloads};

/// What they would do to a cluster now: who, and what.
pub(crate) fn next_requests(cluster: &Cluster, with_workloads: bool) -> Vec<Step> {
    let mut steps = controllers::next_requests(cluster.store(), cluster.types(), cluster.now());
    if with_workloads {
        steps.extend(workloads::next_requests(cluster.store(), cluster.now()));
    }
    steps
}
