//! Which rows a droplet is to have, as a function of the objects.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use windlass::Kind;

use super::change::Former;
use super::row::{Key, Row};
use super::scope::Scope;
use crate::address::Range;
use crate::api::{Bouncer, Divider, Endpoint, EndpointType, Port};
use crate::names::{bouncer_user, divider_user, endpoint_user};

/// How many deleted objects a reason names, at most.
const MAX_NAMED: usize = 4;

/// Objects whose rows are asked for. What is left out has no rows: an operator that programs one endpoint needs that
/// endpoint and the bouncers of its network, and no more.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Dividers.
    pub dividers: Vec<Divider>,
    /// Bouncers.
    pub bouncers: Vec<Bouncer>,
    /// Endpoints.
    pub endpoints: Vec<Endpoint>,
}

/// A divider or bouncer that is on a droplet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The VNI of its VPC.
    pub vni: u32,
    /// The droplet.
    pub droplet: String,
    /// The address of the droplet.
    pub ip: String,
    /// The MAC address of the droplet.
    pub mac: String,
}

impl Divider {
    /// Where it is; `None` while it was not placed.
    pub fn placed(&self) -> Option<Placed> {
        let state = &self.status.as_ref()?.state;
        Placed::new(state.vni, &state.droplet, &state.ip, &state.mac)
    }
}

impl Bouncer {
    /// Where it is; `None` while it was not placed.
    pub fn placed(&self) -> Option<Placed> {
        let state = &self.status.as_ref()?.state;
        Placed::new(state.vni, &state.droplet, &state.ip, &state.mac)
    }
}

impl Placed {
    fn new(
        vni: Option<u32>,
        droplet: &Option<String>,
        ip: &Option<String>,
        mac: &Option<String>,
    ) -> Option<Self> {
        Some(Placed { vni: vni?, droplet: droplet.clone()?, ip: ip.clone()?, mac: mac.clone()? })
    }
}

impl Inventory {
    /// The rows that a droplet is to have. Objects that are not placed, have no address yet or are being deleted have none.
    pub fn rows(&self, droplet: &str) -> BTreeMap<Key, Row> {
        let mut rows = BTreeMap::new();
        let bouncers: Vec<(&Bouncer, Placed)> = live(&self.bouncers, Bouncer::placed).collect();
        let dividers: Vec<(&Divider, Placed)> = live(&self.dividers, Divider::placed).collect();
        for (bouncer, placed) in bouncers.iter().filter(|(_, placed)| placed.droplet == droplet) {
            self.rows_of_bouncer(bouncer, placed, &dividers, &mut rows);
        }
        for (divider, placed) in dividers.iter().filter(|(_, placed)| placed.droplet == droplet) {
            rows_of_divider(divider, placed, &bouncers, &mut rows);
        }
        for endpoint in self.endpoints.iter().filter(|endpoint| !is_deleting(*endpoint)) {
            if endpoint.spec.droplet.as_deref() == Some(droplet) {
                rows_of_host(endpoint, &bouncers, &mut rows);
            }
        }
        rows
    }

    /// The part of these rows that is in some scopes.
    pub fn rows_within(&self, droplet: &str, scopes: &[Scope]) -> BTreeMap<Key, Row> {
        let mut rows = self.rows(droplet);
        rows.retain(|key, _| scopes.iter().any(|scope| scope.contains(key)));
        rows
    }

    /// The rows that the droplet may have been asked to have before: objects that are being deleted count, and so do
    /// dividers and bouncers that have left the droplet, but not been cleared from it yet.
    ///
    /// A request for such a row may still be on its way, sent by an operator that was killed since. It is refused if the
    /// row was deleted meanwhile, even if it was absent.
    pub fn former_rows_within(&self, droplet: &str, scopes: &[Scope]) -> Former {
        let left_dividers = self.dividers.iter().map(|one| (&one.metadata, one.state().left));
        let left_bouncers = self.bouncers.iter().map(|one| (&one.metadata, one.state().left));
        let gone: BTreeSet<String> = left_dividers
            .chain(left_bouncers)
            .chain(self.endpoints.iter().map(|one| (&one.metadata, Vec::new())))
            .filter_map(|(metadata, left)| gone(metadata, &left, droplet))
            .collect();
        if gone.is_empty() {
            return Former::default();
        }
        let rows = self.as_before(droplet).rows_within(droplet, scopes).into_keys().collect();
        Former { rows, deleted_for: reason(gone) }
    }

