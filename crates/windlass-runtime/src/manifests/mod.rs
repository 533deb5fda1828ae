//! What is applied to a cluster so that controllers run on it: definitions, an account with just the rights that they
//! need, and a Deployment. Pure: the same installation gives the same text.
//!
//! Start with [`Installation`].

mod deployment;
mod fencing;
mod rights;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use windlass::Controller;
use windlass::permissions::Scope;

use crate::managers::ManagerConfig;

pub use fencing::fencing_policy;

/// Where `/metrics`, `/healthz` and `/readyz` are served in the pod, if nothing else is said.
pub const ENDPOINTS_PORT: u16 = 8080;

/// Controllers that are to run on a cluster, and how.
#[derive(Clone)]
pub struct Installation {
    /// The name of the account, the roles and the Deployment.
    pub name: String,
    /// The namespace that the process runs in.
    pub namespace: String,
    /// The image of the program.
    pub image: String,
    /// Arguments of the program; it must serve its endpoints on [`Installation::endpoints_port`].
    pub arguments: Vec<String>,
    /// Where the program serves its metrics and probes.
    pub endpoints_port: u16,
    /// How many processes; more than one makes sense with leader election.
    pub replicas: u32,
    /// Whether one of the processes leads, by a lease in [`Installation::namespace`].
    pub leader_election: bool,
    /// Whether the processes share the objects of each controller: they are then pods of a StatefulSet, whose names they
    /// keep.
    pub sharded: bool,
    /// Whether the rings of sharded controllers are objects of the cluster, and not in a registry of their own. Only then
    /// can an admission policy compare the epochs of late writes with them.
    pub rings_in_cluster: bool,
    /// The namespaces whose objects are looked after; none for all.
    pub watched_namespaces: Vec<String>,
    /// Where the process finds out which controllers run, if its arguments say so: it then needs further rights.
    pub manager_config: Option<ManagerConfig>,
    /// The custom resource definitions, as `serde_json::to_value(Kind::crd())` gives them.
    pub definitions: Vec<Value>,
    /// The controllers.
    pub controllers: Vec<Controller>,
}

impl Installation {
    /// One process with these controllers, for all namespaces, in a namespace of its own.
    pub fn new(name: &str, image: &str, controllers: Vec<Controller>) -> Self {
        Installation {
            name: name.to_owned(),
            namespace: name.to_owned(),
            image: image.to_owned(),
            arguments: Vec::new(),
            endpoints_port: ENDPOINTS_PORT,
            replicas: 1,
            leader_election: false,
            sharded: false,
            rings_in_cluster: true,
            watched_namespaces: Vec::new(),
            manager_config: None,
            definitions: Vec::new(),
            controllers,
        }
    }

    /// All objects, in an order in which they can be applied.
    pub fn objects(&self) -> Vec<Value> {
        let mut objects = Vec::new();
        // The others are there in every cluster.
        if !matches!(self.namespace.as_str(), "default" | "kube-system" | "kube-public" | "kube-node-lease") {
            let metadata = json!({ "name": self.namespace });
            objects.push(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata }));
        }
        objects.extend(self.definitions.iter().cloned());
        objects.push(json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata() }));
        objects.extend(rights::objects(self));
        if self.sharded {
            objects.extend(self.fencing_policies());
            objects.extend(deployment::stateful_set(self));
        } else {
            objects.push(deployment::deployment(self));
        }
        objects
    }

    /// All objects as YAML documents, to be applied with `kubectl apply -f -`.
    ///
    /// # Errors
    /// When a definition cannot be written as YAML.
    pub fn yaml(&self) -> Result<String, YamlError> {
        yaml(&self.objects())
    }

    fn fencing_policies(&self) -> Vec<Value> {
        let user = format!("system:serviceaccount:{}:{}", self.namespace, self.name);
        let fenced = self.controllers.iter().filter(|_| self.rings_in_cluster);
        fenced.flat_map(|controller| fencing_policy(controller, &user)).collect()
    }

    /// Where the controllers work, for their permissions.
    fn scope(&self) -> Scope {
        Scope {
            namespaces: self.watched_namespaces.clone(),
            lease_namespace: self.leader_election.then(|| self.namespace.clone()),
        }
    }

    fn metadata(&self) -> Value {
        json!({ "name": self.name, "namespace": self.namespace, "labels": self.labels() })
    }

    fn labels(&self) -> Value {
        json!({ "app.kubernetes.io/name": self.name, "app.kubernetes.io/managed-by": "windlass" })
    }
}

/// An object that has no YAML.
#[derive(Debug, thiserror::Error)]
#[error("the manifest {number} cannot be written as YAML: {message}")]
pub struct YamlError {
    /// Which of them, from 1.
    pub number: usize,
    /// What does not fit.
    pub message: String,
}

/// Objects as YAML documents, with their keys in alphabetical order.
///
/// # Errors
/// When an object cannot be written as YAML.
pub fn yaml(objects: &[Value]) -> Result<String, YamlError> {
    let mut text = String::new();
    for (index, object) in objects.iter().enumerate() {
        let document = serde_saphyr::to_string(object)
            .map_err(|error| YamlError { number: index + 1, message: error.to_string() })?;
        text.push_str("---\n");
        text.push_str(document.trim_start_matches("---\n"));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(text)
}
