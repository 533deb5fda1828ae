//! Cluster addresses and node ports: which ones a Service gets, given what all others have.
//!
//! Nothing is remembered beside the Services themselves. Where Kubernetes draws an address or a port at random, it is
//! chosen here by the name of the Service, and the next free one is taken if another Service has it. So what a Service
//! gets seldom depends on which Services were made before it, and the same requests lead to the same cluster.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde_json::{Map, Value};

use super::service_addresses::families;
use super::services::{HEALTH_PORT, gets_node_ports, is_health_checked, kind, needs_node_ports};
use super::values::{list, number, text};
use crate::field::{FieldError, FieldPath};

/// The range of cluster addresses: that of kubeadm.
const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 0);
const PREFIX_BITS: u32 = 12;
/// The first addresses and ports of a range are for those who ask for them; others get one when all else is taken.
const ASKED_FOR_ADDRESSES: u32 = 256;
const ASKED_FOR_PORTS: i64 = 86;
const FIRST_PORT: i64 = 30_000;
const LAST_PORT: i64 = 32_767;
/// What a dry run shows for a port that would be drawn.
const DRY_RUN_PORT: i64 = 32_769;

const TAKEN_ADDRESS: &str = "provided IP is already allocated";
const TAKEN_PORT: &str = "provided port is already allocated";
const FULL: &str = "range is full";

/// Why a Service does not get what it needs.
#[derive(Debug, PartialEq)]
pub(crate) enum Refusal {
    /// It asks for what it cannot have.
    Invalid(Vec<FieldError>),
    /// There is nothing left.
    Internal(String),
}

/// The addresses and ports that are in use.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    addresses: BTreeSet<Ipv4Addr>,
    ports: BTreeSet<i64>,
}

impl Taken {
    /// Those of some Services, and the address at which the API server itself is reached.
    pub(crate) fn by<'a>(services: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut taken = Taken::default();
        taken.addresses.insert(address(1));
        for service in services {
            taken.add(service);
        }
        taken
    }

    /// Adds those of one more.
    pub(crate) fn add(&mut self, service: &Value) {
        let spec = &service["spec"];
        self.addresses
            .extend(list(&spec["clusterIPs"]).iter().filter_map(|ip| text(ip).parse::<Ipv4Addr>().ok()));
        self.ports.extend(node_ports(spec));
        self.ports.extend(Some(number(&spec[HEALTH_PORT])).filter(|port| *port != 0));
    }
}

fn node_ports(spec: &Value) -> impl Iterator<Item = i64> {
    list(&spec["ports"]).iter().map(|port| number(&port["nodePort"])).filter(|port| *port != 0)
}

/// The number of addresses of the range, with the first and the last, which no Service gets.
const fn size() -> u32 {
    1 << (32 - PREFIX_BITS)
}

fn address(offset: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(NETWORK.to_bits() + offset)
}

/// What is free for one Service.
pub(crate) struct Pool<F: FnOnce() -> Taken> {
    taken: LazyCell<Taken, F>,
    /// Where to look first.
    draw: u128,
    dry_run: bool,
    /// The ports that this request has taken.
    new_ports: BTreeSet<i64>,
}

impl<F: FnOnce() -> Taken> Pool<F> {
    /// The pool for a Service. `taken` is asked at most once, and only if something is to be assigned; `draw` is a number
    /// that differs from Service to Service.
    pub(crate) fn new(taken: F, draw: u128, dry_run: bool) -> Self {
        Pool { taken: LazyCell::new(taken), draw, dry_run, new_ports: BTreeSet::new() }
    }

    /// Gives a Service that has been prepared the addresses and ports that it lacks, and checks those it asks for.
    pub(crate) fn assign(&mut self, service: &mut Value, old: Option<&Value>) -> Result<(), Refusal> {
        let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
        let old = old.map(|old| &old["spec"]);
        families(spec, old).map_err(Refusal::Invalid)?;
        if kind(spec) != "ExternalName" && old.is_none_or(|old| old["type"] == "ExternalName") {
            self.assign_address(spec)?;
        }
        if needs_node_ports(kind(spec)) {
            match old {
                None => self.assign_ports(spec)?,
                Some(old) => self.assign_new_ports(spec, old)?,
            }
        }
        let was_checked = old.is_some_and(is_health_checked);
        if !was_checked && is_health_checked(&Value::Object(spec.clone())) {
            self.assign_health_port(spec)?;
        }
        Ok(())
    }

