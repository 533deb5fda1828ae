//! Claims: bound to a volume that fits, or to one that is made for them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::pods;
use super::writes::{CLAIMS, PODS, VOLUMES, status_update};
use crate::field::FieldPath;
use crate::object;
use crate::request::Request;
use crate::selector::from_label_selector_object;
use crate::store::{Key, Store};
use windlass_cel::formats::quantity::Quantity;

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Goes on by one step: a volume for the claim, the claim's name in it, the volume's name in the claim, the status.
pub(super) fn next<S: Store + ?Sized>(store: &S, claim: &Value) -> Option<Request> {
    if object::is_deleting(claim) {
        return None;
    }
    let Some(volume) = volume_of(store, claim) else {
        return match claim["spec"]["volumeName"].as_str() {
            Some(name) if !name.is_empty() => None,
            _ => provision(store, claim),
        };
    };
    if !is_for(&volume, claim) {
        return Some(reserve(&volume, claim));
    }
    if volume["status"]["phase"] != "Bound" {
        // The volume is to say so first.
        return None;
    }
    if let Some(request) = grow(&volume, claim) {
        return Some(request);
    }
    let mut changed = claim.clone();
    if claim["spec"]["volumeName"].as_str().unwrap_or("").is_empty() {
        changed["spec"]["volumeName"] = object::name(&volume).into();
        changed["metadata"]["annotations"][BOUND_BY_CONTROLLER] = "yes".into();
    }
    changed["metadata"]["annotations"][BIND_COMPLETED] = "yes".into();
    if changed != *claim {
        return Some(CLAIMS.update(changed));
    }
    status_update(CLAIMS, claim, |status| {
        status.insert("phase".to_owned(), "Bound".into());
        status.insert("accessModes".to_owned(), volume["spec"]["accessModes"].clone());
        status.insert("capacity".to_owned(), volume["spec"]["capacity"].clone());
    })
}

/// Whether a volume is reserved for a claim and no other of its name.
fn is_for(volume: &Value, claim: &Value) -> bool {
    volume["spec"]["claimRef"]["uid"] == object::uid(claim)
}

/// The volume that a claim names, that names the claim, or that would do.
fn volume_of<S: Store + ?Sized>(store: &S, claim: &Value) -> Option<Arc<Value>> {
    let name = claim["spec"]["volumeName"].as_str().unwrap_or("");
    if !name.is_empty() {
        let volume = store.get(&Key::new("", VOLUMES.plural, "", name))?;
        return (is_for(&volume, claim) || is_free_for(&volume, claim)).then_some(volume);
    }
    let volumes: Vec<Arc<Value>> =
        store.scan("", VOLUMES.plural, None, None).map(|(_, volume)| volume).collect();
    let own = volumes.iter().find(|volume| is_for(volume, claim));
    let fitting = || volumes.iter().filter(|volume| is_free_for(volume, claim) && fits(volume, claim));
    own.or_else(|| fitting().find(|volume| volume["spec"]["claimRef"].is_object()))
        .or_else(|| {
            fitting()
                .min_by(|one, other| size(one).partial_cmp(&size(other)).unwrap_or(std::cmp::Ordering::Equal))
        })
        .cloned()
}

/// Whether no other claim has a volume, nor is it set aside for one.
fn is_free_for(volume: &Value, claim: &Value) -> bool {
    let set_aside = &volume["spec"]["claimRef"];
    let named =
        set_aside["name"] == object::name(claim) && set_aside["namespace"] == object::namespace(claim);
    !object::is_deleting(volume) && (!set_aside.is_object() || named && set_aside["uid"].is_null())
}

fn fits(volume: &Value, claim: &Value) -> bool {
    let (has, wants) = (&volume["spec"], &claim["spec"]);
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let modes = |value: &Value| object::texts(&value["accessModes"]);
    let offered = modes(has);
    let selector = &wants["selector"];
    let selected = selector.is_null()
        || from_label_selector_object(selector, &FieldPath::root())
            .is_ok_and(|selector| selector.matches(&volume["metadata"]["labels"]));
    text(&has["storageClassName"]) == text(&wants["storageClassName"])
        && has["volumeMode"] == wants["volumeMode"]
        && modes(wants).iter().all(|mode| offered.contains(mode))
        && size(volume) >= asked(claim)
        && selected
}

fn size(volume: &Value) -> Option<Quantity> {
    quantity(&volume["spec"]["capacity"]["storage"])
}

fn asked(claim: &Value) -> Option<Quantity> {
    quantity(&claim["spec"]["resources"]["requests"]["storage"])
}

fn quantity(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok()
}

fn reference_to(claim: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": CLAIMS.kind, "namespace": object::namespace(claim),
        "name": object::name(claim), "uid": object::uid(claim),
    })
}

fn reserve(volume: &Value, claim: &Value) -> Request {
    let mut changed = volume.clone();
    changed["spec"]["claimRef"] = reference_to(claim);
    VOLUMES.update(changed)
}

/// Makes a volume for a claim whose class exists, once a pod wants it if the class says so.
fn provision<S: Store + ?Sized>(store: &S, claim: &Value) -> Option<Request> {
    let name = claim["spec"]["storageClassName"].as_str().filter(|name| !name.is_empty())?;
    let class = store.get(&Key::new("storage.k8s.io", "storageclasses", "", name))?;
    if class["volumeBindingMode"] == "WaitForFirstConsumer" && !is_wanted(store, claim) {
        return None;
    }
    if class["provisioner"] == "kubernetes.io/no-provisioner" {
        return None;
    }
    let volume = format!("pvc-{}", object::uid(claim));
    let provisioner = &class["provisioner"];
    let policy = class["reclaimPolicy"].as_str().unwrap_or("Delete");
    Some(VOLUMES.create(
        "",
        json!({
            "metadata": {
                "name": volume, "annotations": { "pv.kubernetes.io/provisioned-by": provisioner },
            },
            "spec": {
                "accessModes": claim["spec"]["accessModes"],
                "capacity": { "storage": claim["spec"]["resources"]["requests"]["storage"] },
                "claimRef": reference_to(claim),
                "csi": { "driver": provisioner, "volumeHandle": volume },
                "persistentVolumeReclaimPolicy": policy,
                "storageClassName": name,
                "volumeMode": claim["spec"]["volumeMode"],
            },
        }),
    ))
}

fn is_wanted<S: Store + ?Sized>(store: &S, claim: &Value) -> bool {
    let mut pods = store.scan("", PODS.plural, Some(object::namespace(claim)), None);
    pods.any(|(_, pod)| pods::claim_names(&pod).iter().any(|name| name == object::name(claim)))
}

/// Makes the volume as large as its claim asks for.
fn grow(volume: &Value, claim: &Value) -> Option<Request> {
    let is_bound = claim["status"]["phase"] == "Bound";
    let larger = asked(claim).zip(size(volume)).is_some_and(|(asked, size)| asked > size);
    (is_bound && larger).then(|| {
        let mut changed = volume.clone();
        changed["spec"]["capacity"]["storage"] = claim["spec"]["resources"]["requests"]["storage"].clone();
        VOLUMES.update(changed)
    })
}
