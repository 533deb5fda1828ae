//! Services, but for their addresses and node ports: what these must look like is in [`super::service_addresses`], and
//! which are free in [`super::service_pool`].

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::formats::{check_dns_label, port_number_or_name};
use super::selectors::check_labels;
use super::service_addresses::{check_cluster_ips, check_ips_stay, families, is_headless, match_cluster_ips};
use super::values::{
    Errors, invalid_all, list, number, one_of, one_of_if_set, port_number, put, required, text,
};
use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;

/// The node port at which nodes answer health checks.
pub(super) const HEALTH_PORT: &str = "healthCheckNodePort";

/// Fills in what belongs together, and on update what the client left out.
pub(super) fn prepare(service: &mut Map<String, Value>, old: Option<&Value>) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(old) = old {
        drop_what_no_longer_applies(spec, &old["spec"]);
        keep_assigned(spec, &old["spec"]);
    }
    if kind(spec) == "ExternalName" {
        spec.remove("internalTrafficPolicy");
    }
    let old_spec = old.map(|old| &old["spec"]);
    match_cluster_ips(spec, old_spec);
    // Families that cannot be had are refused when addresses are assigned.
    if let Ok(Some(families)) = families(spec, old_spec) {
        families.write_to(spec);
    }
    if old.is_some()
        && kind(spec) != "LoadBalancer"
        && let Some(status) = service.get_mut("status").and_then(Value::as_object_mut)
    {
        put(status, "loadBalancer", json!({}));
    }
}

pub(super) fn kind(spec: &Map<String, Value>) -> &str {
    spec.get("type").map_or("", text)
}

pub(super) fn needs_node_ports(kind: &str) -> bool {
    matches!(kind, "NodePort" | "LoadBalancer")
}

/// Whether node ports are assigned to a Service: a load balancer may do without.
pub(super) fn gets_node_ports(spec: &Map<String, Value>) -> bool {
    kind(spec) == "NodePort"
        || kind(spec) == "LoadBalancer"
            && spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false))
}

/// Whether a load balancer asks each node if it has endpoints of the Service.
pub(super) fn is_health_checked(spec: &Value) -> bool {
    spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

pub(super) fn same(spec: &Map<String, Value>, old: &Value, field: &str) -> bool {
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
    }
    if is_external(old)
        && !is_external(&Value::Object(spec.clone()))
        && same(spec, old, "externalTrafficPolicy")
    {
        spec.remove("externalTrafficPolicy");
    }
    if is_health_checked(old)
        && !is_health_checked(&Value::Object(spec.clone()))
        && same(spec, old, HEALTH_PORT)
    {
        spec.remove(HEALTH_PORT);
    }
    if old_kind == "LoadBalancer" && new_kind != "LoadBalancer" {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(spec, old, field) {
                spec.remove(field);
            }
        }
    }
}

/// Whether a Service is reached from outside the cluster.
fn is_external(spec: &Value) -> bool {
    let kind = text(&spec["type"]);
    needs_node_ports(kind) || kind == "ClusterIP" && !list(&spec["externalIPs"]).is_empty()
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
    if is_health_checked(&Value::Object(spec.clone()))
        && is_health_checked(old)
        && !spec.contains_key(HEALTH_PORT)
    {
        put(spec, HEALTH_PORT, old[HEALTH_PORT].clone());
    }
    if !gets_node_ports(spec) || old.as_object().is_none_or(|old| !gets_node_ports(old)) {
        return;
    }
    let numbers =
        |ports: &Value| list(ports).iter().map(|port| number(&port["nodePort"])).collect::<BTreeSet<_>>();
    let (now, before) = (numbers(spec.get("ports").unwrap_or(&Value::Null)), numbers(&old["ports"]));
    let by_name: BTreeMap<&str, i64> =
        list(&old["ports"]).iter().map(|port| (text(&port["name"]), number(&port["nodePort"]))).collect();
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports.filter_map(Value::as_object_mut).filter(|port| !port.contains_key("nodePort")) {
        let name = port.get("name").map_or("", text);
        let is_free =
            |assigned: &&i64| **assigned != 0 && !(now.contains(assigned) && before.contains(assigned));
        if let Some(assigned) = by_name.get(name).filter(is_free) {
            port.insert("nodePort".into(), (*assigned).into());
        }
    }
}

