//! The CRD controllers as a pure step: establishes definitions, and clears those that are being deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::crd;
use crate::object;
use crate::request::{Request, ResourceId, Verb};
use crate::store::{Change, Key, Store};
use crate::time::Timestamp;
use crate::types::{Origin, Types};
use crate::verbs::set_terminating;

/// The group of definitions.
pub(crate) const GROUP: &str = "apiextensions.k8s.io";
/// The resource of definitions.
pub(crate) const PLURAL: &str = "customresourcedefinitions";

/// The group and the plural of definitions.
pub const DEFINITIONS: (&str, &str) = (GROUP, PLURAL);

/// Whether a key is that of a definition.
pub fn is_definition(key: &Key) -> bool {
    (&*key.group, &*key.plural) == DEFINITIONS
}

/// Everything that the controllers would do now, by definition.
pub(crate) fn next_requests<S: Store + ?Sized>(store: &S, types: &Types, now: Timestamp) -> Vec<Request> {
    let all: Vec<Arc<Value>> = store.scan(GROUP, PLURAL, None, None).map(|(_, object)| object).collect();
    all.iter().flat_map(|definition| step(store, types, definition, &all, now)).collect()
}

/// What the controllers would do now because of some changes: an object of a deleted definition may have been the last.
pub(crate) fn requests_after<S: Store + ?Sized>(
    store: &S,
    types: &Types,
    now: Timestamp,
    changes: &[Change],
) -> Vec<Request> {
    let is_custom = |key: &Key| {
        let info = types.any_version(&key.group, &key.plural);
        info.is_none_or(|info| info.origin == Origin::Custom)
    };
    let concerned = changes.iter().any(|change| is_definition(&change.key) || is_custom(&change.key));
    if concerned { next_requests(store, types, now) } else { Vec::new() }
}

/// Whether the types of a definition are served.
pub(crate) fn is_established(definition: &Value) -> bool {
    has_condition(definition, "Established")
}

fn has_condition(definition: &Value, kind: &str) -> bool {
    let mut conditions = definition["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn step<S: Store + ?Sized>(
    store: &S,
    types: &Types,
    definition: &Value,
    all: &[Arc<Value>],
    now: Timestamp,
) -> Vec<Request> {
    if object::is_deleting(definition) {
        let held = object::finalizers(definition).any(|name| name == crd::CLEANUP_FINALIZER);
        return if held { clear(store, types, definition, now) } else { Vec::new() };
    }
    let Some(status) = crd::next_status(definition, all, now) else { return Vec::new() };
    let mut body = definition.clone();
    if let Some(fields) = body.as_object_mut() {
        fields.insert("status".to_owned(), status);
    }
    vec![update_status(body)]
}

/// Deletes the instances, namespace by namespace; once there are none, lets the definition go.
fn clear<S: Store + ?Sized>(store: &S, types: &Types, definition: &Value, now: Timestamp) -> Vec<Request> {
    let group = definition["spec"]["group"].as_str().unwrap_or("");
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap_or("");
    let served = types.any_version(group, plural);
    // Objects of a built-in type of this name are none of the definition's.
    let served = served.filter(|info| info.origin == Origin::Custom && is_established(definition));
    let Some(info) = served else {
        return vec![release(definition, "NeverEstablished", "resource was never established", now)];
    };
    let mut left = store.scan(group, plural, None, None).peekable();
    if left.peek().is_none() {
        return vec![release(definition, "InstanceDeletionCompleted", "removed all instances", now)];
    }
    let unmarked = left.filter(|(_, instance)| !object::is_deleting(instance));
    let namespaces: BTreeSet<Arc<str>> = unmarked.map(|(key, _)| key.namespace).collect();
    let delete_all = |namespace: &Arc<str>| {
        Request::new(Verb::DeleteCollection, info.resource.clone()).in_namespace(namespace)
    };
    namespaces.iter().map(delete_all).collect()
}

/// Drops the finalizer. As in Kubernetes this is a write to status, which for this one type takes metadata over.
fn release(definition: &Value, reason: &str, message: &str, now: Timestamp) -> Request {
    let mut body = definition.clone();
    set_terminating(&mut body, "False", reason, message, now);
    let finalizers = object::finalizers(definition).filter(|name| *name != crd::CLEANUP_FINALIZER);
    let rest: Vec<Value> = finalizers.map(Value::from).collect();
    object::set_meta(&mut body, "finalizers", rest);
    update_status(body)
}

fn update_status(body: Value) -> Request {
    Request::new(Verb::Update, ResourceId::new(GROUP, "v1", PLURAL))
        .named(object::name(&body))
        .on("status")
        .as_manager("kube-apiserver")
        .with_body(body)
}
