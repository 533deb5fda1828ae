//! The client: what users do to the cluster, as scripts that run side by side.

use serde_json::Value;
use windlass::{Kind, to_value};
use windlass_model::{PatchKind, Propagation, Request, Verb, object};

/// One thing that a user does. A script does its events in order; several scripts interleave freely.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientEvent(pub(crate) Request);

/// Who a client's writes belong to.
const CLIENT_MANAGER: &str = "client";

impl ClientEvent {
    /// The user creates an object.
    ///
    /// # Panics
    /// If the object does not serialize.
    pub fn create<K: Kind>(typed: K) -> Self {
        let (request, body) = request_for::<K>(Verb::Create, &typed);
        ClientEvent(Request { name: None, ..request }.with_body(body))
    }

    /// The user applies an object (server-side).
    ///
    /// # Panics
    /// If the object does not serialize.
    pub fn apply<K: Kind>(typed: K) -> Self {
        let (request, body) = request_for::<K>(Verb::Patch(PatchKind::Apply), &typed);
        ClientEvent(request.with_body(body))
    }

    /// The user merges a patch into an object of the namespace `default`.
    pub fn patch<K: Kind>(name: &str, patch: Value) -> Self {
        ClientEvent(
            named::<K>(Verb::Patch(PatchKind::Merge), name).with_body(patch).as_manager(CLIENT_MANAGER),
        )
    }

    /// The user deletes an object of the namespace `default`.
    pub fn delete<K: Kind>(name: &str) -> Self {
        let mut request = named::<K>(Verb::Delete, name);
        request.options.propagation = Some(Propagation::Background);
        ClientEvent(request)
    }
}

fn named<K: Kind>(verb: Verb, name: &str) -> Request {
    let kind = K::kind_info();
    let namespace = if kind.namespaced { crate::DEFAULT_NAMESPACE } else { "" };
    Request::new(verb, kind.resource).in_namespace(namespace).named(name)
}

fn request_for<K: Kind>(verb: Verb, typed: &K) -> (Request, Value) {
    let mut body = to_value(typed).expect("the object serializes");
    let mut request = named::<K>(verb, object::name(&body)).as_manager(CLIENT_MANAGER);
    if !object::namespace(&body).is_empty() {
        request = request.in_namespace(object::namespace(&body));
    }
    if let Some(namespace) = &request.namespace {
        object::set_meta(&mut body, "namespace", namespace.as_str());
    }
    (request, body)
}
