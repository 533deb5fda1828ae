//! The backends of a service, from its endpoint slices: with the ports that each of them really has. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ServicePort;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::api::{Backend, Port, Protocol, Target};

/// A pod behind a service: its name, if it is known, and the address that its slice has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    pub(super) pod: Option<String>,
    pub(super) address: String,
}

/// The ports of a service that endpoints can have: TCP and UDP.
pub(super) fn ports_of(ports: &[ServicePort]) -> Vec<Port> {
    ports
        .iter()
        .filter_map(|port| {
            Some(Port { port: number(port.port)?, protocol: protocol(port.protocol.as_deref())? })
        })
        .collect()
}

/// The pods behind a service that are ready, with where packets to each port go. A slice has the pods of one set of ports, so
/// a named port is resolved for each slice.
pub(super) fn members_of(
    ports: &[ServicePort],
    slices: &[EndpointSlice],
) -> BTreeMap<Member, BTreeSet<Target>> {
    let mut members: BTreeMap<Member, BTreeSet<Target>> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice.address_type == "IPv4") {
        let targets: BTreeSet<Target> = ports.iter().filter_map(|port| target_of(port, slice)).collect();
        for endpoint in slice.endpoints.iter().flatten() {
            let conditions = endpoint.conditions.as_ref();
            let is_ready = conditions.and_then(|conditions| conditions.ready).unwrap_or(true);
            let Some(address) = endpoint.addresses.first().filter(|_| is_ready) else { continue };
            let reference =
                endpoint.target_ref.as_ref().filter(|target| target.kind.as_deref() == Some("Pod"));
            let pod = reference.and_then(|target| target.name.clone());
            members
                .entry(Member { pod, address: address.clone() })
                .or_default()
                .extend(targets.iter().cloned());
        }
    }
    members
}

/// A member as a backend with this address.
pub(super) fn backend(ip: String, targets: BTreeSet<Target>) -> Backend {
    Backend { ip, targets: targets.into_iter().collect() }
}

/// Ports of a service and of a slice belong together by name.
fn target_of(port: &ServicePort, slice: &EndpointSlice) -> Option<Target> {
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    let ports = slice.ports.iter().flatten();
    let found = ports.filter(|found| name(&found.name) == name(&port.name)).find_map(|found| found.port)?;
    Some(Target {
        port: number(port.port)?,
        protocol: protocol(port.protocol.as_deref())?,
        target_port: number(found)?,
    })
}

fn number(port: i32) -> Option<u16> {
    u16::try_from(port).ok().filter(|port| *port > 0)
}

fn protocol(name: Option<&str>) -> Option<Protocol> {
    match name.unwrap_or("TCP") {
        "TCP" => Some(Protocol::Tcp),
        "UDP" => Some(Protocol::Udp),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_named_port_is_that_of_each_slice() {
        let ports: Vec<ServicePort> = serde_json::from_value(json!([
            { "name": "web", "port": 80, "targetPort": "http" },
            { "name": "dns", "port": 53, "protocol": "UDP" },
            { "name": "odd", "port": 9, "protocol": "SCTP" },
        ]))
        .unwrap();
        let slice = |name: &str, web: u16, pods: serde_json::Value| -> EndpointSlice {
            serde_json::from_value(json!({
                "metadata": { "name": name }, "addressType": "IPv4", "endpoints": pods,
                "ports": [{ "name": "web", "port": web }, { "name": "dns", "port": 53, "protocol": "UDP" }],
            }))
            .unwrap()
        };
        let pod = |name: &str, ip: &str, ready: bool| json!({ "addresses": [ip], "conditions": { "ready": ready }, "targetRef": { "kind": "Pod", "name": name } });
        let slices = [
            slice("a", 8080, json!([pod("a", "10.0.0.2", true), pod("late", "10.0.0.9", false)])),
            slice("b", 9090, json!([pod("b", "10.0.0.3", true)])),
        ];
        assert_eq!(ports_of(&ports).len(), 2);
        let shown: Vec<String> = members_of(&ports, &slices)
            .into_iter()
            .map(|(member, targets)| {
                let targets: Vec<String> =
                    targets.iter().map(|target| format!("{}->{}", target.port, target.target_port)).collect();
                format!("{} {} {}", member.pod.unwrap_or_default(), member.address, targets.join(" "))
            })
            .collect();
        assert_eq!(shown, ["a 10.0.0.2 53->53 80->8080", "b 10.0.0.3 53->53 80->9090"]);
        assert!(members_of(&ports, &[]).is_empty(), "a service without slices has no backends");
    }
}
