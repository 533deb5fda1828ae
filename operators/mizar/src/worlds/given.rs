//! Objects as operators that are not part of a world have left them.

use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::VNI;
use crate::address::Range;
use crate::api::{Bouncer, Divider, Droplet, Endpoint, Subnet, Vpc};

fn read<K: serde::de::DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).expect("a world is written with care")
}

/// A droplet whose daemon is known: `192.168.0.N` for the one of index N - 1.
pub(super) fn droplet(name: &str, index: usize) -> Droplet {
    let number = index + 1;
    read(json!({
        "metadata": { "name": name, "namespace": "default", "finalizers": ["windlass.dev/mizar-droplet"] },
        "spec": { "ip": format!("192.168.0.{number}"), "mac": format!("02:00:00:00:00:0{number}") },
        "status": { "phase": "Provisioned", "boot": format!("{name}-1"), "lost": false, "load": 0, "placed": [] },
    }))
}

pub(super) fn vpc(name: &str, vni: Option<u32>) -> Vpc {
    read(json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "ip": "10.0.0.0", "prefix": 16, "vni": vni },
        "status": { "phase": "Provisioned", "vni": VNI, "dividers": 1 },
    }))
}

pub(super) fn subnet(name: &str, ip: &str, prefix: u32) -> Subnet {
    read(json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "ip": ip, "prefix": prefix, "vpc": "vpc0" },
        "status": { "phase": "Provisioned", "vni": VNI, "used": 0, "available": 1 },
    }))
}

pub(super) fn divider(name: &str) -> Divider {
    read(json!({ "metadata": { "name": name, "namespace": "default" }, "spec": { "vpc": "vpc0" } }))
}

pub(super) fn placed_divider(name: &str, droplet: &str) -> Divider {
    let mut placed = serde_json::to_value(divider(name)).expect("it is an object");
    placed["status"] = place(droplet);
    placed["status"]["phase"] = "Provisioned".into();
    placed["status"]["bouncersOn"] = droplet.into();
    placed["status"]["conditions"] = done(&["Placed", "BouncersUpdated", "DividerUpdated"]);
    read(placed)
}

/// A bouncer of `net0`, placed and Provisioned.
pub(super) fn bouncer(name: &str, droplet: &str) -> Bouncer {
    let mut status = place(droplet);
    for field in ["endpointsOn", "dividersOn", "agentsOn"] {
        status[field] = droplet.into();
    }
    status["phase"] = "Provisioned".into();
    let steps = ["Placed", "EndpointReady", "DividersKnown", "DividerReady", "Observed", "EndpointsUpdated"];
    status["conditions"] = done(&steps);
    read(json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "vpc": "vpc0", "net": "net0", "nip": "10.0.0.0", "prefix": 29 },
        "status": status,
    }))
}

/// The same as its home has left it.
pub(super) fn provisioned(bouncer: Bouncer) -> Bouncer {
    let mut value = serde_json::to_value(bouncer).expect("it is an object");
    value["status"]["controllers"] = json!([{ "name": "mizar-bouncer", "ready": true }]);
    read(value)
}

