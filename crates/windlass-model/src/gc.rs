//! The garbage collector as a pure step: what it would ask the API to do now.
//!
//! It looks at the store instead of keeping a graph from events, so that it never lags and a
//! call with the same store gives the same requests. Each request is an ordinary one, with the
//! preconditions that make it safe to deliver late or twice. Who knows what has changed asks only about
//! the objects that this [concerns](concerned).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::metadata::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER};
use crate::object;
use crate::request::{PatchKind, Propagation, Request, ResourceId, Verb};
use crate::store::{Change, Key, Store};
use crate::types::{Origin, TypeInfo, Types};

const MANAGER: &str = "kube-controller-manager";

/// Everything that the collector would do now, in key order.
pub(crate) fn next_requests<S: Store + ?Sized>(store: &S, types: &Types) -> Vec<Request> {
    let graph = Graph::of(store, types);
    let view = View { store, types, dependents: |uid: &str| graph.dependents_of(uid) };
    graph.nodes.iter().flat_map(|node| view.requests_for(node)).collect()
}

/// What the collector would do now about these objects, in their order.
///
/// This is fast if the store has an index of [dependents](Store::dependents).
pub(crate) fn requests_about<S: Store + ?Sized>(
    store: &S,
    types: &Types,
    keys: impl IntoIterator<Item = Key>,
) -> Vec<Request> {
    let node = |key: Key| Node::of(store.get(&key)?, key, types).map(Arc::new);
    let dependents = |uid: &str| store.dependents(uid).into_iter().filter_map(node).collect();
    let view = View { store, types, dependents };
    keys.into_iter().filter_map(node).flat_map(|node| view.requests_for(&node)).collect()
}

/// The objects that the collector may see in another light after some changes, which the store shows: those that
/// changed, their dependents and their owners.
///
/// A change of the types that are served may concern others, too.
pub(crate) fn concerned<S: Store + ?Sized>(store: &S, types: &Types, changes: &[Change]) -> BTreeSet<Key> {
    let mut keys = BTreeSet::new();
    for change in changes {
        keys.insert(change.key.clone());
        for object in change.before.iter().chain(&change.after) {
            let references = object::owner_references(object).iter();
            keys.extend(references.filter_map(|reference| owner_key(reference, &change.key, types)));
            keys.extend(store.dependents(object::uid(object)));
        }
    }
    keys
}

/// An object that the collector watches.
struct Node {
    key: Key,
    object: Arc<Value>,
    info: Arc<TypeInfo>,
}

/// All watched objects, and who refers to which uid.
struct Graph {
    nodes: Vec<Arc<Node>>,
    dependents: BTreeMap<String, Vec<usize>>,
}

/// What the collector sees.
struct View<'a, S: ?Sized, Find> {
    store: &'a S,
    types: &'a Types,
    /// Finds the watched objects that refer to a uid.
    dependents: Find,
}

/// How the owners of an object are doing.
#[derive(Default)]
struct Owners<'a> {
    /// Uids of owners that exist.
    solid: Vec<&'a str>,
    /// Uids of owners that do not.
    dangling: Vec<&'a str>,
    /// Uids of owners that wait for their dependents to go.
    waiting: Vec<&'a str>,
}

impl Graph {
    fn of<S: Store + ?Sized>(store: &S, types: &Types) -> Graph {
        let mut nodes = Vec::new();
        let mut dependents: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (key, object) in store.all() {
            let Some(node) = Node::of(object, key, types) else { continue };
            for reference in object::owner_references(&node.object) {
                let uid = reference["uid"].as_str().unwrap_or("").to_owned();
                let known = dependents.entry(uid).or_default();
                if known.last() != Some(&nodes.len()) {
                    known.push(nodes.len());
                }
            }
            nodes.push(Arc::new(node));
        }
        Graph { nodes, dependents }
    }

    fn dependents_of(&self, uid: &str) -> Vec<Arc<Node>> {
        let indices = self.dependents.get(uid).into_iter().flatten();
        indices.filter_map(|index| self.nodes.get(*index)).cloned().collect()
    }
}

