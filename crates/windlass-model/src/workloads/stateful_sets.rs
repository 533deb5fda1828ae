//! StatefulSets: pods with a number and claims of their own, made, updated and deleted in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::ownership::controlled;
use super::pods::{self, NewPod};
use super::replica_sets::replicas;
use super::revisions::{REVISION_LABEL, Revisions};
use super::statuses::{set_count, set_shown_count, set_text};
use super::writes::{CLAIMS, PODS, STATEFUL_SETS, status_update};
use crate::object;
use crate::request::Request;
use crate::store::{Key, Store};

/// Goes on by one step; if there is none, writes the status.
pub(super) fn next<S: Store + ?Sized>(store: &S, set: &Value) -> Option<Request> {
    if object::is_deleting(set) {
        return None;
    }
    let revisions = Revisions::of(store, STATEFUL_SETS, set);
    if let Some(request) = revisions.next_change(store) {
        return Some(request);
    }
    let update = object::name(revisions.newest()?);
    let known = set["status"]["currentRevision"].as_str().unwrap_or("");
    let current = if revisions.template(known).is_some() { known } else { update };
    let observed = ObservedSet::of(store, set, &revisions, current, update);
    let change = observed.next_change(store).or_else(|| observed.status());
    change.or_else(|| revisions.clean_up(&[current, update]))
}

/// What the controller sees of one set.
struct ObservedSet<'a> {
    set: &'a Value,
    revisions: &'a Revisions<'a>,
    current: &'a str,
    update: &'a str,
    /// By number.
    pods: BTreeMap<i64, Arc<Value>>,
    /// The numbers of the pods that are wanted.
    wanted: std::ops::Range<i64>,
}

impl<'a> ObservedSet<'a> {
    fn of<S: Store + ?Sized>(
        store: &S,
        set: &'a Value,
        revisions: &'a Revisions<'a>,
        current: &'a str,
        update: &'a str,
    ) -> Self {
        let pods = controlled(store, set, PODS).into_iter();
        let pods = pods.filter_map(|pod| Some((pods::ordinal(set, &pod)?, pod))).collect();
        let start = set["spec"]["ordinals"]["start"].as_i64().unwrap_or(0);
        let wanted = start..start.saturating_add(i64::try_from(replicas(set)).unwrap_or(i64::MAX));
        ObservedSet { set, revisions, current, update, pods, wanted }
    }

    fn in_order(&self) -> bool {
        self.set["spec"]["podManagementPolicy"] != "Parallel"
    }

    fn is_rolling(&self) -> bool {
        self.set["spec"]["updateStrategy"]["type"] != "OnDelete"
    }

    /// The first number that is updated.
    fn partition(&self) -> i64 {
        self.set["spec"]["updateStrategy"]["rollingUpdate"]["partition"].as_i64().unwrap_or(0)
    }

    fn next_change<S: Store + ?Sized>(&self, store: &S) -> Option<Request> {
        for ordinal in self.wanted.clone() {
            let Some(pod) = self.pods.get(&ordinal) else {
                let request = self.create(store, ordinal);
                if request.is_some() || self.in_order() {
                    return request;
                }
                continue;
            };
            if pods::is_finished(pod) && !object::is_deleting(pod) {
                return Some(PODS.delete(pod));
            }
            if self.in_order() && !is_healthy(pod) {
                return None;
            }
        }
        if let Some(step) = self.scale_down() {
            return step;
        }
        self.roll()
    }

    /// Deletes the last pod that is too many. `Some(None)` if it has to be waited for.
    fn scale_down(&self) -> Option<Option<Request>> {
        let mut condemned = self.pods.iter().rev().filter(|(ordinal, _)| !self.wanted.contains(ordinal));
        if self.in_order() {
            let (_, pod) = condemned.next()?;
            return Some((!object::is_deleting(pod)).then(|| PODS.delete(pod)));
        }
        let (_, pod) = condemned.find(|(_, pod)| !object::is_deleting(pod))?;
        Some(Some(PODS.delete(pod)))
    }

