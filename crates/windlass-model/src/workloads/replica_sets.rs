//! ReplicaSets: as many pods as wanted, and counts of them in the status.

use std::sync::Arc;

use serde_json::Value;

use super::ownership::controlled;
use super::pods::{self, NewPod};
use super::statuses::{set_count, set_shown_count};
use super::writes::{PODS, REPLICA_SETS, status_update};
use crate::object;
use crate::request::Request;
use crate::store::Store;

/// Makes or deletes one pod; once there are as many as wanted, writes the status.
pub(super) fn next<S: Store + ?Sized>(store: &S, set: &Value) -> Option<Request> {
    if object::is_deleting(set) {
        return None;
    }
    let mut pods = controlled(store, set, PODS);
    pods.retain(|pod| pods::is_active(pod));
    let wanted = replicas(set);
    if pods.len() < wanted {
        let prefix = format!("{}-", object::name(set));
        let pod = NewPod::from_template(REPLICA_SETS, set, &set["spec"]["template"]);
        return Some(pod.prefixed(&prefix).create());
    }
    if pods.len() > wanted {
        let least = pods.iter().rev().min_by_key(|pod| pods::use_of(pod))?;
        return Some(PODS.delete(least));
    }
    status(set, &pods)
}

/// `spec.replicas`. Default: 1.
pub(super) fn replicas(object: &Value) -> usize {
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    usize::try_from(wanted).unwrap_or(0)
}

fn status(set: &Value, pods: &[Arc<Value>]) -> Option<Request> {
    let labels = set["spec"]["template"]["metadata"]["labels"].as_object();
    let is_labelled = |pod: &Value| {
        let mut wanted = labels.into_iter().flatten();
        wanted.all(|(label, value)| pod["metadata"]["labels"][label] == *value)
    };
    let labelled = pods.iter().filter(|pod| is_labelled(pod)).count();
    let ready = pods.iter().filter(|pod| pods::is_ready(pod)).count();
    status_update(REPLICA_SETS, set, |status| {
        set_shown_count(status, "replicas", pods.len());
        set_count(status, "fullyLabeledReplicas", labelled);
        set_count(status, "readyReplicas", ready);
        set_count(status, "availableReplicas", ready);
        status.insert("observedGeneration".to_owned(), object::generation(set).into());
    })
}
