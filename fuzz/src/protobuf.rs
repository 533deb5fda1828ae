//! What must hold for every message, however broken: it is refused, or it is an object that can be written again.

use windlass_model::protobuf::{decode, encode};

/// The kinds whose messages have something that others lack.
const KINDS: [(&str, &str); 10] = [
    ("v1", "ConfigMap"),
    ("v1", "Pod"),
    ("v1", "PersistentVolumeList"),
    ("v1", "Event"),
    ("v1", "Status"),
    ("apps/v1", "ControllerRevision"),
    ("apps/v1", "DeleteOptions"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("authentication.k8s.io/v1", "TokenReview"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
];

/// Checks a body.
pub(crate) fn check(body: &[u8]) {
    let Ok(object) = decode(body) else { return };
    let Some(written) = encode(&object) else { panic!("what was read cannot be written: {object}") };
    assert_eq!(decode(&written).as_ref(), Ok(&object), "what was written is read otherwise");
}

/// The body that holds a message; the first byte says of which kind it is.
pub(crate) fn body(data: &[u8]) -> Option<Vec<u8>> {
    let (which, message) = data.split_first()?;
    let (api_version, kind) = KINDS[usize::from(*which) % KINDS.len()];
    let mut type_meta = Vec::new();
    put_field(&mut type_meta, 0x0a, api_version.as_bytes());
    put_field(&mut type_meta, 0x12, kind.as_bytes());
    let mut body = b"k8s\0".to_vec();
    put_field(&mut body, 0x0a, &type_meta);
    put_field(&mut body, 0x12, message);
    Some(body)
}

fn put_field(message: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    message.push(tag);
    let mut length = bytes.len();
    while length >= 0x80 {
        message.push(length as u8 | 0x80);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_whole() {
        for (which, (api_version, kind)) in (0..).zip(&KINDS) {
            let body = body(&[which]).unwrap();
            let object = decode(&body).unwrap();
            assert_eq!(
                (object["apiVersion"].as_str(), object["kind"].as_str()),
                (Some(*api_version), Some(*kind))
            );
        }
        let long = [vec![0], b"\x12\x82\x02\x0a\x01a\x12\xfc\x01".to_vec(), vec![b'x'; 252]].concat();
        assert_eq!(decode(&body(&long).unwrap()).unwrap()["data"]["a"].as_str().unwrap().len(), 252);
    }
}
