//! An etcd that is not there, or does not answer.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use windlass_shard::{Answer, Request};

use crate::support::{connection, id, lease, options, registry_of, ring, swap_lease, swap_ring};

/// A listener that no one accepts from: connections are made, and nothing ever answers.
pub(crate) fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

/// An address at which nothing listens.
pub(crate) fn closed() -> String {
    silent().1
}

fn requests() -> [Request; 4] {
    [
        Request::ReadRing,
        Request::ReadLeases(vec![id("a")]),
        swap_lease("a", None, lease(1, true)),
        swap_ring(None, &ring(1)),
    ]
}

#[tokio::test]
async fn where_nothing_listens_the_answer_is_unknown() {
    let address = closed();
    let registry = registry_of(&connection(&options(std::slice::from_ref(&address))));
    assert_eq!(registry.last_error(), None);
    for request in requests() {
        assert_eq!(registry.perform(&request).await, Answer::Unknown);
    }
    let error = registry.last_error().expect("it is known what is wrong");
    assert!(error.contains(&format!("cannot reach etcd at {address}")), "{error}");
    assert!(error.contains("check that it runs"), "{error}");
    assert_eq!(registry.name(), format!("etcd at {address}"));
}

#[tokio::test]
async fn silence_ends_with_the_deadline() {
    let (_first, one) = silent();
    let (_second, two) = silent();
    let mut options = options(&[one, two]);
    options.deadline = Duration::from_millis(200);
    let registry = registry_of(&connection(&options));
    for request in requests() {
        let start = Instant::now();
        assert_eq!(registry.perform(&request).await, Answer::Unknown);
        // Far less than without a deadline, also on a busy machine.
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
    let error = registry.last_error().expect("it is known what is wrong");
    assert!(error.contains("did not answer within 200ms"), "{error}");
}
