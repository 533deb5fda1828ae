//! What users ask for in this zoo, a broker, and the objects that it is made of.
//!
//! A broker is described by a ConfigMap, as for the first operators. The framework writes conditions and
//! inventory to the status of custom kinds, and a ConfigMap has no status: so a trace shows what the specimen
//! does, and nothing else.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Service};
use kube::ResourceExt;
use serde_json::{Value, json};
use windlass::{Kind, from_value};

/// A description of a broker. Its fields are those of the ConfigMap's data.
pub(crate) type Broker = ConfigMap;

/// The broker `mq`, with these fields.
pub(crate) fn broker(fields: &[(&str, &str)]) -> Broker {
    let data: BTreeMap<&str, &str> = fields.iter().copied().collect();
    object(json!({ "metadata": { "name": "mq" }, "data": data }))
}

/// A field of a broker; empty if it is not there.
pub(crate) fn field<'a>(broker: &'a Broker, name: &str) -> &'a str {
    broker.data.as_ref().and_then(|data| data.get(name)).map_or("", String::as_str)
}

/// A service without an address of its own.
pub(crate) fn service(name: &str) -> Service {
    object(json!({
        "metadata": { "name": name },
        "spec": { "clusterIP": "None", "selector": { "app": name }, "ports": [{ "port": 5672 }] },
    }))
}

/// A claim of storage. How much it is stands in an annotation: the API would let only a bound claim grow.
pub(crate) fn claim(name: &str, storage: &str) -> PersistentVolumeClaim {
    object(json!({
        "metadata": { "name": name, "annotations": { "storage": storage } },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    }))
}

/// How much storage a claim is, or a stateful set was made for.
pub(crate) fn storage<K: ResourceExt>(object: &K) -> &str {
    object.annotations().get("storage").map_or("", String::as_str)
}

/// A stateful set of one pod, made for so much storage.
pub(crate) fn stateful_set(name: &str, storage: &str) -> StatefulSet {
    object(json!({
        "metadata": { "name": name, "annotations": { "storage": storage } },
        "spec": {
            "serviceName": name,
            "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": { "labels": { "app": name } }, "spec": pod_spec() },
        },
    }))
}

/// A pod that no node runs.
pub(crate) fn pod(name: &str) -> Pod {
    object(json!({ "metadata": { "name": name }, "spec": pod_spec() }))
}

/// A pod on a node.
pub(crate) fn pod_on(node: &str, name: &str) -> Pod {
    let mut pod = pod(name);
    if let Some(spec) = &mut pod.spec {
        spec.node_name = Some(node.to_owned());
    }
    pod
}

/// A pod without a grace period: nothing here would wait for its end.
fn pod_spec() -> Value {
    json!({
        "containers": [{ "name": "broker", "image": "broker:1" }],
        "terminationGracePeriodSeconds": 0,
    })
}

/// A typed object from JSON.
pub(crate) fn object<K: Kind>(value: Value) -> K {
    from_value(&value).expect("this module writes objects of the right shape")
}
