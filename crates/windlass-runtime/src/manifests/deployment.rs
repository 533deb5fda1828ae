//! The Deployment: probed, measured, and with no more rights over its machine than it needs.

use serde_json::{Value, json};

use super::Installation;
use crate::managers::ManagerConfig;

/// The user `nonroot` of the usual small base images.
const USER: u32 = 65532;
/// A little more than a manager gives its active reconciles by default.
const GRACE_SECONDS: u32 = 30;

pub(super) fn deployment(installation: &Installation) -> Value {
    let selector = json!({ "app.kubernetes.io/name": installation.name });
    // Without a leader, two processes at a time would do everything twice.
    let strategy = if installation.leader_election { "RollingUpdate" } else { "Recreate" };
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": installation.metadata(),
        "spec": {
            "replicas": installation.replicas,
            "selector": { "matchLabels": selector },
            "strategy": { "type": strategy },
            "template": {
                "metadata": { "labels": installation.labels() },
                "spec": pod(installation),
            },
        },
    })
}

fn pod(installation: &Installation) -> Value {
    json!({
        "serviceAccountName": installation.name,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [container(installation)],
    })
}

fn container(installation: &Installation) -> Value {
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": "endpoints" } });
    let mut container = json!({
        "name": "controllers",
        "image": installation.image,
        "ports": [{ "name": "endpoints", "containerPort": installation.endpoints_port, "protocol": "TCP" }],
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "resources": {
            "requests": { "cpu": "10m", "memory": "32Mi" },
            "limits": { "memory": "256Mi" },
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
    });
    // The id of a manager is the name of its pod, unless its arguments say another.
    if let Some(ManagerConfig::Api(_)) = installation.manager_config {
        let name = json!({ "fieldRef": { "fieldPath": "metadata.name" } });
        container["env"] = json!([{ "name": "POD_NAME", "valueFrom": name }]);
    }
    if !installation.arguments.is_empty() {
        container["args"] = json!(installation.arguments);
    }
    container
}