/// The rules of Services.
pub(super) fn check(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let (path, spec) = (FieldPath::of("spec"), &new["spec"]);
    if let Some(old) = old {
        check_ips_stay(errors, &path, spec, &old["spec"]);
        check_balancer_stays(errors, &path, spec, &old["spec"]);
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
                if !crate::schema::is_zero(&spec[field]) {
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

/// Where a load balancer says that it can be reached.
pub(super) fn check_status(errors: &mut Errors, new: &Value) {
    let path = FieldPath::of("status.loadBalancer.ingress");
    let ingress = list(&new["status"]["loadBalancer"]["ingress"]);
    if new["spec"]["type"] != "LoadBalancer" && !ingress.is_empty() {
        errors.push(FieldError::forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'"));
        return;
    }
    for (index, point) in ingress.iter().enumerate() {
        let path = path.index(index);
        let (has_ip, mode, mode_path) =
            (!text(&point["ip"]).is_empty(), &point["ipMode"], path.child("ipMode"));
        if has_ip {
            check_ip(errors, &path.child("ip"), &point["ip"]);
        }
        match (has_ip, mode.is_null()) {
            (true, true) => {
                errors.push(FieldError::required(&mode_path, "must be specified when `ip` is set"));
            }
            (false, false) => {
                errors.push(FieldError::forbidden(&mode_path, "may not be specified when `ip` is not set"));
            }
            _ => one_of_if_set(errors, &mode_path, mode, &["Proxy", "VIP"]),
        }
        let (path, name) = (path.child("hostname"), text(&point["hostname"]));
        if !name.is_empty() {
            invalid_all(errors, &path, &point["hostname"], names::is_dns1123_subdomain(name));
            if name.parse::<IpAddr>().is_ok() {
                let detail = "must be a DNS name, not an IP address";
                errors.push(FieldError::invalid(&path, name, detail));
            }
        }
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
    if spec["type"] == "ExternalName" && !list(&spec["externalIPs"]).is_empty() {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if spec["type"] != "ExternalName" && !text(&spec["externalName"]).is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec["trafficDistribution"] == "PreferClose" {
        let deprecated = "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
        warnings.push(deprecated.to_owned());
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

fn check_balancer(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let is_balancer = spec["type"] == "LoadBalancer";
    let class = &spec["loadBalancerClass"];
    if is_balancer && class.is_string() {
        let path = path.child("loadBalancerClass");
        invalid_all(errors, &path, class, names::is_qualified_name(text(class)));
    }
    let only = "may only be used when `type` is 'LoadBalancer'";
    if !list(&spec["loadBalancerSourceRanges"]).is_empty() && !is_balancer {
        errors.push(FieldError::forbidden(&path.child("LoadBalancerSourceRanges"), only));
    }
    let distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    let distribution = "trafficDistribution";
    one_of_if_set(errors, &path.child(distribution), &spec[distribution], &distributions);
    for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if !spec[field].is_null() && !is_balancer {
            errors.push(FieldError::forbidden(&path.child(field), only));
        }
    }
}

/// What a load balancer was set up with.
fn check_balancer_stays(errors: &mut Errors, path: &FieldPath, spec: &Value, old: &Value) {
    if is_health_checked(spec) && is_health_checked(old) && spec[HEALTH_PORT] != old[HEALTH_PORT] {
        errors.push(FieldError::forbidden(&path.child(HEALTH_PORT), "field is immutable"));
    }
    let class = "loadBalancerClass";
    let balances = |spec: &Value| spec["type"] == "LoadBalancer";
    if balances(spec) && balances(old) && spec[class] != old[class] {
        errors.push(FieldError::invalid(&path.child(class), spec[class].clone(), "may not change once set"));
    }
}

fn check_health_port(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let path = path.child(HEALTH_PORT);
    match (is_health_checked(spec), number(&spec[HEALTH_PORT])) {
        (false, 0) => {}
        (false, port) => {
            let detail =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.push(FieldError::invalid(&path, port, detail));
        }
        (true, 0) => errors.push(FieldError::required(&path, "")),
        (true, _) => port_number(errors, &path, &spec[HEALTH_PORT]),
    }
}

fn check_traffic(errors: &mut Errors, path: &FieldPath, spec: &Value) {
    let external = is_external(spec);
    let (policy_path, policy) = (path.child("externalTrafficPolicy"), &spec["externalTrafficPolicy"]);
    if external {
        one_of(errors, &policy_path, policy, &["Cluster", "Local"]);
    } else if policy.is_string() {
        let detail = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid(&policy_path, policy.clone(), detail));
    }
    check_health_port(errors, path, spec);
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
