//! Networks form, agree, and go on without the dead.

use windlass_klight::peer::{Liveness, Peer, PeerSettings};
use windlass_klight::wire::Health;

use crate::support::{agreed, client, eventually, network, peer, query, settings, together};

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

#[tokio::test]
async fn what_is_persisted_at_one_is_queried_from_all() {
    let peers = network(3).await;
    let mut expected = Vec::new();
    for (index, peer) in peers.iter().chain(&peers).enumerate() {
        let payload = format!("block {index}");
        client(peer).persist(payload.clone().into_bytes()).await.unwrap();
        expected.push(payload);
        // An acknowledged block is with all that are live, at once.
        for other in &peers {
            assert_eq!(query(other).await, expected);
        }
    }
}

#[tokio::test]
async fn a_late_joiner_gets_the_chain() {
    let mut peers = network(2).await;
    client(&peers[0]).persist(b"early".to_vec()).await.unwrap();
    let late = peer().await;
    client(&late).join(peers[1].address()).await.unwrap();
    assert_eq!(query(&late).await, ["early"]);
    client(&late).persist(b"later".to_vec()).await.unwrap();
    peers.push(late);
    agreed(&peers.iter().collect::<Vec<_>>()).await;
    for peer in &peers {
        assert_eq!(query(peer).await, ["early", "later"]);
    }
}

#[tokio::test]
async fn joining_again_does_nothing() {
    let peers = network(2).await;
    let blocks = peers[0].blocks().len();
    let answer = client(&peers[1]).join(peers[0].address()).await.unwrap();
    assert!(answer.result.contains("already a member"), "{}", answer.result);
    // The other way round it is the same network too.
    client(&peers[0]).join(peers[1].address()).await.unwrap();
    assert_eq!((peers[0].blocks().len(), peers[1].blocks().len()), (blocks, blocks));
    let counters = peers[1].counters();
    assert_eq!((counters.joins_asked, counters.joins_done, counters.joins_repeated), (2, 1, 1));
}

#[tokio::test]
async fn a_joiner_keeps_its_own_blocks_and_brings_them_in() {
    let peers = network(2).await;
    client(&peers[0]).persist(b"theirs".to_vec()).await.unwrap();
    let joiner = peer().await;
    client(&joiner).persist(b"its own".to_vec()).await.unwrap();
    client(&joiner).join(peers[0].address()).await.unwrap();
    // When it has joined, it is not the only one to have its blocks.
    assert!(query(&peers[0]).await.contains(&"its own".to_owned()));
    agreed(&[&peers[0], &peers[1], &joiner]).await;
    let everywhere = query(&joiner).await;
    assert_eq!(sorted(everywhere.clone()), ["its own", "theirs"]);
    assert_eq!(query(&peers[1]).await, everywhere);
}

#[tokio::test]
async fn two_networks_become_one() {
    let (left, right) = (network(3).await, network(3).await);
    client(&left[0]).persist(b"left".to_vec()).await.unwrap();
    client(&right[0]).persist(b"right".to_vec()).await.unwrap();
    client(&left[1]).join(right[2].address()).await.unwrap();
    let all: Vec<_> = left.iter().chain(&right).collect();
    agreed(&all).await;
    for peer in all {
        assert_eq!(sorted(query(peer).await), ["left", "right"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_joins_through_different_contacts_converge() {
    let mut peers = network(2).await;
    let mut joiners = Vec::new();
    for _ in 0..8 {
        joiners.push(peer().await);
    }
    let joins: Vec<_> = joiners
        .iter()
        .enumerate()
        .map(|(index, joiner)| {
            let (client, contact) = (client(joiner), peers[index % 2].address().to_owned());
            async move { client.join(&contact).await.map(|_| ()) }
        })
        .collect();
    for outcome in together(joins).await {
        outcome.unwrap();
    }
    peers.extend(joiners);
    agreed(&peers.iter().collect::<Vec<_>>()).await;
    for peer in &peers {
        assert_eq!(peer.members().len(), 10);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_clients_end_in_one_order() {
    let peers = network(3).await;
    let clients: Vec<_> = (0..30)
        .map(|index| {
            let client = client(&peers[index % 3]);
            async move { client.persist(format!("{index}").into_bytes()).await.unwrap() }
        })
        .collect();
    together(clients).await;
    agreed(&peers.iter().collect::<Vec<_>>()).await;
    let order = query(&peers[0]).await;
    assert_eq!(order.len(), 30);
    assert_eq!(query(&peers[1]).await, order);
    assert_eq!(query(&peers[2]).await, order);
}

#[tokio::test]
async fn the_dead_are_dropped_and_the_rest_go_on() {
    let mut peers = network(3).await;
    client(&peers[2]).persist(b"before".to_vec()).await.unwrap();
    let dead = peers.remove(2);
    let address = dead.address().to_owned();
    dead.shutdown().await;
    // Also while it is not yet dropped: one other has the block.
    client(&peers[0]).persist(b"meanwhile".to_vec()).await.unwrap();
    for peer in &peers {
        eventually("the dead one is dropped", async || {
            let members = peer.members();
            let dead = members.iter().find(|member| member.record.address == address);
            dead.is_some_and(|dead| dead.liveness == Some(Liveness::Dropped))
        })
        .await;
        assert_eq!(peer.counters().peers_dropped, 1);
    }
    client(&peers[1]).persist(b"after".to_vec()).await.unwrap();
    assert_eq!(query(&peers[0]).await, ["before", "meanwhile", "after"]);
}

#[tokio::test]
async fn what_no_other_has_taken_is_not_acknowledged() {
    // No peer is dropped during a test.
    let first = Peer::start(PeerSettings { failures_until_dropped: u32::MAX, ..settings() }).await.unwrap();
    let second = peer().await;
    let address = second.address().to_owned();
    second.join(first.address()).await.unwrap();
    agreed(&[&first, &second]).await;
    second.shutdown().await;
    let message = client(&first).persist(b"alone".to_vec()).await.unwrap_err().to_string();
    assert!(message.contains("kept here only") && message.contains(&address), "{message}");
    assert_eq!(first.counters().persists_failed, 1);
}

#[tokio::test]
async fn health_is_reported() {
    let peer = peer().await;
    assert_eq!(client(&peer).health().await.unwrap(), Health::Serving);
    let client = client(&peer);
    peer.shutdown().await;
    assert!(client.health().await.is_err());
}
