//! Several processes with one lease: one works, and another takes over.

use std::time::Duration;

use two_configmaps::TwoConfigMaps;
use windlass_runtime::operations::leader::{LeaderSettings, Timing};

use crate::support::{Cluster, Embedded, Fault, Rig, Sent, Tap, eventually, manager};

async fn candidate(cluster: &Cluster, identity: &str) -> Rig {
    let tap = Tap::new();
    let timing = Timing {
        lease_duration: Duration::from_secs(1),
        renew_deadline: Duration::from_millis(700),
        retry_period: Duration::from_millis(100),
    };
    let (namespace, name) = (cluster.namespace.clone(), "pairs".to_owned());
    let settings = LeaderSettings { namespace, name, identity: identity.to_owned(), timing };
    let running = manager(cluster, &tap).controller(TwoConfigMaps).leader_election(settings).start().await;
    Rig { running: running.expect("it starts"), tap }
}

fn is_leases(sent: &Sent) -> bool {
    sent.target.contains("/leases")
}

fn leads(rig: &Rig) -> bool {
    rig.sum_of("leader_election_master_status") == 1
}

fn outputs_written(rig: &Rig) -> usize {
    rig.tap.count(|sent| sent.is_write() && sent.target.contains("/configmaps/"))
}

#[tokio::test]
async fn one_works_and_the_next_takes_over() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let one = candidate(cluster, "one").await;
    eventually("one leads", async || leads(&one)).await;
    let two = candidate(cluster, "two").await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    one.until_idle().await;
    assert_eq!((outputs_written(&one), outputs_written(&two)), (2, 0));
    one.running.stop().await;
    cluster.create_pair("b").await;
    cluster.until_ready("b").await;
    assert_eq!(outputs_written(&two), 2);
    two.running.stop().await;
}

#[tokio::test]
async fn a_leader_that_cannot_renew_stops() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let one = candidate(cluster, "one").await;
    eventually("one leads", async || leads(&one)).await;
    // It hears nothing of its lease, and one of its writes hangs.
    one.tap.rule(|sent| {
        if is_leases(sent) || sent.target.contains("a-cm1") { Fault::Swallowed } else { Fault::None }
    });
    cluster.create_pair("a").await;
    eventually("it does not lead any more", async || !leads(&one)).await;
    eventually("what was active is dropped", async || one.sum_of("controller_runtime_active_workers") == 0)
        .await;
    let two = candidate(cluster, "two").await;
    cluster.until_ready("a").await;
    assert_eq!(outputs_written(&two), 2);
    // When it hears again, and the other ends, it goes on with what it had begun.
    one.tap.no_rule();
    two.running.stop().await;
    eventually("one leads again", async || leads(&one)).await;
    cluster.create_pair("b").await;
    cluster.until_ready("b").await;
    one.running.stop().await;
}
