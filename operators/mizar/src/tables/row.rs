//! Rows of a droplet's tables, by key.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::api::{EndpointType, Protocol};

/// What identifies a row: a table, and the key in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "table", rename_all = "camelCase")]
pub enum Key {
    /// The dividers of a VPC, as its bouncers know them.
    Vpc {
        /// The VNI.
        tunnel: u32,
    },
    /// The bouncers of a network, as the dividers of its VPC know them. Looked up by the longest prefix.
    Net {
        /// The VNI.
        tunnel: u32,
        /// The first address.
        nip: String,
        /// The length of the prefix.
        prefix: u32,
    },
    /// An endpoint, as the bouncers of its network and its own droplet know it.
    Endpoint {
        /// The VNI.
        tunnel: u32,
        /// Its address.
        ip: String,
    },
    /// A droplet, as another one knows it: an endpoint of tunnel 0. It stays as long as somebody uses it, so each user has a
    /// row.
    Substrate {
        /// Who uses it: a divider, a bouncer or an endpoint.
        user: String,
        /// Its address.
        ip: String,
    },
    /// A port of a scaled endpoint.
    Port {
        /// The VNI.
        tunnel: u32,
        /// The address of the scaled endpoint.
        ip: String,
        /// The port.
        port: u16,
        /// Its protocol.
        protocol: Protocol,
    },
    /// A bouncer, as the agent at the interface of an endpoint knows it.
    AgentEndpoint {
        /// The interface, on the droplet.
        itf: String,
        /// The address of the bouncer's droplet.
        ip: String,
    },
    /// What the agent at the interface of an endpoint knows about itself.
    AgentMetadata {
        /// The interface, on the droplet.
        itf: String,
    },
    /// The interface of a pod, which the container runtime asks for: a file in the format of CNI results.
    Interface {
        /// The namespace of the pod.
        namespace: String,
        /// The pod.
        pod: String,
        /// The name of its interface.
        itf: String,
    },
}

/// The rest of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged, rename_all = "camelCase")]
pub enum Row {
    /// Of a VPC.
    #[serde(rename_all = "camelCase")]
    Vpc {
        /// The addresses of its dividers.
        routers_ips: Vec<String>,
    },
    /// Of a network.
    #[serde(rename_all = "camelCase")]
    Net {
        /// The addresses of its bouncers.
        switches_ips: Vec<String>,
    },
    /// Of an endpoint.
    #[serde(rename_all = "camelCase")]
    Endpoint {
        /// What has the address.
        eptype: EndpointType,
        /// Its MAC address.
        mac: String,
        /// Its interface on its droplet; only there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosted_iface: Option<String>,
        /// Where packets to it go: the address of its droplet, or those of its backends.
        remote_ips: Vec<String>,
    },
    /// What the agent at an interface knows about itself.
    #[serde(rename_all = "camelCase")]
    AgentMetadata {
        /// The address of its endpoint.
        ip: String,
        /// Its VNI.
        tunnel: u32,
        /// The first address of its network.
        nip: String,
        /// The length of the network's prefix.
        prefix: u32,
        /// The address of the droplet.
        hostip: String,
        /// The MAC address of the droplet.
        hostmac: String,
    },
    /// The interface of a pod.
    #[serde(rename_all = "camelCase")]
    Interface {
        /// Its address, with the length of the prefix.
        address: String,
        /// The gateway of its network.
        gateway: String,
        /// Its MAC address.
        mac: String,
        /// The other end, on the droplet.
        veth: String,
        /// The network namespace of the pod.
        netns: String,
    },
    /// Of a port.
    #[serde(rename_all = "camelCase")]
    Port {
        /// For each backend, its address and port, as `10.20.0.5:8080`.
        targets: Vec<String>,
    },
    /// Of a droplet, or of a bouncer as an agent knows it.
    Substrate {
        /// The MAC address of the droplet.
        mac: String,
    },
}

impl Key {
    /// The name of the call that writes such a row, without `Update` or `Delete`.
    pub fn table(&self) -> &'static str {
        match self {
            Key::Vpc { .. } => "Vpc",
            Key::Net { .. } => "Net",
            Key::Endpoint { .. } => "Ep",
            Key::Substrate { .. } => "Substrate",
            Key::Port { .. } => "Port",
            Key::AgentEndpoint { .. } => "AgentEp",
            Key::AgentMetadata { .. } => "AgentMd",
            Key::Interface { .. } => "Interface",
        }
    }
}

/// `Ep 7 10.20.0.5`: the table, and the key in it.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.table())?;
        match self {
            Key::Vpc { tunnel } => write!(f, "{tunnel}"),
            Key::Net { tunnel, nip, prefix } => write!(f, "{tunnel} {nip}/{prefix}"),
            Key::Endpoint { tunnel, ip } => write!(f, "{tunnel} {ip}"),
            Key::Substrate { user, ip } => write!(f, "{ip} for {user}"),
            Key::Port { tunnel, ip, port, protocol } => write!(f, "{tunnel} {ip} {port}/{protocol:?}"),
            Key::AgentEndpoint { itf, ip } => write!(f, "{itf} {ip}"),
            Key::AgentMetadata { itf } => write!(f, "{itf}"),
            Key::Interface { namespace, pod, itf } => write!(f, "{namespace}/{pod} {itf}"),
        }
    }
}
