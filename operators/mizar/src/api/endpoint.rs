//! An endpoint: an address in a network, of a pod, a service or a host.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

use super::phase::Phase;

/// The condition of an endpoint that all bouncers of its network know.
pub(crate) const BOUNCER_READY: &str = "BouncerReady";

/// An address in a network: that of a pod (`simple`), or one behind which others are (`scaled`).
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mizar.com",
    version = "v1",
    kind = "Endpoint",
    namespaced,
    shortname = "mep",
    status = "EndpointStatus",
    derive = "PartialEq",
    derive = "Default",
    selectable = ".spec.vpc",
    selectable = ".spec.net",
    selectable = ".spec.type",
    selectable = ".spec.droplet",
    printcolumn = r#"{"name":"Type","type":"string","jsonPath":".spec.type"}"#,
    printcolumn = r#"{"name":"Vpc","type":"string","jsonPath":".spec.vpc"}"#,
    printcolumn = r#"{"name":"Net","type":"string","jsonPath":".spec.net"}"#,
    printcolumn = r#"{"name":"Ip","type":"string","jsonPath":".status.ip"}"#,
    printcolumn = r#"{"name":"Droplet","type":"string","jsonPath":".spec.droplet"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.vpc == oldSelf.vpc && self.net == oldSelf.net && self.type == oldSelf.type && \
             (!has(oldSelf.droplet) || (has(self.droplet) && self.droplet == oldSelf.droplet))",
    "message": "vpc, net, type and droplet cannot be changed; delete the endpoint and create another",
}]))]
pub struct EndpointSpec {
    /// What has the address.
    #[serde(default)]
    pub r#type: EndpointType,
    /// The VPC of its network.
    pub vpc: String,
    /// Its network.
    pub net: String,
    /// The pod that has the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The droplet that hosts it; a scaled endpoint has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub droplet: Option<String>,
    /// The network namespace of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// The address to give it. Default: any that is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "ipv4", "maxLength" = 15))]
    pub ip: Option<String>,
    /// The ports of a scaled endpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Port>,
    /// What is behind a scaled endpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backends: Vec<Backend>,
    /// Ignored. Mizar kept its state here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// What has an address.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum EndpointType {
    /// One pod.
    #[default]
    Simple,
    /// A service: packets go to one of its backends.
    Scaled,
    /// A droplet itself.
    Host,
    /// The gateway of a network.
    Gateway,
}

/// A port of a scaled endpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// The port that clients use.
    pub port: u16,
    /// Its protocol.
    #[serde(default)]
    pub protocol: Protocol,
}

/// A transport protocol.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    /// TCP
    #[default]
    Tcp,
    /// UDP
    Udp,
}

/// An endpoint behind a scaled one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backend {
    /// Its address.
    pub ip: String,
    /// For each port of the scaled endpoint, the port of this backend: a named port may differ from pod to pod.
    #[serde(default)]
    pub targets: Vec<Target>,
}

/// Where packets to a port go on a backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The port of the scaled endpoint.
    pub port: u16,
    /// Its protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// The port of the backend.
    pub target_port: u16,
}

/// What the operators know of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointStatus {
    /// What the framework keeps.
    #[serde(flatten)]
    pub machine: MachineStatus,
    /// What the operators keep.
    #[serde(flatten)]
    pub state: EndpointState,
}

/// What the operators keep of an endpoint: the network operator its address, the others who knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointState {
    /// Whether it works.
    #[serde(default)]
    pub phase: Phase,
    /// What it was given.
    #[serde(flatten)]
    pub address: EndpointAddress,
    /// The bouncers that knew of it when they were last programmed. Bouncers that are placed later read it themselves.
    #[serde(default)]
    pub bouncers: Vec<String>,
    /// Whether its droplet knows it, and all bouncers of its network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hosted: bool,
    /// How long it took from its creation until it worked, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provision_delay: Option<String>,
}

/// What the network operator gives an endpoint. Without an `ip` it has not been given anything yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointAddress {
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// The length of the network's prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<u32>,
    /// The gateway of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gw: Option<String>,
    /// Its MAC address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// The VNI of its VPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vni: Option<u32>,
    /// The name of its interface in the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub itf: Option<String>,
    /// The name of the other end of that interface, on the droplet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub veth: Option<String>,
    /// The address of the droplet that hosts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostip: Option<String>,
    /// The MAC address of that droplet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostmac: Option<String>,
}

impl Endpoint {
    /// Whether all bouncers of its network know it as it is: ports and backends included.
    pub fn is_known_to_bouncers(&self) -> bool {
        self.bouncers_know() == self.metadata.generation
    }

    /// The generation that all bouncers of its network know.
    pub(crate) fn bouncers_know(&self) -> Option<i64> {
        let conditions = &self.status.as_ref()?.machine.conditions;
        let known = conditions.iter().find(|one| one.r#type == BOUNCER_READY && one.status == "True");
        known.map(|known| known.observed_generation)
    }

    /// What the operators keep.
    pub fn state(&self) -> EndpointState {
        self.status.as_ref().map(|status| status.state.clone()).unwrap_or_default()
    }
}
