//! Peers for tests, and how tests wait for them.

use std::future::Future;
use std::time::Duration;

use windlass_klight::peer::{Peer, PeerSettings};
use windlass_klight::wire::{Client, ClientSettings};

/// Settings with short intervals and timeouts.
pub(crate) fn settings() -> PeerSettings {
    PeerSettings {
        check_interval: Duration::from_millis(50),
        call_deadline: Duration::from_secs(1),
        chain_deadline: Duration::from_secs(2),
        ..PeerSettings::default()
    }
}

pub(crate) async fn peer() -> Peer {
    Peer::start(settings()).await.expect("a free port")
}

/// Peers that have joined one after the other, each through the one before it.
pub(crate) async fn network(size: usize) -> Vec<Peer> {
    let mut peers: Vec<Peer> = Vec::new();
    for _ in 0..size {
        let next = peer().await;
        if let Some(contact) = peers.last() {
            assert!(client(&next).join(contact.address()).await.is_ok());
        }
        peers.push(next);
    }
    agreed(&peers.iter().collect::<Vec<_>>()).await;
    peers
}

pub(crate) fn client(peer: &Peer) -> Client {
    Client::new(peer.address(), &ClientSettings::default()).expect("an address")
}

pub(crate) async fn query(peer: &Peer) -> Vec<String> {
    let payloads = client(peer).query().await.expect("the peer answers");
    payloads.into_iter().map(|payload| String::from_utf8(payload).expect("tests write text")).collect()
}

pub(crate) fn ids(peer: &Peer) -> Vec<String> {
    peer.blocks().iter().map(|block| block.id.clone()).collect()
}

/// Waits until all have the same blocks, and each of them is recorded in these.
pub(crate) async fn agreed(peers: &[&Peer]) {
    let addresses: Vec<&str> = peers.iter().map(|peer| peer.address()).collect();
    eventually("the peers agree", async || {
        let knows =
            |peer: &Peer, address: &str| peer.members().iter().any(|member| member.record.address == address);
        peers
            .iter()
            .all(|peer| ids(peer) == ids(peers[0]) && addresses.iter().all(|address| knows(peer, address)))
    })
    .await;
}

/// Waits until a condition holds. The timeout is far longer than needed, and only ends broken tests.
pub(crate) async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), wait).await.is_ok(), "in vain: {what}");
}

/// All at once, each on a thread of its own if there are enough.
pub(crate) async fn together<Output: Send + 'static>(
    work: impl IntoIterator<Item = impl Future<Output = Output> + Send + 'static>,
) -> Vec<Output> {
    let tasks: Vec<_> = work.into_iter().map(tokio::spawn).collect();
    let mut outputs = Vec::new();
    for task in tasks {
        outputs.push(task.await.expect("nothing panics"));
    }
    outputs
}
