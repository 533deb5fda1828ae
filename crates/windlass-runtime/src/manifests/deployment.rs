//! The Deployment or StatefulSet: probed, measured, and with no more rights over its machine than it needs.

use serde_json::{Value, json};

use super::Installation;
use crate::managers::ManagerConfig;

/// The user `nonroot` of the usual small base images.
const USER: u32 = 65532;
/// A little more than a manager gives its active reconciles by default.
const GRACE_SECONDS: u32 = 30;
/// The same, and once more for the handover of slots, which begins when reconciles have ended.
const SHARDED_GRACE_SECONDS: u32 = 60;

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

/// Pods that keep their names, and the Service that a StatefulSet names them by. One that restarts has its slots again.
pub(super) fn stateful_set(installation: &Installation) -> [Value; 2] {
    let selector = json!({ "app.kubernetes.io/name": installation.name });
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": installation.metadata(),
        "spec": {
            "clusterIP": "None",
            "selector": selector,
            "ports": [{ "name": "endpoints", "port": installation.endpoints_port, "targetPort": "endpoints" }],
        },
    });
    let stateful_set = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": installation.metadata(),
        "spec": {
            "replicas": installation.replicas,
            "serviceName": installation.name,
            // No instance waits for another.
            "podManagementPolicy": "Parallel",
            "selector": { "matchLabels": selector },
            "template": {
                "metadata": { "labels": installation.labels() },
                "spec": pod(installation),
            },
        },
    });
    [service, stateful_set]
}

fn pod(installation: &Installation) -> Value {
    json!({
        "serviceAccountName": installation.name,
        "terminationGracePeriodSeconds": if installation.sharded { SHARDED_GRACE_SECONDS } else { GRACE_SECONDS },
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
    // The id of a manager, and the name of an instance, is the name of its pod, unless its arguments say another.
    if installation.sharded || matches!(installation.manager_config, Some(ManagerConfig::Api(_))) {
        let name = json!({ "fieldRef": { "fieldPath": "metadata.name" } });
        container["env"] = json!([{ "name": "POD_NAME", "valueFrom": name }]);
    }
    if !installation.arguments.is_empty() {
        container["args"] = json!(installation.arguments);
    }
    container
}
