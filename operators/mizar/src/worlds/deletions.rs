//! The steps of the workflows that delete. Their conditions are gone with the object, so what is left to be done shows how
//! far they are: rows that the objects no longer ask for, and objects that have to go first.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use windlass::Kind;
use windlass_check::{Actor, Between, Check, View};

use super::properties::{daemons, inventory, is_lost};
use crate::api::{Bouncer, Divider, Droplet, Endpoint, Subnet, Vpc};
use crate::names::{bouncer_user, divider_user, endpoint_user};
use crate::tables::Key;

/// For each step, in its order, what is left to be done.
type Left = Vec<BTreeSet<String>>;

/// A kind of objects that a workflow deletes.
pub(super) trait Deleted: Kind {
    /// Whose finalizer machine does it.
    const OPERATORS: &'static [&'static str];

    /// What is left to be done before it may go.
    fn left(&self, state: &State<'_>) -> Left;
}

/// A state of a world, with what is computed of it once for all steps.
pub(super) struct State<'a> {
    world: &'a View<'a>,
    surplus: OnceCell<Vec<(String, Key)>>,
}

/// Whether an operator does a step of a deletion before the one before it, or lets an object go before the last.
pub(super) fn is_out_of_order(step: &Between<'_>) -> bool {
    of_kind::<Vpc>(step)
        || of_kind::<Subnet>(step)
        || of_kind::<Divider>(step)
        || of_kind::<Bouncer>(step)
        || of_kind::<Droplet>(step)
        || of_kind::<Endpoint>(step)
}

fn of_kind<K: Deleted>(step: &Between<'_>) -> bool {
    let Actor::Controller { name, .. } = step.actor() else { return false };
    if !K::OPERATORS.contains(&name) {
        return false;
    }
    let (before, after) = (State::of(&step.before), State::of(&step.after));
    let still = step.after.all::<K>();
    deleting::<K>(&step.before).iter().any(|object| {
        let uid = &object.object_meta().uid;
        let before = object.left(&before);
        match still.iter().find(|after| after.object_meta().uid == *uid) {
            None => before.iter().any(|left| !left.is_empty()),
            Some(still) => {
                let after = still.left(&after);
                let first = after.iter().position(|left| !left.is_empty()).unwrap_or(after.len());
                let later = before.iter().zip(&after).skip(first + 1);
                later.into_iter().any(|(before, after)| !before.is_subset(after))
            }
        }
    })
}

/// The check must see every step of a workflow done while the next one is not.
pub(super) fn sees_each_step<K: Deleted>(check: Check, workflow: &'static str, steps: usize) -> Check {
    (1..steps).fold(check, |check, done| {
        check.sometimes(&format!("{workflow}: step {done} of {steps}"), move |world| {
            let state = State::of(world);
            deleting::<K>(world).iter().any(|object| {
                let left = object.left(&state);
                left[..done].iter().all(BTreeSet::is_empty) && !left[done].is_empty()
            })
        })
    })
}

fn deleting<K: Kind>(world: &View<'_>) -> Vec<K> {
    let mut all = world.all::<K>();
    all.retain(|object| object.object_meta().deletion_timestamp.is_some());
    all
}

impl<'a> State<'a> {
    fn of(world: &'a View<'a>) -> Self {
        State { world, surplus: OnceCell::new() }
    }

    /// The names of the objects of a kind that a deletion waits for.
    fn names<K: Kind>(&self, is_waited_for: impl Fn(&K) -> bool) -> BTreeSet<String> {
        let all = self.world.all::<K>();
        let names = all.iter().filter(|one| is_waited_for(one)).map(|one| one.object_meta().name.clone());
        names.flatten().collect()
    }

    /// Rows that are not, or no longer, as the objects ask for, on droplets that answer.
    fn surplus(&self, concerns: impl Fn(&str, &Key) -> bool) -> BTreeSet<String> {
        let all = self.surplus.get_or_init(|| all_surplus(self.world)).iter();
        let concerned = all.filter(|(droplet, key)| concerns(droplet, key));
        concerned.map(|(droplet, key)| format!("{droplet} {key}")).collect()
    }
}

fn all_surplus(world: &View<'_>) -> Vec<(String, Key)> {
    let (daemons, inventory) = (daemons(world), inventory(world));
    let mut surplus = Vec::new();
    for droplet in daemons.droplets().filter(|one| daemons.answers(one) && !is_lost(world, one)) {
        let wanted = inventory.rows(droplet);
        let rows = daemons.rows(droplet).into_iter().filter(|(key, row)| wanted.get(key) != Some(row));
        surplus.extend(rows.map(|(key, _)| (droplet.to_owned(), key)));
    }
    surplus
}

fn is_used_by(key: &Key, who: &str) -> bool {
    matches!(key, Key::Substrate { user, .. } if user == who)
}

fn is_used_by_any(key: &Key, kind: &str) -> bool {
    matches!(key, Key::Substrate { user, .. } if user.starts_with(kind))
}

