//! Values that somebody has edited, and rings as a list.

use conformance::etcd::Etcd;
use futures::StreamExt;
use windlass_etcd::EtcdRegistry;
use windlass_shard::{Answer, Epoch, KeyField, Request, RingSpec, Version};

use crate::support::{
    TYPE, connection, etcd, id, lease, options, registry, registry_of, ring, ring_in, soon, swap_lease,
    swap_ring, written,
};

/// `/windlass/rings/virtualmachine` in base 64.
const RING_KEY: &str = "L3dpbmRsYXNzL3JpbmdzL3ZpcnR1YWxtYWNoaW5l";
/// `/windlass/leases/virtualmachine/a`.
const LEASE_KEY: &str = "L3dpbmRsYXNzL2xlYXNlcy92aXJ0dWFsbWFjaGluZS9h";
/// `{"spec":{"controllerType":"virtualmachine","slots":16},"status":{}}`.
const EMPTY_RING: &str =
    "eyJzcGVjIjp7ImNvbnRyb2xsZXJUeXBlIjoidmlydHVhbG1hY2hpbmUiLCJzbG90cyI6MTZ9LCJzdGF0dXMiOnt9fQ==";
/// `nonsense`.
const NONSENSE: &str = "bm9uc2Vuc2U=";

fn edit(etcd: &Etcd, key: &str, value: &str) {
    etcd.call("/v3/kv/put", &format!("{{\"key\": \"{key}\", \"value\": \"{value}\"}}"))
        .expect("it is written");
}

#[tokio::test]
async fn a_ring_that_cannot_be_read_is_not_a_missing_one() {
    let etcd = etcd();
    let registry = registry(&etcd);
    for (value, expected) in [(NONSENSE, "expected"), (EMPTY_RING, "it has no instances and no slots")] {
        edit(&etcd, RING_KEY, value);
        assert_eq!(registry.perform(&Request::ReadRing).await, Answer::Unknown);
        let error = registry.last_error().expect("an error");
        assert!(error.contains("/windlass/rings/virtualmachine") && error.contains(expected), "{error}");
        // And it is not replaced by a new one.
        assert_eq!(registry.perform(&swap_ring(None, &ring(1))).await, Answer::Conflict);
    }
}

#[tokio::test]
async fn a_lease_that_cannot_be_read_is_not_a_missing_one() {
    let etcd = etcd();
    let registry = registry(&etcd);
    edit(&etcd, LEASE_KEY, NONSENSE);
    assert_eq!(registry.perform(&Request::ReadLeases(vec![id("b"), id("a")])).await, Answer::Unknown);
    let error = registry.last_error().expect("an error");
    assert!(error.contains("/windlass/leases/virtualmachine/a"), "{error}");
}

#[tokio::test]
async fn the_watch_passes_over_what_cannot_be_read() {
    let etcd = etcd();
    let registry = registry(&etcd);
    let first = written(registry.perform(&swap_ring(None, &ring(1))).await);
    let mut rings = registry.watch_ring();
    assert_eq!(soon(rings.next()).await.map(|ring| ring.version), Some(first));
    edit(&etcd, RING_KEY, NONSENSE);
    // The edit is the revision after the first ring.
    let second = written(registry.perform(&swap_ring(Some(Version(first.0 + 1)), &ring(2))).await);
    assert_eq!(soon(rings.next()).await.map(|ring| ring.version), Some(second));
    assert_eq!(registry.last_error(), None);
}

#[tokio::test]
async fn other_settings_are_refused() {
    let etcd = etcd();
    written(registry(&etcd).perform(&swap_ring(None, &ring(1))).await);
    let connection = connection(&options(&[etcd.address()]));
    for (slots, key, expected) in
        [(32, KeyField::Uid, "has 16 slots"), (16, KeyField::Namespace, "slots by uid")]
    {
        let registry = connection.registry(&RingSpec::new(TYPE, slots, key)).unwrap();
        assert_eq!(registry.perform(&Request::ReadRing).await, Answer::Unknown);
        let error = registry.last_error().expect("an error");
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn rings_are_listed() {
    let etcd = etcd();
    let connection = connection(&options(&[etcd.address()]));
    assert_eq!(connection.list().await, Ok(Vec::new()));
    let other = connection.registry(&RingSpec::new("baremetal", 16, KeyField::Namespace)).unwrap();
    let version = written(other.perform(&swap_ring(None, &ring(3))).await);
    // A lease is no ring.
    written(other.perform(&swap_lease("a", None, lease(1, true))).await);
    edit(&etcd, RING_KEY, NONSENSE);

    let rings = connection.list().await.unwrap();
    let [baremetal, edited] = &rings[..] else { panic!("{rings:?}") };
    assert_eq!((baremetal.controller_type.as_str(), baremetal.version), ("baremetal", version));
    let stored = baremetal.stored.as_ref().unwrap();
    assert_eq!((stored.spec.slots, stored.spec.key), (16, KeyField::Namespace));
    assert_eq!(stored.status, ring(3).to_status());
    assert_eq!(edited.controller_type, TYPE);
    assert!(edited.stored.is_err());
    assert_eq!(ring_in(other.perform(&Request::ReadRing).await).map(|ring| ring.version), Some(version));
}

/// What an instance serves comes with its lease, and goes with its end.
#[tokio::test]
async fn what_is_served_is_read_with_leases() {
    let etcd = etcd();
    let (a, b) = (registry(&etcd), registry(&etcd));
    let served = async |registry: &EtcdRegistry| {
        let ids = vec![id("a"), id("b")];
        assert!(matches!(registry.perform(&Request::ReadLeases(ids)).await, Answer::Leases(_)));
        registry.served().get(&id("a")).map(ToString::to_string)
    };
    let first = written(a.perform(&swap_lease("a", None, lease(1, true))).await);
    assert_eq!(served(&b).await.as_deref(), Some(""));
    a.serve("0-3,7".parse().unwrap());
    let second = written(a.perform(&swap_lease("a", Some(first), lease(1, true))).await);
    assert_eq!(served(&b).await.as_deref(), Some("0-3,7"));
    let third = written(a.perform(&swap_lease("a", Some(second), lease(1, true))).await);
    assert_eq!(served(&b).await.as_deref(), Some("0-3,7"), "it is not written again, and stays");
    written(b.perform(&swap_lease("a", Some(third), lease(1, false))).await);
    assert_eq!(served(&b).await.as_deref(), Some(""));
}

/// A ring that somebody deletes leaves its epoch behind, and one that goes back is not believed.
#[tokio::test]
async fn epochs_outlive_the_ring() {
    let etcd = etcd();
    let registry = registry(&etcd);
    written(registry.perform(&swap_ring(None, &ring(3))).await);
    etcd.call("/v3/kv/deleterange", &format!("{{\"key\": \"{RING_KEY}\"}}")).expect("it is deleted");
    assert_eq!(registry.perform(&Request::ReadRing).await, Answer::RingGone(Epoch(3)));
    let again = written(registry.perform(&swap_ring(None, &ring(5))).await);
    assert_eq!(ring_in(registry.perform(&Request::ReadRing).await).map(|ring| ring.version), Some(again));

    let other = registry_of(&connection(&options(&[etcd.address()])));
    written(other.perform(&swap_ring(Some(again), &ring(4))).await);
    assert_eq!(registry.perform(&Request::ReadRing).await, Answer::Unknown);
    let error = registry.last_error().expect("an error");
    assert!(error.contains("its epoch must grow with each owner"), "{error}");
}