    /// The objects as they were before any was deleted, or left a droplet.
    fn as_before(&self, droplet: &str) -> Inventory {
        let mut before = self.clone();
        for divider in &mut before.dividers {
            divider.metadata.deletion_timestamp = None;
            if let Some(status) = &mut divider.status {
                return_to(droplet, &status.state.left, &mut status.state.droplet);
            }
        }
        for bouncer in &mut before.bouncers {
            bouncer.metadata.deletion_timestamp = None;
            if let Some(status) = &mut bouncer.status {
                return_to(droplet, &status.state.left, &mut status.state.droplet);
            }
        }
        before.endpoints.iter_mut().for_each(|endpoint| endpoint.metadata.deletion_timestamp = None);
        before
    }

    /// What a bouncer knows: the dividers of its VPC, the gateway and the endpoints of its network.
    fn rows_of_bouncer(
        &self,
        bouncer: &Bouncer,
        placed: &Placed,
        dividers: &[(&Divider, Placed)],
        rows: &mut BTreeMap<Key, Row>,
    ) {
        let (vpc, vni) = (&bouncer.spec.vpc, placed.vni);
        let of_vpc = || dividers.iter().filter(|(divider, _)| divider.spec.vpc == *vpc);
        for (divider, at) in of_vpc() {
            let key = Key::Substrate { ip: at.ip.clone(), user: divider_user(name(*divider)) };
            rows.insert(key, Row::Substrate { mac: at.mac.clone() });
        }
        let routers_ips: BTreeSet<String> = of_vpc().map(|(_, at)| at.ip.clone()).collect();
        if !routers_ips.is_empty() {
            let routers_ips = routers_ips.into_iter().collect();
            rows.insert(Key::Vpc { tunnel: vni }, Row::Vpc { routers_ips });
        }
        if let Ok(range) = Range::new(&bouncer.spec.nip, bouncer.spec.prefix.0) {
            let key = Key::Endpoint { tunnel: vni, ip: range.gateway().to_string() };
            let (eptype, mac) = (EndpointType::Gateway, placed.mac.clone());
            let remote_ips = vec![placed.ip.clone()];
            rows.insert(key, Row::Endpoint { eptype, mac, hosted_iface: None, remote_ips });
        }
        let of_network = |endpoint: &&Endpoint| {
            !is_deleting(*endpoint) && endpoint.spec.net == bouncer.spec.net && endpoint.spec.vpc == *vpc
        };
        for endpoint in self.endpoints.iter().filter(of_network) {
            rows_at_bouncer(endpoint, &placed.droplet, rows);
        }
    }
}

/// What a divider knows: the bouncers of each network of its VPC.
fn rows_of_divider(
    divider: &Divider,
    placed: &Placed,
    bouncers: &[(&Bouncer, Placed)],
    rows: &mut BTreeMap<Key, Row>,
) {
    let mut networks: BTreeMap<(String, u32), BTreeSet<String>> = BTreeMap::new();
    for (bouncer, at) in bouncers.iter().filter(|(bouncer, _)| bouncer.spec.vpc == divider.spec.vpc) {
        let key = Key::Substrate { ip: at.ip.clone(), user: bouncer_user(name(*bouncer)) };
        rows.insert(key, Row::Substrate { mac: at.mac.clone() });
        let network = (bouncer.spec.nip.clone(), bouncer.spec.prefix.0);
        networks.entry(network).or_default().insert(at.ip.clone());
    }
    for ((nip, prefix), switches) in networks {
        let key = Key::Net { tunnel: placed.vni, nip, prefix };
        rows.insert(key, Row::Net { switches_ips: switches.into_iter().collect() });
    }
}

/// What a bouncer on a droplet knows about an endpoint.
fn rows_at_bouncer(endpoint: &Endpoint, droplet: &str, rows: &mut BTreeMap<Key, Row>) {
    let Some((key, row)) = endpoint_row(endpoint, droplet) else { return };
    rows.insert(key, row);
    let given = endpoint.state().address;
    if let (Some(ip), Some(mac)) = (given.hostip, given.hostmac) {
        let key = Key::Substrate { ip, user: endpoint_user(endpoint) };
        rows.insert(key, Row::Substrate { mac });
    }
    let (Some(tunnel), Some(ip)) = (given.vni, given.ip) else { return };
    for Port { port, protocol } in endpoint.spec.ports.iter().cloned() {
        let targets = endpoint.spec.backends.iter().filter_map(|backend| {
            let mut targets = backend.targets.iter();
            let target = targets.find(|target| target.port == port && target.protocol == protocol)?;
            Some(format!("{}:{}", backend.ip, target.target_port))
        });
        let row = Row::Port { targets: targets.collect() };
        rows.insert(Key::Port { tunnel, ip: ip.clone(), port, protocol }, row);
    }
}

