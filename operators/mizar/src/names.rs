//! The names of what operators create. They follow from what an object is for, so a repeated attempt meets its own object.

use std::net::Ipv4Addr;

use windlass::Kind;

use crate::api::Endpoint;

/// A divider of a VPC.
pub fn divider_name(vpc: &str, number: u32) -> String {
    format!("{vpc}-d-{number}")
}

/// A bouncer of a network.
pub fn bouncer_name(net: &str, number: u32) -> String {
    format!("{net}-b-{number}")
}

/// The number of a divider or bouncer; 0 for one with a name of its own.
pub fn ordinal(name: &str) -> u32 {
    name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A network, in what is not a name of an object: `vpc0/net0`.
pub fn network_key(vpc: &str, net: &str) -> String {
    format!("{vpc}/{net}")
}

/// The end of an endpoint's interface that is on the droplet. The name of an interface has 15 characters at most.
pub fn veth_name(vni: u32, address: Ipv4Addr) -> String {
    format!("v{vni:06x}{:08x}", u32::from(address))
}

/// The endpoint of a pod, in the namespace of the pod.
pub fn pod_endpoint_name(pod: &str) -> String {
    format!("p-{pod}")
}

/// The endpoint of a service, in the namespace of the service.
pub fn service_endpoint_name(service: &str) -> String {
    format!("s-{service}")
}

/// A divider, as a user of the droplets that it reaches.
pub(crate) fn divider_user(divider: &str) -> String {
    format!("divider/{divider}")
}

/// A bouncer, as a user of the droplets that it reaches.
pub(crate) fn bouncer_user(bouncer: &str) -> String {
    format!("bouncer/{bouncer}")
}

/// An endpoint, as a user of the droplet that hosts it.
pub(crate) fn endpoint_user(endpoint: &Endpoint) -> String {
    let metadata = endpoint.object_meta();
    let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
    format!("endpoint/{}/{}", namespace.unwrap_or_default(), name.unwrap_or_default())
}
