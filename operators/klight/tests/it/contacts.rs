//! Invalid, silent and hostile contacts: the peer that joins reports them and stays unchanged.

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, stream};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status};
use windlass_klight::peer::chain::ChainLimits;
use windlass_klight::peer::{Peer, PeerSettings};
use windlass_klight::wire::messages::lightpeer_client::LightpeerClient;
use windlass_klight::wire::messages::lightpeer_server::{Lightpeer, LightpeerServer};
use windlass_klight::wire::messages::{
    ConnectRequest, EmptyQueryRequest, JoinRequest, JoinResponse, Lightblock, NewBlockResponse, PeerInfo,
    PersistRequest, PersistResponse, QueryResponse,
};
use windlass_klight::wire::{CallError, Client, ClientSettings};

use crate::support::{client, eventually, ids, network, peer, query, settings};

type Answers<Message> = Pin<Box<dyn Stream<Item = Result<Message, Status>> + Send>>;

/// What a newcomer gets for a chain.
type Blocks = fn() -> Answers<Lightblock>;

/// A lightpeer that answers every newcomer with the same blocks.
struct Impostor {
    blocks: Blocks,
}

#[tonic::async_trait]
impl Lightpeer for Impostor {
    type ConnectNewPeerStream = Answers<Lightblock>;
    type QueryStream = Answers<QueryResponse>;

    async fn join_network(&self, _: Request<JoinRequest>) -> Result<Response<JoinResponse>, Status> {
        Err(Status::unimplemented("only for newcomers"))
    }

    async fn connect_new_peer(
        &self,
        _: Request<ConnectRequest>,
    ) -> Result<Response<Answers<Lightblock>>, Status> {
        Ok(Response::new((self.blocks)()))
    }

    async fn persist(&self, _: Request<PersistRequest>) -> Result<Response<PersistResponse>, Status> {
        Err(Status::unimplemented("only for newcomers"))
    }

    async fn query(&self, _: Request<EmptyQueryRequest>) -> Result<Response<Answers<QueryResponse>>, Status> {
        Err(Status::unimplemented("only for newcomers"))
    }

    async fn notify_new_block(&self, _: Request<Lightblock>) -> Result<Response<NewBlockResponse>, Status> {
        Ok(Response::new(NewBlockResponse::default()))
    }
}

async fn impostor(blocks: Blocks) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let service = LightpeerServer::new(Impostor { blocks });
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(TcpIncoming::from(listener)));
    address
}

