//! DaemonSets: one pod per node, replaced node by node when the template changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::ownership::controlled;
use super::pods::{self, NewPod};
use super::revisions::{REVISION_LABEL, Revisions};
use super::rollout::{Round, share};
use super::statuses::{set_count, set_shown_count};
use super::writes::{DAEMON_SETS, PODS, status_update};
use crate::object;
use crate::request::Request;
use crate::store::Store;

/// Goes on by one step; if there is none, writes the status.
pub(super) fn next<S: Store + ?Sized>(store: &S, set: &Value) -> Option<Request> {
    if object::is_deleting(set) {
        return None;
    }
    let revisions = Revisions::of(store, DAEMON_SETS, set);
    if let Some(request) = revisions.next_change(store) {
        return Some(request);
    }
    // The label has the hash alone, where that of a StatefulSet has the whole name.
    let newest = object::name(revisions.newest()?);
    let hash = newest.strip_prefix(object::name(set))?.strip_prefix('-')?;
    let nodes: Vec<String> =
        store.scan("", "nodes", None, None).map(|(key, _)| key.name.to_string()).collect();
    let mut by_node: BTreeMap<String, Arc<Value>> = BTreeMap::new();
    for pod in controlled(store, set, PODS) {
        let node = node_of(&pod).to_owned();
        if pods::is_finished(&pod) && !object::is_deleting(&pod)
            || !nodes.contains(&node) && !object::is_deleting(&pod)
        {
            return Some(PODS.delete(&pod));
        }
        by_node.insert(node, pod);
    }
    if let Some(node) = nodes.iter().find(|node| !by_node.contains_key(*node)) {
        return Some(create(set, hash, node));
    }
    roll(set, hash, &by_node).or_else(|| status(set, hash, nodes.len(), &by_node))
}

/// The node that a pod is for, also before it is there.
fn node_of(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or("")
}

fn create(set: &Value, hash: &str, node: &str) -> Request {
    let mut pod = NewPod::from_template(DAEMON_SETS, set, &set["spec"]["template"])
        .prefixed(&format!("{}-", object::name(set)))
        .labelled(REVISION_LABEL, hash);
    pod.spec()["nodeName"] = json!(node);
    pod.create()
}

/// Deletes a pod of an old template, as long as enough others are available.
fn roll(set: &Value, hash: &str, pods: &BTreeMap<String, Arc<Value>>) -> Option<Request> {
    if set["spec"]["updateStrategy"]["type"] == "OnDelete" {
        return None;
    }
    let most =
        share(&set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], pods.len(), Round::Up);
    let unavailable = pods.values().filter(|pod| !is_available(pod)).count();
    let old =
        |pod: &&Arc<Value>| object::label(pod, REVISION_LABEL) != Some(hash) && !object::is_deleting(pod);
    // One that is not available is no loss.
    let broken = pods.values().filter(old).find(|pod| !is_available(pod));
    let next = broken.or_else(|| pods.values().find(old).filter(|_| unavailable < most.max(1)))?;
    Some(PODS.delete(next))
}

fn is_available(pod: &Value) -> bool {
    pods::is_ready(pod) && !object::is_deleting(pod)
}

fn status(set: &Value, hash: &str, nodes: usize, pods: &BTreeMap<String, Arc<Value>>) -> Option<Request> {
    let ready = pods.values().filter(|pod| pods::is_ready(pod)).count();
    let updated = pods.values().filter(|pod| object::label(pod, REVISION_LABEL) == Some(hash)).count();
    status_update(DAEMON_SETS, set, |status| {
        set_shown_count(status, "currentNumberScheduled", pods.len());
        set_shown_count(status, "desiredNumberScheduled", nodes);
        set_shown_count(status, "numberMisscheduled", 0);
        set_shown_count(status, "numberReady", ready);
        set_count(status, "numberAvailable", ready);
        set_count(status, "numberUnavailable", nodes.saturating_sub(ready));
        set_count(status, "updatedNumberScheduled", updated);
        status.insert("observedGeneration".to_owned(), object::generation(set).into());
    })
}
