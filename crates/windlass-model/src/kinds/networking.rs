//! Ingresses, network policies and endpoint slices.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::formats::{check_dns_label, port_number_or_name};
use super::selectors::check_selector;
use super::services::check_ip;
use super::values::{Errors, immutable, invalid_all, list, number, one_of, port_number, required, text};
use crate::field::{FieldError, FieldPath};
use windlass_cel::formats::names;

const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;

/// The rules of Ingresses.
pub(super) fn check_ingress(errors: &mut Errors, ingress: &Value) {
    let (path, spec) = (FieldPath::of("spec"), &ingress["spec"]);
    let rules = list(&spec["rules"]);
    if rules.is_empty() && !spec["defaultBackend"].is_object() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(&path, spec["rules"].clone(), detail));
    }
    if spec["defaultBackend"].is_object() {
        check_backend(errors, &path.child("defaultBackend"), &spec["defaultBackend"]);
    }
    for (index, rule) in rules.iter().enumerate() {
        check_ingress_rule(errors, &path.child("rules").index(index), rule);
    }
    if !text(&spec["ingressClassName"]).is_empty() {
        let name = &spec["ingressClassName"];
        invalid_all(errors, &path.child("ingressClassName"), name, names::is_dns1123_subdomain(text(name)));
    }
}

fn check_ingress_rule(errors: &mut Errors, path: &FieldPath, rule: &Value) {
    let (host_path, host) = (path.child("host"), text(&rule["host"]));
    if host.parse::<IpAddr>().is_ok() {
        errors.push(FieldError::invalid(&host_path, host, "must be a DNS name, not an IP address"));
    }
    let name = host.strip_prefix("*.").unwrap_or(host);
    if !host.is_empty() {
        invalid_all(errors, &host_path, &host.into(), names::is_dns1123_subdomain(name));
    }
    if !rule["http"].is_object() {
        return;
    }
    let paths_path = path.child("http").child("paths");
    let paths = list(&rule["http"]["paths"]);
    if paths.is_empty() {
        errors.push(FieldError::required(&paths_path, ""));
    }
    for (index, path) in paths.iter().enumerate() {
        check_http_path(errors, &paths_path.index(index), path);
    }
}

fn check_http_path(errors: &mut Errors, path: &FieldPath, http: &Value) {
    let url = text(&http["path"]);
    match text(&http["pathType"]) {
        "" => {
            errors.push(FieldError::required(&path.child("pathType"), "pathType must be specified"));
            return;
        }
        kind @ ("Exact" | "Prefix" | "ImplementationSpecific") => {
            let is_optional = kind == "ImplementationSpecific" && url.is_empty();
            if !url.starts_with('/') && !is_optional {
                errors.push(FieldError::invalid(&path.child("path"), url, "must be an absolute path"));
            }
        }
        _ => {
            let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.push(FieldError::not_supported(&path.child("pathType"), http["pathType"].clone(), &kinds));
        }
    }
    check_backend(errors, &path.child("backend"), &http["backend"]);
}

fn check_backend(errors: &mut Errors, path: &FieldPath, backend: &Value) {
    let service = &backend["service"];
    match (backend["resource"].is_object(), service.is_object()) {
        (true, true) => {
            errors.push(FieldError::invalid(path, "", "cannot set both resource and service backends"));
            return;
        }
        (false, false) => {
            errors.push(FieldError::invalid(path, "", "resource or service backend is required"));
            return;
        }
        (true, false) => return,
        (false, true) => {}
    }
    required(errors, &path.child("service").child("name"), &service["name"]);
    let (port_path, port) = (path.child("service").child("port"), &service["port"]);
    match (text(&port["name"]), number(&port["number"])) {
        ("", 0) => errors.push(FieldError::required(path, "port name or number is required")),
        ("", _) => port_number(errors, &port_path.child("number"), &port["number"]),
        (name, 0) => {
            invalid_all(errors, &port_path.child("name"), &port["name"], names::is_valid_port_name(name))
        }
        _ => errors.push(FieldError::invalid(path, "", "cannot set both port name & port number")),
    }
}

/// The rules of NetworkPolicies.
pub(super) fn check_network_policy(errors: &mut Errors, policy: &Value) {
    let (path, spec) = (FieldPath::of("spec"), &policy["spec"]);
    check_selector(errors, &path.child("podSelector"), &spec["podSelector"]);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list(&spec[direction]).iter().enumerate() {
            let path = path.child(direction).index(index);
            for (index, port) in list(&rule["ports"]).iter().enumerate() {
                check_policy_port(errors, &path.child("ports").index(index), port);
            }
            for (index, peer) in list(&rule[peers]).iter().enumerate() {
                check_peer(errors, &path.child(peers).index(index), peer);
            }
        }
    }
    for (index, kind) in list(&spec["policyTypes"]).iter().enumerate() {
        let path = path.child("policyTypes").index(index);
        if !matches!(text(kind), "Ingress" | "Egress") {
            errors.push(FieldError::not_supported(&path, kind.clone(), &["Ingress", "Egress"]));
        }
    }
}