fn block(id: &str, previous: &str) -> Lightblock {
    Lightblock { id: id.to_owned(), prev_id: previous.to_owned(), r#type: 1, ..Lightblock::default() }
}

/// A peer with a block of its own was asked to join: it must blame the contact, say why, and be unchanged.
#[track_caller]
fn check_blamed(outcome: Result<impl std::fmt::Debug, CallError>, why: &str) {
    let error = outcome.expect_err("it cannot join");
    assert!(error.blames_contact(), "{error}");
    assert!(error.to_string().contains(why), "{error}");
}

async fn joiner(settings: PeerSettings) -> Peer {
    let joiner = Peer::start(settings).await.expect("it starts");
    client(&joiner).persist(b"its own".to_vec()).await.expect("it is alone");
    joiner
}

#[tokio::test]
async fn garbage_is_refused_and_changes_nothing() {
    let cases: [(Blocks, &str); 6] = [
        (|| Box::pin(stream::iter([])), "no block in it"),
        (|| Box::pin(stream::iter([Ok(Lightblock::default())])), "without an identifier"),
        (|| Box::pin(stream::iter([Ok(block("a", "")), Ok(block("b", "missing"))])), "which is not known"),
        (|| Box::pin(stream::iter([Ok(block("a", "b")), Ok(block("b", "a"))])), "which is not known"),
        (|| Box::pin(stream::iter([Ok(Lightblock { r#type: 9, ..block("a", "") })])), "unknown type"),
        (|| Box::pin(stream::iter([Ok(block("a", "")), Err(Status::data_loss("sorry"))])), "sorry"),
    ];
    let joiner = joiner(settings()).await;
    let before = ids(&joiner);
    for (blocks, why) in cases {
        let contact = impostor(blocks).await;
        check_blamed(client(&joiner).join(&contact).await, why);
        assert_eq!(ids(&joiner), before);
        assert!(joiner.members().is_empty());
    }
    assert_eq!(joiner.counters().joins_failed, 6);
}

#[tokio::test]
async fn a_chain_without_an_end_meets_the_limit() {
    let limits = ChainLimits { bytes: 1 << 20, ..ChainLimits::default() };
    let joiner = joiner(PeerSettings { limits, chain_deadline: Duration::from_secs(60), ..settings() }).await;
    let contact = impostor(|| {
        let endless = (0..).map(|number: u64| Ok(block(&format!("{}", number + 1), &format!("{number}"))));
        Box::pin(stream::iter(endless))
    })
    .await;
    check_blamed(client(&joiner).with_deadline(Duration::from_secs(60)).join(&contact).await, "the limit");
    assert_eq!(joiner.blocks().len(), 1);
}

#[tokio::test]
async fn a_large_block_of_a_contact_is_refused() {
    let limits = ChainLimits { payload_bytes: 1000, ..ChainLimits::default() };
    let joiner = joiner(PeerSettings { limits, ..settings() }).await;
    let contact =
        impostor(|| Box::pin(stream::iter([Ok(Lightblock { payload: vec![0; 2000], ..block("a", "") })])))
            .await;
    check_blamed(client(&joiner).join(&contact).await, "2000 bytes");
    let contact = impostor(|| {
        Box::pin(stream::iter([Ok(Lightblock { payload: vec![0; 2_000_000], ..block("a", "") })]))
    })
    .await;
    check_blamed(client(&joiner).join(&contact).await, "too large");
}

#[tokio::test]
async fn a_contact_that_never_answers_meets_the_deadline() {
    // The system completes connections that are never accepted, so this one is silent forever.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let contact = silent.local_addr().unwrap().to_string();
    let joiner = joiner(PeerSettings { chain_deadline: Duration::from_millis(300), ..settings() }).await;
    check_blamed(client(&joiner).join(&contact).await, "did not answer within 300ms");
}

#[tokio::test]
async fn every_call_to_a_silent_peer_meets_its_deadline() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = ClientSettings { deadline: Duration::from_millis(200), ..ClientSettings::default() };
    let client = Client::new(&silent.local_addr().unwrap().to_string(), &settings).unwrap();
    let outcomes = [
        client.health().await.map(|_| ()),
        client.join("127.0.0.1:1").await.map(|_| ()),
        client.persist(Vec::new()).await.map(|_| ()),
        client.query().await.map(|_| ()),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Err(CallError::Deadline { .. })), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_chain_that_stops_halfway_meets_the_deadline() {
    let joiner = joiner(PeerSettings { chain_deadline: Duration::from_millis(300), ..settings() }).await;
    let contact = impostor(|| {
        Box::pin(futures::StreamExt::chain(stream::iter([Ok(block("a", ""))]), stream::pending()))
    })
    .await;
    check_blamed(client(&joiner).join(&contact).await, "did not answer within 300ms");
    assert_eq!(joiner.blocks().len(), 1);
}

#[tokio::test]
async fn a_contact_that_is_not_there_is_blamed() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let joiner = joiner(settings()).await;
    check_blamed(client(&joiner).join(&unused).await, "cannot reach the peer");
}

#[tokio::test]
async fn a_join_that_means_another_peer_is_refused() {
    let (joiner, contact) = (peer().await, peer().await);
    let client = client(&joiner);
    let error = client.join_meant(Some("another"), contact.address(), None).await.unwrap_err();
    assert!(!error.blames_contact(), "{error}");
    assert_eq!(joiner.counters().joins_asked, 0);
    check_blamed(
        client.join_meant(Some(&joiner.name()), contact.address(), Some("another")).await,
        "another peer",
    );
    assert_eq!(joiner.counters().joins_done, 0);
    client.join_meant(Some(&joiner.name()), contact.address(), Some(&contact.name())).await.unwrap();
    client.join_meant(None, contact.address(), Some(&contact.name())).await.unwrap();
    assert_eq!((joiner.counters().joins_done, joiner.counters().joins_repeated), (1, 1));
}

#[tokio::test]
async fn a_join_to_itself_or_to_no_address_is_refused_without_blame() {
    let joiner = peer().await;
    for (contact, why) in [(joiner.address(), "cannot join itself"), ("nonsense", "HOST:PORT"), ("", "empty")]
    {
        let error = client(&joiner).join(contact).await.unwrap_err();
        assert!(matches!(error, CallError::Refused { code: Code::InvalidArgument, .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn a_hung_peer_delays_others_only_briefly_and_is_dropped() {
    let peers = network(2).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    // It is made a member as any peer would be, and then says nothing.
    let info = PeerInfo { address: address.clone(), name: "silent".to_owned() };
    let mut raw = LightpeerClient::connect(format!("http://{}", peers[0].address())).await.unwrap();
    raw.connect_new_peer(ConnectRequest { peer: Some(info) }).await.unwrap();
    client(&peers[0]).persist(b"kept".to_vec()).await.unwrap();
    eventually("it is dropped", async || peers[0].counters().peers_dropped == 1).await;
    assert_eq!(query(&peers[1]).await, ["kept"]);
}

#[tokio::test]
async fn too_large_a_payload_is_refused_by_name() {
    let limits = ChainLimits { payload_bytes: 1000, ..ChainLimits::default() };
    let peer = Peer::start(PeerSettings { limits, ..settings() }).await.unwrap();
    let error = client(&peer).persist(vec![0; 1001]).await.unwrap_err();
    assert!(error.to_string().contains("1001 bytes, and at most 1000"), "{error}");
    let error = client(&peer).persist(vec![0; 10_000_000]).await.unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
    client(&peer).persist(vec![0; 1000]).await.unwrap();
    assert_eq!(peer.blocks().len(), 1);
}

#[tokio::test]
async fn a_block_that_makes_no_sense_is_refused() {
    let peers = network(2).await;
    let before = ids(&peers[0]);
    let address = format!("http://{}", peers[0].address());
    let mut raw = LightpeerClient::connect(address).await.unwrap();
    let mut changed = peers[0].blocks()[0].to_wire();
    changed.payload.push(0);
    let cases = [
        (changed, Code::InvalidArgument),
        (Lightblock::default(), Code::InvalidArgument),
        (block("a", "missing"), Code::FailedPrecondition),
    ];
    for (block, code) in cases {
        assert_eq!(raw.notify_new_block(block).await.unwrap_err().code(), code);
    }
    assert_eq!(ids(&peers[0]), before);
}
