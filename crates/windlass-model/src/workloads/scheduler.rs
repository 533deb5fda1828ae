//! The scheduler: a pod whose claims are bound gets the first node that takes pods.

use serde_json::{Value, json};

use super::pods;
use super::writes::{CLAIMS, PODS};
use crate::object;
use crate::request::{Request, ResourceId, Verb};
use crate::store::{Key, Store};

const MANAGER: &str = "kube-scheduler";
/// The name of the scheduler that pods ask for if they ask for none.
const NAME: &str = "default-scheduler";

/// Binds a pod that can be bound.
pub(super) fn next<S: Store + ?Sized>(store: &S, pod: &Value) -> Option<Request> {
    let is_gated = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    let is_other = pod["spec"]["schedulerName"].as_str().is_some_and(|name| name != NAME);
    if pods::is_scheduled(pod)
        || !pods::is_active(pod)
        || is_gated
        || is_other
        || super::kubelet::is_held_back(pod)
    {
        return None;
    }
    let namespace = object::namespace(pod);
    let is_bound = |claim: &String| {
        let claim = store.get(&Key::new("", CLAIMS.plural, namespace, claim));
        claim.is_some_and(|claim| claim["status"]["phase"] == "Bound")
    };
    if !pods::claim_names(pod).iter().all(is_bound) {
        return None;
    }
    let mut nodes = store.scan("", "nodes", None, None);
    let (node, _) =
        nodes.find(|(_, node)| node["spec"]["unschedulable"] != true && !object::is_deleting(node))?;
    let body = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": { "name": object::name(pod), "namespace": namespace, "uid": object::uid(pod) },
        "target": { "apiVersion": "v1", "kind": "Node", "name": &*node.name },
    });
    let request = Request::new(Verb::Create, ResourceId::new("", "v1", PODS.plural));
    let request = request.in_namespace(namespace).named(object::name(pod)).on("binding");
    Some(request.with_body(body).as_manager(MANAGER))
}
