//! Rows, scopes and changes, to messages and back.

use super::Malformed;
use super::messages as wire;
use super::messages::row::Row as WireRow;
use super::messages::scope::Scope as WireScope;
use crate::api::{EndpointType, Protocol};
use crate::tables::{Change, Held, Key, Row, Scope};

const TCP: u32 = 6;
const UDP: u32 = 17;

/// A key with its row; without one, the key alone.
pub(crate) fn row_to(key: &Key, row: Option<&Row>) -> wire::Row {
    let row = match (key.clone(), row.cloned()) {
        (Key::Vpc { tunnel }, row) => WireRow::Vpc(wire::Vpc {
            tunnel_id: tunnel,
            routers_ips: match row {
                Some(Row::Vpc { routers_ips }) => routers_ips,
                _ => Vec::new(),
            },
        }),
        (Key::Net { tunnel, nip, prefix }, row) => WireRow::Net(wire::Net {
            tunnel_id: tunnel,
            nip,
            prefixlen: prefix,
            switches_ips: match row {
                Some(Row::Net { switches_ips }) => switches_ips,
                _ => Vec::new(),
            },
        }),
        (Key::Endpoint { tunnel, ip }, row) => WireRow::Endpoint(endpoint_to(tunnel, ip, row)),
        (Key::Substrate { user, ip }, row) => {
            let mac = mac_of(row);
            WireRow::Substrate(wire::Substrate { ip, mac, user })
        }
        (Key::Port { tunnel, ip, port, protocol }, row) => WireRow::Port(wire::Port {
            tunnel_id: tunnel,
            ip,
            port: port.into(),
            protocol: if protocol == Protocol::Udp { UDP } else { TCP },
            targets: match row {
                Some(Row::Port { targets }) => targets,
                _ => Vec::new(),
            },
        }),
        (Key::AgentEndpoint { itf, ip }, row) => {
            WireRow::AgentEndpoint(wire::AgentEndpoint { itf, ip, mac: mac_of(row) })
        }
        (Key::AgentMetadata { itf }, row) => WireRow::AgentMetadata(match row {
            Some(Row::AgentMetadata { ip, tunnel, nip, prefix, hostip, hostmac }) => {
                wire::AgentMetadata { itf, ip, tunnel_id: tunnel, nip, prefixlen: prefix, hostip, hostmac }
            }
            _ => wire::AgentMetadata { itf, ..wire::AgentMetadata::default() },
        }),
        (Key::Interface { namespace, pod, itf }, row) => {
            let pod_id = Some(wire::PodId { k8s_namespace: namespace, k8s_pod_name: pod });
            WireRow::Interface(match row {
                Some(Row::Interface { address, gateway, mac, veth, netns }) => {
                    wire::Interface { pod_id, name: itf, address, gateway, mac, veth_name: veth, netns }
                }
                _ => wire::Interface { pod_id, name: itf, ..wire::Interface::default() },
            })
        }
    };
    wire::Row { row: Some(row) }
}

fn endpoint_to(tunnel: u32, ip: String, row: Option<Row>) -> wire::Endpoint {
    match row {
        Some(Row::Endpoint { eptype, mac, hosted_iface, remote_ips }) => wire::Endpoint {
            tunnel_id: tunnel,
            ip,
            eptype: match eptype {
                EndpointType::Simple | EndpointType::Host => 1,
                EndpointType::Scaled => 2,
                EndpointType::Gateway => 3,
            },
            mac,
            hosted_iface: hosted_iface.unwrap_or_default(),
            remote_ips,
            is_host: eptype == EndpointType::Host,
        },
        _ => wire::Endpoint { tunnel_id: tunnel, ip, ..wire::Endpoint::default() },
    }
}

fn mac_of(row: Option<Row>) -> String {
    match row {
        Some(Row::Substrate { mac }) => mac,
        _ => String::new(),
    }
}

