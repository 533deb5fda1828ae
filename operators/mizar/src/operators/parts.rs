//! Which parts of which droplets' tables concern an object. Pure: what is in them is a matter of the
//! [`Inventory`](crate::tables::Inventory).

use std::collections::BTreeMap;

use windlass::Kind;

use super::program::Part;
use crate::address::Range;
use crate::api::{Bouncer, Divider, Endpoint};
use crate::names::{bouncer_user, divider_user, endpoint_user};
use crate::tables::{Inventory, Scope};

/// Parts by droplet.
pub(crate) type Parts = BTreeMap<String, Part>;

/// One part on several droplets.
pub(crate) fn on(droplets: impl IntoIterator<Item = String>, part: &Part) -> Parts {
    droplets.into_iter().map(|droplet| (droplet, part.clone())).collect()
}

/// Where a bouncer is, and where it was and something of it may be left.
pub(crate) fn droplets_of_bouncer(bouncer: &Bouncer) -> Vec<String> {
    let state = bouncer.state();
    state.droplet.into_iter().chain(state.left).collect()
}

/// Where a divider is, and where it was and something of it may be left.
pub(crate) fn droplets_of_divider(divider: &Divider) -> Vec<String> {
    let state = divider.state();
    state.droplet.into_iter().chain(state.left).collect()
}

/// Where bouncers are or were: for what is to be forgotten.
pub(crate) fn all_droplets_of_bouncers(inventory: &Inventory) -> impl Iterator<Item = String> {
    inventory.bouncers.iter().flat_map(droplets_of_bouncer)
}

/// Where dividers are or were: for what is to be forgotten.
pub(crate) fn all_droplets_of_dividers(inventory: &Inventory) -> impl Iterator<Item = String> {
    inventory.dividers.iter().flat_map(droplets_of_divider)
}

/// The droplets of all bouncers.
pub(crate) fn droplets_of_bouncers(inventory: &Inventory) -> impl Iterator<Item = String> {
    inventory.bouncers.iter().filter_map(|bouncer| bouncer.state().droplet)
}

/// The droplets of all dividers.
pub(crate) fn droplets_of_dividers(inventory: &Inventory) -> impl Iterator<Item = String> {
    inventory.dividers.iter().filter_map(|divider| divider.state().droplet)
}

/// What a bouncer knows about the dividers of its VPC.
pub(crate) fn all_dividers(inventory: &Inventory, vni: u32) -> Part {
    let users = inventory.dividers.iter().map(|divider| Scope::User { user: divider_user(name(divider)) });
    Part::of(users.chain([Scope::Vpc { tunnel: vni }]))
}

/// What a bouncer knows about one divider.
pub(crate) fn one_divider(divider: &str, vni: u32) -> Part {
    Part::of([Scope::Vpc { tunnel: vni }, Scope::User { user: divider_user(divider) }])
}

/// What a divider knows about the bouncers of its VPC.
pub(crate) fn all_bouncers(inventory: &Inventory, vni: u32) -> Part {
    let users = inventory.bouncers.iter().map(|bouncer| Scope::User { user: bouncer_user(name(bouncer)) });
    Part::of(users.chain([Scope::Nets { tunnel: vni }]))
}

/// What a divider knows about one bouncer.
pub(crate) fn one_bouncer(bouncer: &Bouncer, vni: u32) -> Part {
    let user = bouncer_user(name(bouncer));
    Part::of([Scope::Net { tunnel: vni, nip: bouncer.spec.nip.clone() }, Scope::User { user }])
}

/// What a bouncer knows about the endpoints of its network.
pub(crate) fn all_endpoints(inventory: &Inventory, bouncer: &Bouncer, vni: u32) -> Part {
    let users = inventory.endpoints.iter().map(|endpoint| Scope::User { user: endpoint_user(endpoint) });
    let range = Range::new(&bouncer.spec.nip, bouncer.spec.prefix.0).ok();
    let addresses = range.map(|range| Scope::Addresses { tunnel: vni, range: range.to_string() });
    Part::of(users.chain(addresses))
}

/// What a bouncer knows about one endpoint.
pub(crate) fn one_endpoint(endpoint: &Endpoint) -> Part {
    Part::of(
        [address_of(endpoint), Some(Scope::User { user: endpoint_user(endpoint) })].into_iter().flatten(),
    )
}

/// What the droplet of an endpoint knows about it.
pub(crate) fn hosted_endpoint(endpoint: &Endpoint) -> Part {
    Part::of([address_of(endpoint), agent_of(endpoint)].into_iter().flatten())
}

/// The agents of all endpoints, by the droplets that host them.
pub(crate) fn agents(inventory: &Inventory) -> Parts {
    let mut parts = Parts::new();
    for endpoint in &inventory.endpoints {
        if let (Some(droplet), Some(agent)) = (&endpoint.spec.droplet, agent_of(endpoint)) {
            parts.entry(droplet.clone()).or_default().scopes.insert(agent);
        }
    }
    parts
}

/// The interface of an endpoint's pod.
pub(crate) fn interface(endpoint: &Endpoint) -> Option<Scope> {
    let namespace = endpoint.metadata.namespace.clone()?;
    Some(Scope::Interface { namespace, pod: endpoint.spec.pod.clone()? })
}

fn address_of(endpoint: &Endpoint) -> Option<Scope> {
    let given = endpoint.state().address;
    Some(Scope::Address { tunnel: given.vni?, ip: given.ip? })
}

fn agent_of(endpoint: &Endpoint) -> Option<Scope> {
    Some(Scope::Agent { itf: endpoint.state().address.veth? })
}

fn name(object: &impl Kind) -> &str {
    object.object_meta().name.as_deref().unwrap_or_default()
}
