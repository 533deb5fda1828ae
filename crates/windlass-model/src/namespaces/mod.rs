//! The namespace controller as a pure step: empties namespaces that are being deleted, then lets them go.

mod conditions;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::object;
use crate::request::{Propagation, Request, ResourceId, Verb};
use crate::store::{Change, Key, Store};
use crate::time::Timestamp;
use crate::types::Types;
use conditions::Remaining;

/// What keeps a namespace until its content is gone.
const FINALIZER: &str = "kubernetes";
/// Who writes what the controller writes.
const MANAGER: &str = "kube-controller-manager";

/// Everything that the controller would do now, by namespace.
pub(crate) fn next_requests<S: Store + ?Sized>(store: &S, types: &Types, now: Timestamp) -> Vec<Request> {
    let namespaces = store.scan("", "namespaces", None, None);
    namespaces
        .filter(|(_, namespace)| object::is_deleting(namespace) && is_held(namespace))
        .flat_map(|(_, namespace)| clear(store, types, &namespace, now))
        .collect()
}

/// What the controller would do now because of some changes, which the store shows.
///
/// A change of the types that are served may concern all namespaces.
pub(crate) fn requests_after<S: Store + ?Sized>(
    store: &S,
    types: &Types,
    now: Timestamp,
    changes: &[Change],
) -> Vec<Request> {
    let namespaces = changes.iter().map(|change| {
        let own = is_namespace(&change.key);
        if own { change.key.name.clone() } else { change.key.namespace.clone() }
    });
    let namespaces: BTreeSet<Arc<str>> = namespaces.filter(|name| !name.is_empty()).collect();
    namespaces
        .iter()
        .filter_map(|name| store.get(&Key::new("", "namespaces", "", name)))
        .filter(|namespace| object::is_deleting(namespace) && is_held(namespace))
        .flat_map(|namespace| clear(store, types, &namespace, now))
        .collect()
}

fn is_namespace(key: &Key) -> bool {
    key.group.is_empty() && &*key.plural == "namespaces"
}

fn is_held(namespace: &Value) -> bool {
    spec_finalizers(namespace).any(|name| name == FINALIZER)
}

fn spec_finalizers(namespace: &Value) -> impl Iterator<Item = &str> {
    namespace["spec"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Pods go first, since they may still need what else is there; then everything; then the finalizer. What has been deleted
/// and stays is counted in the conditions.
fn clear<S: Store + ?Sized>(store: &S, types: &Types, namespace: &Value, now: Timestamp) -> Vec<Request> {
    let name = object::name(namespace);
    let holds = |resource: &ResourceId| {
        store.scan(&resource.group, &resource.plural, Some(name), None).next().is_some()
    };
    let left: Vec<ResourceId> = content_types(types).into_iter().filter(holds).collect();
    if left.is_empty() {
        let report = stays(namespace).then(|| conditions::update(namespace, &Remaining::default(), now));
        return vec![report.flatten().unwrap_or_else(|| finalize(namespace))];
    }
    let is_pods = |resource: &&ResourceId| resource.group.is_empty() && resource.plural == "pods";
    let pods = left.iter().find(is_pods).map(std::slice::from_ref);
    let unmarked = |resource: &&ResourceId| {
        let mut objects = store.scan(&resource.group, &resource.plural, Some(name), None);
        objects.any(|(_, object)| !object::is_deleting(&object))
    };
    let deletes: Vec<Request> =
        pods.unwrap_or(&left).iter().filter(unmarked).map(|resource| delete_all(resource, name)).collect();
    if !deletes.is_empty() {
        return deletes;
    }
    let remaining = Remaining::count(store, name, pods.unwrap_or(&left));
    conditions::update(namespace, &remaining, now).into_iter().collect()
}

/// Whether anybody will see the conditions once the content is gone: they were written before, or something else holds
/// the namespace. Otherwise it goes with the next request.
fn stays(namespace: &Value) -> bool {
    namespace["status"]["conditions"].is_array()
        || object::finalizers(namespace).next().is_some()
        || spec_finalizers(namespace).any(|name| name != FINALIZER)
}

/// Each namespaced resource once, in the version that it is stored in where that is served.
fn content_types(types: &Types) -> Vec<ResourceId> {
    let names: BTreeSet<(&str, &str)> = types
        .iter()
        .filter(|info| info.namespaced)
        .map(|info| (info.resource.group.as_str(), info.resource.plural.as_str()))
        .collect();
    let served = names.into_iter().filter_map(|(group, plural)| types.any_version(group, plural));
    served.map(|info| info.resource.clone()).collect()
}

fn delete_all(resource: &ResourceId, namespace: &str) -> Request {
    let mut request = Request::new(Verb::DeleteCollection, resource.clone()).in_namespace(namespace);
    request.options.propagation = Some(Propagation::Background);
    request
}

fn finalize(namespace: &Value) -> Request {
    let rest: Vec<&str> = spec_finalizers(namespace).filter(|name| *name != FINALIZER).collect();
    let body = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": namespace["metadata"],
        "spec": { "finalizers": rest },
    });
    Request::new(Verb::Update, ResourceId::new("", "v1", "namespaces"))
        .named(object::name(namespace))
        .on("finalize")
        .with_body(body)
        .as_manager(MANAGER)
}
