//! The client: what users do to the cluster and to services, as scripts that run side by side.

use serde_json::Value;
use windlass::{Ask, Kind, Service, to_value};
use windlass_model::{PatchKind, Propagation, Request, Verb, object};

use super::database::plain;
use super::wait::Wait;
use crate::view::View;

/// One thing that a user does. A script does its events in order; several scripts interleave freely.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientEvent(What);

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// It asks the API or a service for something.
    Asks(Ask),
    /// It waits for something to be so.
    Waits(Wait),
}

/// Who a client's writes belong to.
const CLIENT_MANAGER: &str = "client";

impl ClientEvent {
    /// The user creates an object.
    ///
    /// # Panics
    /// If the object does not serialize.
    pub fn create<K: Kind>(typed: K) -> Self {
        asks(plain(creation(typed)))
    }

    /// The user applies an object (server-side).
    ///
    /// # Panics
    /// If the object does not serialize.
    pub fn apply<K: Kind>(typed: K) -> Self {
        let (request, body) = request_for::<K>(Verb::Patch(PatchKind::Apply), &typed);
        asks(plain(request.with_body(body)))
    }

    /// The user merges a patch into an object of the namespace `default`.
    pub fn patch<K: Kind>(name: &str, patch: Value) -> Self {
        asks(plain(merge::<K>(name, patch)))
    }

    /// The user, or another controller such as the kubelet, merges a patch into the status of an object of the
    /// namespace `default`. The patch has the form `{ "status": .. }`.
    pub fn patch_status<K: Kind>(name: &str, patch: Value) -> Self {
        let status = Some("status".to_owned());
        asks(plain(Request { subresource: status, ..merge::<K>(name, patch) }))
    }

    /// Something happens to an external service: its model gets this request, and the answer is dropped.
    ///
    /// # Panics
    /// If the request does not serialize.
    pub fn call<S: Service>(_service: S, request: &S::Request) -> Self {
        let request = serde_json::to_value(request).expect("the request serializes");
        asks(Ask::Call { service: S::NAME.to_owned(), request })
    }

    /// The user deletes an object of the namespace `default`.
    pub fn delete<K: Kind>(name: &str) -> Self {
        let mut request = named::<K>(Verb::Delete, name);
        request.options.propagation = Some(Propagation::Background);
        asks(plain(request))
    }

    /// The script goes on once an object exists and a predicate holds for it, as with `kubectl wait`. By the time of the
    /// next event this may be over. The object is `name` (in the namespace `default`), or `ns/name`.
    ///
    /// The predicate must depend on nothing but the object. A script that can wait for ever is named in a note of the
    /// report.
    pub fn wait_for<K: Kind>(name: &str, predicate: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
        let what = format!("{} {name}", K::kind_info().resource.plural);
        let name = name.to_owned();
        ClientEvent(What::Waits(Wait::new(what, move |view| {
            view.get::<K>(&name).is_some_and(|found| predicate(&found))
        })))
    }

    /// The script goes on once an object does not exist, as with `kubectl wait --for=delete`.
    pub fn wait_for_deletion<K: Kind>(name: &str) -> Self {
        let what = format!("the deletion of {} {name}", K::kind_info().resource.plural);
        let name = name.to_owned();
        ClientEvent(What::Waits(Wait::new(what, move |view| !view.has::<K>(&name))))
    }

    /// The script goes on once a predicate holds for all that properties see. The text says what is waited for, in
    /// traces.
    pub fn wait_until(what: &str, predicate: impl Fn(&View<'_>) -> bool + Send + Sync + 'static) -> Self {
        ClientEvent(What::Waits(Wait::new(what.to_owned(), predicate)))
    }

    /// Whether it makes an object.
    pub(crate) fn creates(&self) -> bool {
        matches!(self.ask(), Some(Ask::Api { request, .. }) if request.verb == Verb::Create)
    }

    /// What it asks for; `None` if it waits.
    pub(crate) fn ask(&self) -> Option<&Ask> {
        match &self.0 {
            What::Asks(ask) => Some(ask),
            What::Waits(_) => None,
        }
    }

    /// What it waits for; `None` if it asks for something.
    pub(crate) fn wait(&self) -> Option<&Wait> {
        match &self.0 {
            What::Asks(_) => None,
            What::Waits(wait) => Some(wait),
        }
    }
}

fn asks(ask: Ask) -> ClientEvent {
    ClientEvent(What::Asks(ask))
}

/// The request that creates an object.
pub(crate) fn creation<K: Kind>(typed: K) -> Request {
    let (request, body) = request_for::<K>(Verb::Create, &typed);
    Request { name: None, ..request }.with_body(body)
}

fn merge<K: Kind>(name: &str, patch: Value) -> Request {
    named::<K>(Verb::Patch(PatchKind::Merge), name).with_body(patch).as_manager(CLIENT_MANAGER)
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
