//! Deployments: a ReplicaSet per template, the newest scaled up as the others are scaled down.

use std::sync::Arc;

use serde_json::{Value, json};

use super::ownership::{controlled, reference_to};
use super::pods;
use super::replica_sets::replicas;
use super::rollout::{Counts, Slack, new_replicas, shrink};
use super::statuses::{Condition, set_condition, set_count};
use super::template_hash::template_hash;
use super::writes::{DEPLOYMENTS, PODS, REPLICA_SETS, status_update};
use crate::object;
use crate::request::Request;
use crate::store::{Key, Store};
use crate::time::Timestamp;

pub(super) const HASH_LABEL: &str = "pod-template-hash";
pub(super) const REVISION_ANNOTATION: &str = "deployment.kubernetes.io/revision";
/// Annotations of a Deployment that its ReplicaSets do not get.
const OWN_ANNOTATIONS: [&str; 2] = ["kubectl.kubernetes.io/last-applied-configuration", REVISION_ANNOTATION];
/// Default number of old ReplicaSets that are kept.
const HISTORY_LIMIT: u64 = 10;

/// Goes on with the rollout by one step; if there is none, writes the status.
pub(super) fn next<S: Store + ?Sized>(store: &S, deployment: &Value, now: Timestamp) -> Option<Request> {
    if object::is_deleting(deployment) {
        return None;
    }
    let rollout = Rollout::of(store, deployment);
    rollout.next_change(store).or_else(|| rollout.status(now)).or_else(|| rollout.clean_up())
}

struct Rollout<'a> {
    deployment: &'a Value,
    /// The ReplicaSet of the template, if there is one.
    newest: Option<Arc<Value>>,
    /// All others, by revision.
    old: Vec<Arc<Value>>,
}

impl<'a> Rollout<'a> {
    fn of<S: Store + ?Sized>(store: &S, deployment: &'a Value) -> Self {
        let mut old = controlled(store, deployment, REPLICA_SETS);
        old.sort_by_key(|set| revision(set));
        let template = &deployment["spec"]["template"];
        let index = old.iter().position(|set| without_hash(&set["spec"]["template"]) == *template);
        let newest = index.map(|index| old.remove(index));
        Rollout { deployment, newest, old }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.old.iter().chain(&self.newest)
    }

    fn next_change<S: Store + ?Sized>(&self, store: &S) -> Option<Request> {
        if self.deployment["spec"]["paused"] == true {
            return self.scale_paused();
        }
        if self.deployment["spec"]["strategy"]["type"] == "Recreate" {
            let running = self.old.iter().find(|set| replicas(set) > 0);
            if let Some(set) = running {
                return Some(scaled(set, 0));
            }
            let has_pods =
                |set: &Arc<Value>| controlled(store, set, PODS).iter().any(|pod| !pods::is_finished(pod));
            if self.newest.is_none() && self.old.iter().any(has_pods) {
                return None;
            }
        }
        let Some(newest) = &self.newest else { return self.create(store) };
        let wanted = self.wanted_replicas(replicas(newest));
        let mut changed = (**newest).clone();
        changed["spec"]["replicas"] = wanted.into();
        if revision(newest) <= self.last_old_revision() {
            changed["metadata"]["annotations"][REVISION_ANNOTATION] = self.next_revision().into();
        }
        if changed != **newest {
            return Some(REPLICA_SETS.update(changed));
        }
        self.scale_down_old(newest)
    }

    /// A paused Deployment starts no rollout, but is still scaled.
    fn scale_paused(&self) -> Option<Request> {
        let mut active = self.all().filter(|set| replicas(set) > 0);
        let only = active.next().or(self.newest.as_ref()).filter(|_| active.next().is_none())?;
        let wanted = replicas(self.deployment);
        (replicas(only) != wanted).then(|| scaled(only, wanted))
    }

    fn wanted_replicas(&self, now: usize) -> usize {
        let wanted = replicas(self.deployment);
        if self.deployment["spec"]["strategy"]["type"] == "Recreate" {
            return wanted;
        }
        let all = now + self.old.iter().map(|set| replicas(set)).sum::<usize>();
        new_replicas(wanted, Slack::of(self.deployment), now, all)
    }