/// The key and the row of a message.
pub(crate) fn row_from(message: wire::Row) -> Result<(Key, Row), Malformed> {
    let row = message.row.ok_or_else(|| Malformed("a row is of no table".to_owned()))?;
    Ok(match row {
        WireRow::Vpc(vpc) => (Key::Vpc { tunnel: vpc.tunnel_id }, Row::Vpc { routers_ips: vpc.routers_ips }),
        WireRow::Net(net) => (
            Key::Net { tunnel: net.tunnel_id, nip: net.nip, prefix: net.prefixlen },
            Row::Net { switches_ips: net.switches_ips },
        ),
        WireRow::Endpoint(endpoint) => {
            let eptype = match (endpoint.eptype, endpoint.is_host) {
                (2, _) => EndpointType::Scaled,
                (3, _) => EndpointType::Gateway,
                (_, true) => EndpointType::Host,
                _ => EndpointType::Simple,
            };
            let hosted_iface = Some(endpoint.hosted_iface).filter(|iface| !iface.is_empty());
            let key = Key::Endpoint { tunnel: endpoint.tunnel_id, ip: endpoint.ip };
            (key, Row::Endpoint { eptype, mac: endpoint.mac, hosted_iface, remote_ips: endpoint.remote_ips })
        }
        WireRow::Substrate(one) => {
            (Key::Substrate { user: one.user, ip: one.ip }, Row::Substrate { mac: one.mac })
        }
        WireRow::Port(port) => {
            let number =
                u16::try_from(port.port).map_err(|_| Malformed(format!("{} is no port", port.port)))?;
            let protocol = match port.protocol {
                TCP => Protocol::Tcp,
                UDP => Protocol::Udp,
                other => return Err(Malformed(format!("the protocol {other} has no ports"))),
            };
            let key = Key::Port { tunnel: port.tunnel_id, ip: port.ip, port: number, protocol };
            (key, Row::Port { targets: port.targets })
        }
        WireRow::AgentEndpoint(one) => {
            (Key::AgentEndpoint { itf: one.itf, ip: one.ip }, Row::Substrate { mac: one.mac })
        }
        WireRow::AgentMetadata(one) => {
            let (ip, tunnel, nip, prefix) = (one.ip, one.tunnel_id, one.nip, one.prefixlen);
            let row =
                Row::AgentMetadata { ip, tunnel, nip, prefix, hostip: one.hostip, hostmac: one.hostmac };
            (Key::AgentMetadata { itf: one.itf }, row)
        }
        WireRow::Interface(one) => {
            let pod = one.pod_id.ok_or_else(|| Malformed("an interface has no pod".to_owned()))?;
            let key = Key::Interface { namespace: pod.k8s_namespace, pod: pod.k8s_pod_name, itf: one.name };
            let (address, gateway, mac) = (one.address, one.gateway, one.mac);
            (key, Row::Interface { address, gateway, mac, veth: one.veth_name, netns: one.netns })
        }
    })
}

pub(crate) fn held_to(held: &Held) -> wire::HeldRow {
    let row = Some(row_to(&held.key, held.row.as_ref()));
    let deleted_for = held.deleted_for.clone();
    wire::HeldRow { row, deleted: held.row.is_none(), generation: held.generation, deleted_for }
}

pub(crate) fn held_from(message: wire::HeldRow) -> Result<Held, Malformed> {
    let (key, row) = row_from(message.row.unwrap_or_default())?;
    let row = (!message.deleted).then_some(row);
    Ok(Held { key, row, generation: message.generation, deleted_for: message.deleted_for })
}

pub(crate) fn change_to(change: &Change) -> wire::RowChange {
    let row = Some(row_to(&change.key, change.row.as_ref()));
    let deleted_for = change.deleted_for.clone();
    wire::RowChange { row, delete: change.row.is_none(), replaces: change.replaces, deleted_for }
}

pub(crate) fn change_from(message: wire::RowChange) -> Result<Change, Malformed> {
    let (key, row) = row_from(message.row.unwrap_or_default())?;
    let row = (!message.delete).then_some(row);
    Ok(Change { key, row, replaces: message.replaces, deleted_for: message.deleted_for })
}

pub(crate) fn scope_to(scope: &Scope) -> wire::Scope {
    let scope = match scope.clone() {
        Scope::All => WireScope::All(wire::Empty {}),
        Scope::Vpc { tunnel } => WireScope::Vpc(wire::VpcKey { tunnel_id: tunnel }),
        Scope::Nets { tunnel } => WireScope::Nets(wire::VpcKey { tunnel_id: tunnel }),
        Scope::Net { tunnel, nip } => WireScope::Net(wire::scope::Network { tunnel_id: tunnel, nip }),
        Scope::Address { tunnel, ip } => WireScope::Address(wire::EndpointKey { tunnel_id: tunnel, ip }),
        Scope::Addresses { tunnel, range } => {
            WireScope::Addresses(wire::scope::Addresses { tunnel_id: tunnel, range })
        }
        Scope::User { user } => WireScope::User(wire::scope::User { user }),
        Scope::Agent { itf } => WireScope::Agent(wire::scope::Agent { itf }),
        Scope::Interface { namespace, pod } => {
            WireScope::Interface(wire::PodId { k8s_namespace: namespace, k8s_pod_name: pod })
        }
    };
    wire::Scope { scope: Some(scope) }
}

