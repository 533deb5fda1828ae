//! What must hold in all worlds.

use std::collections::{BTreeMap, BTreeSet};

use windlass::{Kind, Service};
use windlass_check::{Actor, Between, Check, View};

use super::given::subnet_of;
use crate::api::{Allocation, Bouncer, Divider, Droplet, Endpoint, Phase, Subnet, Vpc};
use crate::droplets::{DaemonsModel, Droplets};
use crate::operators::PhaseTransition;
use crate::tables::Inventory;
use crate::workflows::{Tracked, WORKFLOWS, WorkflowStep, is_done, workflow_of};

pub(super) fn daemons(world: &View<'_>) -> DaemonsModel {
    let state = world.service(Droplets::NAME).cloned().unwrap_or_default();
    serde_json::from_value(state).expect("the model's own state")
}

pub(super) fn inventory(world: &View<'_>) -> Inventory {
    Inventory { dividers: world.all(), bouncers: world.all(), endpoints: world.all() }
}

/// The rows of every daemon that answers are those that the objects ask for.
pub(super) fn tables_match(world: &View<'_>) -> bool {
    let (daemons, inventory) = (daemons(world), inventory(world));
    daemons
        .droplets()
        .filter(|droplet| daemons.answers(droplet))
        .all(|droplet| is_lost(world, droplet) || daemons.rows(droplet) == inventory.rows(droplet))
}

/// Whether no operator programs a droplet, since it is lost or deleted.
pub(super) fn is_lost(world: &View<'_>, droplet: &str) -> bool {
    world.get::<Droplet>(droplet).is_none_or(|droplet| droplet.state().lost)
}

/// A deleted endpoint holds its claim, but not its address.
pub(super) fn addresses_differ(world: &View<'_>) -> bool {
    let endpoints = world.all::<Endpoint>();
    let given: Vec<_> = endpoints
        .iter()
        .filter_map(|endpoint| {
            let address = endpoint.state().address;
            Some((address.vni?, address.ip?))
        })
        .collect();
    given.iter().collect::<BTreeSet<_>>().len() == given.len()
}

pub(super) fn addresses_are_usable(world: &View<'_>) -> bool {
    let subnets = world.all::<Subnet>();
    world.all::<Endpoint>().iter().all(|endpoint| {
        let address = endpoint.state().address;
        let (Some(ip), Some(mac)) = (address.ip, address.mac) else { return true };
        let first = u8::from_str_radix(mac.split(':').next().unwrap_or_default(), 16).unwrap_or(1);
        let subnet = subnets.iter().find(|subnet| subnet.metadata.name.as_ref() == Some(&endpoint.spec.net));
        let range = subnet.and_then(subnet_of);
        let is_usable = range.zip(ip.parse().ok()).is_none_or(|(range, ip)| {
            range.contains(ip) && ![range.network(), range.gateway(), range.broadcast()].contains(&ip)
        });
        first & 0b11 == 0b10 && is_usable
    })
}

pub(super) fn vnis_differ(world: &View<'_>) -> bool {
    let vnis: Vec<u32> = world.all::<Vpc>().iter().filter_map(|vpc| vpc.state().vni).collect();
    vnis.iter().collect::<BTreeSet<_>>().len() == vnis.len() && !vnis.contains(&0)
}

pub(super) fn provisioned_before_its_dividers(step: &Between<'_>) -> bool {
    let dividers = step.after.all::<Divider>();
    let was_init = |vpc: &Vpc| {
        let name = vpc.metadata.name.as_deref().unwrap_or_default();
        step.before.get::<Vpc>(name).is_some_and(|before| before.state().phase == Phase::Init)
    };
    step.after.all::<Vpc>().iter().any(|vpc| {
        let mut own = dividers.iter().filter(|divider| Some(&divider.spec.vpc) == vpc.metadata.name.as_ref());
        let is_moved = vpc.state().phase == Phase::Provisioned && was_init(vpc);
        is_moved && !own.any(|divider| divider.state().phase == Phase::Provisioned)
    })
}

