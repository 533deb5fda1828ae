//! One round: a contestant converges, is touched, is started again, and looks at everything again after a while.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use conformance::target::Session;
use windlass_bench_load::with_body;

use crate::cluster::{Cluster, name, pairs};
use crate::controllers::Contestant;
use crate::process::Process;
use crate::requests::Requests;

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// What a round showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// From the start of the process until every parent is ready.
    pub(crate) seconds: f64,
    /// Until nothing more was sent.
    pub(crate) requests: Requests,
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_mebibytes: f64,
    pub(crate) touched: Cost,
    pub(crate) restarted: Cost,
    pub(crate) resynced: Cost,
}

/// What something cost that changes nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) writes: f64,
    pub(crate) cpu_seconds: f64,
}

/// Measures a contestant in a namespace of its own.
pub(crate) fn measure(
    cluster: &Cluster,
    contestant: Contestant,
    namespace: &str,
    parents: u64,
    clients: usize,
) -> Result<Figures> {
    cluster.prepare(namespace, parents, clients)?;
    let before = Requests::so_far(&cluster.target)?;
    let readiness = cluster.readiness(namespace)?;
    let started = Instant::now();
    let process = Process::start(contestant, &cluster.kubeconfig(), namespace, None)?;
    readiness.wait(parents)?;
    let seconds = started.elapsed().as_secs_f64();
    let cpu_seconds = process.settle()?;
    let requests = Requests::so_far(&cluster.target)?.since(before);
    let peak_mebibytes = process.peak_mebibytes()?;

    let before = Requests::so_far(&cluster.target)?;
    cluster.touch(namespace, parents, clients)?;
    let touched = Cost {
        cpu_seconds: process.settle()? - cpu_seconds,
        writes: Requests::so_far(&cluster.target)?.since(before).writes - parents as f64,
    };
    process.terminate()?;

    let before = Requests::so_far(&cluster.target)?;
    let started = Instant::now();
    let process = Process::start(contestant, &cluster.kubeconfig(), namespace, None)?;
    let restarted = Cost {
        cpu_seconds: process.settle()?,
        writes: Requests::so_far(&cluster.target)?.since(before).writes,
    };
    let settled_after = started.elapsed();
    process.terminate()?;

    let resynced = resync(cluster, contestant, namespace, settled_after)?;
    Ok(Figures { seconds, requests, cpu_seconds, peak_mebibytes, touched, restarted, resynced })
}

/// Measures the first time that a contestant looks at everything again, long after it has settled.
fn resync(
    cluster: &Cluster,
    contestant: Contestant,
    namespace: &str,
    settled_after: Duration,
) -> Result<Cost> {
    let interval = Duration::from_secs(2 * settled_after.as_secs() + 5);
    let started = Instant::now();
    let process = Process::start(contestant, &cluster.kubeconfig(), namespace, Some(interval))?;
    let used = process.settle()?;
    ensure!(started.elapsed() < interval, "it looks again before it has settled");
    let before = Requests::so_far(&cluster.target)?;
    // The last parent was looked at somewhat later than the first.
    sleep((started + interval + settled_after / 2).saturating_duration_since(Instant::now()));
    let cost = Cost {
        cpu_seconds: process.settle()? - used,
        writes: Requests::so_far(&cluster.target)?.since(before).writes,
    };
    process.terminate()?;
    Ok(cost)
}

/// Sends the writes that a controller needs, from clients that know everything, and returns how many were answered in
/// a second.
pub(crate) fn bare(cluster: &Cluster, namespace: &str, parents: u64, clients: usize) -> Result<f64> {
    cluster.prepare(namespace, parents, clients)?;
    let uids = uids(cluster, namespace)?;
    let started = Instant::now();
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    // One client makes all writes of a parent before it goes on to the next, as a worker does.
    let next = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| -> Result<()> {
        // A watch that nobody reads is soon ended by the server.
        let ready = scope.spawn(|| cluster.readiness(namespace)?.wait(parents));
        let send = || -> Result<()> {
            let mut session = cluster.target.session();
            loop {
                let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if number >= parents {
                    return Ok(());
                }
                let parent = name(number);
                let uid = uids.get(&parent).context("every parent has a uid")?;
                for suffix in ["cm1", "cm2"] {
                    let path = format!("{maps}/{parent}-{suffix}?fieldManager=bare&force=true");
                    let body = config_map(&parent, suffix, uid);
                    let answer = session.send(&with_body("PATCH", path, APPLY, body))?;
                    anyhow::ensure!(answer.code < 300, "{}", answer.text());
                }
                let path = format!("{}/{parent}/status", pairs(namespace));
                let answer = session.send(&with_body("PATCH", path, MERGE, status(&parent)))?;
                anyhow::ensure!(answer.code < 300, "{}", answer.text());
            }
        };
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(send)).collect();
        for client in clients {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        ready.join().map_err(|_| anyhow::anyhow!("the watch panicked"))?
    })?;
    Ok(3.0 * parents as f64 / started.elapsed().as_secs_f64())
}

fn uids(cluster: &Cluster, namespace: &str) -> Result<std::collections::BTreeMap<String, String>> {
    let list = cluster.target.get(&pairs(namespace))?.value().context("a list")?;
    let items = list["items"].as_array().context("items")?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    Ok(items.iter().map(|item| (text(&item["metadata"]["name"]), text(&item["metadata"]["uid"]))).collect())
}

fn config_map(parent: &str, suffix: &str, uid: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{parent}-{suffix}","labels":{{"windlass.dev/controller":"two-configmaps","windlass.dev/owner":"{parent}"}},"ownerReferences":[{{"apiVersion":"example.windlass.dev/v1","kind":"Pair","name":"{parent}","uid":"{uid}","controller":true,"blockOwnerDeletion":true}}]}},"data":{{"value":"hello"}}}}"#
    )
}

fn status(parent: &str) -> String {
    let condition = |kind: &str| {
        format!(
            r#"{{"type":"{kind}","status":"True","reason":"Done","message":"","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00Z"}}"#
        )
    };
    let output = |suffix: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","resource":"configmaps","name":"{parent}-{suffix}"}}"#
        )
    };
    format!(
        r#"{{"status":{{"observedGeneration":1,"conditions":[{},{},{}],"controllers":[{{"name":"two-configmaps","observedGeneration":1,"ready":true,"conditions":["FirstReady","SecondReady"],"outputs":[{},{}]}}]}}}}"#,
        condition("FirstReady"),
        condition("SecondReady"),
        condition("Ready"),
        output("cm1"),
        output("cm2"),
    )
}
