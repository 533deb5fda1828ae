//! The wire, byte by byte: peers that exist already must understand it.

use prost::Message;
use prost_types::Timestamp;

use super::messages::lightblock::BlockType;
use super::messages::{
    ConnectRequest, JoinRequest, JoinResponse, Lightblock, NewBlockResponse, PeerInfo, PersistRequest,
    PersistResponse, QueryResponse, lightpeer_server,
};

/// A field whose content has a length: its number, wire type 2, its length, its content.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
    bytes.extend_from_slice(content);
    bytes
}

#[track_caller]
fn check<M: Message + Default + PartialEq + std::fmt::Debug>(message: M, expected: &[u8]) {
    assert_eq!(message.encode_to_vec(), expected);
    assert_eq!(M::decode(expected).unwrap(), message);
}

#[test]
fn a_block_has_its_type_at_9_and_its_time_at_10() {
    let block = Lightblock {
        id: "b".to_owned(),
        payload: vec![0, 255],
        prev_id: "a".to_owned(),
        r#type: BlockType::Client.into(),
        last_updated: Some(Timestamp { seconds: 5, nanos: 7 }),
    };
    let kind = vec![9 << 3, 1];
    let time = field(10, &[1 << 3, 5, 2 << 3, 7]);
    check(block, &[field(1, b"b"), field(2, &[0, 255]), field(3, b"a"), kind, time].concat());
}

#[test]
fn a_network_block_is_type_0() {
    assert_eq!((BlockType::Network as i32, BlockType::Client as i32), (0, 1));
    check(Lightblock { id: "b".to_owned(), ..Lightblock::default() }, &field(1, b"b"));
}

#[test]
fn requests_and_responses_have_their_fields_at_1() {
    check(JoinRequest { address: "a:1".to_owned() }, &field(1, b"a:1"));
    check(JoinResponse { result: "r".to_owned() }, &field(1, b"r"));
    check(PersistRequest { payload: vec![1, 2] }, &field(1, &[1, 2]));
    check(PersistResponse { response: "r".to_owned() }, &field(1, b"r"));
    check(QueryResponse { payload: vec![3] }, &field(1, &[3]));
    check(NewBlockResponse { response: "r".to_owned() }, &field(1, b"r"));
    let peer = PeerInfo { address: "a:1".to_owned(), name: "n".to_owned() };
    let inner = [field(1, b"a:1"), field(2, b"n")].concat();
    check(ConnectRequest { peer: Some(peer) }, &field(1, &inner));
}

#[test]
fn the_services_have_the_names_that_others_call() {
    // There is no package, so there is no dot; what is generated writes each path as one piece of text.
    assert_eq!(lightpeer_server::SERVICE_NAME, "Lightpeer");
    assert_eq!(super::health::health_server::SERVICE_NAME, "grpc.health.v1.Health");
    let generated = include_str!("../../proto/generated/lightpeer.rs");
    for method in ["JoinNetwork", "ConnectNewPeer", "Persist", "Query", "NotifyNewBlock"] {
        assert!(generated.contains(&format!("\"/Lightpeer/{method}\"")), "{method}");
    }
}
