//! Roles and bindings: what the preflight asks for, and nothing else.

use serde_json::{Value, json};
use windlass::model::authorization::Rule;
use windlass::permissions::{permissions, roles};

use super::Installation;

const GROUP: &str = "rbac.authorization.k8s.io";

/// A role and its binding for the whole cluster and for each namespace, as far as they are needed.
pub(super) fn objects(installation: &Installation) -> Vec<Value> {
    let mut needed = permissions(&installation.controllers, &installation.scope());
    let config = installation.manager_config.as_ref();
    needed.extend(config.into_iter().flat_map(|config| config.permissions(&installation.namespace)));
    if installation.sharded && installation.rings_in_cluster {
        needed.extend(crate::sharding::permissions(&installation.namespace));
    }
    // The Lease of a manager may be in the namespace of that of the leader.
    needed.sort();
    needed.dedup();
    let pairs = roles(&needed).into_iter().map(|(namespace, rules)| match namespace {
        None => pair(installation, "ClusterRole", None, &rules),
        Some(namespace) => pair(installation, "Role", Some(&namespace), &rules),
    });
    pairs.flatten().collect()
}

fn pair(installation: &Installation, kind: &str, namespace: Option<&str>, rules: &[Rule]) -> [Value; 2] {
    let Installation { name, namespace: home, .. } = installation;
    // What has no namespace may not clash with the same installation in another one.
    let role_name = if namespace.is_some() { name.clone() } else { format!("{home}:{name}") };
    let mut metadata = json!({ "name": role_name, "labels": installation.labels() });
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    let rules: Vec<Value> = rules.iter().map(Rule::to_value).collect();
    let api_version = format!("{GROUP}/v1");
    let role = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "rules": rules });
    let binding = json!({
        "apiVersion": api_version,
        "kind": format!("{kind}Binding"),
        "metadata": metadata,
        "roleRef": { "apiGroup": GROUP, "kind": kind, "name": role_name },
        "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": home }],
    });
    [role, binding]
}
