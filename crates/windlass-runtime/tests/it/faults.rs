//! What a controller tolerates: servers that go away, requests that hang, and being stopped.

use std::time::Duration;

use serde_json::json;
use two_configmaps::TwoConfigMaps;

use crate::support::{Embedded, Fault, Rig, Sent, Tap, eventually, manager};

#[tokio::test]
async fn a_server_that_goes_away_and_comes_back() {
    let embedded = Embedded::start_durable().await;
    let cluster = embedded.cluster.clone();
    let rig = Rig::start(&cluster).await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    rig.until_idle().await;
    rig.tap.take();
    let embedded = embedded.restart().await;
    cluster.create_pair("b").await;
    cluster.until_ready("b").await;
    let lists = rig.tap.count(Sent::is_list);
    assert_eq!(lists, 0, "the server kept its history, so watches go on where they were");
    rig.running.stop().await;
    drop(embedded);
}

#[tokio::test]
async fn a_server_that_has_lost_everything() {
    let embedded = Embedded::start_durable().await;
    let cluster = embedded.cluster.clone();
    let rig = Rig::start(&cluster).await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    rig.until_idle().await;
    let embedded = embedded.restart_empty().await;
    // Its versions start from scratch, below those that were seen, so watches from those wait for later ones. The server
    // sends a bookmark now and then, and for this test at once.
    let mut notified = std::collections::BTreeSet::new();
    rig.tap.rule(move |sent| {
        let path = sent.target.split('?').next().unwrap_or_default().to_owned();
        if !sent.is_watch() || !notified.insert(path) {
            return Fault::None;
        }
        let object = json!({"kind": "Any", "metadata": {"resourceVersion": "1"}});
        Fault::Answer { code: 200, retry_after: None, body: json!({"type": "BOOKMARK", "object": object}) }
    });
    rig.tap.cut_watches();
    let cluster = crate::support::Cluster::new(cluster.client, &cluster.namespace).await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    rig.running.stop().await;
    drop(embedded);
}

#[tokio::test]
async fn a_request_that_hangs_ends_with_its_reconcile() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    tap.rule(|sent| if sent.target.contains("a-cm2") { Fault::Swallowed } else { Fault::None });
    let running = manager(cluster, &tap).timeout(Duration::from_millis(300)).controller(TwoConfigMaps);
    let rig = Rig { running: running.start().await.expect("it starts"), tap };
    cluster.create_pair("a").await;
    let condition = async || {
        let status = cluster.pairs().get("a").await.expect("a pair").status.unwrap_or_default();
        let second = status.conditions.into_iter().find(|condition| condition.r#type == "SecondReady");
        second.map(|condition| format!("{} {}", condition.status, condition.message)).unwrap_or_default()
    };
    let expected = "False the reconcile took longer than 300ms; it was waiting for patch configmaps";
    eventually("the status says so", async || condition().await == expected).await;
    rig.tap.no_rule();
    cluster.until_ready("a").await;
    rig.running.stop().await;
}

#[tokio::test]
async fn to_stop_is_to_let_active_reconciles_finish() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (embedded.cluster.clone(), Tap::new());
    let reached = std::sync::Arc::new(tokio::sync::Notify::new());
    let signal = reached.clone();
    tap.rule(move |sent| {
        if sent.is_write() {
            signal.notify_one();
        }
        Fault::None
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = manager(&cluster, &tap)
        .controller(TwoConfigMaps)
        .run_until(async { stopped.await.expect("the sender lives") });
    let running = tokio::spawn(running);
    cluster.create_pair("a").await;
    // The first write is on its way.
    reached.notified().await;
    stop.send(()).expect("it runs");
    running.await.expect("no panic").expect("it started");
    assert!(cluster.is_ready("a").await, "the reconcile that had begun was to finish");
}

#[tokio::test]
async fn workers_can_be_changed_while_they_work() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let rig = Rig::start(cluster).await;
    let handle = rig.running.handle();
    assert_eq!(handle.controllers().collect::<Vec<&str>>(), ["two-configmaps"]);
    assert!(handle.set_workers("two-configmaps", 0));
    assert!(!handle.set_workers("unknown", 1));
    cluster.create_pair("a").await;
    eventually("it is due", async || rig.sum_of("workqueue_depth") == 1).await;
    assert_eq!(rig.reconciles(), 0, "there are no workers");
    assert!(handle.set_workers("two-configmaps", 2));
    cluster.until_ready("a").await;
    assert_eq!(handle.workers("two-configmaps"), Some(2));
    rig.running.stop().await;
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let refused = async |manager: windlass_runtime::Manager| match manager.start().await {
        Ok(_) => panic!("it started"),
        Err(error) => error.to_string(),
    };
    let empty = refused(manager(cluster, &tap)).await;
    assert_eq!(empty, "the manager has no controllers: add one with Manager::controller");
    let twice = refused(manager(cluster, &tap).controller(TwoConfigMaps).controller(TwoConfigMaps)).await;
    assert!(twice.starts_with("two controllers have the name \"two-configmaps\""), "{twice}");
}

#[tokio::test]
async fn a_signal_ends_it_in_good_order() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (embedded.cluster.clone(), Tap::new());
    let running = tokio::spawn(manager(&cluster, &tap).controller(TwoConfigMaps).run());
    cluster.create_pair("a").await;
    // It works, so signals are caught.
    cluster.until_ready("a").await;
    let process = std::process::id().to_string();
    let sent = std::process::Command::new("kill").args(["-TERM", &process]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    running.await.expect("no panic").expect("it started");
}