/// No claim is of a holder that is gone.
pub(super) fn claims_have_holders(world: &View<'_>) -> bool {
    let (vpcs, endpoints) = (uids::<Vpc>(world), uids::<Endpoint>(world));
    world.all::<Allocation>().iter().all(|claim| {
        let holder = &claim.spec.holder.uid;
        vpcs.contains(holder) || endpoints.contains(holder)
    })
}

pub(super) fn no_claim_is_left(world: &View<'_>) -> bool {
    world.all::<Allocation>().is_empty()
}

fn uids<K: Kind>(world: &View<'_>) -> BTreeSet<String> {
    world.all::<K>().iter().filter_map(|object| object.object_meta().uid.clone()).collect()
}

/// An operator that takes note of a phase keeps no other from going on.
const OBSERVED: &str = "Observed";

/// Whether a step of a workflow was done before the one before it.
pub(super) fn is_out_of_order(step: &Between<'_>) -> bool {
    if !matches!(step.actor(), Actor::Controller { .. }) {
        return false;
    }
    of_kind_is_out_of_order::<Vpc>(step)
        || of_kind_is_out_of_order::<Subnet>(step)
        || of_kind_is_out_of_order::<Divider>(step)
        || of_kind_is_out_of_order::<Bouncer>(step)
        || of_kind_is_out_of_order::<Droplet>(step)
        || of_kind_is_out_of_order::<Endpoint>(step)
}

fn of_kind_is_out_of_order<K: Tracked>(step: &Between<'_>) -> bool {
    let before = step.before.all::<K>();
    step.after.all::<K>().iter().any(|after| {
        let Some(workflow) = workflow_of(after) else { return false };
        let uid = &after.object_meta().uid;
        let before = before.iter().find(|before| before.object_meta().uid == *uid);
        let was_done = |step: &WorkflowStep| before.is_some_and(|before| is_done(before, step));
        workflow.steps.iter().enumerate().any(|(number, step)| {
            let is_new = is_done(after, step) && !was_done(step);
            let mut earlier = workflow.steps[..number].iter().filter(|earlier| earlier.condition != OBSERVED);
            is_new && !earlier.all(|earlier| is_done(after, earlier))
        })
    })
}

/// The check must see every step of a workflow done that does not delete.
pub(super) fn sees_each_step<K: Tracked>(check: Check, workflow: &'static str) -> Check {
    let steps = WORKFLOWS.iter().filter(|known| known.name == workflow).flat_map(|known| known.steps);
    steps.fold(check, |check, step| {
        check.sometimes(&format!("{workflow}: {}", step.condition), move |world| {
            world.all::<K>().iter().any(|object| object.creation() == workflow && is_done(object, step))
        })
    })
}

/// Whether a phase has changed that the actor of the step has no business with.
pub(super) fn is_moved_by_a_stranger(step: &Between<'_>) -> bool {
    let Actor::Controller { name, .. } = step.actor() else { return false };
    let (before, after) = (phases(&step.before), phases(&step.after));
    before.iter().any(|(key, from)| {
        let moved = after.get(key).filter(|to| *to != from);
        moved.is_some_and(|to| !PhaseTransition::allows(key.0, *from, *to, name))
    })
}

fn phases(world: &View<'_>) -> BTreeMap<(&'static str, String), Phase> {
    let mut phases = BTreeMap::new();
    let mut add = |kind: &'static str, uid: Option<String>, phase: Phase| {
        phases.insert((kind, uid.unwrap_or_default()), phase);
    };
    world.all::<Vpc>().into_iter().for_each(|vpc| add("vpcs", vpc.metadata.uid.clone(), vpc.state().phase));
    world
        .all::<Subnet>()
        .into_iter()
        .for_each(|net| add("subnets", net.metadata.uid.clone(), net.state().phase));
    world
        .all::<Divider>()
        .into_iter()
        .for_each(|one| add("dividers", one.metadata.uid.clone(), one.state().phase));
    world
        .all::<Bouncer>()
        .into_iter()
        .for_each(|one| add("bouncers", one.metadata.uid.clone(), one.state().phase));
    world
        .all::<Droplet>()
        .into_iter()
        .for_each(|one| add("droplets", one.metadata.uid.clone(), one.state().phase));
    world
        .all::<Endpoint>()
        .into_iter()
        .for_each(|one| add("endpoints", one.metadata.uid.clone(), one.state().phase));
    phases
}
