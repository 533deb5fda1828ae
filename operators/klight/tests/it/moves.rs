//! Peers that change networks: what they leave stays there, and nothing goes with them.

use std::path::Path;

use tonic::metadata::MetadataValue;
use tonic::{Code, Request};
use windlass_klight::peer::{Event, JoinError, Liveness, Peer, PeerSettings};
use windlass_klight::wire::messages::lightpeer_client::LightpeerClient;
use windlass_klight::wire::messages::{ConnectRequest, Lightblock, PeerInfo};
use windlass_klight::wire::{CallError, JoinAbout};

use crate::support::{agreed, client, eventually, ids, peer, query, settings};

const BLUE: &str = "default/blue";
const GREEN: &str = "default/green";

fn about(network: &str) -> JoinAbout {
    JoinAbout { network: Some(network.to_owned()), ..JoinAbout::default() }
}

/// A network whose first member was not assigned to it, as the first has no contact to join.
async fn network(id: &str, size: usize) -> Vec<Peer> {
    let first = peer().await;
    let mut peers = vec![first];
    for _ in 1..size {
        let next = peer().await;
        client(&next).join_network(peers[0].address(), &about(id)).await.expect("it joins");
        peers.push(next);
    }
    if size > 1 {
        agreed(&peers.iter().collect::<Vec<_>>()).await;
    }
    client(&peers[0]).persist(format!("of {id}").into_bytes()).await.expect("it is kept");
    peers
}

async fn durable(folder: &Path) -> Peer {
    Peer::start(PeerSettings { data: Some(folder.to_owned()), ..settings() }).await.expect("it starts")
}

fn liveness(peer: &Peer, address: &str) -> Option<Liveness> {
    let members = peer.members();
    members.into_iter().find(|member| member.record.address == address)?.liveness
}

#[tokio::test]
async fn all_that_join_through_the_first_give_it_their_network() {
    let blue = network(BLUE, 3).await;
    for member in &blue {
        assert_eq!(member.network().as_deref(), Some(BLUE));
    }
    // Also those that join without naming a network.
    let late = peer().await;
    client(&late).join(blue[1].address()).await.unwrap();
    eventually("it is in the network", async || late.network().as_deref() == Some(BLUE)).await;
}

#[tokio::test]
async fn a_peer_that_moves_takes_nothing_along() {
    let (blue, green) = (network(BLUE, 3).await, network(GREEN, 2).await);
    let (mover, old_name, before) = (&blue[2], blue[2].name(), ids(&blue[0]));
    let joined = client(mover).join_network(green[0].address(), &about(GREEN)).await.unwrap();
    assert_eq!((joined.name, joined.network.as_deref()), (Some(mover.name()), Some(GREEN)));
    assert!(mover.name() != old_name && mover.name().starts_with(&old_name));
    assert_eq!(query(mover).await, ["of default/green"]);
    agreed(&[&green[0], &green[1], mover]).await;
    for member in &blue[..2] {
        eventually("it is dropped", async || liveness(member, mover.address()) == Some(Liveness::Dropped))
            .await;
    }
    // Both go on by themselves.
    client(&blue[0]).persist(b"more blue".to_vec()).await.unwrap();
    client(mover).persist(b"more green".to_vec()).await.unwrap();
    assert!(before.iter().all(|id| ids(&blue[0]).contains(id)));
    for member in &blue[..2] {
        assert_eq!(query(member).await, ["of default/blue", "more blue"]);
    }
    for member in [&green[0], &green[1], mover] {
        assert_eq!(query(member).await, ["of default/green", "more green"]);
        assert!(ids(member).iter().all(|id| !ids(&blue[0]).contains(id)));
    }
    let counters = mover.counters();
    assert_eq!(counters.networks_left, 1);
}

#[tokio::test]
async fn moving_again_to_the_same_network_does_nothing() {
    let (blue, green) = (network(BLUE, 2).await, network(GREEN, 2).await);
    let mover = &blue[1];
    mover.join_network(green[0].address(), GREEN).await.unwrap();
    agreed(&[&green[0], &green[1], mover]).await;
    let (name, blocks) = (mover.name(), ids(mover));
    for contact in [green[0].address(), green[1].address(), ""] {
        assert!(!mover.join_network(contact, GREEN).await.unwrap());
    }
    assert_eq!((mover.name(), ids(mover), mover.counters().networks_left), (name, blocks, 1));
}

#[tokio::test]
async fn a_peer_that_goes_back_is_a_member_again() {
    let (blue, green) = (network(BLUE, 2).await, network(GREEN, 1).await);
    let mover = &blue[1];
    mover.join_network(green[0].address(), GREEN).await.unwrap();
    client(mover).persist(b"green alone".to_vec()).await.unwrap();
    mover.join_network(blue[0].address(), BLUE).await.unwrap();
    agreed(&[&blue[0], mover]).await;
    assert_eq!(query(mover).await, ["of default/blue"]);
    assert_eq!(query(&green[0]).await, ["of default/green", "green alone"]);
    // A check from before it came back may have dropped it once more.
    eventually("it is live", async || liveness(&blue[0], mover.address()) == Some(Liveness::Live)).await;
}