    fn create<S: Store + ?Sized>(&self, store: &S) -> Option<Request> {
        let deployment = self.deployment;
        let mut template = deployment["spec"]["template"].clone();
        let hash = template_hash(&template);
        let name = format!("{}-{hash}", object::name(deployment));
        let key = Key::new("apps", REPLICA_SETS.plural, object::namespace(deployment), &name);
        if store.get(&key).is_some() {
            // That of an earlier Deployment of this name, which is about to be collected.
            return None;
        }
        template["metadata"]["labels"][HASH_LABEL] = hash.as_str().into();
        let mut selector = deployment["spec"]["selector"].clone();
        selector["matchLabels"][HASH_LABEL] = hash.as_str().into();
        let mut annotations = deployment["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        annotations.retain(|name, _| !OWN_ANNOTATIONS.contains(&name.as_str()));
        annotations.insert(REVISION_ANNOTATION.to_owned(), self.next_revision().into());
        let mut spec = json!({
            "replicas": self.wanted_replicas(0), "selector": selector, "template": template,
        });
        if !deployment["spec"]["minReadySeconds"].is_null() {
            spec["minReadySeconds"] = deployment["spec"]["minReadySeconds"].clone();
        }
        let metadata = json!({
            "name": name, "labels": template["metadata"]["labels"], "annotations": annotations,
            "ownerReferences": [reference_to(DEPLOYMENTS, deployment)],
        });
        let namespace = object::namespace(deployment);
        Some(REPLICA_SETS.create(namespace, json!({ "metadata": metadata, "spec": spec })))
    }

    fn scale_down_old(&self, newest: &Value) -> Option<Request> {
        let counts = |set: &Value| Counts {
            wanted: replicas(set),
            available: count(set, "availableReplicas").min(replicas(set)),
        };
        let old: Vec<Counts> = self.old.iter().map(|set| counts(set)).collect();
        let wanted = replicas(self.deployment);
        let (index, fewer) = shrink(wanted, Slack::of(self.deployment), counts(newest), &old)?;
        Some(scaled(self.old.get(index)?, fewer))
    }

    fn last_old_revision(&self) -> u64 {
        self.old.iter().map(|set| revision(set)).max().unwrap_or(0)
    }

    fn next_revision(&self) -> String {
        (self.last_old_revision() + 1).to_string()
    }

    fn status(&self, now: Timestamp) -> Option<Request> {
        let mut deployment = self.deployment.clone();
        let shown = self.newest.as_ref().and_then(|set| object::annotation(set, REVISION_ANNOTATION));
        if let Some(revision) = shown {
            // A status write of this kind takes annotations over.
            deployment["metadata"]["annotations"][REVISION_ANNOTATION] = revision.into();
        }
        let update = status_update(DEPLOYMENTS, &deployment, |status| {
            let sum = |field: &str| self.all().map(|set| count(set, field)).sum::<usize>();
            let newest = self.newest.as_ref();
            let (actual, available) = (sum("replicas"), sum("availableReplicas"));
            let total: usize = self.all().map(|set| replicas(set)).sum();
            let updated = newest.map_or(0, |set| count(set, "replicas"));
            set_count(status, "replicas", actual);
            set_count(status, "updatedReplicas", updated);
            set_count(status, "readyReplicas", sum("readyReplicas"));
            set_count(status, "availableReplicas", available);
            set_count(status, "unavailableReplicas", total.saturating_sub(available));
            status.insert("observedGeneration".to_owned(), object::generation(&deployment).into());
            let wanted = replicas(&deployment);
            let complete = newest.is_some() && [actual, updated, available] == [wanted; 3];
            set_condition(status, &self.availability(available), Some("lastUpdateTime"), now);
            if let Some(newest) = newest {
                progress(status, object::name(newest), complete, now);
            }
        });
        update.or_else(|| (deployment != *self.deployment).then(|| DEPLOYMENTS.update_status(deployment)))
    }

    fn availability(&self, available: usize) -> Condition<'static> {
        let needed = replicas(self.deployment).saturating_sub(Slack::of(self.deployment).unavailable);
        let enough = available >= needed;
        Condition {
            kind: "Available",
            status: enough,
            reason: if enough { "MinimumReplicasAvailable" } else { "MinimumReplicasUnavailable" },
            message: match enough {
                true => "Deployment has minimum availability.",
                false => "Deployment does not have minimum availability.",
            },
        }
    }

    /// Deletes the oldest ReplicaSets that nothing runs in, beyond those that are kept.
    fn clean_up(&self) -> Option<Request> {
        let kept = self.deployment["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(HISTORY_LIMIT);
        let unused = |set: &&Arc<Value>| {
            replicas(set) == 0 && count(set, "replicas") == 0 && !object::is_deleting(set)
        };
        let unused: Vec<&Arc<Value>> = self.old.iter().filter(unused).collect();
        let is_done = self.old.iter().all(|set| replicas(set) == 0);
        (is_done && unused.len() as u64 > kept).then(|| REPLICA_SETS.delete(unused[0]))
    }
}

fn progress(status: &mut serde_json::Map<String, Value>, newest: &str, complete: bool, now: Timestamp) {
    let message = match complete {
        true => format!("ReplicaSet \"{newest}\" has successfully progressed."),
        false => format!("ReplicaSet \"{newest}\" is progressing."),
    };
    let reason = if complete { "NewReplicaSetAvailable" } else { "ReplicaSetUpdated" };
    let condition = Condition { kind: "Progressing", status: true, reason, message: &message };
    set_condition(status, &condition, Some("lastUpdateTime"), now);
}

fn scaled(set: &Value, replicas: usize) -> Request {
    let mut changed = set.clone();
    changed["spec"]["replicas"] = replicas.into();
    REPLICA_SETS.update(changed)
}

fn count(set: &Value, field: &str) -> usize {
    usize::try_from(set["status"][field].as_i64().unwrap_or(0)).unwrap_or(0)
}

fn revision(set: &Value) -> u64 {
    object::annotation(set, REVISION_ANNOTATION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn without_hash(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(HASH_LABEL);
    }
    template
}
