//! Leases as heartbeats, and the status that shows them.

use k8s_openapi::api::coordination::v1::Lease;
use windlass::model::Timestamp;
use windlass_runtime::managers::{ManagerRow, Overview};

use super::*;
use crate::support::Fault;

fn second(workers: u32) -> Value {
    json!([{ "type": "second", "workers": workers }])
}

/// Starts a manager with a short Lease.
async fn start_short(cluster: &Cluster, id: &str) -> Result<Running, StartError> {
    let identity = identity(cluster, id).of_type("pods").timing(short());
    program(cluster, &Tap::new()).managed(ManagerConfig::Api(identity)).start().await
}

async fn is_alive(cluster: &Cluster, id: &str) -> bool {
    get(cluster, MANAGERS, id).await["status"]["isAlive"] == true
}

async fn until_alive(cluster: &Cluster, id: &str, alive: bool) {
    let what = format!("isAlive of {id} is {alive}");
    eventually(&what, async || get(cluster, MANAGERS, id).await["status"]["isAlive"] == alive).await;
}

async fn lease(cluster: &Cluster, name: &str) -> Lease {
    let leases: kube::Api<Lease> = kube::Api::namespaced(cluster.client.clone(), &cluster.namespace);
    leases.get(name).await.expect("a lease")
}

/// Starts a manager in threads of its own, so that it can be killed.
fn start_apart(cluster: &Cluster, id: &str) -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("threads");
    let (cluster, id) = (cluster.clone(), id.to_owned());
    runtime.spawn(async move {
        let _running = start_short(&cluster, &id).await.expect("it starts");
        std::future::pending::<()>().await;
    });
    runtime
}

#[tokio::test]
async fn status_shows_workers_and_active_reconciles() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", json!([{ "type": "two-configmaps", "workers": 5 }])).await;
    let tap = Tap::new();
    let config = ManagerConfig::Api(identity(cluster, "uuid1").of_type("pods").timing(short()));
    let running = program(cluster, &tap).managed(config).start().await.expect("it starts");
    until_alive(cluster, "uuid1", true).await;
    let status = get(cluster, MANAGERS, "uuid1").await["status"].clone();
    let controllers = json!([{ "type": "two-configmaps", "workers": 5, "active": 0 }]);
    assert_eq!((&status["lease"], &status["controllers"]), (&json!("uuid1"), &controllers));
    assert_eq!(status["leaseNamespace"], cluster.namespace);
    let seconds = |text: &str| Timestamp::parse(text).expect("a time").unix_seconds();
    let shown = seconds(status["lastHealthprobeAt"].as_str().expect("a time"));
    let renewed =
        lease(cluster, "uuid1").await.spec.expect("a spec").renew_time.expect("a time").0.to_string();
    assert!((0..60).contains(&(seconds(&renewed) - shown)), "{shown} is copied from an earlier {renewed}");
    // One reconcile hangs.
    tap.rule(|sent| if sent.target.contains("a-cm1") { Fault::Swallowed } else { Fault::None });
    cluster.create_pair("a").await;
    eventually("one reconcile is active", async || running.handle().active("two-configmaps") == Some(1))
        .await;
    eventually("the status shows it", async || {
        get(cluster, MANAGERS, "uuid1").await["status"]["controllerSummary"] == "two-configmaps 5/1"
    })
    .await;
    assert_eq!(running.handle().active("second"), None);
    drop(running);
}

#[tokio::test]
async fn manager_that_stops_says_so_and_releases_its_lease() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", second(1)).await;
    let running = start(cluster, "uuid1", "pods").await.expect("it starts");
    until_alive(cluster, "uuid1", true).await;
    running.stop().await;
    assert!(!is_alive(cluster, "uuid1").await);
    let holder = lease(cluster, "uuid1").await.spec.expect("a spec").holder_identity;
    assert_eq!(holder.unwrap_or_default(), "");
    // So that the next process need not wait.
    let running = start(cluster, "uuid1", "pods").await.expect("it starts again");
    until_alive(cluster, "uuid1", true).await;
    running.stop().await;
}

#[tokio::test]
async fn others_notice_that_a_manager_was_killed() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", second(1)).await;
    let observer = start_short(cluster, "uuid1").await.expect("it starts");
    let killed = start_apart(cluster, "uuid2");
    until_alive(cluster, "uuid2", true).await;
    let api = windlass_runtime::Api::new(cluster.client.clone());
    let mut overview = Overview::new(api, None);
    let alive = |rows: &[ManagerRow]| -> Vec<bool> { rows.iter().map(|row| row.alive).collect() };
    eventually("both live", async || alive(&overview.read().await.expect("rows")) == [true, true]).await;
    killed.shutdown_background();
    until_alive(cluster, "uuid2", false).await;
    assert!(is_alive(cluster, "uuid1").await);
    eventually("one lives", async || alive(&overview.read().await.expect("rows")) == [true, false]).await;
    // The next process of this id lives again.
    let next = start_short(cluster, "uuid2").await.expect("it starts when the lease is over");
    until_alive(cluster, "uuid2", true).await;
    next.stop().await;
    observer.stop().await;
}

#[tokio::test]
async fn manager_that_is_wrongly_shown_as_gone_corrects_it() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", second(1)).await;
    let running = start(cluster, "uuid1", "pods").await.expect("it starts");
    until_alive(cluster, "uuid1", true).await;
    let gone = Patch::Merge(json!({ "status": { "isAlive": false } }));
    api(cluster, MANAGERS)
        .patch_status("uuid1", &PatchParams::default(), &gone)
        .await
        .expect("it is written");
    until_alive(cluster, "uuid1", true).await;
    running.stop().await;
}

#[tokio::test]
async fn second_process_with_one_id_does_not_start() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", second(1)).await;
    let first = start_short(cluster, "uuid1").await.expect("it starts");
    let holder = lease(cluster, "uuid1").await.spec.expect("a spec").holder_identity.expect("a holder");
    let error = refusal(start_short(cluster, "uuid1")).await;
    let expected = format!("the manager \"uuid1\" runs already: its Lease test/uuid1 is held by {holder}");
    assert!(error.starts_with(&expected), "{error}");
    assert!(is_alive(cluster, "uuid1").await, "the first one is not disturbed");
    first.stop().await;
}
