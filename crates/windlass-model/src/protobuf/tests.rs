//! Pairs that Kubernetes wrote, and malformed bodies.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::json_body as body;
use windlass_cel::formats::base64::Base64;

const RECORDED: &str = include_str!("recorded.txt");

/// Each recorded object, as protobuf and as JSON.
fn recorded() -> impl Iterator<Item = (Vec<u8>, Value)> {
    let lines = RECORDED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<&str> = lines.collect();
    lines
        .chunks(2)
        .map(|pair| {
            let bytes = Base64::Standard.decode(pair[0]).unwrap();
            (bytes, body::read(pair[1].as_bytes()).unwrap().value)
        })
        .collect::<Vec<_>>()
        .into_iter()
}

/// The body that holds a message.
fn body_of(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let mut type_meta = wire::Writer::default();
    type_meta.bytes(1, api_version.as_bytes());
    type_meta.bytes(2, kind.as_bytes());
    let mut writer = wire::Writer::after(PREFIX);
    writer.bytes(1, &type_meta.finish());
    writer.bytes(2, message);
    writer.finish()
}

fn refusal(body: &[u8]) -> String {
    decode(body).unwrap_err().to_string()
}

#[test]
fn reads_what_kubernetes_writes() {
    for (bytes, object) in recorded() {
        assert_eq!(decode(&bytes).unwrap(), object, "{object}");
    }
    assert!(recorded().count() > 100);
}

#[test]
fn writes_what_kubernetes_writes() {
    for (bytes, object) in recorded() {
        assert!(encode(&object).unwrap() == bytes, "{object}");
    }
}

#[test]
fn refuses_what_is_no_body() {
    for (body, expected) in [
        (&b""[..], "empty data"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x12\x00", "Object 'Kind' is missing"),
        (b"k8s\0\x0a\x05", "unexpected EOF"),
        (b"k8s\0\x08\x05", "proto: wrong wireType = 0 for field typeMeta"),
        (b"k8s\0\x0a\x03\x12\x01A", "Object 'apiVersion' is missing"),
        (b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "proto: integer overflow"),
    ] {
        assert_eq!(refusal(body), expected, "{body:?}");
    }
    let unknown = body_of("example.com/v1", "Pair", b"");
    assert_eq!(refusal(&unknown), "no kind \"Pair\" is registered for version \"example.com/v1\"");
}

#[test]
fn refuses_messages_that_are_broken() {
    for (message, expected) in [
        (&[0x08, 0x01][..], "proto: wrong wireType = 0 for field metadata"),
        (&[0x0a, 0x05, 0x00], "unexpected EOF"),
        (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], "unexpected EOF"),
        (&[0x00, 0x01], "proto: v1.ConfigMap: illegal tag 0"),
        (&[0x0c], "proto: v1.ConfigMap: wiretype end group for non-group"),
        (&[0x9f, 0x06, 0x01], "proto: illegal wireType 7"),
        (&[0x20, 0x80], "unexpected EOF"),
    ] {
        assert_eq!(refusal(&body_of("v1", "ConfigMap", message)), expected, "{message:?}");
    }
}

#[test]
fn unknown_fields_are_skipped() {
    let message = [0xf8, 0x07, 0x01, 0x20, 0x01, 0xfa, 0x07, 0x01, b'x', 0xfb, 0x07, 0x08, 0x01, 0xfc, 0x07];
    let expected = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "immutable": true});
    assert_eq!(decode(&body_of("v1", "ConfigMap", &message)), Ok(expected));
}

/// Protobuf lets a message be sent in parts.
#[test]
fn parts_of_a_message_add_up() {
    let named = |number, text: &str| {
        let mut meta = wire::Writer::default();
        meta.bytes(number, text.as_bytes());
        let mut writer = wire::Writer::default();
        writer.bytes(1, &meta.finish());
        writer.finish()
    };
    let message = [named(1, "a"), named(3, "ns"), named(14, "one"), named(14, "two"), named(1, "b")].concat();
    let object = decode(&body_of("v1", "ConfigMap", &message)).unwrap();
    assert_eq!(object["metadata"], json!({"name": "b", "namespace": "ns", "finalizers": ["one", "two"]}));
    let emptied = [message, named(1, ""), named(3, "")].concat();
    let object = decode(&body_of("v1", "ConfigMap", &emptied)).unwrap();
    assert_eq!(object["metadata"], json!({"finalizers": ["one", "two"]}));
}

