//! What makes a reconcile due, and what it reads.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ObjectMeta, PostParams};
use two_configmaps::Pair;
use windlass::{Cx, Declaration, Machine, Outcome, States, done};

use super::scripted::{Scripted, create, start, until_ready_is};
use crate::support::{Cluster, Rig, Sent, Tap, eventually, manager, on_both_servers};

/// A Secret is what the machine watches.
async fn create_secret(cluster: &Cluster, name: &str) {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let secrets: kube::Api<Secret> = kube::Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let secret = Secret { metadata, ..Secret::default() };
    secrets.create(&PostParams::default(), &secret).await.expect("it is made");
}

/// The parent, an output and whatever is watched make one reconcile due, which knows all that caused it.
async fn every_cause_is_kept(cluster: &Cluster) {
    let rig = start(cluster, &Scripted::default()).await;
    for (name, script) in [("a", "done made"), ("d", "done last")] {
        create(cluster, name, script).await;
        until_ready_is(cluster, name, "True AllDone").await;
    }
    rig.until_idle().await;
    rig.running.handle().set_workers("scripted", 0);
    cluster.touch("a", "1").await;
    cluster.delete_config_map("made").await;
    create_secret(cluster, "a").await;
    // Each watch reports in order, so the last event of each shows that all have come.
    create(cluster, "b", "done").await;
    cluster.delete_config_map("last").await;
    create_secret(cluster, "c").await;
    eventually("all is due", async || rig.sum_of("workqueue_depth") == 4).await;
    let before = rig.reconciles();
    rig.running.handle().set_workers("scripted", 1);
    rig.until_reconciled_after(before).await;
    let recordings = rig.running.handle().recordings("scripted");
    let watched = |cause: &String| cause.ends_with("(Watched)");
    let mut of_a = recordings.into_iter().filter(|recording| recording.target.name == "a");
    let causes = of_a.find(|recording| recording.causes.iter().any(watched)).expect("a recording").causes;
    let namespace = &cluster.namespace;
    for cause in [
        format!("Pair.example.windlass.dev {namespace}/a (Parent)"),
        format!("ConfigMap {namespace}/made (Output)"),
        format!("Secret {namespace}/a (Watched)"),
    ] {
        assert!(causes.contains(&cause), "{cause} is not among {causes:?}");
    }
    for cause in ["parent", "output", "watched"] {
        let text = rig.running.handle().metrics().text();
        assert!(text.contains(&format!("cause=\"{cause}\"")), "{cause}");
    }
    rig.running.stop().await;
}

/// Reads the same ConfigMap in both ways.
struct Reader;

#[derive(States)]
enum Only {
    #[state(initial, condition = "Read")]
    Only,
}

impl Machine for Reader {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        if cx.parent().spec.value == "cached" {
            cx.cached::<ConfigMap>("other").await?;
        } else {
            cx.get::<ConfigMap>("other").await?;
        }
        done()
    }
}

/// `get` asks the server each time; `cached` never does.
async fn reads_are_linearisable_unless_cached(cluster: &Cluster) {
    for (script, per_reconcile) in [("cached", 0), ("linearisable", 1)] {
        let tap = Tap::new();
        let running = manager(cluster, &tap).controller(Reader).start().await.expect("it starts");
        let rig = Rig { running, tap };
        create(cluster, script, script).await;
        until_ready_is(cluster, script, "True AllDone").await;
        rig.until_idle().await;
        let before = rig.reconciles();
        rig.tap.take();
        cluster.touch(script, "1").await;
        rig.until_reconciled_after(before).await;
        let reads = rig.tap.count(|sent: &Sent| sent.is_work() && sent.target.contains("/configmaps/other"));
        assert_eq!(reads as u64, per_reconcile * (rig.reconciles() - before), "{script}");
        rig.running.stop().await;
        cluster.pairs().delete(script, &Default::default()).await.expect("it is there");
    }
}

/// What a later step of the same reconcile, and the next one, read is never older than what was written: a status of
/// an old version would be refused, and the reconcile would start again.
async fn own_writes_are_read_at_once(cluster: &Cluster) {
    let machine = Scripted::anywhere();
    let rig = start(cluster, &machine).await;
    let scripts: BTreeMap<String, String> =
        (0..10).map(|number| (format!("p{number}"), format!("done untied:o{number}"))).collect();
    for (name, script) in &scripts {
        create(cluster, name, script).await;
    }
    for name in scripts.keys() {
        until_ready_is(cluster, name, "True AllDone").await;
    }
    rig.until_idle().await;
    // The finalizer, the inventory, the output, the status: each after the other on what the one before has left.
    let writes = rig.tap.count(|sent| sent.is_work() && sent.is_write());
    assert_eq!(writes, 4 * scripts.len());
    assert_eq!(rig.sum_of("workqueue_retries_total"), 0);
    rig.running.stop().await;
}

on_both_servers! {
    every_cause_is_kept
    reads_are_linearisable_unless_cached
    own_writes_are_read_at_once
}
