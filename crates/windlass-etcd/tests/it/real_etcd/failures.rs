//! An etcd that goes away, comes back, or is full.

use std::time::{Duration, Instant};

use conformance::etcd::Etcd;
use windlass_shard::{Answer, Request};

use crate::support::{
    connection, etcd, id, lease, options, registry, registry_of, ring, ring_in, swap_lease, swap_ring, until,
    written,
};
use crate::unreachable::{closed, silent};

#[tokio::test]
async fn a_restart_is_survived() {
    let mut etcd = etcd();
    let registry = registry(&etcd);
    let first = written(registry.perform(&swap_lease("a", None, lease(1, true))).await);
    etcd.kill().unwrap();
    assert_eq!(registry.perform(&swap_lease("a", Some(first), lease(1, true))).await, Answer::Unknown);
    assert!(registry.last_error().expect("an error").contains("cannot write a lease: cannot reach etcd"));
    etcd.restart().unwrap();
    written(registry.perform(&swap_lease("a", Some(first), lease(1, true))).await);
    // The list of instances is brought up to date beside the renewals.
    until(|| async { registry.last_error() }, Option::is_none).await;
}

#[tokio::test]
async fn a_restart_between_two_requests_is_not_noticed() {
    let mut etcd = etcd();
    let registry = registry(&etcd);
    let first = written(registry.perform(&swap_ring(None, &ring(1))).await);
    etcd.kill().unwrap();
    etcd.restart().unwrap();
    let read = ring_in(registry.perform(&Request::ReadRing).await);
    assert_eq!(read.map(|ring| ring.version), Some(first));
}

#[tokio::test]
async fn another_endpoint_is_tried() {
    let etcd = etcd();
    let (_silent, silent) = silent();
    let mut options = options(&[closed(), silent, etcd.address()]);
    options.deadline = Duration::from_secs(2);
    let registry = registry_of(&connection(&options));
    assert_eq!(ring_in(registry.perform(&Request::ReadRing).await), None);
    // The endpoint that has answered is used from now on.
    written(registry.perform(&swap_lease("a", None, lease(1, true))).await);
    assert_eq!(registry.last_error(), None);
}

#[tokio::test]
async fn an_etcd_without_space_is_explained() {
    let etcd = Etcd::start(&["--quota-backend-bytes=400000"]).expect("an etcd");
    let registry = registry(&etcd);
    let first = written(registry.perform(&swap_lease("a", None, lease(1, true))).await);
    let value = "QUJD".repeat(10_000);
    let put = |number: u32| {
        let body = format!("{{\"key\": \"{}\", \"value\": \"{value}\"}}", base64_of_number(number));
        etcd.call("/v3/kv/put", &body)
    };
    // What is written counts against the quota when it is committed, ten times a second.
    let give_up = Instant::now() + Duration::from_secs(30);
    let mut numbers = 0..10_000;
    while numbers.next().is_some_and(|number| put(number).is_ok()) {
        assert!(Instant::now() < give_up, "the quota is exceeded");
    }

    let answer = registry.perform(&swap_lease("a", Some(first), lease(1, true))).await;
    assert_eq!(answer, Answer::Unknown);
    let error = registry.last_error().expect("it is known what is wrong");
    assert!(error.contains("is full and takes no writes"), "{error}");
    assert!(error.contains("etcdctl alarm disarm"), "{error}");

    // It can still be read, which does not hide that it cannot be written.
    let Answer::Leases(leases) = registry.perform(&Request::ReadLeases(vec![id("a")])).await else {
        panic!("no leases");
    };
    assert_eq!(leases[0].1.as_ref().map(|lease| lease.version), Some(first));
    assert!(registry.last_error().is_some());
    let version = connection(&options(&[etcd.address()])).version().await.unwrap();
    assert!(version.contains("NOSPACE"), "{version}");
}

/// A key of four digits in base 64.
fn base64_of_number(number: u32) -> String {
    // Each group of four characters is three bytes; which ones does not matter.
    format!("{number:04}")
}

#[tokio::test]
async fn requests_during_a_restart_are_answered_in_time() {
    let mut etcd = etcd();
    let mut options = options(&[etcd.address()]);
    options.deadline = Duration::from_millis(500);
    let registry = registry_of(&connection(&options));
    assert_eq!(ring_in(registry.perform(&Request::ReadRing).await), None);
    etcd.kill().unwrap();
    let asked = registry.clone();
    let asking = tokio::spawn(async move {
        until(|| asked.perform(&Request::ReadRing), |answer| *answer != Answer::Unknown).await
    });
    etcd.restart().unwrap();
    assert_eq!(ring_in(asking.await.unwrap()), None);
}
