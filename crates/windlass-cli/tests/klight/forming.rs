//! Networks form, whatever happens to the controller, and are repaired, whatever happens to a peer.

use std::collections::{BTreeMap, BTreeSet};

use windlass_klight::peer::{Liveness, Peer};
use windlass_klight::wire::{Client, ClientSettings};

use crate::controller::Controller;
use crate::namespace::{Cluster, Namespace, eventually};

const NETWORKS: [&str; 3] = ["blue", "green", "My_Net"];
const PEERS_EACH: usize = 10;
const KILLS: usize = 5;

/// The name of the object of a network.
fn object(network: &str) -> String {
    windlass_klight::network::network_name(network)
}

pub(crate) async fn thirty_peers_while_the_controller_is_killed(namespace: &Namespace) {
    let mut order: Vec<(usize, &str)> =
        (0..PEERS_EACH).flat_map(|number| NETWORKS.map(|network| (number, network))).collect();
    shuffle(&mut order);
    let mut peers: BTreeMap<&str, Vec<Peer>> = BTreeMap::new();
    let mut controller = Controller::start(namespace);
    for (come, (number, network)) in order.iter().enumerate() {
        let pod = format!("{}-{number}", network.to_lowercase().replace('_', "-"));
        peers.entry(network).or_default().push(namespace.pod_with_peer(&pod, network).await);
        if come % (order.len() / KILLS) == 3 {
            // It is killed in the middle of its work: some have joined, and others wait.
            eventually("half of the pods have joined", async || all_members(namespace).await > come / 2)
                .await;
            drop(controller);
            controller = Controller::start(namespace);
        }
    }
    for network in NETWORKS {
        let name = object(network);
        eventually(&format!("{network} is whole"), async || {
            namespace.is_ready(&name).await && namespace.members(&name).await.len() == PEERS_EACH
        })
        .await;
    }
    for (network, peers) in &peers {
        check_connected(network, peers).await;
    }
    let counters: Vec<_> = peers.values().flatten().map(|peer| (peer.address(), peer.counters())).collect();
    for (address, counted) in &counters {
        assert!(counted.joins_done <= 1, "{address} joined twice: {counted:?}");
        assert_eq!(counted.joins_failed, 0, "{address}: {counted:?}");
    }
    let joined: u64 = counters.iter().map(|(_, counted)| counted.joins_done).sum();
    // The first of each network has no peer to join.
    assert_eq!(joined as usize, NETWORKS.len() * (PEERS_EACH - 1));
    let repeated: u64 = counters.iter().map(|(_, counted)| counted.joins_repeated).sum();
    println!("{joined} joins, of which a kill repeated {repeated}");
    assert!(repeated as usize <= KILLS * NETWORKS.len(), "at most one per network and kill: {repeated}");
}

pub(crate) async fn a_killed_contact_is_forgotten_and_its_network_goes_on(namespace: &Namespace) {
    let _controller = Controller::start(namespace);
    let mut peers = Vec::new();
    for pod in ["a", "b", "c"] {
        peers.push(namespace.pod_with_peer(pod, "blue").await);
        eventually("it has joined", async || {
            namespace.members("blue").await.first().is_some_and(|head| head == pod)
        })
        .await;
    }
    // The head, and the one at the bottom of the stack: one dies, and the pod of the other is deleted with it.
    peers.remove(2).shutdown().await;
    peers.remove(0).shutdown().await;
    namespace.delete_pod("a").await;
    eventually("both are forgotten", async || namespace.members("blue").await == ["b"]).await;
    let (status, message) = namespace.condition("blue", "Joined").await;
    assert_eq!(status, "False");
    assert!(message.starts_with("1 of 2 pods are members; pod c: cannot reach the peer"), "{message}");
    eventually("an event reports it", async || {
        namespace.events("ContactLost").await.iter().any(|note| note.starts_with("pod c: "))
    })
    .await;
    peers.push(namespace.pod_with_peer("d", "blue").await);
    eventually("a new one joins", async || namespace.members("blue").await == ["d", "b"]).await;
    check_connected("blue", &peers).await;
}

pub(crate) async fn an_id_in_two_namespaces_is_two_networks(cluster: &Cluster) {
    let [one, other, foreign] =
        [cluster.namespace("one").await, cluster.existing("default"), cluster.namespace("foreign").await];
    let not_looked_after = foreign.pod_with_peer("c-1", "blue").await;
    let _controller = Controller::start_for(&[&one, &other]);
    let in_one = [one.pod_with_peer("a-1", "blue").await, one.pod_with_peer("a-2", "blue").await];
    let in_other = [other.pod_with_peer("b-1", "blue").await, other.pod_with_peer("b-2", "blue").await];
    for namespace in [&one, &other] {
        eventually("both pods are members", async || namespace.members("blue").await.len() == 2).await;
    }
    check_connected("one", &in_one).await;
    check_connected("other", &in_other).await;
    assert!(foreign.network("blue").await.is_none());
    assert_eq!(not_looked_after.counters().joins_asked, 0);
}

async fn all_members(namespace: &Namespace) -> usize {
    let mut members = 0;
    for network in NETWORKS {
        members += namespace.members(&object(network)).await.len();
    }
    members
}

/// Asserts that every peer knows exactly the others of its network, and that all have what one was given.
async fn check_connected(network: &str, peers: &[Peer]) {
    let addresses: BTreeSet<String> = peers.iter().map(|peer| peer.address().to_owned()).collect();
    let client = |peer: &Peer| Client::new(peer.address(), &ClientSettings::default()).expect("an address");
    client(&peers[0]).persist(network.as_bytes().to_vec()).await.expect("it is acknowledged");
    for peer in peers {
        eventually(&format!("{} knows all of {network}", peer.address()), async || {
            let known: BTreeSet<String> = peer
                .members()
                .into_iter()
                .filter(|member| member.liveness.is_none_or(|liveness| liveness == Liveness::Live))
                .map(|member| member.record.address)
                .collect();
            known == addresses && client(peer).query().await.expect("it answers") == [network.as_bytes()]
        })
        .await;
    }
}

/// An order that looks random and is the same each time.
fn shuffle<Item>(items: &mut [Item]) {
    let mut seed: u64 = 0x5eed;
    for index in (1..items.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(index, (seed >> 33) as usize % (index + 1));
    }
}
