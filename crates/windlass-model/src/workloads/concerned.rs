//! Which objects may have another next step after some changes.

use std::collections::BTreeSet;

use super::ownership::{controlled_by, controller, maker_key};
use super::pods;
use super::writes::{CLAIMS, PODS, VOLUMES};
use crate::object;
use crate::store::{Change, Key, Store};

/// The keys of these objects. Some may not exist.
pub(super) fn keys<S: Store + ?Sized>(store: &S, changes: &[Change]) -> BTreeSet<Key> {
    let mut keys = BTreeSet::new();
    for change in changes {
        if super::is_watched(&change.key) {
            keys.insert(change.key.clone());
            add(store, change, &mut keys);
        }
    }
    keys
}

fn add<S: Store + ?Sized>(store: &S, change: &Change, keys: &mut BTreeSet<Key>) {
    let key = &change.key;
    let versions = || change.before.iter().chain(&change.after);
    // By its name, not by its uid: a new controller of this name may wait for an old object to go.
    keys.extend(versions().filter_map(|object| maker_key(controller(object)?, key)));
    if change.before.is_none() {
        // A new controller may adopt what is there.
        for kind in controlled_by(key) {
            let candidates = store.scan(kind.group, kind.plural, Some(&key.namespace), None);
            keys.extend(candidates.filter(|(_, found)| controller(found).is_none()).map(|(key, _)| key));
        }
    }
    match (&*key.group, &*key.plural) {
        ("", "pods") => {
            let claims = versions().flat_map(|pod| pods::claim_names(pod));
            keys.extend(claims.map(|claim| Key::new("", CLAIMS.plural, &key.namespace, &claim)));
        }
        ("", "persistentvolumeclaims") => {
            keys.extend(versions().filter_map(|claim| volume_key(&claim["spec"]["volumeName"])));
            keys.extend(unscheduled(store, Some(&key.namespace)));
            if change.after.is_none() {
                keys.extend(all(store, VOLUMES.plural, None));
            }
            if change.before.is_none() || change.after.is_none() {
                keys.extend(sets_with_claims(store, &key.namespace));
            }
        }
        ("", "persistentvolumes") => keys.extend(all(store, CLAIMS.plural, None)),
        _ if is_class(key) => keys.extend(all(store, CLAIMS.plural, None)),
        _ if is_node(key) => {
            keys.extend(unscheduled(store, None));
            keys.extend(store.scan("apps", "daemonsets", None, None).map(|(key, _)| key));
        }
        _ => {}
    }
}

pub(super) fn is_node(key: &Key) -> bool {
    key.group.is_empty() && &*key.plural == "nodes"
}

pub(super) fn is_class(key: &Key) -> bool {
    &*key.group == "storage.k8s.io" && &*key.plural == "storageclasses"
}

fn volume_key(name: &serde_json::Value) -> Option<Key> {
    Some(Key::new("", VOLUMES.plural, "", name.as_str()?))
}

fn all<S: Store + ?Sized>(store: &S, plural: &str, namespace: Option<&str>) -> Vec<Key> {
    store.scan("", plural, namespace, None).map(|(key, _)| key).collect()
}

/// The sets that may have waited for a claim to be there, or to be gone.
fn sets_with_claims<S: Store + ?Sized>(store: &S, namespace: &str) -> Vec<Key> {
    let sets = store.scan("apps", "statefulsets", Some(namespace), None);
    sets.filter(|(_, set)| set["spec"]["volumeClaimTemplates"].is_array()).map(|(key, _)| key).collect()
}

fn unscheduled<S: Store + ?Sized>(store: &S, namespace: Option<&str>) -> Vec<Key> {
    let pods = store.scan("", PODS.plural, namespace, None);
    pods.filter(|(_, pod)| !pods::is_scheduled(pod) && !object::is_deleting(pod))
        .map(|(key, _)| key)
        .collect()
}
