//! An etcd that is no longer the one that it was.

use windlass_shard::{Answer, Request};

use crate::support::{etcd, lease, registry, ring, swap_lease, swap_ring, written};

#[tokio::test]
async fn after_a_loss_of_data_nothing_is_answered() {
    let mut etcd = etcd();
    let witness = registry(&etcd);
    let mut last = written(witness.perform(&swap_ring(None, &ring(1))).await);
    for epoch in 2..=5 {
        last = written(witness.perform(&swap_ring(Some(last), &ring(epoch))).await);
    }
    etcd.kill_and_erase().unwrap();
    etcd.restart().unwrap();

    // Who has seen more than there is now must not act on it; not even when revisions are as great as before.
    assert_eq!(witness.perform(&Request::ReadRing).await, Answer::Unknown);
    let error = witness.last_error().expect("an error");
    assert!(error.contains("restart all instances"), "{error}");
    let newcomer = registry(&etcd);
    let mut version = written(newcomer.perform(&swap_lease("a", None, lease(1, true))).await);
    for _ in 0..10 {
        version = written(newcomer.perform(&swap_lease("a", Some(version), lease(1, true))).await);
    }
    assert_eq!(witness.perform(&Request::ReadRing).await, Answer::Unknown);
}