#[tokio::test]
async fn what_comes_late_from_the_old_network_is_refused() {
    let (blue, green) = (network(BLUE, 2).await, network(GREEN, 1).await);
    let (mover, old_name) = (&blue[1], blue[1].name());
    mover.join_network(green[0].address(), GREEN).await.unwrap();
    let before = ids(mover);
    let mut raw = LightpeerClient::connect(format!("http://{}", mover.address())).await.unwrap();
    // For whom it is meant, and what it is about: each alone is enough.
    let new_name = mover.name();
    for (name, network, code) in [
        (Some(&old_name), None, Code::NotFound),
        (Some(&new_name), Some(BLUE), Code::PermissionDenied),
        (None, Some(BLUE), Code::PermissionDenied),
        (None, Some("two words"), Code::InvalidArgument),
    ] {
        let block = blue[0].blocks()[0].to_wire();
        let outcome = raw.notify_new_block(hinted(block, name, network)).await;
        assert_eq!(outcome.unwrap_err().code(), code);
        let peer = PeerInfo { address: "127.0.0.1:1".to_owned(), name: "late".to_owned() };
        let outcome = raw.connect_new_peer(hinted(ConnectRequest { peer: Some(peer) }, name, network)).await;
        assert_eq!(outcome.unwrap_err().code(), code);
    }
    assert_eq!(ids(mover), before);
    let block: Lightblock = mover.blocks()[0].to_wire();
    assert!(raw.notify_new_block(hinted(block, Some(&new_name), Some(GREEN))).await.is_ok());
}

fn hinted<Message>(message: Message, name: Option<&String>, network: Option<&str>) -> Request<Message> {
    let mut request = Request::new(message);
    if let Some(name) = name {
        let name = MetadataValue::from_bytes(name.as_bytes());
        request.metadata_mut().insert_bin("lightpeer-for-bin", name);
    }
    if let Some(network) = network {
        request.metadata_mut().insert("klight-network", network.parse().expect("ASCII"));
    }
    request
}

#[tokio::test]
async fn a_contact_of_another_network_is_distinguished_from_a_dead_one() {
    let (blue, green) = (network(BLUE, 2).await, network(GREEN, 2).await);
    // A new peer, with a block of its own, is asked to join a network that its contact is not in.
    let fresh = peer().await;
    client(&fresh).persist(b"its own".to_vec()).await.unwrap();
    let error = client(&fresh).join_network(blue[0].address(), &about(GREEN)).await.unwrap_err();
    assert!(matches!(&error, CallError::OtherNetwork { network, .. } if network == BLUE), "{error}");
    assert!(!error.blames_contact());
    assert!(error.to_string().contains("another network, default/blue"), "{error}");
    assert_eq!((query(&fresh).await, fresh.network()), (vec!["its own".to_owned()], None));
    // A member does not leave for it, and a network is not merged without a word either.
    let (name, before) = (green[1].name(), ids(&green[1]));
    for outcome in [
        green[1].join_network(blue[0].address(), "default/red").await,
        green[1].join(blue[0].address()).await,
    ] {
        assert!(
            matches!(&outcome, Err(JoinError::OtherNetwork { network, .. }) if network == BLUE),
            "{outcome:?}"
        );
    }
    assert_eq!((green[1].name(), ids(&green[1])), (name, before));
    assert_eq!(blue[0].members().len(), 2);
}

#[tokio::test]
async fn a_dead_contact_is_no_reason_to_leave() {
    let blue = network(BLUE, 2).await;
    let dead = peer().await;
    let address = dead.address().to_owned();
    dead.shutdown().await;
    let error = client(&blue[1]).join_network(&address, &about(GREEN)).await.unwrap_err();
    assert!(error.blames_contact(), "{error}");
    assert_eq!(blue[1].network().as_deref(), Some(BLUE));
    client(&blue[1]).persist(b"still here".to_vec()).await.unwrap();
    assert_eq!(query(&blue[0]).await, ["of default/blue", "still here"]);
}

#[tokio::test]
async fn the_first_of_a_new_network_leaves_its_old_one_without_a_contact() {
    let blue = network(BLUE, 3).await;
    let mover = &blue[0];
    let joined = client(mover).enter_network(GREEN).await.unwrap();
    assert_eq!(joined.network.as_deref(), Some(GREEN));
    assert!(mover.blocks().is_empty());
    blue[1].join_network(mover.address(), GREEN).await.unwrap();
    agreed(&[&blue[1], mover]).await;
    assert!(query(mover).await.is_empty());
    assert_eq!(query(&blue[2]).await, ["of default/blue"]);
}

