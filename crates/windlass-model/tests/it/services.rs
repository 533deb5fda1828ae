//! Cluster addresses and node ports.

use serde_json::{Value, json};
use windlass_model::{Cluster, Verb};

use crate::support::{cluster, create, delete, found, merge, ok, refused, request, update};

fn service(name: &str, more: Value) -> Value {
    let mut spec = json!({ "selector": { "app": name }, "ports": [{ "name": "http", "port": 80 }] });
    for (field, value) in more.as_object().expect("fields") {
        spec[field] = value.clone();
    }
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name }, "spec": spec })
}

fn made(cluster: &mut Cluster, name: &str, more: Value) -> Value {
    ok(cluster, &create("services", service(name, more)))["spec"].clone()
}

fn node_port(spec: &Value, index: usize) -> i64 {
    spec["ports"][index]["nodePort"].as_i64().unwrap_or(0)
}

#[test]
fn services_get_addresses_of_their_own() {
    let mut cluster = cluster();
    let mut seen = std::collections::BTreeSet::new();
    for name in ["a", "b", "c", "d"] {
        let spec = made(&mut cluster, name, json!({}));
        let ip = spec["clusterIP"].as_str().expect("an address").to_owned();
        assert!(ip.starts_with("10."), "{ip}");
        assert_eq!(spec["clusterIPs"], json!([ip]));
        assert_eq!((&spec["ipFamilies"], &spec["ipFamilyPolicy"]), (&json!(["IPv4"]), &json!("SingleStack")));
        assert!(seen.insert(ip), "given twice");
    }
}

#[test]
fn what_a_service_gets_does_not_depend_on_the_order() {
    let (mut one, mut other) = (cluster(), cluster());
    let balancer = json!({ "type": "LoadBalancer" });
    for name in ["a", "b"] {
        made(&mut one, name, balancer.clone());
    }
    for name in ["b", "a"] {
        made(&mut other, name, balancer.clone());
    }
    for name in ["a", "b"] {
        assert_eq!(found(&mut one, "services", name)["spec"], found(&mut other, "services", name)["spec"]);
    }
}

#[test]
fn an_address_that_is_asked_for_is_given_or_refused() {
    let mut cluster = cluster();
    let asked = json!({ "clusterIP": "10.96.0.77" });
    assert_eq!(made(&mut cluster, "a", asked.clone())["clusterIPs"], json!(["10.96.0.77"]));
    let again = create("services", service("b", asked.clone()));
    refused(
        &cluster.request(&again),
        422,
        "Invalid",
        "spec.clusterIPs: Invalid value: [\"10.96.0.77\"]: failed to allocate IP 10.96.0.77: provided IP is already allocated",
    );
    let outside = create("services", service("b", json!({ "clusterIP": "192.168.0.1" })));
    refused(
        &cluster.request(&outside),
        422,
        "Invalid",
        "the provided network does not match the current range",
    );
    // It is free again when the Service is gone, or no longer needs it.
    ok(&mut cluster, &delete("services", "a"));
    made(&mut cluster, "b", asked.clone());
    let external = json!({ "spec": { "type": "ExternalName", "externalName": "example.com" } });
    let spec = ok(&mut cluster, &merge("services", "b", external))["spec"].clone();
    assert_eq!((spec.get("clusterIP"), spec.get("ipFamilies")), (None, None));
    made(&mut cluster, "c", asked);
    let back = json!({ "spec": { "type": "ClusterIP", "externalName": null } });
    let spec = ok(&mut cluster, &merge("services", "b", back))["spec"].clone();
    assert!(spec["clusterIP"].is_string() && spec["clusterIP"] != "10.96.0.77", "{spec}");
}

