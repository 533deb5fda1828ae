//! Other writers: conflicts on outputs, and a status that somebody else writes too.

use kube::api::{Patch, PatchParams};
use serde_json::json;
use two_configmaps::Pair;

use super::scripted::{Scripted, change, condition, create, start, until_ready_is};
use crate::support::{Cluster, Embedded, Fault, eventually, on_both_servers};

fn somebody() -> PatchParams {
    PatchParams { field_manager: Some("somebody".to_owned()), ..PatchParams::default() }
}

/// A field that another writer has taken is a conflict: reported, retried with backoff, no error, and not overwritten.
async fn a_conflict_is_no_error(cluster: &Cluster) {
    let machine = Scripted::default();
    let rig = start(cluster, &machine).await;
    create(cluster, "a", "done made").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    let theirs = Patch::Merge(json!({"data": {"value": "theirs"}}));
    cluster.config_maps().patch("made", &somebody(), &theirs).await.expect("it is there");
    until_ready_is(cluster, "a", "False Conflict").await;
    assert_eq!(condition(cluster, "a", "Started").await, "False Conflict");
    let runs = machine.runs("a");
    eventually("it is tried again", async || machine.runs("a") >= runs + 2).await;
    assert_eq!(cluster.value_of("made").await.as_deref(), Some("theirs"));
    assert_eq!(rig.sum_of("controller_runtime_reconcile_errors_total"), 0);
    assert!(rig.sum_of("workqueue_retries_total") >= 2);
    // They give the field up.
    let none = Patch::Merge(json!({"data": {"value": null}}));
    cluster.config_maps().patch("made", &somebody(), &none).await.expect("it is there");
    until_ready_is(cluster, "a", "True AllDone").await;
    rig.running.stop().await;
}

/// What somebody else made is not taken over.
async fn what_is_there_already_is_not_taken(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    cluster.create_config_map("made").await;
    create(cluster, "a", "done made").await;
    until_ready_is(cluster, "a", "False Conflict").await;
    assert_eq!(cluster.value_of("made").await, None);
    cluster.delete_config_map("made").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    rig.running.stop().await;
}

fn their_condition() -> serde_json::Value {
    json!({"type": "Theirs", "status": "True", "reason": "Said", "message": "", "observedGeneration": 1,
        "lastTransitionTime": "2024-01-01T00:00:00Z"})
}

/// Adds a condition to those that there are.
async fn add_condition(pairs: &kube::Api<Pair>, name: &str) {
    let status = pairs.get(name).await.expect("a pair").status.unwrap_or_default();
    let mut conditions: Vec<serde_json::Value> =
        status.conditions.iter().map(|condition| json!(condition)).collect();
    conditions.push(their_condition());
    let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
    pairs.patch_status(name, &somebody(), &patch).await.expect("it is written");
}

/// Conditions of others stay.
async fn conditions_of_others_stay(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    create(cluster, "a", "done").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    add_condition(&cluster.pairs(), "a").await;
    change(cluster, "a", "wait").await;
    until_ready_is(cluster, "a", "False WaitingForRain").await;
    assert_eq!(condition(cluster, "a", "Theirs").await, "True Said");
    rig.running.stop().await;
}

on_both_servers! {
    a_conflict_is_no_error
    what_is_there_already_is_not_taken
    conditions_of_others_stay
}

/// A status that is decided on what has been overtaken is refused, and decided again: the last writer does not win.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_was_overtaken_is_decided_again() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let rig = start(cluster, &Scripted::default()).await;
    let (pairs, mut overtaken) = (cluster.pairs(), false);
    // Somebody gets in between, when the status of the pair is on its way.
    rig.tap.rule(move |sent| {
        if sent.target.contains("/pairs/a/status") && !std::mem::replace(&mut overtaken, true) {
            let overtaking = add_condition(&pairs, "a");
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(overtaking));
        }
        Fault::None
    });
    create(cluster, "a", "done").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    assert_eq!(condition(cluster, "a", "Theirs").await, "True Said", "it was overwritten");
    assert_eq!(rig.tap.count(|sent| sent.target.contains("/pairs/a/status")), 2);
    assert_eq!(rig.sum_of("controller_runtime_reconcile_errors_total"), 0, "that is no error");
    rig.running.stop().await;
}
