//! The Lease that candidates compete for, as it is read and written.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass::model::{Request, ResourceId, Response, Timestamp, Verb};

use super::election::{LeaseRequest, LeaseResponse};
use super::settings::LeaderSettings;

/// A version of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    /// Empty if the lease is free.
    pub(super) holder: String,
    /// For how long it is held after it was last seen to change.
    pub(super) duration: Duration,
    /// Its resource version.
    pub(super) version: String,
    /// All of it, for what others have put in.
    pub(super) object: Arc<Value>,
}

impl Lease {
    pub(super) fn of(object: Arc<Value>) -> Self {
        let spec = &object["spec"];
        let seconds = spec["leaseDurationSeconds"].as_u64().unwrap_or_default();
        Lease {
            holder: spec["holderIdentity"].as_str().unwrap_or_default().to_owned(),
            duration: Duration::from_secs(seconds),
            version: object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned(),
            object,
        }
    }
}

/// A request of the election as one to the API.
pub(super) fn to_api(settings: &LeaderSettings, request: &LeaseRequest, now: Timestamp) -> Request {
    match request {
        LeaseRequest::Read => on_lease(settings, Verb::Get).named(&settings.name),
        LeaseRequest::Create => {
            let spec = held(settings, &Value::Null, now);
            let metadata = json!({ "name": settings.name, "namespace": settings.namespace });
            on_lease(settings, Verb::Create).with_body(lease(metadata, spec))
        }
        LeaseRequest::Hold(lease) => update(settings, lease, held(settings, &lease.object["spec"], now)),
    }
}

/// The request that gives a lease back: it has no holder, and lasts for the shortest time there is, as client-go
/// writes it.
pub(super) fn release(settings: &LeaderSettings, lease: &Lease, now: Timestamp) -> Request {
    let mut spec = lease.object["spec"].clone();
    spec["holderIdentity"] = "".into();
    spec["leaseDurationSeconds"] = 1.into();
    spec["renewTime"] = now.to_micro_string().into();
    update(settings, lease, spec)
}

/// What a response of the API means for the election.
pub(super) fn from_api(request: &LeaseRequest, response: &Response) -> LeaseResponse {
    if let Some(lease) = response.as_object() {
        return LeaseResponse::Lease(Lease::of(lease.clone()));
    }
    match (request, response.code) {
        (LeaseRequest::Read | LeaseRequest::Hold(_), 404) => LeaseResponse::Missing,
        (LeaseRequest::Create | LeaseRequest::Hold(_), 409) => LeaseResponse::Refused,
        _ => LeaseResponse::Unknown,
    }
}

/// The spec of a lease that this process holds, from what it was.
fn held(settings: &LeaderSettings, before: &Value, now: Timestamp) -> Value {
    let is_renewal = before["holderIdentity"] == settings.identity.as_str();
    let transitions = before["leaseTransitions"].as_i64().unwrap_or_default();
    let is_first = before.is_null();
    let now = now.to_micro_string();
    let mut spec = if is_first { json!({}) } else { before.clone() };
    spec["holderIdentity"] = settings.identity.as_str().into();
    spec["leaseDurationSeconds"] = settings.timing.lease_duration.as_secs().into();
    spec["leaseTransitions"] = (transitions + i64::from(!is_renewal && !is_first)).into();
    if !is_renewal {
        spec["acquireTime"] = now.as_str().into();
    }
    spec["renewTime"] = now.into();
    spec
}

fn update(settings: &LeaderSettings, before: &Lease, spec: Value) -> Request {
    let body = lease(before.object["metadata"].clone(), spec);
    on_lease(settings, Verb::Update).named(&settings.name).with_body(body)
}

fn lease(metadata: Value, spec: Value) -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec })
}

fn on_lease(settings: &LeaderSettings, verb: Verb) -> Request {
    let leases = ResourceId::new("coordination.k8s.io", "v1", "leases");
    Request::new(verb, leases).in_namespace(&settings.namespace).as_manager(&settings.identity)
}
