//! Peers that end and come back: with their chain, with nothing, at another address, or as somebody else.

use std::path::Path;

use tonic::metadata::MetadataValue;
use tonic::{Code, Request};
use windlass_klight::peer::{Event, Liveness, Peer, PeerSettings};
use windlass_klight::wire::messages::lightpeer_client::LightpeerClient;

use crate::support::{agreed, client, eventually, ids, network, query, settings};

async fn durable(folder: &Path) -> Peer {
    Peer::start(PeerSettings { data: Some(folder.to_owned()), ..settings() }).await.expect("it works")
}

fn liveness(peer: &Peer, address: &str) -> Option<Liveness> {
    let members = peer.members();
    members.into_iter().find(|member| member.record.address == address)?.liveness
}

#[tokio::test]
async fn a_chain_survives_and_the_peer_returns_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let peers = network(2).await;
    let first = durable(folder.path()).await;
    first.join(peers[0].address()).await.unwrap();
    client(&first).persist(b"before".to_vec()).await.unwrap();
    let (name, before) = (first.name(), ids(&first));
    first.shutdown().await;
    client(&peers[0]).persist(b"meanwhile".to_vec()).await.unwrap();

    // A free port again, so it has another address.
    let second = durable(folder.path()).await;
    assert_eq!(second.name(), name);
    assert!(before.iter().all(|id| ids(&second).contains(id)));
    agreed(&[&peers[0], &peers[1], &second]).await;
    assert_eq!(query(&second).await, ["before", "meanwhile"]);
    assert_eq!(second.counters().joins_asked, 0);
    client(&second).persist(b"after".to_vec()).await.unwrap();
    assert_eq!(query(&peers[1]).await, ["before", "meanwhile", "after"]);
}

#[tokio::test]
async fn a_whole_network_survives() {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut peers = Vec::new();
    for folder in &folders {
        let peer = durable(folder.path()).await;
        if let Some(contact) = peers.first().map(Peer::address) {
            peer.join(contact).await.unwrap();
        }
        peers.push(peer);
    }
    agreed(&peers.iter().collect::<Vec<_>>()).await;
    client(&peers[1]).persist(b"kept".to_vec()).await.unwrap();
    let addresses: Vec<_> = peers.iter().map(|peer| peer.address().parse().unwrap()).collect();
    for peer in peers {
        peer.shutdown().await;
    }
    let mut again = Vec::new();
    for (folder, listen) in folders.iter().zip(addresses) {
        let data = Some(folder.path().to_owned());
        again.push(Peer::start(PeerSettings { data, listen, ..settings() }).await.unwrap());
    }
    client(&again[2]).persist(b"more".to_vec()).await.unwrap();
    agreed(&again.iter().collect::<Vec<_>>()).await;
    for peer in &again {
        assert_eq!(query(peer).await, ["kept", "more"]);
    }
}

/// Ends a member of a network of three, waits until it is dropped, and starts another at its address.
async fn replaced(old_name: &str, new_name: &str) -> (Vec<Peer>, Peer) {
    let peers = network(2).await;
    let named = |name: &str| PeerSettings { name: Some(name.to_owned()), ..settings() };
    let old = Peer::start(named(old_name)).await.expect("it works");
    old.join(peers[0].address()).await.expect("it works");
    client(&old).persist(b"kept".to_vec()).await.expect("it works");
    agreed(&[&peers[0], &peers[1], &old]).await;
    let address = old.address().to_owned();
    old.shutdown().await;
    for peer in &peers {
        eventually("it is dropped", async || liveness(peer, &address) == Some(Liveness::Dropped)).await;
    }
    let new = Peer::start(PeerSettings { listen: address.parse().expect("it works"), ..named(new_name) })
        .await
        .expect("it works");
    (peers, new)
}

#[tokio::test]
async fn a_peer_that_returns_with_nothing_is_taken_back_by_its_name() {
    let (peers, returned) = replaced("pod-0", "pod-0").await;
    agreed(&[&peers[0], &peers[1], &returned]).await;
    assert_eq!(query(&returned).await, ["kept"]);
    eventually("it counts again", async || liveness(&peers[0], returned.address()) == Some(Liveness::Live))
        .await;
    eventually("that is said", async || peers[0].counters().peers_returned > 0).await;
}

#[tokio::test]
async fn another_peer_at_the_address_of_a_dead_one_is_left_alone() {
    let (peers, stranger) = replaced("pod-0", "pod-1").await;
    // Blocks go on to be spread, and checks to be made, with the stranger at a known address.
    for number in 0..5 {
        client(&peers[0]).persist(format!("{number}").into_bytes()).await.unwrap();
    }
    assert!(stranger.blocks().is_empty() && stranger.members().is_empty());
    assert_eq!(liveness(&peers[0], stranger.address()), Some(Liveness::Dropped));
    // Until it is asked to join.
    stranger.join(peers[1].address()).await.unwrap();
    agreed(&[&peers[0], &peers[1], &stranger]).await;
    assert_eq!(liveness(&peers[0], stranger.address()), Some(Liveness::Live));
}

#[tokio::test]
async fn a_peer_whose_address_another_has_got_is_dropped() {
    // Tolerates enough failures that the other is there before it is dropped for not answering.
    let tolerant = PeerSettings { failures_until_dropped: 40, ..settings() };
    let member = Peer::start(tolerant).await.unwrap();
    let old = Peer::start(settings()).await.unwrap();
    old.join(member.address()).await.unwrap();
    agreed(&[&member, &old]).await;
    let (address, mut events) = (old.address().to_owned(), member.events());
    old.shutdown().await;
    let stranger =
        Peer::start(PeerSettings { listen: address.parse().unwrap(), ..settings() }).await.unwrap();
    loop {
        if let Event::PeerDropped { reason, .. } = events.recv().await.unwrap() {
            assert!(reason.contains("has its address now"), "{reason}");
            break;
        }
    }
    assert!(stranger.blocks().is_empty());
}

#[tokio::test]
async fn what_is_meant_for_another_is_refused() {
    let peers = network(2).await;
    let mut raw = LightpeerClient::connect(format!("http://{}", peers[0].address())).await.unwrap();
    let mut notify = async |name: &str| {
        let mut request = Request::new(peers[0].blocks()[0].to_wire());
        let name = MetadataValue::from_bytes(name.as_bytes());
        request.metadata_mut().insert_bin("lightpeer-for-bin", name);
        raw.notify_new_block(request).await
    };
    assert!(notify(&peers[0].name()).await.is_ok());
    assert_eq!(notify("somebody else").await.unwrap_err().code(), Code::NotFound);
}
