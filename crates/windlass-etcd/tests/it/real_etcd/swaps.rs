//! Registers in etcd are those of any registry.

use futures::future::join_all;
use windlass_shard::{Answer, Version};

use crate::registers;
use crate::support::{etcd, lease, registry, swap_lease};

#[tokio::test]
async fn leases_are_swapped() {
    let etcd = etcd();
    registers::leases_are_swapped(&mut registry(&etcd)).await;
}

#[tokio::test]
async fn ring_is_swapped() {
    let etcd = etcd();
    registers::ring_is_swapped(&mut registry(&etcd)).await;
}

#[tokio::test]
async fn registers_are_independent() {
    let etcd = etcd();
    registers::registers_are_independent(&mut registry(&etcd)).await;
}

#[tokio::test]
async fn many_leases_are_read() {
    let etcd = etcd();
    registers::many_leases_are_read(&mut registry(&etcd)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_those_who_race_for_a_lease_one_wins() {
    let etcd = etcd();
    let registries: Vec<_> = (0..8).map(|_| registry(&etcd)).collect();
    let mut expected: Option<Version> = None;
    for round in 1..=5 {
        let race = registries.iter().enumerate().map(|(number, registry)| {
            let request = swap_lease("a", expected, lease(round * 100 + number as u64, true));
            async move { registry.perform(&request).await }
        });
        let answers = join_all(race).await;
        let winners: Vec<Version> = answers
            .iter()
            .filter_map(|answer| match answer {
                Answer::Swapped(version) => Some(*version),
                Answer::Conflict => None,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(winners.len(), 1, "round {round}: {answers:?}");
        expected = Some(winners[0]);
    }
}