fn check_policy_port(errors: &mut Errors, path: &FieldPath, port: &Value) {
    one_of(errors, &path.child("protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]);
    if !port["port"].is_null() {
        port_number_or_name(errors, &path.child("port"), &port["port"]);
    }
}

fn check_peer(errors: &mut Errors, path: &FieldPath, peer: &Value) {
    let selectors = ["podSelector", "namespaceSelector"].into_iter().filter(|it| peer[*it].is_object());
    let count = selectors.clone().count();
    for selector in selectors {
        check_selector(errors, &path.child(selector), &peer[selector]);
    }
    let has_block = peer["ipBlock"].is_object();
    if count == 0 && !has_block {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if count > 0 && has_block {
        let detail = "may not specify both ipBlock and another peer";
        errors.push(FieldError::forbidden(path, detail));
    }
    if has_block {
        required(errors, &path.child("ipBlock").child("cidr"), &peer["ipBlock"]["cidr"]);
    }
}

/// The rules of EndpointSlices.
pub(super) fn check_endpoint_slice(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    let path = FieldPath::of("addressType");
    one_of(errors, &path, &new["addressType"], &["FQDN", "IPv4", "IPv6"]);
    check_slice_ports(errors, &FieldPath::of("ports"), list(&new["ports"]));
    if old.is_none_or(|old| old["endpoints"] != new["endpoints"]) {
        check_endpoints(errors, &FieldPath::of("endpoints"), new);
    }
    if let Some(old) = old {
        immutable(errors, &path, &new["addressType"], &old["addressType"]);
    }
}

/// Validates the subsets of Endpoints. Unchanged subsets are not checked again.
pub(super) fn check_subsets(errors: &mut Errors, new: &Value, old: Option<&Value>) {
    if old.is_some_and(|old| old["subsets"] == new["subsets"]) {
        return;
    }
    for (index, subset) in list(&new["subsets"]).iter().enumerate() {
        let path = FieldPath::of("subsets").index(index);
        if list(&subset["addresses"]).is_empty() && list(&subset["notReadyAddresses"]).is_empty() {
            errors.push(FieldError::required(&path, "must specify `addresses` or `notReadyAddresses`"));
        }
        for field in ["addresses", "notReadyAddresses"] {
            for (index, address) in list(&subset[field]).iter().enumerate() {
                let path = path.child(field).index(index).child("ip");
                check_ip(errors, &path, &address["ip"]);
                check_reachable(errors, &path, &address["ip"]);
            }
        }
        let ports = list(&subset["ports"]);
        for (index, port) in ports.iter().enumerate() {
            let path = path.child("ports").index(index);
            if ports.len() > 1 {
                required(errors, &path.child("name"), &port["name"]);
            }
            if !text(&port["name"]).is_empty() {
                check_dns_label(errors, &path.child("name"), &port["name"]);
            }
            port_number(errors, &path.child("port"), &port["port"]);
            one_of(errors, &path.child("protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]);
        }
    }
}

fn check_slice_ports(errors: &mut Errors, path: &FieldPath, ports: &[Value]) {
    if ports.len() > MAX_PORTS {
        errors.push(FieldError::too_many(path, ports.len(), MAX_PORTS));
        return;
    }
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        if !text(&port["name"]).is_empty() {
            check_dns_label(errors, &path.child("name"), &port["name"]);
        }
        if !names.insert(text(&port["name"])) {
            errors.push(FieldError::duplicate(&path.child("name"), port["name"].clone()));
        }
        one_of(errors, &path.child("protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]);
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

fn check_endpoints(errors: &mut Errors, path: &FieldPath, slice: &Value) {
    let endpoints = list(&slice["endpoints"]);
    if endpoints.len() > MAX_ENDPOINTS {
        errors.push(FieldError::too_many(path, endpoints.len(), MAX_ENDPOINTS));
        return;
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(index);
        let (addresses_path, addresses) = (path.child("addresses"), list(&endpoint["addresses"]));
        if addresses.is_empty() {
            errors.push(FieldError::required(&addresses_path, "must contain at least 1 address"));
        } else if addresses.len() > MAX_ADDRESSES {
            errors.push(FieldError::too_many(&addresses_path, addresses.len(), MAX_ADDRESSES));
        }
        for (index, address) in addresses.iter().enumerate() {
            let family = text(&slice["addressType"]);
            check_address(errors, &addresses_path, index, family, address);
            if family != "FQDN" {
                check_reachable(errors, &addresses_path.index(index), address);
            }
        }
        if endpoint["hostname"].is_string() {
            check_dns_label(errors, &path.child("hostname"), &endpoint["hostname"]);
        }
        if endpoint["nodeName"].is_string() {
            let name = &endpoint["nodeName"];
            invalid_all(errors, &path.child("nodeName"), name, names::is_dns1123_subdomain(text(name)));
        }
    }
}

/// An endpoint is somewhere else, so some addresses make no sense.
fn check_reachable(errors: &mut Errors, path: &FieldPath, address: &Value) {
    let mut refuse = |detail: String| errors.push(FieldError::invalid(path, address.clone(), detail));
    let Ok(ip) = text(address).parse::<IpAddr>() else {
        return refuse("must be a valid IP address".to_owned());
    };
    if ip.is_unspecified() {
        refuse(format!("may not be unspecified ({})", text(address)));
    }
    if ip.is_loopback() {
        refuse("may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned());
    }
    let (link_local, link_local_multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.segments()[0] & 0xff0f == 0xff02),
    };
    if link_local {
        refuse("may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned());
    }
    if link_local_multicast {
        refuse("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned());
    }
}

fn check_address(errors: &mut Errors, path: &FieldPath, index: usize, family: &str, address: &Value) {
    match (family, text(address).parse::<IpAddr>()) {
        ("IPv4" | "IPv6", Err(_)) => check_ip(errors, &path.index(index), address),
        ("IPv4", Ok(IpAddr::V6(_))) => {
            errors.push(FieldError::invalid(path, address.clone(), "must be an IPv4 address"));
        }
        ("IPv6", Ok(IpAddr::V4(_))) => {
            errors.push(FieldError::invalid(path, address.clone(), "must be an IPv6 address"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use serde_json::{Value, json};

    fn ingress(path: Value) -> Value {
        json!({ "spec": { "rules": [{ "host": "a.b", "http": { "paths": [path] } }] } })
    }

    #[test]
    fn ingresses() {
        let backend = json!({ "service": { "name": "s", "port": { "number": 80 } } });
        check(
            "Ingress",
            None,
            ingress(json!({ "path": "/", "pathType": "Prefix", "backend": backend })),
            &[],
        );
        check(
            "Ingress",
            None,
            json!({ "spec": {} }),
            &["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
        );
        check(
            "Ingress",
            None,
            ingress(json!({ "backend": backend })),
            &["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
        );
        check(
            "Ingress",
            None,
            ingress(json!({ "path": "x", "pathType": "Exact", "backend": {} })),
            &[
                "spec.rules[0].http.paths[0].path: Invalid value: \"x\": must be an absolute path",
                "spec.rules[0].http.paths[0].backend: Invalid value: \"\": resource or service backend is required",
            ],
        );
    }

    #[test]
    fn network_policies() {
        check(
            "NetworkPolicy",
            None,
            json!({ "spec": { "ingress": [{ "ports": [{ "port": 80 }], "from": [{ "podSelector": {} }] }] } }),
            &[],
        );
        check(
            "NetworkPolicy",
            None,
            json!({ "spec": { "policyTypes": ["Up"], "egress": [{ "to": [{}] }] } }),
            &[
                "spec.egress[0].to[0]: Required value: must specify a peer",
                "spec.policyTypes[0]: Unsupported value: \"Up\": supported values: \"Ingress\", \"Egress\"",
            ],
        );
    }

    #[test]
    fn endpoint_slices() {
        let slice = |family: &str, address: &str| json!({ "addressType": family, "endpoints": [{ "addresses": [address] }], "ports": [{ "port": 1 }] });
        check("EndpointSlice", Some(slice("IPv4", "10.0.0.1")), slice("IPv4", "10.0.0.2"), &[]);
        check(
            "EndpointSlice",
            None,
            slice("IPv4", "2001:db8::1"),
            &["endpoints[0].addresses: Invalid value: \"2001:db8::1\": must be an IPv4 address"],
        );
        check(
            "EndpointSlice",
            Some(slice("IPv4", "10.0.0.1")),
            slice("IPv6", "2001:db8::1"),
            &["addressType: Invalid value: \"IPv6\": field is immutable"],
        );
        check("EndpointSlice", None, json!({}), &["addressType: Required value"]);
    }
}
