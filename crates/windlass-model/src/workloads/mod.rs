//! The cluster's own workload controllers as pure steps: Deployments, ReplicaSets, StatefulSets, Jobs, DaemonSets, claims,
//! load balancers, the scheduler and the kubelet.
//!
//! Each step is one ordinary request with the preconditions that make it safe to deliver late or twice: an update
//! carries the resource version that it was decided on, a delete the uid. Each object has at most one next step, and
//! none once everything is as it should be. So a controller that waits for a rollout sees what it would see on a
//! cluster, in as few steps as possible.
//!
//! What is simpler than on a cluster:
//! - Pods run no code. A scheduled pod becomes Running and Ready with one write to its status; one that is not to be
//!   restarted, such as that of a Job, becomes Succeeded with one write. The annotation `windlass.dev/pod-behaviour` of a pod
//!   asks for something else. A status that somebody else gives to a running pod stays.
//! - A pod goes to the first node by name that is not cordoned, as soon as its claims are bound. Resources, selectors,
//!   affinity and taints are not looked at.
//! - No time passes: `minReadySeconds`, `progressDeadlineSeconds`, `ttlSecondsAfterFinished`, `activeDeadlineSeconds`
//!   and the back-off of a Job are ignored. A pod that is deleted ends as soon as its kubelet sees it.
//! - One pod is made or deleted at a time. A Deployment that is scaled in the middle of a rollout does not share the
//!   difference out among its ReplicaSets, but goes on with the rollout.
//! - A Job counts the pods that are there: its pods have no finalizer. Policies of failure and success are ignored.
//! - A StatefulSet updates one pod at a time, and never deletes the claims that it made. A DaemonSet has a pod on every
//!   node, and does not surge.
//! - A claim is provisioned if its StorageClass exists, whoever the provisioner is.
//! - Addresses of pods come from their names, and two may be equal. In a [`Cluster`](crate::Cluster) a generated name can
//!   come back once its pod is gone, with another uid.

mod bookkeeping;
mod concerned;
mod daemon_sets;
mod deployments;
mod jobs;
mod kubelet;
mod load_balancers;
mod ownership;
mod pods;
mod replica_sets;
mod revisions;
mod rollout;
mod scheduler;
mod stateful_sets;
mod statuses;
mod template_hash;
mod volume_claims;
mod volumes;
mod writes;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::controllers::Step;
use crate::request::{PatchKind, Request, ResourceId, Verb};
use crate::store::{Change, Key, Store};
use crate::time::Timestamp;

pub use bookkeeping::{is_made_by_cluster, without_bookkeeping, wrote_only_bookkeeping};

/// The node that [`first_requests`] registers.
pub(crate) const NODE: &str = "windlass";
/// The default class of claims that [`first_requests`] makes.
pub(crate) const STORAGE_CLASS: &str = "standard";

/// The kinds that have steps, by group and plural.
const KINDS: [(&str, &str); 10] = [
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "services"),
    ("apps", "controllerrevisions"),
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "jobs"),
];

/// Everything that the controllers would do now, by kind and name.
pub fn next_requests<S: Store + ?Sized>(store: &S, now: Timestamp) -> Vec<Step> {
    let objects = KINDS.into_iter().flat_map(|(group, plural)| store.scan(group, plural, None, None));
    objects.filter_map(|(key, object)| next_step(store, now, &key, &object)).collect()
}

/// What the controllers would do now because of some changes, which the store shows.
pub fn requests_after<S: Store + ?Sized>(store: &S, now: Timestamp, changes: &[Change]) -> Vec<Step> {
    let concerned = concerned::keys(store, changes).into_iter();
    let found = concerned.filter_map(|key| store.get(&key).map(|object| (key, object)));
    found.filter_map(|(key, object)| next_step(store, now, &key, &object)).collect()
}

/// Whether an object of this key can have a next step, or a part in one.
pub fn is_watched(key: &Key) -> bool {
    KINDS.contains(&(&*key.group, &*key.plural)) || concerned::is_node(key) || concerned::is_class(key)
}

/// What an object's controller would do about it.
fn next_step<S: Store + ?Sized>(store: &S, now: Timestamp, key: &Key, object: &Arc<Value>) -> Option<Step> {
    if let Some(step) = ownership::next(store, key, object) {
        return Some(step);
    }
    let step = |controller, request: Option<Request>| request.map(|request| Step { controller, request });
    match (&*key.group, &*key.plural) {
        ("", "persistentvolumeclaims") => step("volume controller", volume_claims::next(store, object)),
        ("", "persistentvolumes") => step("volume controller", volumes::next(store, object)),
        ("", "pods") => step("scheduler", scheduler::next(store, object))
            .or_else(|| step("kubelet", kubelet::next(object, now))),
        ("", "services") => step("load balancer controller", load_balancers::next(object)),
        ("apps", "daemonsets") => step("daemonset controller", daemon_sets::next(store, object)),
        ("apps", "deployments") => step("deployment controller", deployments::next(store, object, now)),
        ("apps", "replicasets") => step("replicaset controller", replica_sets::next(store, object)),
        ("apps", "statefulsets") => step("statefulset controller", stateful_sets::next(store, object)),
        ("batch", "jobs") => step("job controller", jobs::next(store, object, now)),
        _ => None,
    }
}

/// Makes what the controllers need to begin with and is not there yet: a node that is ready, and a default class of
/// storage.
pub fn first_requests<S: Store + ?Sized>(store: &S, now: Timestamp) -> Vec<Request> {
    let mut requests = Vec::new();
    if store.get(&Key::new("", "nodes", "", NODE)).is_none() {
        let nodes = ResourceId::new("", "v1", "nodes");
        let ready = json!({ "spec": { "taints": null } });
        let create = Request::new(Verb::Create, nodes.clone()).with_body(node(now));
        requests.push(create.as_manager(kubelet::MANAGER));
        // A new node has a taint that its controller takes away once the node is ready.
        let patch = Request::new(Verb::Patch(PatchKind::Merge), nodes).named(NODE).with_body(ready);
        requests.push(patch.as_manager(writes::MANAGER));
    }
    let classes = ResourceId::new("storage.k8s.io", "v1", "storageclasses");
    if store.get(&Key::new(&classes.group, &classes.plural, "", STORAGE_CLASS)).is_none() {
        let create = Request::new(Verb::Create, classes).with_body(storage_class());
        requests.push(create.as_manager(writes::MANAGER));
    }
    requests
}

fn node(now: Timestamp) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": NODE,
            "labels": {
                "kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            },
        },
        "status": {
            "capacity": { "cpu": "64", "memory": "256Gi", "pods": "1000" },
            "allocatable": { "cpu": "64", "memory": "256Gi", "pods": "1000" },
            "addresses": [{ "type": "InternalIP", "address": kubelet::NODE_ADDRESS }],
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
                "lastHeartbeatTime": now.to_string(), "lastTransitionTime": now.to_string(),
            }],
        },
    })
}

fn storage_class() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {
            "name": STORAGE_CLASS,
            "annotations": { "storageclass.kubernetes.io/is-default-class": "true" },
        },
        "provisioner": "windlass.dev/volumes",
        "allowVolumeExpansion": true,
    })
}
