//! The list of instances: keys that end with an etcd lease.

use windlass_etcd::{EtcdConnection, InstanceEntry};
use windlass_shard::Incarnation;

use crate::support::{
    TYPE, connection, etcd, lease, options, registry, registry_of, swap_lease, until, written,
};

async fn listed(connection: &EtcdConnection) -> Vec<(String, Option<u64>)> {
    let entry =
        |entry: InstanceEntry| (entry.id.to_string(), entry.incarnation.map(|Incarnation(number)| number));
    connection.instances(TYPE).await.expect("a list").into_iter().map(entry).collect()
}

async fn until_listed(connection: &EtcdConnection, expected: &[(&str, u64)]) {
    let expected: Vec<_> =
        expected.iter().map(|(name, number)| ((*name).to_owned(), Some(*number))).collect();
    until(|| listed(connection), |listed| *listed == expected).await;
}

#[tokio::test]
async fn who_renews_is_listed_until_the_lease_ends() {
    let etcd = etcd();
    let display = connection(&options(&[etcd.address()]));
    let (a, b) = (registry(&etcd), registry(&etcd));
    assert_eq!(listed(&display).await, []);
    let of_a = written(a.perform(&swap_lease("a", None, lease(1, true))).await);
    let of_b = written(b.perform(&swap_lease("b", None, lease(4, true))).await);
    until_listed(&display, &[("a", 1), ("b", 4)]).await;

    // By itself.
    written(b.perform(&swap_lease("b", Some(of_b), lease(4, false))).await);
    assert_eq!(listed(&display).await, [("a".to_owned(), Some(1))]);
    // By another. It is off the list at once, and not only when the timeout is over.
    let ended = written(b.perform(&swap_lease("a", Some(of_a), lease(1, false))).await);
    assert_eq!(listed(&display).await, []);
    // As another incarnation it is there again.
    written(a.perform(&swap_lease("a", Some(ended), lease(2, true))).await);
    until_listed(&display, &[("a", 2)]).await;
}

#[tokio::test]
async fn who_no_longer_renews_goes() {
    let etcd = etcd();
    let mut options = options(&[etcd.address()]);
    options.listed_seconds = 1;
    let connection = connection(&options);
    let registry = registry_of(&connection);
    let mut version = written(registry.perform(&swap_lease("a", None, lease(1, true))).await);
    until_listed(&connection, &[("a", 1)]).await;
    // No renewal: its time runs out. The register of the protocol stays as it is.
    until_listed(&connection, &[]).await;
    // The keep-alive finds the etcd lease gone, and the entry is made again.
    version = written(registry.perform(&swap_lease("a", Some(version), lease(1, true))).await);
    until_listed(&connection, &[("a", 1)]).await;
    assert!(version.0 > 1);
}

#[tokio::test]
async fn types_have_lists_of_their_own() {
    let etcd = etcd();
    let connection = connection(&options(&[etcd.address()]));
    written(registry_of(&connection).perform(&swap_lease("a", None, lease(1, true))).await);
    until_listed(&connection, &[("a", 1)]).await;
    assert_eq!(connection.instances("virtual").await, Ok(Vec::new()));
    assert!(connection.instances("virtualmachine/a").await.is_err());
}