impl<S: Store + ?Sized, Find: Fn(&str) -> Vec<Arc<Node>>> View<'_, S, Find> {
    fn dependents_of(&self, owner: &Node) -> Vec<Arc<Node>> {
        (self.dependents)(object::uid(&owner.object))
    }

    fn requests_for(&self, node: &Node) -> Vec<Request> {
        let deleting = object::is_deleting(&node.object);
        if deleting && node.has_finalizer(ORPHAN_FINALIZER) {
            return self.orphan(node);
        }
        if deleting && node.has_finalizer(FOREGROUND_FINALIZER) {
            let blocked = self.dependents_of(node).iter().any(|dependent| dependent.blocks(node));
            return if blocked { Vec::new() } else { vec![node.without_finalizer(FOREGROUND_FINALIZER)] };
        }
        if deleting || object::owner_references(&node.object).is_empty() {
            return Vec::new();
        }
        let Some(owners) = owners(node, self.store, self.types) else { return Vec::new() };
        self.collect(node, &owners).into_iter().collect()
    }

    /// Frees the dependents of an owner; once there are none, frees the owner.
    fn orphan(&self, owner: &Node) -> Vec<Request> {
        let uid = object::uid(&owner.object);
        let dependents = self.dependents_of(owner);
        let freed: Vec<Request> =
            dependents.iter().map(|dependent| dependent.without_owners(&[uid])).collect();
        if freed.is_empty() { vec![owner.without_finalizer(ORPHAN_FINALIZER)] } else { freed }
    }

    /// What becomes of an object that has owners.
    fn collect(&self, node: &Node, owners: &Owners<'_>) -> Option<Request> {
        if !owners.solid.is_empty() {
            let lost: Vec<&str> = owners.dangling.iter().chain(&owners.waiting).copied().collect();
            return (!lost.is_empty()).then(|| node.without_owners(&lost));
        }
        let dependents = if owners.waiting.is_empty() { Vec::new() } else { self.dependents_of(node) };
        if !dependents.is_empty() {
            // A dependent that waits for this object, which its owner waits for, would wait for ever.
            let circle = dependents.iter().any(|dependent| {
                object::is_deleting(&dependent.object) && dependent.has_finalizer(FOREGROUND_FINALIZER)
            });
            if circle && node.is_blocking() {
                return Some(node.unblocked());
            }
            return Some(node.delete(Propagation::Foreground));
        }
        let propagation = if node.has_finalizer(ORPHAN_FINALIZER) {
            Propagation::Orphan
        } else if node.has_finalizer(FOREGROUND_FINALIZER) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        Some(node.delete(propagation))
    }
}

/// Sorts the owners of an object; `None` if one is of a type that is not served, or cannot be an owner.
fn owners<'a, S: Store + ?Sized>(node: &'a Node, store: &S, types: &Types) -> Option<Owners<'a>> {
    let mut owners = Owners::default();
    for reference in object::owner_references(&node.object) {
        let uid = reference["uid"].as_str().unwrap_or("");
        let owner = store.get(&owner_key(reference, &node.key, types)?);
        match owner.filter(|owner| object::uid(owner) == uid) {
            None => owners.dangling.push(uid),
            Some(owner) if object::is_deleting(&owner) && has_finalizer(&owner, FOREGROUND_FINALIZER) => {
                owners.waiting.push(uid);
            }
            Some(_) => owners.solid.push(uid),
        }
    }
    Some(owners)
}

/// The object that a reference in another object names; `None` if it is of a type that is not served, or cannot be
/// an owner.
fn owner_key(reference: &Value, dependent: &Key, types: &Types) -> Option<Key> {
    let (group, version) = object::split_api_version(reference["apiVersion"].as_str().unwrap_or(""));
    let info = types.by_kind(group, version, reference["kind"].as_str().unwrap_or(""))?;
    if info.namespaced && dependent.namespace.is_empty() {
        return None;
    }
    let namespace = if info.namespaced { &*dependent.namespace } else { "" };
    Some(Key::new(group, &info.resource.plural, namespace, reference["name"].as_str().unwrap_or("")))
}

