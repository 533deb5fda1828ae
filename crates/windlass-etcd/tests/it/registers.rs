//! What every registry must do, shown with the one in memory. `real_etcd` shows the same with etcd.

use std::future::Future;

use windlass_etcd::EtcdRegistry;
use windlass_shard::{Answer, MemoryRegistry, Request, Version};

use crate::support::{id, lease, ring, ring_in, swap_lease, swap_ring, written};

/// A registry that can be tested.
pub(crate) trait Registers {
    fn perform(&mut self, request: &Request) -> impl Future<Output = Answer>;
}

impl Registers for MemoryRegistry {
    async fn perform(&mut self, request: &Request) -> Answer {
        MemoryRegistry::perform(self, request)
    }
}

impl Registers for EtcdRegistry {
    async fn perform(&mut self, request: &Request) -> Answer {
        EtcdRegistry::perform(self, request).await
    }
}

/// A lease is made, replaced and ended, but only by who has seen its last version.
pub(crate) async fn leases_are_swapped(registry: &mut impl Registers) {
    let first = written(registry.perform(&swap_lease("a", None, lease(1, true))).await);
    assert_eq!(registry.perform(&swap_lease("a", None, lease(2, true))).await, Answer::Conflict);

    // A renewal writes the same, and is another version.
    let second = written(registry.perform(&swap_lease("a", Some(first), lease(1, true))).await);
    assert!(second > first);
    assert_eq!(registry.perform(&swap_lease("a", Some(first), lease(1, false))).await, Answer::Conflict);

    let third = written(registry.perform(&swap_lease("a", Some(second), lease(1, false))).await);
    assert_eq!(registry.perform(&swap_lease("a", Some(second), lease(1, true))).await, Answer::Conflict);

    let missing = Version(third.0 + 1_000);
    assert_eq!(registry.perform(&swap_lease("b", Some(missing), lease(1, true))).await, Answer::Conflict);

    let Answer::Leases(leases) = registry.perform(&Request::ReadLeases(vec![id("b"), id("a")])).await else {
        panic!("no leases");
    };
    let [(b, None), (a, Some(read))] = &leases[..] else { panic!("{leases:?}") };
    assert_eq!((a, b, read.version, read.value), (&id("a"), &id("b"), third, lease(1, false)));
}

/// The ring is made once, and replaced by who has seen its last version.
pub(crate) async fn ring_is_swapped(registry: &mut impl Registers) {
    assert_eq!(ring_in(registry.perform(&Request::ReadRing).await), None);
    let missing = Some(Version(1_000_000));
    assert_eq!(registry.perform(&swap_ring(missing, &ring(1))).await, Answer::Conflict);

    let first = written(registry.perform(&swap_ring(None, &ring(1))).await);
    assert_eq!(registry.perform(&swap_ring(None, &ring(2))).await, Answer::Conflict);
    let second = written(registry.perform(&swap_ring(Some(first), &ring(2))).await);
    assert!(second > first);
    assert_eq!(registry.perform(&swap_ring(Some(first), &ring(3))).await, Answer::Conflict);

    let read = ring_in(registry.perform(&Request::ReadRing).await).expect("a ring");
    assert_eq!((read.version, read.value), (second, ring(2)));
}

/// Registers do not affect each other: a write of one leaves the versions of the others.
pub(crate) async fn registers_are_independent(registry: &mut impl Registers) {
    let of_a = written(registry.perform(&swap_lease("a", None, lease(1, true))).await);
    let of_ring = written(registry.perform(&swap_ring(None, &ring(1))).await);
    let of_b = written(registry.perform(&swap_lease("b", None, lease(7, true))).await);
    written(registry.perform(&swap_lease("a", Some(of_a), lease(1, true))).await);
    written(registry.perform(&swap_ring(Some(of_ring), &ring(2))).await);
    written(registry.perform(&swap_lease("b", Some(of_b), lease(7, true))).await);
}

/// More leases than fit into one transaction are read, in the order in which they are asked for.
pub(crate) async fn many_leases_are_read(registry: &mut impl Registers) {
    let names: Vec<String> = (0..300).map(|number| format!("instance-{number}")).collect();
    for name in names.iter().step_by(50) {
        written(registry.perform(&swap_lease(name, None, lease(1, true))).await);
    }
    let ids: Vec<_> = names.iter().map(|name| id(name)).collect();
    let Answer::Leases(leases) = registry.perform(&Request::ReadLeases(ids.clone())).await else {
        panic!("no leases");
    };
    assert_eq!(leases.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), ids);
    for (number, (_, lease)) in leases.iter().enumerate() {
        assert_eq!(lease.is_some(), number % 50 == 0, "{number}");
    }
}

#[tokio::test]
async fn leases_are_swapped_in_memory() {
    leases_are_swapped(&mut MemoryRegistry::default()).await;
}

#[tokio::test]
async fn ring_is_swapped_in_memory() {
    ring_is_swapped(&mut MemoryRegistry::default()).await;
}

#[tokio::test]
async fn registers_are_independent_in_memory() {
    registers_are_independent(&mut MemoryRegistry::default()).await;
}

#[tokio::test]
async fn many_leases_are_read_in_memory() {
    many_leases_are_read(&mut MemoryRegistry::default()).await;
}