impl Deleted for Vpc {
    const OPERATORS: &'static [&'static str] = &["mizar-vpc"];

    fn left(&self, world: &State<'_>) -> Left {
        let vpc = self.metadata.name.as_deref().unwrap_or_default();
        vec![
            world.names::<Subnet>(|subnet| subnet.spec.vpc == vpc),
            world.names::<Divider>(|divider| divider.spec.vpc == vpc),
        ]
    }
}

impl Deleted for Subnet {
    const OPERATORS: &'static [&'static str] = &["mizar-network"];

    fn left(&self, world: &State<'_>) -> Left {
        let net = self.metadata.name.as_deref().unwrap_or_default();
        vec![
            world
                .names::<Endpoint>(|endpoint| endpoint.spec.net == net && endpoint.spec.vpc == self.spec.vpc),
            world.names::<Bouncer>(|bouncer| bouncer.spec.net == net && bouncer.spec.vpc == self.spec.vpc),
        ]
    }
}

impl Deleted for Divider {
    const OPERATORS: &'static [&'static str] = &["mizar-divider"];

    fn left(&self, world: &State<'_>) -> Left {
        let state = self.state();
        let (Some(vni), Some(here)) = (state.vni, state.droplet) else { return vec![BTreeSet::new(); 2] };
        let user = divider_user(self.metadata.name.as_deref().unwrap_or_default());
        let is_net = |key: &Key| matches!(key, Key::Net { tunnel, .. } if *tunnel == vni);
        let is_vpc = |key: &Key| matches!(key, Key::Vpc { tunnel } if *tunnel == vni);
        vec![
            world.surplus(|droplet, key| droplet == here && (is_net(key) || is_used_by_any(key, "bouncer/"))),
            world.surplus(|_, key| is_vpc(key) || is_used_by(key, &user)),
        ]
    }
}

impl Deleted for Bouncer {
    const OPERATORS: &'static [&'static str] = &["mizar-bouncer"];

    fn left(&self, world: &State<'_>) -> Left {
        let state = self.state();
        let (Some(vni), Some(here), Some(at)) = (state.vni, state.droplet, state.ip) else {
            return vec![BTreeSet::new(); 4];
        };
        let user = bouncer_user(self.metadata.name.as_deref().unwrap_or_default());
        let is_endpoint = |key: &Key| match key {
            Key::Endpoint { tunnel, .. } | Key::Port { tunnel, .. } => *tunnel == vni,
            _ => is_used_by_any(key, "endpoint/"),
        };
        let is_net = |key: &Key| matches!(key, Key::Net { tunnel, nip, .. } if *tunnel == vni && *nip == self.spec.nip);
        let is_vpc = |key: &Key| matches!(key, Key::Vpc { tunnel } if *tunnel == vni);
        vec![
            world.surplus(|_, key| matches!(key, Key::AgentEndpoint { ip, .. } if *ip == at)),
            world.surplus(|droplet, key| droplet == here && is_endpoint(key)),
            world.surplus(|_, key| is_net(key) || is_used_by(key, &user)),
            world.surplus(|droplet, key| droplet == here && (is_vpc(key) || is_used_by_any(key, "divider/"))),
        ]
    }
}

impl Deleted for Droplet {
    const OPERATORS: &'static [&'static str] = &["mizar-droplet"];

    fn left(&self, world: &State<'_>) -> Left {
        let name = self.metadata.name.as_deref();
        let mut placed = world.names::<Bouncer>(|bouncer| bouncer.state().droplet.as_deref() == name);
        placed.extend(world.names::<Divider>(|divider| divider.state().droplet.as_deref() == name));
        vec![placed]
    }
}

impl Deleted for Endpoint {
    const OPERATORS: &'static [&'static str] = &["mizar-endpoint-address", "mizar-scaled-endpoint"];

    fn left(&self, world: &State<'_>) -> Left {
        let address = self.state().address;
        let (Some(vni), Some(ip)) = (address.vni, address.ip) else { return vec![BTreeSet::new(); 2] };
        let user = endpoint_user(self);
        let host = self.spec.droplet.as_deref();
        let at_address = |key: &Key| match key {
            Key::Endpoint { tunnel, ip: at } | Key::Port { tunnel, ip: at, .. } => {
                *tunnel == vni && *at == ip
            }
            _ => false,
        };
        let is_hosted = |key: &Key| match key {
            Key::AgentEndpoint { itf, .. } | Key::AgentMetadata { itf } => Some(itf) == address.veth.as_ref(),
            Key::Interface { namespace, pod, .. } => {
                Some(namespace) == self.metadata.namespace.as_ref() && Some(pod) == self.spec.pod.as_ref()
            }
            _ => at_address(key),
        };
        vec![
            world
                .surplus(|droplet, key| is_used_by(key, &user) || (Some(droplet) != host && at_address(key))),
            world.surplus(|droplet, key| Some(droplet) == host && is_hosted(key)),
        ]
    }
}
