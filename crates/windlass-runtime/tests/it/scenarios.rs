//! What a controller does on any API server: each scenario needs a client and a namespace, nothing else.

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use serde_json::json;

use crate::support::{Cluster, Fault, Rig, Sent, Tap, eventually, on_both_servers};

/// Two outputs and a status are three writes, and nothing is read but by watches.
async fn converges_with_the_fewest_requests(cluster: &Cluster) {
    let rig = Rig::start(cluster).await;
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        cluster.create_pair(name).await;
    }
    for name in names {
        cluster.until_ready(name).await;
    }
    rig.until_idle().await;
    eventually("one event each", async || rig.tap.count(Sent::is_event) == names.len()).await;
    let work: Vec<Sent> = rig.tap.take().into_iter().filter(Sent::is_work).collect();
    assert_eq!(work.len(), 3 * names.len(), "{work:#?}");
    assert!(work.iter().all(Sent::is_write), "{work:#?}");
    rig.running.stop().await;
}

/// A change that means nothing costs nothing.
async fn a_touch_costs_no_request(cluster: &Cluster) {
    let rig = Rig::start(cluster).await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    rig.until_idle().await;
    eventually("its event", async || rig.tap.count(Sent::is_event) == 1).await;
    rig.tap.take();
    for value in ["1", "2", "3"] {
        let before = rig.reconciles();
        cluster.touch("a", value).await;
        rig.until_reconciled_after(before).await;
    }
    assert_eq!(rig.tap.take(), [], "nothing was to be asked or written");
    rig.running.stop().await;
}

/// A new process reads all there is once, and finds nothing to do.
async fn a_restart_costs_no_request(cluster: &Cluster) {
    let rig = Rig::start(cluster).await;
    for name in ["a", "b"] {
        cluster.create_pair(name).await;
    }
    for name in ["a", "b"] {
        cluster.until_ready(name).await;
    }
    rig.until_idle().await;
    rig.running.stop().await;
    let rig = Rig::start(cluster).await;
    eventually("both are looked at", async || rig.reconciles() >= 2).await;
    rig.until_idle().await;
    let work: Vec<Sent> = rig.tap.take().into_iter().filter(Sent::is_work).collect();
    assert_eq!(work, [], "only lists and watches");
    rig.running.stop().await;
}

/// What another writer deletes or changes is corrected.
async fn outputs_are_kept_as_they_should_be(cluster: &Cluster) {
    let rig = Rig::start(cluster).await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    cluster.delete_config_map("a-cm1").await;
    eventually("a-cm1 is back", async || cluster.value_of("a-cm1").await.is_some()).await;
    cluster.until_ready("a").await;
    cluster.merge_pair("a", json!({"spec": {"value": "new"}})).await;
    for output in ["a-cm1", "a-cm2"] {
        eventually("the new value", async || cluster.value_of(output).await.as_deref() == Some("new")).await;
    }
    cluster.until_ready("a").await;
    rig.running.stop().await;
}

/// A process that dies around any of its writes leaves nothing that the next one does not repair.
async fn recovers_from_a_crash_at_any_write(cluster: &Cluster) {
    for (number, lost) in [(1, false), (1, true), (2, false), (2, true), (3, false), (3, true)] {
        let name = format!("crash-{number}-{lost}");
        let tap = Tap::new();
        let reached = std::sync::Arc::new(tokio::sync::Notify::new());
        let (signal, mut writes) = (reached.clone(), 0);
        let (pair, first) = (name.clone(), format!("{name}-cm1"));
        tap.rule(move |sent| {
            let is_ours = sent.target.contains(&pair) || sent.target.contains(&first);
            writes += usize::from(sent.is_write() && is_ours);
            if !(sent.is_write() && is_ours && writes == number) {
                return Fault::None;
            }
            signal.notify_one();
            if lost { Fault::AnswerLost } else { Fault::Swallowed }
        });
        let rig = Rig::start_on(cluster, tap).await;
        cluster.create_pair(&name).await;
        reached.notified().await;
        drop(rig);
        let rig = Rig::start(cluster).await;
        cluster.until_ready(&name).await;
        rig.running.stop().await;
    }
}

/// Failures of the server are waited out.
async fn failing_requests_are_tried_again(cluster: &Cluster) {
    let rig = Rig::start(cluster).await;
    let mut failures = 4;
    rig.tap.rule(move |sent| {
        if !sent.is_write() || failures == 0 {
            return Fault::None;
        }
        failures -= 1;
        let busy = failures % 2 == 0;
        let (code, retry_after) = if busy { (429, Some(0)) } else { (500, None) };
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "later", "code": code});
        Fault::Answer { code, retry_after, body }
    });
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    rig.running.stop().await;
}

/// What happened to a parent can be read in its Events, by its uid as `kubectl describe` does it.
async fn events_report_what_happened(cluster: &Cluster) {
    let rig = Rig::start(cluster).await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    let uid = cluster.pairs().get("a").await.expect("a pair").metadata.uid.unwrap_or_default();
    let events: kube::Api<Event> = kube::Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let about = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
    let reasons = async || {
        let events = events.list(&about).await.expect("events").items;
        events.into_iter().filter_map(|event| event.reason).collect::<Vec<String>>()
    };
    eventually("it says that it is ready", async || reasons().await == ["Ready"]).await;
    rig.running.stop().await;
}

on_both_servers! {
    converges_with_the_fewest_requests
    a_touch_costs_no_request
    a_restart_costs_no_request
    outputs_are_kept_as_they_should_be
    recovers_from_a_crash_at_any_write
    failing_requests_are_tried_again
    events_report_what_happened
}