/// What the droplet of an endpoint knows about it: the endpoint itself, and for its agent all bouncers of its network.
fn rows_of_host(endpoint: &Endpoint, bouncers: &[(&Bouncer, Placed)], rows: &mut BTreeMap<Key, Row>) {
    let Some(droplet) = endpoint.spec.droplet.as_deref() else { return };
    let Some((key, row)) = endpoint_row(endpoint, droplet) else { return };
    rows.insert(key, row);
    let given = endpoint.state().address;
    let Some(itf) = given.veth else { return };
    let spec = &endpoint.spec;
    let of_network =
        bouncers.iter().filter(|(bouncer, _)| bouncer.spec.net == spec.net && bouncer.spec.vpc == spec.vpc);
    for (_, at) in of_network {
        let key = Key::AgentEndpoint { itf: itf.clone(), ip: at.ip.clone() };
        rows.insert(key, Row::Substrate { mac: at.mac.clone() });
    }
    let (Some(ip), Some(tunnel), Some(prefix)) = (given.ip, given.vni, given.prefix) else { return };
    if let (Some(pod), Some(name), Some(gateway), Some(mac)) = (&spec.pod, given.itf, given.gw, given.mac) {
        let namespace = endpoint.metadata.namespace.clone().unwrap_or_default();
        let key = Key::Interface { namespace, pod: pod.clone(), itf: name };
        let (address, veth) = (format!("{ip}/{prefix}"), itf.clone());
        let netns = spec.netns.clone().unwrap_or_default();
        rows.insert(key, Row::Interface { address, gateway, mac, veth, netns });
    }
    let (Some(hostip), Some(hostmac)) = (given.hostip, given.hostmac) else { return };
    let Ok(range) = Range::new(&ip, prefix) else { return };
    let nip = range.network().to_string();
    rows.insert(Key::AgentMetadata { itf }, Row::AgentMetadata { ip, tunnel, nip, prefix, hostip, hostmac });
}

/// The row of an endpoint itself, as a droplet has it.
fn endpoint_row(endpoint: &Endpoint, droplet: &str) -> Option<(Key, Row)> {
    let given = endpoint.state().address;
    let key = Key::Endpoint { tunnel: given.vni?, ip: given.ip? };
    let eptype = endpoint.spec.r#type;
    let hosted = endpoint.spec.droplet.as_deref() == Some(droplet);
    let remote_ips = match eptype {
        EndpointType::Scaled => endpoint.spec.backends.iter().map(|backend| backend.ip.clone()).collect(),
        _ => given.hostip.into_iter().collect(),
    };
    let hosted_iface = given.veth.filter(|_| hosted);
    Some((key, Row::Endpoint { eptype, mac: given.mac?, hosted_iface, remote_ips }))
}

fn live<'a, K: Kind>(
    objects: &'a [K],
    placed: impl Fn(&K) -> Option<Placed> + 'a,
) -> impl Iterator<Item = (&'a K, Placed)> {
    let live = objects.iter().filter(|object| !is_deleting(*object));
    live.filter_map(move |object| placed(object).map(|placed| (object, placed)))
}

/// What is gone, as a text: short, however much it is.
fn reason(gone: BTreeSet<String>) -> String {
    if gone.len() <= MAX_NAMED {
        return gone.into_iter().collect::<Vec<_>>().join(" ");
    }
    let mut hasher = DefaultHasher::new();
    gone.hash(&mut hasher);
    format!("{} objects {:016x}", gone.len(), hasher.finish())
}

/// Whether an object is being deleted, or has left a droplet, as a part of a reason.
fn gone(metadata: &ObjectMeta, left: &[String], droplet: &str) -> Option<String> {
    let uid = metadata.uid.as_deref().unwrap_or_default();
    if metadata.deletion_timestamp.is_some() {
        return Some(uid.to_owned());
    }
    // It may come back, and leave again: another time is another reason.
    let version = metadata.resource_version.as_deref().unwrap_or_default();
    left.iter().any(|left| left == droplet).then(|| format!("{uid}/{version}"))
}

/// Places something on a droplet again that it has left.
fn return_to(droplet: &str, left: &[String], placed: &mut Option<String>) {
    if left.iter().any(|left| left == droplet) {
        *placed = Some(droplet.to_owned());
    }
}

fn is_deleting(object: &impl Kind) -> bool {
    object.object_meta().deletion_timestamp.is_some()
}

fn name(object: &impl Kind) -> &str {
    object.object_meta().name.as_deref().unwrap_or_default()
}
