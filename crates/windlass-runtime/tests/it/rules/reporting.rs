//! What is reported to users: Events and metrics.

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;

use super::scripted::{Scripted, change, create, start, until_ready_is};
use crate::support::{Cluster, eventually, on_both_servers};

/// `TYPE REASON` of the Events about a pair, in order, and how often the last of them came.
async fn events(cluster: &Cluster, name: &str) -> Vec<String> {
    let uid = cluster.pairs().get(name).await.expect("a pair").metadata.uid.unwrap_or_default();
    let events: kube::Api<Event> = kube::Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let about = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
    let found = events.list(&about).await.expect("events").items;
    let shown =
        |event: Event| format!("{} {}", event.type_.unwrap_or_default(), event.reason.unwrap_or_default());
    let mut shown: Vec<String> = found.into_iter().map(shown).collect();
    shown.sort();
    shown
}

/// Ready, not ready, warnings, and what a state wants to say; the same again is no further Event.
async fn events_are_published_once(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    create(cluster, "a", "event").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    for touch in ["1", "2", "3"] {
        let before = rig.reconciles();
        cluster.touch("a", touch).await;
        rig.until_reconciled_after(before).await;
    }
    let expected = ["Normal Rang", "Normal Ready"];
    eventually("each once", async || events(cluster, "a").await == expected).await;
    change(cluster, "a", "fail").await;
    until_ready_is(cluster, "a", "False Broken").await;
    eventually("it is tried again", async || rig.sum_of("workqueue_retries_total") >= 3).await;
    let expected = ["Normal Rang", "Normal Ready", "Warning Broken"];
    eventually("a warning", async || events(cluster, "a").await == expected).await;
    create(cluster, "b", "wait").await;
    until_ready_is(cluster, "b", "False WaitingForRain").await;
    eventually("to wait is ordinary", async || events(cluster, "b").await == ["Normal WaitingForRain"]).await;
    rig.running.stop().await;
}

/// The names of controller-runtime and client-go, which dashboards know, and those that are added.
const NAMES: &[&str] = &[
    "controller_runtime_reconcile_total{controller=\"scripted\",result=\"success\"}",
    "controller_runtime_reconcile_total{controller=\"scripted\",result=\"error\"}",
    "controller_runtime_reconcile_total{controller=\"scripted\",result=\"requeue\"}",
    "controller_runtime_reconcile_total{controller=\"scripted\",result=\"requeue_after\"}",
    "controller_runtime_reconcile_errors_total{controller=\"scripted\"}",
    "controller_runtime_terminal_reconcile_errors_total{controller=\"scripted\"}",
    "controller_runtime_reconcile_panics_total{controller=\"scripted\"}",
    "controller_runtime_reconcile_time_seconds_bucket{",
    "controller_runtime_max_concurrent_reconciles{controller=\"scripted\"}",
    "controller_runtime_active_workers{controller=\"scripted\"}",
    "workqueue_depth{",
    "workqueue_adds_total{",
    "workqueue_queue_duration_seconds_bucket{",
    "workqueue_work_duration_seconds_bucket{",
    "workqueue_unfinished_work_seconds{",
    "workqueue_longest_running_processor_seconds{",
    "workqueue_retries_total{",
    "rest_client_requests_total{code=\"200\"",
    "windlass_state_duration_seconds_count{controller=\"scripted\",state=\"Start\"",
    "windlass_trigger_total{controller=\"scripted\",cause=\"parent\"}",
    "windlass_condition{controller=\"scripted\",condition=\"Ready\",status=\"True\"} 1",
    "windlass_condition{controller=\"scripted\",condition=\"EndReady\",status=\"Unknown\"} 1",
    "windlass_contested_reconciles_total{controller=\"scripted\"}",
];

async fn metrics_have_their_names(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    create(cluster, "a", "done made").await;
    create(cluster, "b", "wait").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    until_ready_is(cluster, "b", "False WaitingForRain").await;
    rig.until_idle().await;
    let text = rig.running.handle().metrics().text();
    for name in NAMES {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name} is not in\n{text}");
    }
    rig.running.stop().await;
}

on_both_servers! {
    events_are_published_once
    metrics_have_their_names
}
