//! Outputs, the inventory, and pruning.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::scripted::{Scripted, change, create, inventory, start, until_ready_is};
use crate::support::{Cluster, Rig, Sent, eventually, on_both_servers};

/// The names in the writes of ConfigMaps with a method, in order.
fn written(rig: &Rig, method: &str) -> Vec<String> {
    let sent = rig.tap.take();
    let of_maps = sent.iter().filter(|sent| sent.method == method && sent.target.contains("/configmaps/"));
    let name = |sent: &Sent| {
        let path = sent.target.split('?').next().unwrap_or_default().to_owned();
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    of_maps.map(name).collect()
}

async fn metadata(cluster: &Cluster, name: &str) -> Value {
    let found = cluster.config_maps().get(name).await.expect("it is there");
    serde_json::to_value(found.metadata).expect("JSON")
}

/// Outputs are applied by the server under a manager of the controller, in the order in which they were ensured, tied
/// to their parent as asked.
async fn outputs_are_applied_in_order_and_tied(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::anywhere()).await;
    create(cluster, "a", "done z,plain:y,free:x,untied:w").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    assert_eq!(written(&rig, "PATCH"), ["z", "y", "x", "w"]);
    let pair = cluster.pairs().get("a").await.expect("a pair");
    for (name, controller, labelled) in
        [("z", Some(true), true), ("y", None, true), ("x", None, true), ("w", None, false)]
    {
        let metadata = metadata(cluster, name).await;
        let owner = &metadata["ownerReferences"][0];
        let owned = name == "z" || name == "y";
        assert_eq!(owner["uid"].as_str(), pair.metadata.uid.as_deref().filter(|_| owned), "{name}");
        assert_eq!(owner["controller"].as_bool(), controller, "{name}");
        assert_eq!(metadata["labels"]["windlass.dev/owner"].is_string(), labelled, "{name}");
        let entry = &metadata["managedFields"][0];
        assert_eq!((&entry["manager"], &entry["operation"]), (&json!("windlass-scripted"), &json!("Apply")));
    }
    assert_eq!(inventory(cluster, "a").await, ["z", "y", "x", "w"]);
    rig.running.stop().await;
}

/// What neither an owner nor a label finds again is recorded before it is made; all else costs no extra write.
async fn what_nothing_finds_again_is_recorded_first(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::anywhere()).await;
    for (script, expected) in [
        ("done tied", &["finalizer", "tied", "status"][..]),
        ("done untied:loose", &["finalizer", "status", "loose", "status"][..]),
    ] {
        rig.tap.take();
        let name = if script.contains("untied") { "loose" } else { "tied" };
        let pair = format!("of-{name}");
        create(cluster, &pair, script).await;
        until_ready_is(cluster, &pair, "True AllDone").await;
        rig.until_idle().await;
        let writes = rig.tap.take().into_iter().filter(|sent| sent.is_write() && sent.is_work());
        let shown = writes.map(|sent| match &sent.target {
            target if target.contains("/status") => "status",
            target if target.contains("/pairs/") => "finalizer",
            _ => name,
        });
        assert_eq!(shown.collect::<Vec<&str>>(), expected, "{script}");
    }
    rig.running.stop().await;
}

/// What a completed run does not ensure any more is deleted, in reverse order; a run that ended early deletes nothing.
async fn stale_outputs_are_pruned_in_reverse_order(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    create(cluster, "a", "done one,two,three,four").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    for (script, ready) in [
        ("wait five", "False WaitingForRain"),
        ("fail five", "False Broken"),
        ("astray five", "False UndeclaredTransition"),
    ] {
        change(cluster, "a", script).await;
        until_ready_is(cluster, "a", ready).await;
    }
    assert_eq!(written(&rig, "DELETE"), Vec::<String>::new());
    assert_eq!(inventory(cluster, "a").await, ["one", "two", "three", "four", "five"]);
    change(cluster, "a", "done two").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    assert_eq!(written(&rig, "DELETE"), ["five", "four", "three", "one"]);
    assert_eq!(inventory(cluster, "a").await, ["two"]);
    rig.running.stop().await;
}

/// What does not go when it is deleted stays in the inventory until it does.
async fn a_prune_that_is_held_up_is_remembered(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    create(cluster, "a", "done one,two").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    let hold = |finalizers: Value| Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    let maps = cluster.config_maps();
    maps.patch("one", &PatchParams::default(), &hold(json!(["example.com/hold"]))).await.expect("it is held");
    change(cluster, "a", "done two").await;
    until_ready_is(cluster, "a", "True AllDone").await;
    eventually("it is still known", async || inventory(cluster, "a").await == ["two", "one"]).await;
    maps.patch("one", &PatchParams::default(), &hold(json!(null))).await.expect("its finalizer is removed");
    eventually("it is forgotten", async || inventory(cluster, "a").await == ["two"]).await;
    assert!(maps.get_opt("one").await.expect("an answer").is_none());
    rig.running.stop().await;
}

on_both_servers! {
    outputs_are_applied_in_order_and_tied
    what_nothing_finds_again_is_recorded_first
    stale_outputs_are_pruned_in_reverse_order
    a_prune_that_is_held_up_is_remembered
}
