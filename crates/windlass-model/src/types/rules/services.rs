//! Services. Addresses and node ports are not handed out here: there is no network to take them from.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::formats::{check_dns_label, port_number_or_name};
use super::selectors::check_labels;
use super::values::{
    Errors, entries, invalid_all, list, number, one_of, one_of_if_set, port_number, put, required, text,
};
use crate::field::{FieldError, FieldPath};
use crate::metadata::names;

/// Fills in what belongs together, and on update what the client left out.
pub(super) fn prepare(service: &mut Map<String, Value>, old: Option<&Value>) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(old) = old {
        drop_what_no_longer_applies(spec, &old["spec"]);
        keep_assigned(spec, &old["spec"]);
    }
    match_cluster_ips(spec, old.map(|old| &old["spec"]));
    set_families(spec, old.map(|old| &old["spec"]));
    if old.is_some()
        && kind(spec) != "LoadBalancer"
        && let Some(status) = service.get_mut("status").and_then(Value::as_object_mut)
    {
        put(status, "loadBalancer", json!({}));
    }
}

fn kind(spec: &Map<String, Value>) -> &str {
    spec.get("type").map_or("", text)
}

fn needs_node_ports(kind: &str) -> bool {
    matches!(kind, "NodePort" | "LoadBalancer")
}

fn same(spec: &Map<String, Value>, old: &Value, field: &str) -> bool {
    spec.get(field).unwrap_or(&Value::Null) == &old[field]
}

/// A change of type wipes what the old type was given, unless the client changed it too.
fn drop_what_no_longer_applies(spec: &mut Map<String, Value>, old: &Value) {
    let (new_kind, old_kind) = (kind(spec).to_owned(), text(&old["type"]).to_owned());
    if old_kind != "ExternalName" && new_kind == "ExternalName" {
        if same(spec, old, "clusterIP") && same(spec, old, "clusterIPs") {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if same(spec, old, field) {
                spec.remove(field);
            }
        }
    }
    if needs_node_ports(&old_kind) && !needs_node_ports(&new_kind) {
        let node_ports =
            |ports: &Value| list(ports).iter().map(|port| number(&port["nodePort"])).collect::<Vec<_>>();
        if spec.get("ports").is_some_and(|ports| node_ports(ports) == node_ports(&old["ports"])) {
            let ports = spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
            ports.filter_map(Value::as_object_mut).for_each(|port| drop(port.remove("nodePort")));
        }
        if same(spec, old, "externalTrafficPolicy")
            && list(spec.get("externalIPs").unwrap_or(&Value::Null)).is_empty()
        {
            spec.remove("externalTrafficPolicy");
        }
    }
    if old_kind == "LoadBalancer" && new_kind != "LoadBalancer" {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"] {
            if same(spec, old, field) {
                spec.remove(field);
            }
        }
    }
}

/// A client that leaves out what was assigned keeps it.
fn keep_assigned(spec: &mut Map<String, Value>, old: &Value) {
    if kind(spec) != "ExternalName" && old["type"] != "ExternalName" {
        for field in ["clusterIP", "clusterIPs"] {
            if !spec.contains_key(field) {
                put(spec, field, old[field].clone());
            }
        }
    }
    if !needs_node_ports(kind(spec)) || !needs_node_ports(text(&old["type"])) {
        return;
    }
    let by_name: BTreeMap<&str, i64> =
        list(&old["ports"]).iter().map(|port| (text(&port["name"]), number(&port["nodePort"]))).collect();
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports.filter_map(Value::as_object_mut).filter(|port| !port.contains_key("nodePort")) {
        let name = port.get("name").map_or("", text);
        if let Some(assigned) = by_name.get(name).filter(|assigned| **assigned != 0) {
            port.insert("nodePort".into(), (*assigned).into());
        }
    }
}