pub(crate) fn scope_from(message: wire::Scope) -> Result<Scope, Malformed> {
    let scope = message.scope.ok_or_else(|| Malformed("a scope is empty".to_owned()))?;
    Ok(match scope {
        WireScope::All(_) => Scope::All,
        WireScope::Vpc(vpc) => Scope::Vpc { tunnel: vpc.tunnel_id },
        WireScope::Nets(vpc) => Scope::Nets { tunnel: vpc.tunnel_id },
        WireScope::Net(net) => Scope::Net { tunnel: net.tunnel_id, nip: net.nip },
        WireScope::Address(one) => Scope::Address { tunnel: one.tunnel_id, ip: one.ip },
        WireScope::Addresses(one) => Scope::Addresses { tunnel: one.tunnel_id, range: one.range },
        WireScope::User(one) => Scope::User { user: one.user },
        WireScope::Agent(one) => Scope::Agent { itf: one.itf },
        WireScope::Interface(pod) => Scope::Interface { namespace: pod.k8s_namespace, pod: pod.k8s_pod_name },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_survives_the_wire() {
        let text = |text: &str| text.to_owned();
        let rows = [
            (Key::Vpc { tunnel: 1 }, Row::Vpc { routers_ips: vec![text("a")] }),
            (Key::Net { tunnel: 1, nip: text("n"), prefix: 8 }, Row::Net { switches_ips: vec![text("b")] }),
            (Key::Substrate { user: text("u"), ip: text("i") }, Row::Substrate { mac: text("m") }),
            (Key::AgentEndpoint { itf: text("e"), ip: text("i") }, Row::Substrate { mac: text("m") }),
            (
                Key::Port { tunnel: 1, ip: text("i"), port: 53, protocol: Protocol::Udp },
                Row::Port { targets: vec![text("t:1")] },
            ),
            (
                Key::AgentMetadata { itf: text("e") },
                Row::AgentMetadata {
                    ip: text("i"),
                    tunnel: 1,
                    nip: text("n"),
                    prefix: 8,
                    hostip: text("h"),
                    hostmac: text("m"),
                },
            ),
            (
                Key::Interface { namespace: text("n"), pod: text("p"), itf: text("eth0") },
                Row::Interface {
                    address: text("a/8"),
                    gateway: text("g"),
                    mac: text("m"),
                    veth: text("v"),
                    netns: text("s"),
                },
            ),
        ];
        let types = [EndpointType::Simple, EndpointType::Scaled, EndpointType::Host, EndpointType::Gateway];
        let endpoints = types.map(|eptype| {
            let row =
                Row::Endpoint { eptype, mac: text("m"), hosted_iface: None, remote_ips: vec![text("r")] };
            (Key::Endpoint { tunnel: 1, ip: text("i") }, row)
        });
        for (key, row) in rows.into_iter().chain(endpoints) {
            assert_eq!(row_from(row_to(&key, Some(&row))), Ok((key.clone(), row.clone())));
            let deletion = Change { deleted_for: "a".to_owned(), ..Change::new(key.clone(), None, 3) };
            assert_eq!(change_from(change_to(&deletion)), Ok(deletion));
            let held = Held { key, row: Some(row), generation: 4, deleted_for: String::new() };
            assert_eq!(held_from(held_to(&held)), Ok(held));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let port = |port, protocol| {
            let row = wire::Port { port, protocol, ..wire::Port::default() };
            row_from(wire::Row { row: Some(WireRow::Port(row)) }).map_err(|error| error.to_string())
        };
        assert_eq!(port(70_000, TCP), Err("70000 is no port".to_owned()));
        assert_eq!(port(80, 1), Err("the protocol 1 has no ports".to_owned()));
        assert!(row_from(wire::Row { row: None }).is_err());
        assert!(scope_from(wire::Scope { scope: None }).is_err());
    }
}
