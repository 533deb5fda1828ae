//! Outputs: the objects that a machine keeps in being for its parent.

use serde_json::{Map, Value, json};
use windlass_model::object;

use crate::declaration::{CONTROLLER_LABEL, Declaration, OWNER_ANNOTATION, OWNER_LABEL, owner_label};
use crate::kind::{Kind, KindInfo, ObjectRef, to_value};

/// An object to ensure. Made from any typed object; the methods change how it is tied to its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub(crate) kind: KindInfo,
    pub(crate) body: Value,
    pub(crate) owner: Owner,
    pub(crate) labelled: bool,
    pub(crate) force: bool,
    pub(crate) fence: Fence,
}

/// What must still be so for a write of an output to take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    /// Nothing: the write that arrives last wins.
    None,
    /// It does not exist. What exists is left as it is.
    Absent,
    /// It is what the reconcile read just before: absent, or of that very version.
    Unchanged,
    /// It is the version that the machine has read and decided on.
    Version { uid: String, resource_version: String },
}

/// How an output refers to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// An owner reference with `controller: true`.
    Controller,
    /// An owner reference.
    Plain,
    /// None: the output outlives the garbage collection of its parent, and the finalizer deletes it.
    None,
}

impl Output {
    /// An output with an owner reference that is not the controlling one.
    #[must_use]
    pub fn with_plain_owner(mut self) -> Self {
        self.owner = Owner::Plain;
        self
    }

    /// An output without an owner reference, still found again by its labels.
    #[must_use]
    pub fn without_owner(mut self) -> Self {
        self.owner = Owner::None;
        self
    }

    /// An output without an owner reference or labels. Only the inventory knows it, so it is recorded
    /// there before it is created, which costs a write.
    ///
    /// One thing is not caught: a request of a crashed process that arrives only after the parent is gone.
    /// Labels would find what it made; without them nothing does.
    #[must_use]
    pub fn untied(mut self) -> Self {
        self.owner = Owner::None;
        self.labelled = false;
        self
    }

    /// Creates the object if it does not exist, and never changes it afterwards.
    ///
    /// For what is drawn once, such as a generated password: a request that arrives late, or twice, or from a process
    /// that has crashed since, changes nothing.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use k8s_openapi::api::core::v1::Secret;
    /// # use windlass::{Cx, Kind, Output, Outcome, done};
    /// # async fn state<P: Kind>(cx: &Cx<P>) -> Outcome<()> {
    /// let mut secret = Secret::default();
    /// secret.metadata.name = Some(format!("{}-admin", cx.name()));
    /// secret.string_data = Some(BTreeMap::from([("password".to_owned(), cx.random_password(24).await)]));
    /// cx.ensure(Output::from(secret).only_if_absent());
    /// done()
    /// # }
    /// ```
    #[must_use]
    pub fn only_if_absent(mut self) -> Self {
        self.fence = Fence::Absent;
        self
    }

    /// Writes the object only if it is unchanged since this reconcile read it: created if it was absent, else applied
    /// with its resource version. Otherwise the reconcile ends with a conflict and is retried.
    ///
    /// Without this the write that arrives last wins, even an old one: a write that was delayed, repeated, or sent by a
    /// process that has crashed since brings an old version back until the next reconcile.
    #[must_use]
    pub fn fenced(mut self) -> Self {
        self.fence = Fence::Unchanged;
        self
    }

    /// Writes the object only if it is still as the machine has read it: the very object, in the very version.
    /// Otherwise the reconcile ends with a conflict and is tried again.
    ///
    /// For decisions that depend on what was read, such as the next step of an ordered upgrade.
    #[must_use]
    pub fn if_unchanged_since<K: Kind>(mut self, read: &K) -> Self {
        let metadata = read.object_meta();
        self.fence = Fence::Version {
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
        };
        self
    }

    /// Takes over fields that other managers own, where the default is to stop with a conflict.
    #[must_use]
    pub fn forced(mut self) -> Self {
        self.force = true;
        self
    }
}

impl<K: Kind> From<K> for Output {
    fn from(typed: K) -> Self {
        Output {
            kind: K::kind_info(),
            // What does not serialize is refused by the API, with a message, when it is applied.
            body: to_value(&typed).unwrap_or(Value::Null),
            owner: Owner::Controller,
            labelled: true,
            force: false,
            fence: Fence::None,
        }
    }
}

impl Output {
    /// The object's key, with the parent's namespace where none is given.
    pub(crate) fn key(&self, parent: &ObjectRef) -> ObjectRef {
        let namespace = match object::namespace(&self.body) {
            _ if !self.kind.namespaced => "",
            "" => &parent.namespace,
            given => given,
        };
        ObjectRef::new(namespace, object::name(&self.body))
    }

    /// Whether an owner reference ties it to the parent. Kubernetes has none across namespaces.
    pub(crate) fn is_owned(&self, declaration: &Declaration, parent: &ObjectRef) -> bool {
        let possible = !declaration.parent.namespaced
            || (self.kind.namespaced && self.key(parent).namespace == parent.namespace);
        possible && self.owner != Owner::None
    }

    /// What is sent to server-side apply: the body, with its key and its ties to the parent.
    pub(crate) fn to_apply(&self, declaration: &Declaration, parent: &Value) -> Value {
        let target = ObjectRef::of(parent);
        let key = self.key(&target);
        let mut body = self.body.clone();
        // A typed object has a status even if the machine says nothing about it.
        if let Some(fields) = body.as_object_mut() {
            fields.remove("status");
        }
        drop_nulls(&mut body);
        // An object that was read before carries what only the server sets.
        for field in ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"] {
            object::remove_meta(&mut body, field);
        }
        if self.kind.namespaced {
            object::set_meta(&mut body, "namespace", key.namespace.as_str());
        }
        if self.is_owned(declaration, &target) {
            object::set_meta(&mut body, "ownerReferences", vec![self.owner_reference(declaration, parent)]);
        } else {
            set_entry(&mut body, "annotations", OWNER_ANNOTATION, &declaration.owner_annotation(&target));
        }
        if self.labelled {
            set_entry(&mut body, "labels", OWNER_LABEL, &owner_label(&target));
            set_entry(&mut body, "labels", CONTROLLER_LABEL, &declaration.name);
        }
        body
    }

    fn owner_reference(&self, declaration: &Declaration, parent: &Value) -> Value {
        let mut reference = json!({
            "apiVersion": declaration.parent.api_version(),
            "kind": declaration.parent.kind,
            "name": object::name(parent),
            "uid": object::uid(parent),
            "blockOwnerDeletion": true,
        });
        if self.owner == Owner::Controller {
            reference["controller"] = true.into();
        }
        reference
    }
}

/// `ConfigMap default/cm1`, for messages.
pub(crate) fn shown(kind: &KindInfo, key: &ObjectRef) -> String {
    format!("{} {key}", kind.qualified())
}

fn set_entry(body: &mut Value, map: &str, key: &str, value: &str) {
    if let Some(metadata) = object::metadata_mut(body) {
        let entries = metadata.entry(map).or_insert_with(|| Value::Object(Map::new()));
        if let Some(entries) = entries.as_object_mut() {
            entries.insert(key.to_owned(), value.into());
        }
    }
}

/// Typed objects serialize an absent field as null now and then; to apply a null is to own it.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