/// The conditions of steps that are done.
pub(super) fn done(steps: &[&str]) -> Value {
    let condition = |step: &&str| {
        json!({
            "type": step, "status": "True", "reason": "Done", "message": "", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    steps.iter().map(condition).collect()
}

/// Where something is that was not programmed yet.
pub(super) fn place(droplet: &str) -> Value {
    let number = droplet.trim_start_matches('d');
    json!({
        "vni": VNI, "droplet": droplet, "ip": format!("192.168.0.{number}"),
        "mac": format!("02:00:00:00:00:0{number}"), "left": [], "conditions": done(&["Placed"]),
    })
}

/// Where a bouncer is that knows all endpoints.
pub(super) fn known_place(droplet: &str) -> Value {
    let mut place = place(droplet);
    place["endpointsOn"] = droplet.into();
    place["conditions"] = done(&["Placed", "EndpointReady"]);
    place
}

/// An endpoint of `net0`; with an address if one is given.
pub(super) fn endpoint(name: &str, droplet: &str, ip: Option<&str>) -> Endpoint {
    endpoint_in(name, "net0", droplet, ip)
}

pub(super) fn endpoint_in(name: &str, net: &str, droplet: &str, ip: Option<&str>) -> Endpoint {
    let number = droplet.trim_start_matches('d');
    let status = ip.map(|ip| {
        let last = ip.trim_start_matches("10.0.0.");
        json!({
            "phase": "Init", "ip": ip, "prefix": 29, "gw": "10.0.0.1", "mac": format!("02:07:0a:00:00:0{last}"),
            "vni": VNI, "itf": "eth0", "veth": format!("v0000070a00000{last}"), "hostip": format!("192.168.0.{number}"),
            "hostmac": format!("02:00:00:00:00:0{number}"), "bouncers": [], "conditions": done(&["Allocated"]),
        })
    });
    let pod = name.trim_start_matches("p-");
    let mut endpoint = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "type": "simple", "vpc": "vpc0", "net": net, "pod": pod, "droplet": droplet },
    });
    if let Some(status) = status {
        endpoint["status"] = status;
    }
    read(endpoint)
}

/// The same when everybody knows it.
pub(super) fn hosted(endpoint: Endpoint) -> Endpoint {
    let mut value = serde_json::to_value(&endpoint).expect("it is an object");
    value["status"]["phase"] = "Provisioned".into();
    value["status"]["conditions"] = done(&["Allocated", "BouncerReady", "EndpointReady", "InterfaceReady"]);
    value["status"]["hosted"] = true.into();
    read(value)
}

pub(super) fn scaled(name: &str) -> Endpoint {
    read(json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "type": "scaled", "vpc": "vpc0", "net": "net0", "ports": [{ "port": 80, "protocol": "TCP" }] },
    }))
}

/// The same with a backend.
pub(super) fn with_backend(scaled: Endpoint) -> Endpoint {
    let mut value = serde_json::to_value(scaled).expect("it is an object");
    let target = json!({ "port": 80, "protocol": "TCP", "targetPort": 8080 });
    value["spec"]["backends"] = json!([{ "ip": "10.0.0.4", "targets": [target] }]);
    read(value)
}

/// The same with an address, known to all bouncers.
pub(super) fn provisioned_at(scaled: Endpoint, ip: &str) -> Endpoint {
    let mut value = serde_json::to_value(scaled).expect("it is an object");
    value["status"] = json!({
        "phase": "Provisioned", "ip": ip, "prefix": 29, "gw": "10.0.0.1", "mac": "02:07:0a:00:00:03", "vni": VNI,
        "bouncers": [], "conditions": done(&["Allocated", "BouncerReady"]),
    });
    read(value)
}

pub(super) fn namespace(name: &str) -> Namespace {
    read(json!({ "metadata": { "name": name } }))
}

pub(super) fn pod(name: &str, namespace: &str, node: &str) -> Pod {
    read(json!({
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "nodeName": node, "containers": [{ "name": "a", "image": "a" }] },
    }))
}

pub(super) fn service(name: &str, ports: Value) -> Service {
    read(json!({ "metadata": { "name": name, "namespace": "default" }, "spec": { "ports": ports } }))
}

/// What is behind a service: one pod, with these ports.
pub(super) fn slice(service: &str, pod: &str, ports: Value) -> EndpointSlice {
    let target = json!({ "kind": "Pod", "name": pod, "namespace": "default" });
    read(json!({
        "metadata": {
            "name": format!("{service}-1"), "namespace": "default",
            "labels": { "kubernetes.io/service-name": service },
        },
        "addressType": "IPv4", "endpoints": [{ "addresses": ["1.2.3.4"], "targetRef": target }], "ports": ports,
    }))
}

/// The range of a network of the worlds.
pub(super) fn subnet_of(subnet: &Subnet) -> Option<Range> {
    Range::new(&subnet.spec.ip, subnet.spec.prefix.0).ok()
}