/// `clusterIP` is the first of `clusterIPs`; a client may give just the one.
fn match_cluster_ips(spec: &mut Map<String, Value>, old: Option<&Value>) {
    let ip = spec.get("clusterIP").cloned().unwrap_or_default();
    let fresh = !spec.contains_key("clusterIPs");
    let changed_alone = old.is_some_and(|old| old["clusterIP"] != ip && same(spec, old, "clusterIPs"));
    if !text(&ip).is_empty() && (fresh || changed_alone) {
        spec.insert("clusterIPs".into(), json!([ip]));
    }
}

/// One family, but for services that only carry addresses that others put there.
fn set_families(spec: &mut Map<String, Value>, old: Option<&Value>) {
    if kind(spec) == "ExternalName" {
        return;
    }
    let selects = spec.get("selector").is_some_and(|selector| entries(selector).next().is_some());
    let bare = spec.get("clusterIP").is_some_and(|ip| *ip == "None") && !selects;
    let (policy, families) = match bare {
        true => (json!("RequireDualStack"), json!(["IPv4", "IPv6"])),
        false => (json!("SingleStack"), json!(["IPv4"])),
    };
    for (field, value) in [("ipFamilyPolicy", policy), ("ipFamilies", families)] {
        if !spec.contains_key(field) {
            let kept = old.map(|old| &old[field]).filter(|value| !value.is_null());
            spec.insert(field.to_owned(), kept.cloned().unwrap_or(value));
        }
    }
}

fn is_headless(spec: &Value) -> bool {
    spec["clusterIPs"][0] == "None" || spec["clusterIP"] == "None"
}

/// The rules of Services.
pub(super) fn check(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    if let Some(old) = old {
        check_ips_stay(errors, &path, spec, &old["spec"]);
    }
    if list(&spec["ports"]).is_empty() && !is_headless(spec) && spec["type"] != "ExternalName" {
        errors.push(FieldError::required(&path.child("ports"), ""));
    }
    check_type(errors, &path, spec);
    check_ports(errors, &path.child("ports"), list(&spec["ports"]));
    check_labels(errors, &path.child("selector"), &spec["selector"]);
    one_of(errors, &path.child("sessionAffinity"), &spec["sessionAffinity"], &["ClientIP", "None"]);
    check_cluster_ips(errors, &path, spec);
    for (index, ip) in list(&spec["externalIPs"]).iter().enumerate() {
        check_ip(errors, &path.child("externalIPs").index(index), ip);
    }
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of(errors, &path.child("type"), &spec["type"], &kinds);
    check_unique_ports(errors, &path.child("ports"), spec);
    check_balancer(errors, &path, spec);
    check_traffic(errors, &path, spec);
}

fn check_type(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    match text(&spec["type"]) {
        kind @ ("LoadBalancer" | "NodePort") if is_headless(spec) => {
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid(&path.child("clusterIPs").index(0), "None", detail));
        }
        "ExternalName" => {
            for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if !super::super::schemas::is_zero(&spec[field]) {
                    errors.push(FieldError::forbidden(
                        &path.child(field),
                        "may not be set for ExternalName services",
                    ));
                }
            }
            let name = text(&spec["externalName"]);
            let name = name.strip_suffix('.').unwrap_or(name);
            let path = path.child("externalName");
            if name.is_empty() {
                errors.push(FieldError::required(&path, ""));
            } else {
                invalid_all(errors, &path, &name.into(), names::is_dns1123_subdomain(name));
            }
        }
        _ => {}
    }
}

fn check_ports(errors: &mut Errors, path: &FieldPath, ports: &[Value]) {
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = text(&port["name"]);
        if !name.is_empty() {
            check_dns_label(errors, &path.child("name"), &port["name"]);
            if !names.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
        } else if ports.len() > 1 {
            required(errors, &path.child("name"), &port["name"]);
        }
        port_number(errors, &path.child("port"), &port["port"]);
        one_of(errors, &path.child("protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]);
        port_number_or_name(errors, &path.child("targetPort"), &port["targetPort"]);
        if port["appProtocol"].is_string() {
            invalid_all(
                errors,
                &path.child("appProtocol"),
                &port["appProtocol"],
                names::is_qualified_name(text(&port["appProtocol"])),
            );
        }
    }
}

fn check_unique_ports(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let (mut ports, mut node_ports) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in list(&spec["ports"]).iter().enumerate() {
        let (path, protocol) = (path.index(index), text(&port["protocol"]));
        let node_port = number(&port["nodePort"]);
        if node_port != 0 && spec["type"] == "ClusterIP" {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(&path.child("nodePort"), detail));
        }
        if node_port != 0 && !node_ports.insert((protocol, node_port)) {
            errors.push(FieldError::duplicate(&path.child("nodePort"), node_port));
        }
        if !ports.insert((protocol, number(&port["port"]))) {
            // Shown as the Go struct is: a port with all other fields at zero.
            let shown = json!({
                "Name": "", "Protocol": protocol, "AppProtocol": null, "Port": number(&port["port"]),
                "TargetPort": 0, "NodePort": 0,
            });
            errors.push(FieldError::duplicate(&path, shown));
        }
    }
}