    fn assign_address(&self, spec: &mut Map<String, Value>) -> Result<(), Refusal> {
        let asked = spec.get("clusterIPs").and_then(|ips| ips.get(0)).map_or("", text).to_owned();
        if asked == "None" {
            return Ok(());
        }
        if !asked.is_empty() {
            return self.check_address(&asked).map_err(|why| {
                let shown = spec.get("clusterIPs").cloned().unwrap_or_default();
                let detail = format!("failed to allocate IP {asked}: {why}");
                Refusal::Invalid(vec![FieldError::invalid(&FieldPath::of("spec.clusterIPs"), shown, detail)])
            });
        }
        let Some(found) = self.free_address() else {
            return Err(Refusal::Internal(format!("failed to allocate a serviceIP: {FULL}")));
        };
        spec.insert("clusterIP".to_owned(), found.to_string().into());
        spec.insert("clusterIPs".to_owned(), vec![Value::from(found.to_string())].into());
        Ok(())
    }

    fn check_address(&self, asked: &str) -> Result<(), String> {
        let offset =
            asked.parse::<Ipv4Addr>().ok().and_then(|ip| ip.to_bits().checked_sub(NETWORK.to_bits()));
        let inside = offset.is_some_and(|offset| 0 < offset && offset < size() - 1);
        match inside {
            false if self.dry_run => Err(format!(
                "the provided IP ({asked}) is not in the valid range. \
                 The range of valid IPs is {NETWORK}/{PREFIX_BITS}"
            )),
            false => Err("the provided network does not match the current range".to_owned()),
            true if self.dry_run => Ok(()),
            true if asked.parse().is_ok_and(|ip| self.taken.addresses.contains(&ip)) => {
                Err(TAKEN_ADDRESS.to_owned())
            }
            true => Ok(()),
        }
    }

    fn free_address(&self) -> Option<Ipv4Addr> {
        if self.dry_run {
            return Some(NETWORK);
        }
        let free = |offset: &u32| !self.taken.addresses.contains(&address(*offset));
        let first = ASKED_FOR_ADDRESSES + 1;
        let start = first + u32::try_from(self.draw % u128::from(size() - 1 - first)).unwrap_or(0);
        let offset = (start..size() - 1).chain(first..start).chain(1..first).find(free)?;
        Some(address(offset))
    }

    /// Ports of one number, of whatever protocol, get the same node port.
    fn assign_ports(&mut self, spec: &mut Map<String, Value>) -> Result<(), Refusal> {
        let draws = gets_node_ports(spec);
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        let Some(ports) = ports else { return Ok(()) };
        let mut asked: BTreeMap<i64, i64> = BTreeMap::new();
        for port in ports.iter().filter(|port| number(&port["nodePort"]) != 0) {
            asked.entry(number(&port["port"])).or_insert(number(&port["nodePort"]));
        }
        let mut assigned: BTreeMap<i64, i64> = BTreeMap::new();
        for (index, port) in ports.iter_mut().enumerate() {
            let (of, wanted) = (number(&port["port"]), number(&port["nodePort"]));
            if wanted == 0 && !draws {
                continue;
            }
            let given = match (assigned.get(&of), asked.get(&of)) {
                (Some(given), _) if wanted == 0 || wanted == *given => *given,
                (Some(_), _) => self.take_port(index, wanted)?,
                (None, Some(asked)) => self.take_port(index, *asked)?,
                (None, None) => self.draw_port("a nodePort")?,
            };
            assigned.entry(of).or_insert(given);
            set_node_port(port, given);
        }
        Ok(())
    }

    /// An update takes ports that the Service did not have, and draws those that it leaves to the server.
    fn assign_new_ports(&mut self, spec: &mut Map<String, Value>, old: &Value) -> Result<(), Refusal> {
        let draws = gets_node_ports(spec);
        let before: BTreeSet<i64> = node_ports(old).collect();
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        for (index, port) in ports.into_iter().flatten().enumerate() {
            match number(&port["nodePort"]) {
                0 if draws => {
                    let given = self.draw_port("a nodePort")?;
                    set_node_port(port, given);
                }
                0 => {}
                asked if before.contains(&asked) || self.new_ports.contains(&asked) => {}
                asked => drop(self.take_port(index, asked)?),
            }
        }
        Ok(())
    }

    fn assign_health_port(&mut self, spec: &mut Map<String, Value>) -> Result<(), Refusal> {
        let port = match spec.get(HEALTH_PORT).map_or(0, number) {
            0 => self.draw_port("a HealthCheck NodePort 0")?,
            asked => self.check_port(asked).map(|()| asked).map_err(|why| {
                Refusal::Internal(format!("failed to allocate requested HealthCheck NodePort {asked}: {why}"))
            })?,
        };
        self.new_ports.insert(port);
        spec.insert(HEALTH_PORT.to_owned(), port.into());
        Ok(())
    }