#[test]
fn numbers_may_come_packed() {
    let rule = |numbers: &[u8]| {
        let mut security = wire::Writer::default();
        security.bytes(4, numbers);
        let mut spec = wire::Writer::default();
        spec.bytes(14, &security.finish());
        let mut pod = wire::Writer::default();
        pod.bytes(2, &spec.finish());
        decode(&body_of("v1", "Pod", &pod.finish()))
    };
    let groups = &rule(&[0x01, 0x96, 0x01]).unwrap()["spec"]["securityContext"]["supplementalGroups"];
    assert_eq!(groups, &json!([1, 150]));
    assert_eq!(rule(&[0x96]), Err(DecodeError::Truncated));
}

/// The schema of a CRD is the only message that can hold itself.
fn nested_schema(levels: usize) -> Vec<u8> {
    let wrap = |number: u32, message: Vec<u8>| {
        let mut writer = wire::Writer::default();
        writer.bytes(number, &message);
        writer.finish()
    };
    let schema = (0..levels).fold(Vec::new(), |schema, _| wrap(29, wrap(2, schema)));
    body_of(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &wrap(2, wrap(7, wrap(4, wrap(1, schema)))),
    )
}

#[test]
fn depth_is_bounded() {
    assert!(decode(&nested_schema(50)).is_ok());
    assert_eq!(refusal(&nested_schema(70)), "the object is nested deeper than 127 levels");
    assert_eq!(refusal(&nested_schema(100_000)), "the object is nested deeper than 127 levels");
    let deep = format!("{}{}", "[".repeat(126), "]".repeat(126));
    let mut raw = wire::Writer::default();
    raw.bytes(1, deep.as_bytes());
    let mut revision = wire::Writer::default();
    revision.bytes(2, &raw.finish());
    let body = |message: &[u8]| body_of("apps/v1", "ControllerRevision", message);
    let revision = revision.finish();
    let read = decode(&body(&revision)).unwrap();
    assert!(body::read(read.to_string().as_bytes()).is_ok(), "what is read can be read again");
}

#[test]
fn memory_is_bounded() {
    let mut spec = wire::Writer::default();
    (0..200_000).for_each(|_| spec.bytes(2, b""));
    let mut pod = wire::Writer::default();
    pod.bytes(2, &spec.finish());
    assert_eq!(refusal(&body_of("v1", "Pod", &pod.finish())), "the object has more than 100000 parts");
}

#[test]
fn what_cannot_be_is_not_written() {
    let config_map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data});
    assert!(encode(&config_map(json!({"a": "b"}))).is_some());
    assert!(encode(&config_map(json!({"a": null}))).is_some());
    assert_eq!(encode(&config_map(json!({"a": 1}))), None);
    assert_eq!(encode(&config_map(json!("a"))), None);
    assert_eq!(encode(&json!({"apiVersion": "example.com/v1", "kind": "Pair"})), None);
    assert_eq!(encode(&json!([])), None);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = decode(&bytes);
        let _ = decode(&body_of("v1", "Pod", &bytes));
        let _ = decode(&body_of("apiextensions.k8s.io/v1", "CustomResourceDefinition", &bytes));
    }

    #[test]
    fn recorded_bytes_with_a_change_are_read_or_refused(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let all: Vec<_> = recorded().collect();
        let (mut bytes, _) = which.get(&all).clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(object) = decode(&bytes) {
            // What was read is an object like any other, so it can be written and is then read as it was.
            let again = encode(&object).map(|bytes| decode(&bytes));
            prop_assert_eq!(again, Some(Ok(object)));
        }
    }
}
