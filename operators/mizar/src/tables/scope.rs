//! Parts of a droplet's tables that are programmed together.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::row::Key;
use crate::address::Range;
use crate::api::Protocol;

/// A part of a droplet's tables: what one step of a workflow programs, and all that may be left there of earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "camelCase")]
pub enum Scope {
    /// All tables.
    All,
    /// The dividers of a VPC.
    Vpc {
        /// The VNI.
        tunnel: u32,
    },
    /// All networks of a VPC.
    Nets {
        /// The VNI.
        tunnel: u32,
    },
    /// The bouncers of a network.
    Net {
        /// The VNI.
        tunnel: u32,
        /// The first address.
        nip: String,
    },
    /// An address with all of its ports.
    Address {
        /// The VNI.
        tunnel: u32,
        /// The address.
        ip: String,
    },
    /// The droplets that somebody uses, whatever their addresses are or were.
    User {
        /// A divider, a bouncer or an endpoint.
        user: String,
    },
    /// All endpoints of a network, with their ports.
    Addresses {
        /// The VNI.
        tunnel: u32,
        /// The range of the network, as `10.20.0.0/16`.
        range: String,
    },
    /// Everything about the agent at an interface.
    Agent {
        /// The interface, on the droplet.
        itf: String,
    },
    /// The interfaces of a pod.
    Interface {
        /// The namespace of the pod.
        namespace: String,
        /// The pod.
        pod: String,
    },
}

impl Scope {
    /// The first possible key of each range of keys that may have some of it.
    pub(super) fn ranges(&self) -> Vec<Key> {
        let empty = String::new;
        match self {
            Scope::All => vec![Key::Vpc { tunnel: 0 }],
            Scope::Vpc { tunnel } => vec![Key::Vpc { tunnel: *tunnel }],
            Scope::Nets { tunnel } => vec![Key::Net { tunnel: *tunnel, nip: empty(), prefix: 0 }],
            Scope::Net { tunnel, nip } => vec![Key::Net { tunnel: *tunnel, nip: nip.clone(), prefix: 0 }],
            Scope::Address { tunnel, ip } => Self::addresses(*tunnel, ip),
            Scope::Addresses { tunnel, .. } => Self::addresses(*tunnel, ""),
            Scope::User { user } => vec![Key::Substrate { user: user.clone(), ip: empty() }],
            Scope::Agent { itf } => vec![
                Key::AgentEndpoint { itf: itf.clone(), ip: empty() },
                Key::AgentMetadata { itf: itf.clone() },
            ],
            Scope::Interface { namespace, pod } => {
                vec![Key::Interface { namespace: namespace.clone(), pod: pod.clone(), itf: empty() }]
            }
        }
    }

    fn addresses(tunnel: u32, ip: &str) -> Vec<Key> {
        let ip = || ip.to_owned();
        vec![
            Key::Endpoint { tunnel, ip: ip() },
            Key::Port { tunnel, ip: ip(), port: 0, protocol: Protocol::Tcp },
        ]
    }

    /// Whether the range that begins at a key may have more of it, from this key on.
    pub(super) fn may_go_on_after(&self, first: &Key, key: &Key) -> bool {
        match (self, key) {
            // Addresses are sorted as text, so those of a range need not lie side by side.
            (
                Scope::Addresses { tunnel, .. },
                Key::Endpoint { tunnel: of, .. } | Key::Port { tunnel: of, .. },
            ) => tunnel == of && first.table() == key.table(),
            _ => self.contains(key),
        }
    }

    /// Whether a row is part of it.
    pub fn contains(&self, key: &Key) -> bool {
        match (self, key) {
            (Scope::All, _) => true,
            (Scope::Vpc { tunnel }, Key::Vpc { tunnel: of }) => tunnel == of,
            (Scope::Nets { tunnel }, Key::Net { tunnel: of, .. }) => tunnel == of,
            (Scope::Net { tunnel, nip }, Key::Net { tunnel: of, nip: at, .. }) => tunnel == of && nip == at,
            (
                Scope::Address { tunnel, ip },
                Key::Endpoint { tunnel: of, ip: at } | Key::Port { tunnel: of, ip: at, .. },
            ) => tunnel == of && ip == at,
            (
                Scope::Addresses { tunnel, range },
                Key::Endpoint { tunnel: of, ip } | Key::Port { tunnel: of, ip, .. },
            ) => tunnel == of && is_within(ip, range),
            (Scope::User { user }, Key::Substrate { user: of, .. }) => user == of,
            (Scope::Agent { itf }, Key::AgentEndpoint { itf: at, .. } | Key::AgentMetadata { itf: at }) => {
                itf == at
            }
            (Scope::Interface { namespace, pod }, Key::Interface { namespace: of, pod: at, .. }) => {
                namespace == of && pod == at
            }
            _ => false,
        }
    }
}

fn is_within(ip: &str, range: &str) -> bool {
    let (ip, range) = (ip.parse::<Ipv4Addr>(), range.parse::<Range>());
    ip.is_ok_and(|ip| range.is_ok_and(|range| range.contains(ip)))
}