/// Takes a finalizer from an object, if the object is still the same.
pub(crate) fn without_finalizer(resource: &ResourceId, object: &Value, finalizer: &str) -> Request {
    let rest: Vec<&str> = object::finalizers(object).filter(|name| *name != finalizer).collect();
    let patch = Request::new(Verb::Patch(PatchKind::Merge), resource.clone());
    patch.in_namespace(object::namespace(object)).named(object::name(object)).as_manager(MANAGER).with_body(
        json!({
            "metadata": { "resourceVersion": object::resource_version(object), "finalizers": rest }
        }),
    )
}

fn has_finalizer(object: &Value, wanted: &str) -> bool {
    object::finalizers(object).any(|name| name == wanted)
}

impl Node {
    /// An object, if it is one that the collector watches.
    fn of(object: Arc<Value>, key: Key, types: &Types) -> Option<Node> {
        // Events are too many and too short-lived to be collected.
        let is_event = &*key.plural == "events" && matches!(&*key.group, "" | "events.k8s.io");
        let info = types.any_version(&key.group, &key.plural).filter(|_| !is_event)?.clone();
        Some(Node { key, object, info })
    }

    fn has_finalizer(&self, wanted: &str) -> bool {
        has_finalizer(&self.object, wanted)
    }

    /// Whether the deletion of an owner has to wait for this object.
    fn blocks(&self, owner: &Node) -> bool {
        let uid = object::uid(&owner.object);
        object::owner_references(&self.object)
            .iter()
            .any(|reference| reference["uid"] == uid && reference["blockOwnerDeletion"] == true)
    }

    fn is_blocking(&self) -> bool {
        object::owner_references(&self.object).iter().any(|reference| reference["blockOwnerDeletion"] == true)
    }

    fn request(&self, verb: Verb) -> Request {
        Request::new(verb, self.info.resource.clone())
            .in_namespace(&self.key.namespace)
            .named(&self.key.name)
            .as_manager(MANAGER)
    }

    fn delete(&self, propagation: Propagation) -> Request {
        let mut request = self.request(Verb::Delete);
        request.options.propagation = Some(propagation);
        request.options.preconditions.uid = Some(object::uid(&self.object).to_owned());
        request.options.preconditions.resource_version =
            Some(object::resource_version(&self.object).to_owned());
        request
    }

    fn without_finalizer(&self, finalizer: &str) -> Request {
        without_finalizer(&self.info.resource, &self.object, finalizer)
    }

    /// Drops references to owners. Built-in types are patched per reference, so that other writes do not conflict.
    fn without_owners(&self, uids: &[&str]) -> Request {
        if self.info.origin == Origin::BuiltIn {
            let dropped: Vec<Value> =
                uids.iter().map(|uid| json!({ "$patch": "delete", "uid": uid })).collect();
            return self.request(Verb::Patch(PatchKind::Strategic)).with_body(json!({
                "metadata": { "uid": object::uid(&self.object), "ownerReferences": dropped }
            }));
        }
        let dropped: BTreeSet<&str> = uids.iter().copied().collect();
        let references = object::owner_references(&self.object).iter();
        let kept: Vec<&Value> = references
            .filter(|reference| reference["uid"].as_str().is_none_or(|uid| !dropped.contains(uid)))
            .collect();
        self.with_references(json!(kept))
    }

    /// Makes no owner wait for this object any more.
    fn unblocked(&self) -> Request {
        let mut references = object::owner_references(&self.object).to_vec();
        for reference in &mut references {
            if let Some(fields) = reference.as_object_mut() {
                fields.insert("blockOwnerDeletion".to_owned(), false.into());
            }
        }
        self.with_references(json!(references))
    }

    fn with_references(&self, references: Value) -> Request {
        self.request(Verb::Patch(PatchKind::Merge)).with_body(json!({
            "metadata": {
                "resourceVersion": object::resource_version(&self.object),
                "ownerReferences": references,
            }
        }))
    }
}