#[tokio::test]
async fn a_move_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (blue, green) = (network(BLUE, 2).await, network(GREEN, 2).await);
    let mover = durable(folder.path()).await;
    mover.join_network(blue[0].address(), BLUE).await.unwrap();
    mover.join_network(green[0].address(), GREEN).await.unwrap();
    agreed(&[&green[0], &green[1], &mover]).await;
    let (name, address) = (mover.name(), mover.address().to_owned());
    mover.shutdown().await;
    client(&green[0]).persist(b"meanwhile".to_vec()).await.unwrap();
    let start = PeerSettings {
        data: Some(folder.path().to_owned()),
        listen: address.parse().unwrap(),
        // Its later assignment overrides this.
        network: Some(BLUE.to_owned()),
        ..settings()
    };
    let again = Peer::start(start).await.unwrap();
    assert_eq!((again.name(), again.network().as_deref()), (name, Some(GREEN)));
    agreed(&[&green[0], &green[1], &again]).await;
    assert_eq!(query(&again).await, ["of default/green", "meanwhile"]);
    assert_eq!(query(&blue[0]).await, ["of default/blue"]);
}

#[tokio::test]
async fn blocks_that_no_other_peer_has_are_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    let green = network(GREEN, 1).await;
    let alone = durable(folder.path()).await;
    alone.join_network("", BLUE).await.unwrap();
    client(&alone).persist(b"nowhere else".to_vec()).await.unwrap();
    let old: Vec<String> = ids(&alone);
    let mut events = alone.events();
    alone.join_network(green[0].address(), GREEN).await.unwrap();
    assert_eq!(query(&alone).await, ["of default/green"]);
    let Event::Left { network, to, blocks, alone: was_alone, kept } = events.recv().await.unwrap() else {
        panic!("the first event is that it has left");
    };
    assert_eq!((network.as_str(), to.as_str(), blocks, was_alone), (BLUE, GREEN, 1, true));
    let kept = kept.unwrap();
    assert!(kept.contains("chain-left-behind-in-default_blue"), "{kept}");
    alone.shutdown().await;
    // As the chain of a peer, it has the blocks.
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::copy(kept, elsewhere.path().join("chain")).unwrap();
    let restored = durable(elsewhere.path()).await;
    assert_eq!((ids(&restored), query(&restored).await), (old, vec!["nowhere else".to_owned()]));
}

#[tokio::test]
async fn blocks_that_would_be_lost_keep_a_peer_where_it_is() {
    let green = network(GREEN, 1).await;
    let blue = network(BLUE, 2).await;
    client(&blue[0]).persist(b"acknowledged".to_vec()).await.unwrap();
    // The other member has them.
    blue[0].join_network(green[0].address(), GREEN).await.unwrap();
    for contact in [green[0].address(), ""] {
        let about = blue[1].join_network(contact, GREEN);
        let refused = about.await.unwrap_err().to_string();
        assert!(refused.contains("its 2 blocks are in memory only"), "{refused}");
    }
    assert_eq!(blue[1].network().as_deref(), Some(BLUE));
    assert_eq!(query(&blue[1]).await, ["of default/blue", "acknowledged"]);
    let error = client(&blue[1]).enter_network(GREEN).await.unwrap_err();
    assert!(!error.blames_contact(), "{error}");
}

#[tokio::test]
async fn a_network_without_blocks_of_clients_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (first, green) = (peer().await, network(GREEN, 1).await);
    let mover = durable(folder.path()).await;
    mover.join_network(first.address(), BLUE).await.unwrap();
    mover.join_network(green[0].address(), GREEN).await.unwrap();
    let mut files: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["chain", "membership", "name"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_crosses_while_a_peer_goes_to_and_fro_under_load() {
    let (blue, green) = (network(BLUE, 2).await, network(GREEN, 2).await);
    let mover = peer().await;
    let load = |color: &'static str, members: &[Peer]| {
        let clients: Vec<_> = members.iter().map(client).collect();
        async move {
            for number in 0..40 {
                // When a member has just left, a block may have no second copy; that is an error, and does not matter here.
                let _ = clients[number % 2].persist(format!("{color} {number}").into_bytes()).await;
            }
        }
    };
    let loads = [tokio::spawn(load("of blue", &blue)), tokio::spawn(load("of green", &green))];
    for _ in 0..6 {
        mover.join_network(blue[0].address(), BLUE).await.unwrap();
        mover.join_network(green[0].address(), GREEN).await.unwrap();
    }
    for load in loads {
        load.await.unwrap();
    }
    agreed(&[&green[0], &green[1], &mover]).await;
    agreed(&[&blue[0], &blue[1]]).await;
    for (color, other, members) in
        [("blue", "green", [&blue[0], &blue[1]]), ("green", "blue", [&green[0], &mover])]
    {
        for member in members {
            let blocks = query(member).await;
            assert_eq!(blocks.iter().filter(|block| block.contains(color)).count(), 41);
            assert!(!blocks.iter().any(|block| block.contains(other)), "{blocks:?}");
        }
    }
}
