//! The worlds in which the controller is checked: pods, peers, what happens to them, and what must hold.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use kube::CustomResourceExt;
use serde_json::{Value, json};
use windlass::{Kind, Service};
use windlass_check::{Check, ClientEvent, Faults, Oracle, View, check};

use super::controller::LightNetworks;
use super::model::{PeerEvent, PeerModel};
use super::name::network_name;
use super::pod::{NETWORK_LABEL, Reachability, network_id_of, reachability};
use super::resource::{Contact, LightNetwork};
use super::round::is_same;
use super::service::Lightpeers;

const FIRST: &str = "10.0.0.1:9081";
const SECOND: &str = "10.0.0.2:9081";
const THIRD: &str = "10.0.0.3:9081";

/// Three pods in two networks: a member dies, its pod is deleted, and a pod of the other network gets its address.
pub fn reused_address(controller: LightNetworks) -> Check {
    // That networks are made on first sight is left to another world: it makes this one ten times as large.
    world(controller.without_making_networks(), PeerModel::new([("a1", FIRST), ("a2", SECOND)]))
        .given(["a", "b"].map(LightNetwork::with_id))
        .given([pod("a1", "a", FIRST), pod("a2", "a", SECOND), Pod { status: None, ..pod("b1", "b", FIRST) }])
        .client([dies(FIRST), ClientEvent::delete::<Pod>("a1"), starts("b1", FIRST), runs("b1", FIRST)])
        .always("two networks share no member", networks_are_apart)
        .sometimes("both are members of one network", |world| are_members(world, "a", &["a1", "a2"]))
        .sometimes("the address has changed hands", |world| are_members(world, "b", &["b1"]))
}

/// Three pods in one network, which is made on first sight: one refuses to join at first, and another one dies.
pub fn joiner_at_fault(controller: LightNetworks) -> Check {
    let mut peers = PeerModel::new([("a1", FIRST), ("a2", SECOND), ("a3", THIRD)]);
    peers.happen(PeerEvent::Refuses { address: SECOND.to_owned(), stubborn: true });
    world(controller, peers)
        .given([pod("a1", "a", FIRST), pod("a2", "a", SECOND), pod("a3", "a", THIRD)])
        .client([happens(PeerEvent::Refuses { address: SECOND.to_owned(), stubborn: false })])
        .client([dies(THIRD)])
        .faults(faults(1))
        .sometimes("one member dies", |world| are_members(world, "a", &["a1", "a2", "a3"]))
        .sometimes("one is refused", |world| are_members(world, "a", &["a1", "a3"]))
}

/// Three pods in two networks: one of them changes its label.
pub fn changed_label(controller: LightNetworks) -> Check {
    let relabelled = json!({ "metadata": { "labels": { NETWORK_LABEL: "b" } } });
    let peers = PeerModel::new([("a1", FIRST), ("a2", SECOND), ("b1", THIRD)]);
    world(controller.without_making_networks(), peers)
        .given(["a", "b"].map(LightNetwork::with_id))
        .given([pod("a1", "a", FIRST), pod("a2", "a", SECOND), pod("b1", "b", THIRD)])
        .client([ClientEvent::patch::<Pod>("a2", relabelled)])
        .faults(faults(1))
        .eventually("the two networks are apart", |world| {
            let model = peers_of(world);
            let (stayed, moved) =
                (model.serving_at(FIRST).unwrap_or(""), model.serving_at(SECOND).unwrap_or(""));
            !model.networks().iter().any(|peers| peers.contains(stayed) && peers.contains(moved))
        })
        .sometimes("it is a member here", |world| are_members(world, "a", &["a1", "a2"]))
        .sometimes("it is a member there", |world| are_members(world, "b", &["a2", "b1"]))
}

/// What all worlds have in common: some peers, what goes wrong, and what must hold.
fn world(controller: LightNetworks, peers: PeerModel) -> Check {
    let peers = serde_json::to_value(peers).expect("the model serializes");
    check(controller)
        .crd(&LightNetwork::crd())
        .service(Lightpeers::NAME, peers, PeerModel::answer)
        .service_reads(Lightpeers::NAME, |request| request["call"] == "health")
        .faults(faults(2))
        // Who is the newest member depends on who came first.
        .without(Oracle::OneResult)
        .always("a pod is in at most one entry", each_pod_once)
        .always("no pod is joined to itself", |world| !peers_of(world).joined_itself())
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

fn faults(crashes: u8) -> Faults {
    Faults::none().crashes(crashes).duplicates().reorders()
}

/// A pod that runs in a network.
fn pod(name: &str, network: &str, address: &str) -> Pod {
    let pod = json!({
        "metadata": { "name": name, "namespace": "default", "labels": { NETWORK_LABEL: network } },
        "spec": { "containers": [{ "name": "lightpeer", "image": "lightpeer" }] },
        "status": { "phase": "Running", "podIP": host(address) },
    });
    serde_json::from_value(pod).expect("a pod")
}

fn runs(pod: &str, address: &str) -> ClientEvent {
    let status = json!({ "phase": "Running", "podIP": host(address) });
    ClientEvent::patch_status::<Pod>(pod, json!({ "status": status }))
}

fn host(address: &str) -> &str {
    address.split_once(':').map_or(address, |(host, _)| host)
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
    pods.filter_map(|pod| match reachability(&pod) {
        Reachability::Reachable(contact) => Some(contact),
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
        let mut serving = live_pods(world, id);
        serving.retain(|pod| model.serving_at(&pod.address).is_some());
        let network = world.get::<LightNetwork>(&network_name(id));
        let stack = network.as_ref().map_or(&[][..], LightNetwork::stack);
        let members = stack.len() == serving.len()
            && serving.iter().all(|pod| stack.iter().any(|member| is_same(pod, member)));
        let connected = model.networks().iter().any(|peers| {
            serving.iter().all(|pod| model.serving_at(&pod.address).is_some_and(|peer| peers.contains(peer)))
        });
        members && (connected || serving.is_empty())
    })
}

/// Whether these are the members of a network.
fn are_members(world: &View<'_>, id: &str, pods: &[&str]) -> bool {
    let network = world.get::<LightNetwork>(&network_name(id));
    let stack = network.as_ref().map_or(&[][..], LightNetwork::stack);
    stack.len() == pods.len() && pods.iter().all(|pod| stack.iter().any(|member| member.pod == *pod))
}
