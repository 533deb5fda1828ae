//! Reading pods, and making them from a template.

use serde_json::{Value, json};

use super::ownership::reference_to;
use super::statuses::has_condition;
use super::writes::{Kind, PODS};
use crate::object;
use crate::request::Request;

/// Whether a pod has ended, well or not.
pub(super) fn is_finished(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// Whether a pod counts as a replica.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_finished(pod) && !object::is_deleting(pod)
}

/// Whether a pod takes requests.
pub(super) fn is_ready(pod: &Value) -> bool {
    has_condition(pod, "Ready")
}

/// Whether a pod is running and takes requests.
pub(super) fn is_running_and_ready(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running" && is_ready(pod)
}

/// Whether a pod has a node.
pub(super) fn is_scheduled(pod: &Value) -> bool {
    pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty())
}

/// The number of a pod of a StatefulSet, if it has the name of one.
pub(super) fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    let number = object::name(pod).strip_prefix(object::name(set))?.strip_prefix('-')?;
    number.parse().ok().filter(|ordinal: &i64| ordinal.to_string() == number)
}

/// The names of the claims that a pod mentions.
pub(super) fn claim_names(pod: &Value) -> Vec<String> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let names = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
    names.map(str::to_owned).collect()
}

/// The order in which too many pods are deleted: those that do least go first.
pub(super) fn use_of(pod: &Value) -> (bool, bool, bool, i64) {
    let cost = object::annotation(pod, "controller.kubernetes.io/pod-deletion-cost");
    let cost = cost.and_then(|cost| cost.parse().ok()).unwrap_or(0);
    (is_scheduled(pod), pod["status"]["phase"] == "Running", is_ready(pod), cost)
}

/// A pod that is to be made from a template.
pub(super) struct NewPod {
    body: Value,
    namespace: String,
}

impl NewPod {
    /// From the template of its controller.
    pub(super) fn from_template(kind: Kind, owner: &Value, template: &Value) -> Self {
        let mut metadata = json!({ "ownerReferences": [reference_to(kind, owner)] });
        for field in ["labels", "annotations", "finalizers"] {
            if !template["metadata"][field].is_null() {
                metadata[field] = template["metadata"][field].clone();
            }
        }
        let body = json!({ "metadata": metadata, "spec": template["spec"] });
        NewPod { body, namespace: object::namespace(owner).to_owned() }
    }

    /// With a name that the API completes.
    pub(super) fn prefixed(mut self, prefix: &str) -> Self {
        object::set_meta(&mut self.body, "generateName", prefix);
        self
    }

    pub(super) fn named(mut self, name: &str) -> Self {
        object::set_meta(&mut self.body, "name", name);
        self
    }

    pub(super) fn labelled(mut self, label: &str, value: &str) -> Self {
        self.body["metadata"]["labels"][label] = value.into();
        self
    }

    pub(super) fn annotated(mut self, annotation: &str, value: &str) -> Self {
        self.body["metadata"]["annotations"][annotation] = value.into();
        self
    }

    /// The spec, to be changed.
    pub(super) fn spec(&mut self) -> &mut Value {
        &mut self.body["spec"]
    }

    pub(super) fn create(self) -> Request {
        PODS.create(&self.namespace, self.body)
    }
}