#[test]
fn one_family_is_all_that_there_is() {
    let mut cluster = cluster();
    for (more, message) in [
        (
            json!({ "ipFamilyPolicy": "RequireDualStack" }),
            "this cluster is not configured for dual-stack services",
        ),
        (
            json!({ "ipFamilies": ["IPv6"] }),
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
        ),
        (json!({ "clusterIP": "fd00::1" }), "IPv6 is not configured on this cluster"),
        (
            json!({ "clusterIP": "10.96.0.9", "ipFamilies": ["IPv6"] }),
            "expected an IPv6 value as indicated by `ipFamilies[0]`",
        ),
    ] {
        refused(&cluster.request(&create("services", service("a", more))), 422, "Invalid", message);
    }
    let spec = made(&mut cluster, "a", json!({ "ipFamilyPolicy": "PreferDualStack" }));
    assert_eq!(spec["ipFamilies"], json!(["IPv4"]));
}

#[test]
fn node_ports_are_assigned_kept_and_released() {
    let mut cluster = cluster();
    let ports = json!([{ "name": "t", "port": 53 }, { "name": "u", "port": 53, "protocol": "UDP" }, { "name": "w", "port": 80 }]);
    let spec = made(&mut cluster, "a", json!({ "type": "NodePort", "ports": ports.clone() }));
    let given: Vec<i64> = (0..3).map(|index| node_port(&spec, index)).collect();
    assert!(given.iter().all(|port| (30_000..=32_767).contains(port)), "{given:?}");
    assert!(given[0] == given[1] && given[0] != given[2], "{given:?}");
    // An update that leaves them out keeps them, and draws one for a new port.
    let more = json!([{ "name": "t", "port": 53 }, { "name": "w", "port": 80 }, { "name": "x", "port": 81 }]);
    let mut wanted = service("a", json!({ "type": "NodePort", "ports": more }));
    wanted["metadata"]["resourceVersion"] =
        found(&mut cluster, "services", "a")["metadata"]["resourceVersion"].clone();
    let spec = ok(&mut cluster, &update("services", wanted))["spec"].clone();
    assert_eq!([node_port(&spec, 0), node_port(&spec, 1)], [given[0], given[2]]);
    assert!(node_port(&spec, 2) != 0 && !given.contains(&node_port(&spec, 2)));
    let fixed = |port: i64| json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": port }] });
    refused(
        &cluster.request(&create("services", service("b", fixed(given[0])))),
        422,
        "Invalid",
        &format!("spec.ports[0].nodePort: Invalid value: {}: provided port is already allocated", given[0]),
    );
    refused(
        &cluster.request(&create("services", service("b", fixed(80)))),
        422,
        "Invalid",
        "provided port is not in the valid range. The range of valid ports is 30000-32767",
    );
    let spec =
        ok(&mut cluster, &merge("services", "a", json!({ "spec": { "type": "ClusterIP" } })))["spec"].clone();
    assert_eq!(node_port(&spec, 0), 0);
    made(&mut cluster, "b", fixed(given[0]));
}

#[test]
fn load_balancers() {
    let mut cluster = cluster();
    let spec = made(&mut cluster, "a", json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local" }));
    let health = spec["healthCheckNodePort"].as_i64().expect("a port");
    assert!(health != node_port(&spec, 0) && (30_000..=32_767).contains(&health), "{spec}");
    refused(
        &cluster.request(&merge("services", "a", json!({ "spec": { "healthCheckNodePort": 31_999 } }))),
        422,
        "Invalid",
        "spec.healthCheckNodePort: Forbidden: field is immutable",
    );
    let to_node_port = json!({ "spec": { "type": "NodePort" } });
    let spec = ok(&mut cluster, &merge("services", "a", to_node_port))["spec"].clone();
    assert_eq!((spec.get("healthCheckNodePort"), spec.get("allocateLoadBalancerNodePorts")), (None, None));
    let bare = json!({ "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false });
    assert_eq!(node_port(&made(&mut cluster, "b", bare), 0), 0);
}

#[test]
fn a_dry_run_takes_nothing() {
    let mut cluster = cluster();
    let mut dry = request(Verb::Create, "services").with_body(service("a", json!({ "type": "NodePort" })));
    dry.options.dry_run = true;
    let spec = ok(&mut cluster, &dry)["spec"].clone();
    assert_eq!((&spec["clusterIP"], node_port(&spec, 0)), (&json!("10.96.0.0"), 32_769));
    assert!(!crate::support::exists(&mut cluster, "services", "a"));
}
