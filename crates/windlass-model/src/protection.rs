//! The controllers that protect storage in use, as a pure step: they release a deleted claim that no pod uses, and a
//! deleted volume that is not bound.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::gc::without_finalizer;
use crate::object;
use crate::request::{Request, ResourceId};
use crate::store::{Change, Key, Store};

/// What keeps a claim while a pod uses it.
pub(crate) const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";
/// What keeps a volume while it is bound to a claim.
pub(crate) const VOLUME_FINALIZER: &str = "kubernetes.io/pv-protection";

const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";

/// Everything that the controllers would do now: claims first, each by name.
pub(crate) fn next_requests<S: Store + ?Sized>(store: &S) -> Vec<Request> {
    let claims = store.scan("", CLAIMS, None, None);
    let volumes = store.scan("", VOLUMES, None, None);
    claims.chain(volumes).filter_map(|(key, object)| release(store, &key, &object)).collect()
}

/// What the controllers would do now because of some changes, which the store shows.
pub(crate) fn requests_after<S: Store + ?Sized>(store: &S, changes: &[Change]) -> Vec<Request> {
    let concerned: BTreeSet<Key> = changes.iter().flat_map(concerned).collect();
    let found = concerned.into_iter().filter_map(|key| store.get(&key).map(|object| (key, object)));
    found.filter_map(|(key, object)| release(store, &key, &object)).collect()
}

/// The claims and volumes that a change may free.
fn concerned(change: &Change) -> Vec<Key> {
    let key = &change.key;
    match (&*key.group, &*key.plural) {
        ("", CLAIMS | VOLUMES) => vec![key.clone()],
        ("", "pods") => {
            let pod = change.before.iter().chain(&change.after);
            pod.flat_map(claims_of).map(|(claim, _)| Key::new("", CLAIMS, &key.namespace, &claim)).collect()
        }
        _ => Vec::new(),
    }
}

/// Removes the protection finalizer of an object that waits for nothing else here.
fn release<S: Store + ?Sized>(store: &S, key: &Key, object: &Value) -> Option<Request> {
    let is_claim = &*key.plural == CLAIMS;
    let finalizer = if is_claim { CLAIM_FINALIZER } else { VOLUME_FINALIZER };
    if !object::is_deleting(object) || !object::finalizers(object).any(|name| name == finalizer) {
        return None;
    }
    let in_use = match is_claim {
        true => is_claim_used(store, key, object),
        false => object["status"]["phase"] == "Bound",
    };
    (!in_use).then(|| without_finalizer(&ResourceId::new("", "v1", &key.plural), object, finalizer))
}

/// A pod uses its claims from when it has a node until it is gone, however it ended.
fn is_claim_used<S: Store + ?Sized>(store: &S, key: &Key, claim: &Value) -> bool {
    let mut pods = store.scan("", "pods", Some(&key.namespace), None);
    pods.any(|(_, pod)| {
        let scheduled = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
        scheduled
            && claims_of(&pod).into_iter().any(|(name, is_own)| {
                *name == *key.name && (!is_own || !is_shut_down(&pod) && is_controlled(claim, &pod))
            })
    })
}

/// The names of the claims that a pod mentions, and whether each is one that is made for this pod.
fn claims_of(pod: &Arc<Value>) -> Vec<(String, bool)> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let claim = |volume: &Value| match volume["persistentVolumeClaim"]["claimName"].as_str() {
        Some(name) => Some((name.to_owned(), false)),
        None if volume["ephemeral"].is_null() => None,
        None => Some((format!("{}-{}", object::name(pod), volume["name"].as_str()?), true)),
    };
    volumes.filter_map(claim).collect()
}

/// Whether its node is done with a pod.
fn is_shut_down(pod: &Value) -> bool {
    object::is_deleting(pod) && pod["metadata"]["deletionGracePeriodSeconds"] == 0
}

fn is_controlled(claim: &Value, pod: &Value) -> bool {
    let references = object::owner_references(claim).iter();
    references.filter(|it| it["controller"] == true).any(|it| it["uid"] == object::uid(pod))
}