fn check_cluster_ips(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    if spec["type"] == "ExternalName" {
        return;
    }
    let (path, ips) = (path.child("clusterIPs"), list(&spec["clusterIPs"]));
    let shown = || Value::from(ips.to_vec());
    match (text(&spec["clusterIP"]), ips.first()) {
        ("", Some(_)) => {
            errors.push(FieldError::invalid(
                &path,
                shown(),
                "must be empty when `clusterIP` is not specified",
            ));
        }
        ("", None) => {}
        (_, None) => errors.push(FieldError::required(&path, "")),
        (ip, Some(first)) if text(first) != ip => {
            errors.push(FieldError::invalid(&path, shown(), "first value must match `clusterIP`"));
        }
        _ => {}
    }
    if ips.first().is_some_and(|ip| *ip == "None") {
        if ips.len() > 1 {
            errors.push(FieldError::invalid(&path, shown(), "'None' must be the first and only value"));
        }
    } else {
        ips.iter().enumerate().for_each(|(index, ip)| check_ip(errors, &path.index(index), ip));
    }
    if ips.len() > 2 {
        errors.push(FieldError::invalid(&path, shown(), "may only hold up to 2 values"));
    }
}

/// What is set on a service without any effect.
pub(super) fn warnings(service: &Value) -> Vec<String> {
    let spec = &service["spec"];
    let mut warnings = Vec::new();
    if spec["type"] != "ExternalName" && is_headless(spec) {
        if !text(&spec["loadBalancerIP"]).is_empty() {
            warnings.push("spec.loadBalancerIP is ignored for headless services".to_owned());
        }
        if !list(&spec["externalIPs"]).is_empty() {
            warnings.push("spec.externalIPs is ignored for headless services".to_owned());
        }
        if spec["sessionAffinity"] != "None" {
            warnings.push("spec.SessionAffinity is ignored for headless services".to_owned());
        }
    }
    warnings
}

/// A string must be an address.
pub(super) fn check_ip(errors: &mut Errors, path: &FieldPath, ip: &Value) {
    if text(ip).parse::<IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.push(FieldError::invalid(path, ip.clone(), detail));
    }
}

/// An address that was given is kept, unless the service has none of its own.
fn check_ips_stay(errors: &mut Errors, path: &FieldPath, spec: &Value, old: &Value) {
    if spec["type"] == "ExternalName"
        || old["type"] == "ExternalName"
        || is_headless(spec) && is_headless(old)
    {
        return;
    }
    let (ips, before) = (list(&spec["clusterIPs"]), list(&old["clusterIPs"]));
    let mut refuse = |index: usize, detail: &str| {
        let path = path.child("clusterIPs").index(index);
        errors.push(FieldError::invalid(&path, Value::from(ips.to_vec()), detail));
    };
    if ips.len() < before.len() && ips.is_empty() {
        refuse(0, "primary clusterIP can not be unset");
    }
    for (index, (_, _)) in ips.iter().zip(before).enumerate().filter(|(_, (new, old))| new != old) {
        refuse(index, "may not change once set");
    }
}

