//! Finalizers, deletion without one, and suspension.

use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::scripted::{Scripted, change, condition, create, start, until_ready_is};
use crate::support::{Cluster, Sent, eventually, on_both_servers};

async fn is_gone(cluster: &Cluster, name: &str) -> bool {
    cluster.pairs().get_opt(name).await.expect("an answer").is_none()
}

async fn delete(cluster: &Cluster, name: &str) {
    cluster.pairs().delete(name, &DeleteParams::default()).await.expect("it is there");
}

async fn annotate(cluster: &Cluster, name: &str, suspend: Value) {
    cluster.merge_pair(name, json!({"metadata": {"annotations": {"windlass.dev/suspend": suspend}}})).await;
}

/// The finalizer is added before all effects, and removed when its machine is done: not while it waits, fails, panics,
/// or is done but asks to be requeued. What it ensures is not created.
async fn the_finalizer_goes_when_its_machine_is_done(cluster: &Cluster) {
    let machine = Scripted::parting();
    let rig = start(cluster, &machine).await;
    create(cluster, "a", "done made").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    let first = rig.tap.take().into_iter().find(|sent| sent.is_write()).expect("a write");
    assert!(first.target.contains("/pairs/a?"), "{first:?}");
    let finalizers = cluster.pairs().get("a").await.expect("a pair").metadata.finalizers;
    assert_eq!(finalizers.as_deref(), Some(&["windlass.dev/scripted".to_owned()][..]));
    change(cluster, "a", "wait").await;
    delete(cluster, "a").await;
    for (script, parted) in [
        ("wait", "False StillThere"),
        ("fail", "False Broken"),
        ("panic", "False Panicked"),
        ("again", "True Done"),
        ("wait", "False StillThere"),
    ] {
        change(cluster, "a", script).await;
        eventually(script, async || condition(cluster, "a", "Parted").await == parted).await;
        rig.until_idle().await;
        assert!(!is_gone(cluster, "a").await, "{script} has released it");
    }
    change(cluster, "a", "go").await;
    eventually("it is released", async || is_gone(cluster, "a").await).await;
    assert!(cluster.value_of("farewell").await.is_none(), "outputs during deletion are never created");
    assert!(machine.ran("a").contains(&"Parting"));
    rig.running.stop().await;
}

/// Without a finalizer machine nothing runs on deletion, however long that takes.
async fn without_a_finalizer_machine_nothing_runs(cluster: &Cluster) {
    let machine = Scripted::default();
    let rig = start(cluster, &machine).await;
    create(cluster, "a", "done made").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    rig.until_idle().await;
    let before = rig.reconciles();
    cluster.merge_pair("a", json!({"metadata": {"finalizers": ["example.com/hold"]}})).await;
    rig.until_reconciled_after(before).await;
    let runs = machine.runs("a");
    rig.tap.take();
    let before = rig.reconciles();
    delete(cluster, "a").await;
    change(cluster, "a", "done other").await;
    rig.until_reconciled_after(before).await;
    assert_eq!(machine.runs("a"), runs, "no state ran");
    assert_eq!(rig.tap.count(|sent| sent.is_work() && sent.is_write()), 0);
    assert!(cluster.value_of("other").await.is_none());
    cluster.merge_pair("a", json!({"metadata": {"finalizers": null}})).await;
    eventually("it is gone", async || is_gone(cluster, "a").await).await;
    rig.running.stop().await;
}

/// Suspended means no effect at all, not even a finalizer's, and a condition that says so.
async fn suspended_parents_are_left_alone(cluster: &Cluster) {
    let machine = Scripted::parting();
    let rig = start(cluster, &machine).await;
    create(cluster, "a", "done made").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    annotate(cluster, "a", json!("")).await;
    eventually("it says so", async || condition(cluster, "a", "Suspended").await == "True Annotated").await;
    rig.until_idle().await;
    rig.tap.take();
    let (before, runs) = (rig.reconciles(), machine.ran("a"));
    change(cluster, "a", "done other").await;
    cluster.delete_config_map("made").await;
    delete(cluster, "a").await;
    rig.until_reconciled_after(before).await;
    assert_eq!(machine.ran("a"), runs, "no state ran");
    // The condition is brought up to date; nothing else is written.
    let is_effect =
        |sent: &Sent| sent.is_work() && sent.is_write() && !sent.target.contains("/pairs/a/status");
    assert_eq!(rig.tap.count(is_effect), 0);
    annotate(cluster, "a", json!(null)).await;
    eventually("it resumes and removes the finalizer", async || is_gone(cluster, "a").await).await;
    rig.running.stop().await;
}

/// When the annotation goes, so does the condition.
async fn suspension_ends_with_its_condition(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    create(cluster, "a", "done").await;
    annotate(cluster, "a", json!("true")).await;
    eventually("it says so", async || condition(cluster, "a", "Suspended").await == "True Annotated").await;
    annotate(cluster, "a", json!("false")).await;
    until_ready_is(cluster, "a", "True AllDone").await;
    eventually("it says no more", async || condition(cluster, "a", "Suspended").await.is_empty()).await;
    rig.running.stop().await;
}

on_both_servers! {
    the_finalizer_goes_when_its_machine_is_done
    without_a_finalizer_machine_nothing_runs
    suspended_parents_are_left_alone
    suspension_ends_with_its_condition
}
