//! Whose an object is: controllers adopt what their selector matches and release what it matches no more.

use std::sync::Arc;

use serde_json::{Value, json};

use super::pods;
use super::writes::{
    DAEMON_SETS, DEPLOYMENTS, JOBS, Kind, MANAGER, PODS, REPLICA_SETS, REVISIONS, STATEFUL_SETS,
};
use crate::controllers::Step;
use crate::field::FieldPath;
use crate::object;
use crate::request::{PatchKind, Request, ResourceId, Verb};
use crate::selector::from_label_selector_object;
use crate::store::{Key, Store};

/// A kind of controller, and its name in traces.
struct Maker {
    kind: Kind,
    name: &'static str,
}

const DEPLOYMENT: Maker = Maker { kind: DEPLOYMENTS, name: "deployment controller" };
const REPLICA_SET: Maker = Maker { kind: REPLICA_SETS, name: "replicaset controller" };
const STATEFUL_SET: Maker = Maker { kind: STATEFUL_SETS, name: "statefulset controller" };
const DAEMON_SET: Maker = Maker { kind: DAEMON_SETS, name: "daemonset controller" };
const JOB: Maker = Maker { kind: JOBS, name: "job controller" };

/// Who can control objects of a kind.
fn makers(key: &Key) -> &'static [Maker] {
    match (&*key.group, &*key.plural) {
        ("", "pods") => &[REPLICA_SET, STATEFUL_SET, DAEMON_SET, JOB],
        ("apps", "replicasets") => &[DEPLOYMENT],
        ("apps", "controllerrevisions") => &[STATEFUL_SET, DAEMON_SET],
        _ => &[],
    }
}

/// The kinds whose objects can be controlled by objects of a kind.
pub(super) fn controlled_by(key: &Key) -> Vec<Kind> {
    let candidates = [PODS, REPLICA_SETS, REVISIONS].into_iter();
    let is_maker = |maker: &Maker| *maker.kind.group == *key.group && *maker.kind.plural == *key.plural;
    candidates
        .filter(|kind| makers(&Key::new(kind.group, kind.plural, "", "")).iter().any(is_maker))
        .collect()
}

/// The kind of a controller that an owner reference names, if it is one of these.
pub(super) fn maker_key(reference: &Value, dependent: &Key) -> Option<Key> {
    let maker = makers(dependent).iter().find(|maker| {
        reference["kind"] == maker.kind.kind && reference["apiVersion"] == *maker.kind.api_version()
    })?;
    let name = reference["name"].as_str().unwrap_or("");
    Some(Key::new(maker.kind.group, maker.kind.plural, &dependent.namespace, name))
}

/// The reference to the controller of an object.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    object::owner_references(object).iter().find(|reference| reference["controller"] == true)
}

/// The objects of a kind that this object controls, in key order.
pub(super) fn controlled<S: Store + ?Sized>(store: &S, owner: &Value, kind: Kind) -> Vec<Arc<Value>> {
    let uid = object::uid(owner);
    let keys = store.dependents(uid).into_iter();
    let found = keys.filter(|key| *key.group == *kind.group && *key.plural == *kind.plural);
    found
        .filter_map(|key| store.get(&key))
        .filter(|found| controller(found).is_some_and(|reference| reference["uid"] == uid))
        .collect()
}

/// The reference to a controller.
pub(super) fn reference_to(kind: Kind, owner: &Value) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "name": object::name(owner), "uid": object::uid(owner),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// Adopts or releases an object, if that is to be done.
pub(super) fn next<S: Store + ?Sized>(store: &S, key: &Key, object: &Arc<Value>) -> Option<Step> {
    if object::is_deleting(object) || makers(key).is_empty() {
        return None;
    }
    match controller(object) {
        Some(reference) => release(store, key, object, reference),
        None => makers(key).iter().find_map(|maker| adopt(store, key, object, maker)),
    }
}

fn adopt<S: Store + ?Sized>(store: &S, key: &Key, object: &Value, maker: &Maker) -> Option<Step> {
    let mut candidates = store.scan(maker.kind.group, maker.kind.plural, Some(&key.namespace), None);
    let (_, owner) = candidates.find(|(_, owner)| {
        !object::is_deleting(owner) && selects(owner, object) && fits(maker, owner, object)
    })?;
    let references = json!([reference_to(maker.kind, &owner)]);
    Some(Step { controller: maker.name, request: patch_owners(key, object, references) })
}

/// What a controller demands of what it adopts beyond its labels.
fn fits(maker: &Maker, owner: &Value, object: &Value) -> bool {
    match maker.kind {
        STATEFUL_SETS if object["kind"] == PODS.kind => pods::ordinal(owner, object).is_some(),
        REPLICA_SETS | DAEMON_SETS if object["kind"] == PODS.kind => pods::is_active(object),
        _ => true,
    }
}

fn release<S: Store + ?Sized>(store: &S, key: &Key, object: &Value, reference: &Value) -> Option<Step> {
    let owner = store.get(&maker_key(reference, key)?)?;
    let is_owner = object::uid(&owner) == reference["uid"] && !object::is_deleting(&owner);
    if !is_owner || selects(&owner, object) || *key.plural == *REVISIONS.plural {
        return None;
    }
    let maker = makers(key).iter().find(|maker| reference["kind"] == maker.kind.kind)?;
    let references = json!([{ "$patch": "delete", "uid": reference["uid"] }]);
    Some(Step { controller: maker.name, request: patch_owners(key, object, references) })
}

fn patch_owners(key: &Key, object: &Value, references: Value) -> Request {
    let resource = ResourceId::new(&key.group, "v1", &key.plural);
    Request::new(Verb::Patch(PatchKind::Strategic), resource)
        .in_namespace(&key.namespace)
        .named(&key.name)
        .as_manager(MANAGER)
        .with_body(json!({ "metadata": { "uid": object::uid(object), "ownerReferences": references } }))
}

fn selects(owner: &Value, object: &Value) -> bool {
    from_label_selector_object(&owner["spec"]["selector"], &FieldPath::root())
        .is_ok_and(|selector| !selector.is_everything() && selector.matches(&object["metadata"]["labels"]))
}