fn check_balancer(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let is_balancer = spec["type"] == "LoadBalancer";
    let only = "may only be used when `type` is 'LoadBalancer'";
    if !list(&spec["loadBalancerSourceRanges"]).is_empty() && !is_balancer {
        errors.push(FieldError::forbidden(&path.child("LoadBalancerSourceRanges"), only));
    }
    for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if !spec[field].is_null() && !is_balancer {
            errors.push(FieldError::forbidden(&path.child(field), only));
        }
    }
}

fn check_traffic(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let kind = text(&spec["type"]);
    let external = needs_node_ports(kind) || kind == "ClusterIP" && !list(&spec["externalIPs"]).is_empty();
    let (policy_path, policy) = (path.child("externalTrafficPolicy"), &spec["externalTrafficPolicy"]);
    if external {
        one_of(errors, &policy_path, policy, &["Cluster", "Local"]);
    } else if policy.is_string() {
        let detail = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid(&policy_path, policy.clone(), detail));
    }
    let internal = &spec["internalTrafficPolicy"];
    one_of_if_set(errors, &path.child("internalTrafficPolicy"), internal, &["Cluster", "Local"]);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, prepared};
    use serde_json::{Value, json};

    fn service(more: Value) -> Value {
        let mut spec = json!({ "selector": { "a": "b" }, "ports": [{ "port": 80 }] });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "spec": spec })
    }

    #[test]
    fn headless_services_have_no_address() {
        let headless = prepared("Service", None, service(json!({ "clusterIP": "None" })), None);
        assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
        assert_eq!(headless["spec"]["ipFamilies"], json!(["IPv4"]));
        check("Service", None, headless, &[]);
        let bare = prepared("Service", None, service(json!({ "clusterIP": "None", "selector": {} })), None);
        assert_eq!(bare["spec"]["ipFamilyPolicy"], "RequireDualStack");
        check(
            "Service",
            None,
            service(json!({ "clusterIP": "None", "clusterIPs": ["None"], "type": "NodePort" })),
            &["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
        );
    }

    #[test]
    fn updates_keep_what_was_assigned() {
        let old = service(
            json!({ "type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{ "port": 80, "nodePort": 30001 }] }),
        );
        let kept = prepared("Service", Some(old.clone()), service(json!({ "type": "NodePort" })), None);
        assert_eq!(kept["spec"]["clusterIPs"], json!(["10.0.0.1"]));
        assert_eq!(kept["spec"]["ports"][0]["nodePort"], 30001);
        let named = prepared(
            "Service",
            Some(old.clone()),
            service(
                json!({ "type": "ExternalName", "externalName": "a.b", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"] }),
            ),
            None,
        );
        assert_eq!(named["spec"].get("clusterIP"), None);
        check(
            "Service",
            Some(old),
            service(json!({ "type": "NodePort", "clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"] })),
            &["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"],
        );
    }

    #[test]
    fn ports() {
        check("Service", None, service(json!({})), &[]);
        check("Service", None, service(json!({ "ports": [] })), &["spec.ports: Required value"]);
        check(
            "Service",
            None,
            service(json!({ "ports": [{ "port": 0, "targetPort": 1 }] })),
            &["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
        );
        check(
            "Service",
            None,
            service(json!({ "ports": [{ "port": 1 }, { "port": 1, "name": "b" }] })),
            &[
                "spec.ports[0].name: Required value",
                "spec.ports[1]: Duplicate value: {\"AppProtocol\":null,\"Name\":\"\",\"NodePort\":0,\"Port\":1,\"Protocol\":\"TCP\",\"TargetPort\":0}",
            ],
        );
        check(
            "Service",
            None,
            service(json!({ "ports": [{ "port": 1, "nodePort": 30000 }] })),
            &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        );
    }

    #[test]
    fn types() {
        check(
            "Service",
            None,
            service(json!({ "type": "Magic" })),
            &[
                "spec.type: Unsupported value: \"Magic\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
            ],
        );
        check(
            "Service",
            None,
            service(json!({ "type": "ExternalName" })),
            &["spec.externalName: Required value"],
        );
        check(
            "Service",
            None,
            service(json!({ "clusterIP": "x", "clusterIPs": ["x"] })),
            &[
                "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ],
        );
    }
}
