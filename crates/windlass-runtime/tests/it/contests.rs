//! A writer that changes an output back whenever it is corrected.

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::json;
use tokio::task::JoinHandle;
use two_configmaps::{Pair, config_map};
use windlass::{Cx, Declaration, Machine, Outcome, Output, States, done};
use windlass_runtime::ContestSettings;
use windlass_runtime::queue::Backoff;

use crate::support::{Cluster, Rig, Tap, eventually, manager, on_both_servers};

#[derive(States)]
enum Only {
    #[state(initial, condition = "Made")]
    Only,
}

/// Takes its output over from any other writer.
struct Stubborn;

impl Machine for Stubborn {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        cx.ensure(Output::from(config_map("made", cx.parent())).forced());
        done()
    }
}

/// How the intruder writes.
#[derive(Clone, Copy, Debug)]
enum Habit {
    Applies,
    Patches,
    Removes,
    Deletes,
}

/// Writes a ConfigMap with a habit whenever it is not as this writer wants it, until it is stopped.
fn intruder(cluster: &Cluster, name: &str, habit: Habit) -> JoinHandle<()> {
    let (config_maps, name) = (cluster.config_maps(), name.to_owned());
    tokio::spawn(async move {
        loop {
            let chosen = WatchParams::default().fields(&format!("metadata.name={name}"));
            let mut events = Box::pin(config_maps.watch(&chosen, "0").await.expect("a watch"));
            while let Ok(Some(event)) = events.try_next().await {
                if let WatchEvent::Added(seen) | WatchEvent::Modified(seen) = event {
                    write(&config_maps, &seen, habit).await;
                }
            }
        }
    })
}

async fn write(config_maps: &kube::Api<ConfigMap>, seen: &ConfigMap, habit: Habit) {
    let name = seen.metadata.name.as_deref().unwrap_or_default();
    if let Habit::Deletes = habit {
        // What a watch begins with may be gone already.
        let _ = config_maps.delete(name, &Default::default()).await;
        return;
    }
    let value = seen.data.as_ref().and_then(|data| data.get("value"));
    let as_intruder = PatchParams { field_manager: Some("intruder".to_owned()), ..PatchParams::default() };
    let written = match habit {
        Habit::Applies if value.is_some_and(|value| value != "theirs") => {
            let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                "data": {"value": "theirs"}});
            config_maps.patch(name, &as_intruder.force(), &Patch::Apply(body)).await
        }
        Habit::Patches if value.is_some_and(|value| value != "theirs") => {
            config_maps.patch(name, &as_intruder, &Patch::Merge(json!({"data": {"value": "theirs"}}))).await
        }
        Habit::Removes if value.is_some() => {
            config_maps.patch(name, &as_intruder, &Patch::Merge(json!({"data": {"value": null}}))).await
        }
        _ => return,
    };
    written.expect("it is written");
}

async fn start(cluster: &Cluster, first: Duration) -> Rig {
    let tap = Tap::new();
    let backoff = Backoff { initial: first, max: first * 4 };
    let settings = ContestSettings { backoff, ..ContestSettings::default() };
    let running = manager(cluster, &tap).contests(settings).controller(Stubborn).start().await;
    Rig { running: running.expect("it starts"), tap }
}

