//! What must hold for every request, however broken: an answer, one that makes sense, and the same one each time.

use std::sync::LazyLock;

use windlass_model::Cluster;
use windlass_model::http::{HttpParts, Output, encode, parse};

use crate::request::RawRequest;

/// Making a cluster takes far longer than cloning one.
static FRESH: LazyLock<Cluster> = LazyLock::new(Cluster::new);

/// Sends all requests, one after the other, to one cluster.
pub(crate) fn send_all(requests: &[RawRequest]) {
    let mut cluster = FRESH.clone();
    for request in requests {
        send(&mut cluster, request);
        cluster.settle();
    }
}

fn send(cluster: &mut Cluster, raw: &RawRequest) {
    let parts = HttpParts {
        method: &raw.method,
        path: &raw.path,
        query: &raw.query,
        content_type: raw.content_type.as_deref(),
        accept: raw.accept.as_deref(),
        user_agent: raw.user_agent.as_deref(),
        body: &raw.body,
        ..HttpParts::default()
    };
    let Ok(parsed) = parse(&parts, cluster.types()) else { return };
    let mut other = cluster.clone();
    let response = cluster.request(&parsed.request);
    assert_eq!(response, other.request(&parsed.request), "two answers to {raw:?}");
    assert!((200..600).contains(&response.code), "code {} for {raw:?}", response.code);
    let failed = response.failure().is_some();
    assert_eq!(failed, response.code >= 400, "code {} does not fit the answer to {raw:?}", response.code);
    if parsed.output == Output::Object {
        assert!(
            encode(&response.to_value(), parsed.format).is_ok(),
            "an answer that cannot be written to {raw:?}"
        );
    }
}