    /// Deletes the last pod that is not of the newest revision, once all after it are healthy.
    fn roll(&self) -> Option<Request> {
        if !self.is_rolling() {
            return None;
        }
        let first = self.wanted.start.saturating_add(self.partition());
        for (ordinal, pod) in self.pods.iter().rev().filter(|(ordinal, _)| self.wanted.contains(ordinal)) {
            if *ordinal < first {
                return None;
            }
            if object::label(pod, REVISION_LABEL) != Some(self.update) && !object::is_deleting(pod) {
                return Some(PODS.delete(pod));
            }
            if !is_healthy(pod) {
                return None;
            }
        }
        None
    }

    /// Makes the claims of a pod, and then the pod.
    fn create<S: Store + ?Sized>(&self, store: &S, ordinal: i64) -> Option<Request> {
        let namespace = object::namespace(self.set);
        let name = format!("{}-{ordinal}", object::name(self.set));
        for template in self.claim_templates() {
            let claim = format!("{}-{name}", object::name(template));
            match store.get(&Key::new("", CLAIMS.plural, namespace, &claim)) {
                None => return Some(self.create_claim(template, &claim)),
                Some(found) if object::is_deleting(&found) => return None,
                Some(_) => {}
            }
        }
        if store.get(&Key::new("", PODS.plural, namespace, &name)).is_some() {
            // Somebody else's, or that of an earlier set of this name, which is about to be collected.
            return None;
        }
        let held_back = self.is_rolling() && ordinal < self.wanted.start.saturating_add(self.partition());
        let revision = if held_back { self.current } else { self.update };
        let template = self.revisions.template(revision)?;
        let mut pod = NewPod::from_template(STATEFUL_SETS, self.set, &template)
            .named(&name)
            .labelled(REVISION_LABEL, revision)
            .labelled("statefulset.kubernetes.io/pod-name", &name)
            .labelled("apps.kubernetes.io/pod-index", &ordinal.to_string());
        let spec = pod.spec();
        spec["hostname"] = name.as_str().into();
        if let Some(service) = self.set["spec"]["serviceName"].as_str().filter(|name| !name.is_empty()) {
            spec["subdomain"] = service.into();
        }
        let mut volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
        for template in self.claim_templates() {
            let volume = object::name(template);
            volumes.retain(|known| known["name"] != volume);
            let claim = format!("{volume}-{name}");
            volumes.push(json!({ "name": volume, "persistentVolumeClaim": { "claimName": claim } }));
        }
        if !volumes.is_empty() {
            spec["volumes"] = volumes.into();
        }
        Some(pod.create())
    }

    fn claim_templates(&self) -> impl Iterator<Item = &'a Value> {
        self.set["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten()
    }

    fn create_claim(&self, template: &Value, name: &str) -> Request {
        let mut labels = template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
        let selected = self.set["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten();
        labels.extend(selected.map(|(label, value)| (label.clone(), value.clone())));
        let mut metadata = json!({ "name": name, "labels": labels });
        if !template["metadata"]["annotations"].is_null() {
            metadata["annotations"] = template["metadata"]["annotations"].clone();
        }
        let body = json!({ "metadata": metadata, "spec": template["spec"] });
        CLAIMS.create(object::namespace(self.set), body)
    }

    fn status(&self) -> Option<Request> {
        let all = || self.pods.values();
        let ready = all().filter(|pod| pods::is_running_and_ready(pod)).count();
        let of = |revision: &str| {
            let pods = all().filter(|pod| !object::is_deleting(pod));
            pods.filter(|pod| object::label(pod, REVISION_LABEL) == Some(revision)).count()
        };
        let (mut current, updated) = (of(self.current), of(self.update));
        let mut current_revision = self.current;
        if self.is_rolling() && [updated, ready, self.pods.len()] == [replicas(self.set); 3] {
            (current, current_revision) = (updated, self.update);
        }
        status_update(STATEFUL_SETS, self.set, |status| {
            set_shown_count(status, "replicas", self.pods.len());
            set_count(status, "readyReplicas", ready);
            set_shown_count(status, "availableReplicas", ready);
            set_count(status, "currentReplicas", current);
            set_count(status, "updatedReplicas", updated);
            set_text(status, "currentRevision", current_revision);
            set_text(status, "updateRevision", self.update);
            set_shown_count(status, "collisionCount", 0);
            status.insert("observedGeneration".to_owned(), object::generation(self.set).into());
        })
    }
}

fn is_healthy(pod: &Value) -> bool {
    pods::is_running_and_ready(pod) && !object::is_deleting(pod)
}
