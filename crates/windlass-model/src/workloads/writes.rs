//! The requests of the workload controllers, with what makes them safe to deliver late or twice.

use serde_json::{Map, Value, json};

use crate::object;
use crate::request::{Propagation, Request, ResourceId, Verb};

/// Who the controllers' writes belong to.
pub(super) const MANAGER: &str = "kube-controller-manager";

/// A kind that the controllers read and write, in version `v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) group: &'static str,
    pub(super) plural: &'static str,
    pub(super) kind: &'static str,
}

pub(super) const CLAIMS: Kind = Kind::new("", "persistentvolumeclaims", "PersistentVolumeClaim");
pub(super) const VOLUMES: Kind = Kind::new("", "persistentvolumes", "PersistentVolume");
pub(super) const PODS: Kind = Kind::new("", "pods", "Pod");
pub(super) const SERVICES: Kind = Kind::new("", "services", "Service");
pub(super) const REVISIONS: Kind = Kind::new("apps", "controllerrevisions", "ControllerRevision");
pub(super) const DAEMON_SETS: Kind = Kind::new("apps", "daemonsets", "DaemonSet");
pub(super) const DEPLOYMENTS: Kind = Kind::new("apps", "deployments", "Deployment");
pub(super) const REPLICA_SETS: Kind = Kind::new("apps", "replicasets", "ReplicaSet");
pub(super) const STATEFUL_SETS: Kind = Kind::new("apps", "statefulsets", "StatefulSet");
pub(super) const JOBS: Kind = Kind::new("batch", "jobs", "Job");

impl Kind {
    const fn new(group: &'static str, plural: &'static str, kind: &'static str) -> Self {
        Kind { group, plural, kind }
    }

    pub(super) fn api_version(self) -> String {
        object::api_version(self.group, "v1")
    }

    fn request(self, verb: Verb) -> Request {
        Request::new(verb, ResourceId::new(self.group, "v1", self.plural)).as_manager(MANAGER)
    }

    fn about(self, verb: Verb, object: &Value) -> Request {
        self.request(verb).in_namespace(object::namespace(object)).named(object::name(object))
    }

    /// Creates an object in a namespace. The body is `{ "metadata": .., "spec": .. }`.
    pub(super) fn create(self, namespace: &str, mut body: Value) -> Request {
        body["apiVersion"] = self.api_version().into();
        body["kind"] = self.kind.into();
        if !namespace.is_empty() {
            object::set_meta(&mut body, "namespace", namespace);
        }
        self.request(Verb::Create).in_namespace(namespace).with_body(body)
    }

    /// Replaces an object by a changed copy of what was read, if it is still the same.
    pub(super) fn update(self, changed: Value) -> Request {
        self.about(Verb::Update, &changed).with_body(changed)
    }

    /// The same for its status.
    pub(super) fn update_status(self, changed: Value) -> Request {
        self.update(changed).on("status")
    }

    /// Deletes the object that was read, and no other one of its name.
    pub(super) fn delete(self, object: &Value) -> Request {
        let mut request = self.about(Verb::Delete, object);
        request.options.propagation = Some(Propagation::Background);
        request.options.preconditions.uid = Some(object::uid(object).to_owned());
        request
    }
}

/// The update of an object's status to what an edit makes of it; `None` if that changes nothing.
pub(super) fn status_update(
    kind: Kind,
    object: &Value,
    edit: impl FnOnce(&mut Map<String, Value>),
) -> Option<Request> {
    let mut changed = object.clone();
    let mut status = object["status"].as_object().cloned().unwrap_or_default();
    edit(&mut status);
    changed["status"] = Value::Object(status);
    let same =
        changed["status"] == object["status"] || changed["status"] == json!({}) && object["status"].is_null();
    (!same).then(|| kind.update_status(changed))
}
