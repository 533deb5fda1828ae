//! The worlds in which the controller is checked: pods, peers, what happens to them, and what must hold.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use kube::CustomResourceExt;
use serde_json::{Value, json};
use windlass::{Kind, Service};
use windlass_check::{Check, ClientEvent, Faults, View, check};

use super::controller::LightNetworks;
use super::model::{PeerEvent, PeerModel};
use super::name::network_name;
use super::pod::{NETWORK_LABEL, Standing, network_id_of, standing};
use super::resource::{Contact, LightNetwork};
use super::round::is_same;
use super::service::Lightpeers;

/// Three pods in two networks: a member dies, its pod is deleted, and a pod of the other network gets its address.
pub fn reused_address(controller: LightNetworks) -> Check {
    world(controller, [("a1", "10.0.0.1:9081"), ("a2", "10.0.0.2:9081")])
        .given([pod("a1", "a", "10.0.0.1"), pod("a2", "a", "10.0.0.2")])
        .client([
            dies("10.0.0.1:9081"),
            ClientEvent::delete::<Pod>("a1"),
            ClientEvent::create(pod("b1", "b", "10.0.0.1")),
            starts("b1", "10.0.0.1:9081"),
            runs("b1", "10.0.0.1"),
        ])
        .sometimes("both are members of one network", |world| are_members(world, "a", &["a1", "a2"]))
        .sometimes("the address has changed hands", |world| are_members(world, "b", &["b1"]))
}

/// What all worlds have in common: peers of these names at these addresses, and what must hold.
fn world<'a>(controller: LightNetworks, peers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Check {
    let peers = serde_json::to_value(PeerModel::new(peers)).expect("the model serializes");
    check(controller)
        .crd(&LightNetwork::crd())
        .service(Lightpeers::NAME, peers, PeerModel::answer)
        .service_reads(Lightpeers::NAME, |request| request["call"] == "health")
        .faults(Faults::none().crashes(2).duplicates().reorders())
        .always("a pod is in at most one entry", each_pod_once)
        .always("no pod is joined to itself", |world| !peers_of(world).joined_itself())
        .always("two networks share no member", networks_are_apart)
        .never_between("a contact that lives is popped", |step| {
            networks(&step.before).iter().any(|before| {
                let after = step.after.get::<LightNetwork>(name(before));
                let is_kept =
                    |pod: &str| after.iter().any(|after| after.stack().iter().any(|kept| kept.pod == pod));
                before
                    .stack()
                    .iter()
                    .any(|contact| !is_kept(&contact.pod) && lives(&step.after, before, contact))
            })
        })
        .eventually("all live pods of a network are its members, and connected", all_are_connected)
}

/// A pod that runs in a network.
fn pod(name: &str, network: &str, ip: &str) -> Pod {
    let pod = json!({
        "metadata": { "name": name, "namespace": "default", "labels": { NETWORK_LABEL: network } },
        "spec": { "containers": [{ "name": "lightpeer", "image": "lightpeer" }] },
        "status": { "phase": "Running", "podIP": ip },
    });
    serde_json::from_value(pod).expect("a pod")
}

fn runs(pod: &str, ip: &str) -> ClientEvent {
    ClientEvent::patch_status::<Pod>(pod, json!({ "status": { "phase": "Running", "podIP": ip } }))
}

fn starts(peer: &str, address: &str) -> ClientEvent {
    happens(PeerEvent::Starts { address: address.to_owned(), peer: peer.to_owned() })
}

fn dies(address: &str) -> ClientEvent {
    happens(PeerEvent::Dies { address: address.to_owned() })
}

fn happens(event: PeerEvent) -> ClientEvent {
    ClientEvent::call(event.clone(), &event)
}

fn peers_of(world: &View<'_>) -> PeerModel {
    let state: Value = world.service(Lightpeers::NAME).cloned().unwrap_or_default();
    serde_json::from_value(state).expect("the model's own state")
}

fn networks(world: &View<'_>) -> Vec<LightNetwork> {
    world.all()
}

fn name(network: &LightNetwork) -> &str {
    network.object_meta().name.as_deref().unwrap_or_default()
}

/// The pods of a network that run.
fn live_pods(world: &View<'_>, id: &str) -> Vec<Contact> {
    let pods = world.all::<Pod>().into_iter().filter(|pod| network_id_of(pod) == Some(id));
    pods.filter_map(|pod| match standing(&pod) {
        Standing::Reachable(contact) => Some(contact),
        _ => None,
    })
    .collect()
}

/// Whether a contact is a running pod of its network, and its peer serves.
fn lives(world: &View<'_>, network: &LightNetwork, contact: &Contact) -> bool {
    let has_pod = live_pods(world, &network.spec.network_id).iter().any(|pod| is_same(pod, contact));
    has_pod && contact.peer.as_ref().is_some_and(|peer| peers_of(world).serves(peer))
}

fn each_pod_once(world: &View<'_>) -> bool {
    networks(world).iter().all(|network| {
        let stack = network.stack();
        let pods: BTreeSet<&str> = stack.iter().map(|contact| contact.uid.as_str()).collect();
        pods.len() == stack.len()
    })
}

/// Peers are called after their pods, and pods after their networks.
fn networks_are_apart(world: &View<'_>) -> bool {
    let of = |peer: &str| peer.chars().next();
    peers_of(world).networks().iter().all(|peers| {
        let networks: BTreeSet<Option<char>> = peers.iter().map(|peer| of(peer)).collect();
        networks.len() == 1
    })
}

fn all_are_connected(world: &View<'_>) -> bool {
    let model = peers_of(world);
    let pods = world.all::<Pod>();
    let ids: BTreeSet<&str> = pods.iter().filter_map(network_id_of).collect();
    ids.iter().all(|id| {
        let serving: Vec<Contact> =
            live_pods(world, id).into_iter().filter(|pod| model.serves(&pod.pod)).collect();
        let network = world.get::<LightNetwork>(&network_name(id));
        let stack = network.as_ref().map_or(&[][..], LightNetwork::stack);
        let members = stack.len() == serving.len()
            && serving.iter().all(|pod| stack.iter().any(|member| is_same(pod, member)));
        let connected =
            model.networks().iter().any(|peers| serving.iter().all(|pod| peers.contains(pod.pod.as_str())));
        members && (connected || serving.is_empty())
    })
}

/// Whether these are the members of a network.
fn are_members(world: &View<'_>, id: &str, pods: &[&str]) -> bool {
    let network = world.get::<LightNetwork>(&network_name(id));
    let stack = network.as_ref().map_or(&[][..], LightNetwork::stack);
    stack.len() == pods.len() && pods.iter().all(|pod| stack.iter().any(|member| member.pod == *pod))
}