    fn take_port(&mut self, index: usize, port: i64) -> Result<i64, Refusal> {
        self.check_port(port).map_err(|why| {
            let path = FieldPath::of("spec.ports").index(index).child("nodePort");
            Refusal::Invalid(vec![FieldError::invalid(&path, port, why)])
        })?;
        self.new_ports.insert(port);
        Ok(port)
    }

    fn check_port(&self, port: i64) -> Result<(), String> {
        let inside = (FIRST_PORT..=LAST_PORT).contains(&port);
        if !inside && !self.dry_run {
            let range = format!("{FIRST_PORT}-{LAST_PORT}");
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {range}"
            ));
        }
        if self.new_ports.contains(&port) || self.taken.ports.contains(&port) {
            return Err(TAKEN_PORT.to_owned());
        }
        Ok(())
    }

    fn draw_port(&mut self, what: &str) -> Result<i64, Refusal> {
        let found = match self.dry_run {
            true => Some(self.new_ports.last().map_or(DRY_RUN_PORT, |last| last + 1)),
            false => self.free_port(),
        };
        let port = found.ok_or_else(|| Refusal::Internal(format!("failed to allocate {what}: {FULL}")))?;
        self.new_ports.insert(port);
        Ok(port)
    }

    fn free_port(&self) -> Option<i64> {
        let free = |port: &i64| !self.taken.ports.contains(port) && !self.new_ports.contains(port);
        let first = FIRST_PORT + ASKED_FOR_PORTS;
        let width = LAST_PORT + 1 - first;
        let start = first + i64::try_from((self.draw >> 64) % u128::from(width.unsigned_abs())).unwrap_or(0);
        (start..=LAST_PORT).chain(first..start).chain(FIRST_PORT..first).find(free)
    }
}

fn set_node_port(port: &mut Value, number: i64) {
    if let Some(port) = port.as_object_mut() {
        port.insert("nodePort".to_owned(), number.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assign(
        taken: &[Value],
        draw: u128,
        mut service: Value,
        old: Option<&Value>,
    ) -> Result<Value, Refusal> {
        Pool::new(|| Taken::by(taken), draw, false).assign(&mut service, old)?;
        Ok(service["spec"].clone())
    }

    #[test]
    fn addresses_are_chosen_by_the_name_and_never_twice() {
        let service = || json!({ "spec": { "type": "ClusterIP" } });
        let first = assign(&[], 5, service(), None).unwrap();
        assert_eq!(first["clusterIP"], "10.96.1.6");
        assert_eq!(first["clusterIPs"], json!(["10.96.1.6"]));
        let other = json!({ "spec": first });
        assert_eq!(assign(&[other], 5, service(), None).unwrap()["clusterIP"], "10.96.1.7");
        let last = u128::from(size() - 1 - ASKED_FOR_ADDRESSES - 1) - 1;
        let at_the_end = assign(&[], last, service(), None).unwrap();
        assert_eq!(at_the_end["clusterIP"], "10.111.255.254");
        let wrapped = assign(&[json!({ "spec": at_the_end })], last, service(), None).unwrap();
        assert_eq!(wrapped["clusterIP"], "10.96.1.1");
    }

    #[test]
    fn a_full_range_is_an_error() {
        let ports: Vec<Value> = (FIRST_PORT..=LAST_PORT).map(|port| json!({ "nodePort": port })).collect();
        let all = json!({ "spec": { "ports": ports } });
        let service = json!({ "spec": { "type": "NodePort", "ports": [{ "port": 80 }] } });
        let refusal = assign(&[all], 7, service.clone(), None).unwrap_err();
        assert_eq!(refusal, Refusal::Internal("failed to allocate a nodePort: range is full".to_owned()));
        let most: Vec<Value> = (FIRST_PORT + 1..=LAST_PORT).map(|port| json!({ "nodePort": port })).collect();
        let assigned = assign(&[json!({ "spec": { "ports": most } })], 7, service, None).unwrap();
        assert_eq!(assigned["ports"][0]["nodePort"], FIRST_PORT);
    }

    #[test]
    fn nothing_is_asked_where_nothing_is_assigned() {
        let mut service = json!({ "spec": { "type": "ExternalName" } });
        let never = || -> Taken { panic!("asked for what is taken") };
        Pool::new(never, 0, false).assign(&mut service, None).unwrap();
        let old =
            json!({ "spec": { "type": "ClusterIP", "clusterIP": "10.96.1.1", "clusterIPs": ["10.96.1.1"] } });
        Pool::new(never, 0, false).assign(&mut old.clone(), Some(&old)).unwrap();
    }
}