/// The condition as `status reason message`.
async fn condition(cluster: &Cluster, name: &str, kind: &str) -> String {
    let status = cluster.pairs().get(name).await.expect("a pair").status.unwrap_or_default();
    let found = status.conditions.into_iter().find(|condition| condition.r#type == kind);
    found.map(|found| format!("{} {} {}", found.status, found.reason, found.message)).unwrap_or_default()
}

/// The output is corrected three times, then left alone, and the status names the other writer.
async fn a_contest_is_backed_off_from_and_reported(cluster: &Cluster) {
    let rig = start(cluster, Duration::from_secs(600)).await;
    for (name, habit) in
        [("a", Habit::Applies), ("b", Habit::Patches), ("c", Habit::Removes), ("d", Habit::Deletes)]
    {
        let output = format!("{name}-made");
        let fighting = intruder(cluster, &output, habit);
        cluster.create_pair(name).await;
        eventually(&format!("{name} is contested"), async || {
            condition(cluster, name, "Ready").await.starts_with("False Contested")
        })
        .await;
        let message = condition(cluster, name, "Made").await;
        let who = match habit {
            Habit::Applies | Habit::Patches => ".data.value is also written by \"intruder\"",
            Habit::Removes => ".data.value is also changed by somebody who owns no field",
            Habit::Deletes => "somebody deletes it",
        };
        assert!(message.starts_with("False Contested") && message.contains(who), "{message}");
        // It is reconciled again and again, but nothing is written.
        let before = rig.reconciles();
        eventually("it is reconciled again", async || rig.reconciles() >= before + 3).await;
        let written = rig.tap.count(|sent| sent.is_write() && sent.target.contains(&output));
        assert_eq!(written, 4, "{habit:?}: it was made, and corrected three times");
        assert_ne!(cluster.value_of(&output).await.as_deref(), Some("hello"));
        fighting.abort();
    }
    assert!(rig.sum_of("windlass_contested_reconciles_total") >= 12);
    warned_once_each(cluster).await;
    rig.running.stop().await;
}

async fn warned_once_each(cluster: &Cluster) {
    let events: kube::Api<Event> = kube::Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let warnings = async || {
        let chosen = ListParams::default().fields("reason=Contested,type=Warning");
        events.list(&chosen).await.expect("events").items.len()
    };
    eventually("an event for each", async || warnings().await == 4).await;
}

/// When the other one ends, all is as it should be, and the status says so.
async fn a_contest_that_ends_is_forgotten(cluster: &Cluster) {
    let rig = start(cluster, Duration::from_millis(200)).await;
    let fighting = intruder(cluster, "a-made", Habit::Applies);
    cluster.create_pair("a").await;
    eventually("a is contested", async || {
        condition(cluster, "a", "Ready").await.starts_with("False Contested")
    })
    .await;
    fighting.abort();
    eventually("a is ready", async || condition(cluster, "a", "Ready").await.starts_with("True AllDone"))
        .await;
    assert_eq!(cluster.value_of("a-made").await.as_deref(), Some("hello"));
    rig.running.stop().await;
}

/// A change by hand is no contest.
async fn a_single_change_is_corrected_at_once(cluster: &Cluster) {
    let rig = start(cluster, Duration::from_secs(600)).await;
    cluster.create_pair("a").await;
    eventually("a is ready", async || condition(cluster, "a", "Ready").await.starts_with("True")).await;
    for _ in 0..2 {
        let patch = Patch::Merge(json!({"data": {"value": "theirs"}}));
        cluster.config_maps().patch("a-made", &PatchParams::default(), &patch).await.expect("it is written");
        eventually("it is corrected", async || cluster.value_of("a-made").await.as_deref() == Some("hello"))
            .await;
    }
    rig.until_idle().await;
    assert!(condition(cluster, "a", "Ready").await.starts_with("True"));
    assert_eq!(rig.sum_of("windlass_contested_reconciles_total"), 0);
    rig.running.stop().await;
}

/// A status that another writer changes is corrected three times, and then left alone. The status cannot report that.
async fn a_contest_over_the_status_is_bounded(cluster: &Cluster) {
    let rig = start(cluster, Duration::from_secs(600)).await;
    cluster.create_pair("a").await;
    eventually("a is ready", async || condition(cluster, "a", "Ready").await.starts_with("True")).await;
    rig.until_idle().await;
    rig.tap.take();
    let pairs = cluster.pairs();
    let fighting = tokio::spawn(async move {
        let as_intruder =
            PatchParams { field_manager: Some("intruder".to_owned()), ..PatchParams::default() };
        loop {
            // It only answers, so that each write of ours meets the status that it was decided on.
            let status = pairs.get("a").await.expect("a pair").status.unwrap_or_default();
            if status.observed_generation != Some(7) {
                let patch = Patch::Merge(json!({"status": {"observedGeneration": 7}}));
                pairs.patch_status("a", &as_intruder, &patch).await.expect("it is written");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    eventually("it backs off", async || rig.sum_of("windlass_contested_reconciles_total") >= 3).await;
    let written = rig.tap.count(|sent| sent.is_write() && sent.target.contains("/pairs/a/status"));
    assert_eq!(written, 3);
    fighting.abort();
    rig.running.stop().await;
}

on_both_servers! {
    a_contest_over_the_status_is_bounded
    a_contest_is_backed_off_from_and_reported
    a_contest_that_ends_is_forgotten
    a_single_change_is_corrected_at_once
}
