//! The bare client: the writes that a controller needs, from clients that know everything beforehand. It shows what the API
//! server can take.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use conformance::target::Session;
use windlass_bench_load::with_body;

use crate::cluster::{Cluster, name, pairs};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// What the bare client showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BareFigures {
    pub(crate) writes_per_second: f64,
    pub(crate) server_cpu_seconds: f64,
}

/// Sends the writes that a controller needs, from clients that know everything.
pub(crate) fn measure(
    cluster: &Cluster,
    namespace: &str,
    parents: u64,
    clients: usize,
) -> Result<BareFigures> {
    cluster.prepare(namespace, parents, clients)?;
    let known = known(cluster, namespace)?;
    let server_used = cluster.cpu_seconds()?;
    let started = Instant::now();
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    // One client makes all writes of a parent before it goes on to the next, as a worker does.
    let next = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| -> Result<()> {
        // A watch that is not read is soon ended by the server.
        let ready = scope.spawn(|| cluster.readiness(namespace)?.wait(parents));
        let send = || -> Result<()> {
            let mut session = cluster.target.session();
            loop {
                let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if number >= parents {
                    return Ok(());
                }
                let parent = known.get(&name(number)).context("every parent is listed")?;
                let name = &parent.name;
                for suffix in ["cm1", "cm2"] {
                    let path = format!("{maps}/{name}-{suffix}?fieldManager=windlass-two-configmaps");
                    let body = config_map(namespace, parent, suffix);
                    let answer = session.send(&with_body("PATCH", path, APPLY, body))?;
                    anyhow::ensure!(answer.code < 300, "{}", answer.text());
                }
                let path = format!("{}/{name}/status?fieldManager=windlass-two-configmaps", pairs(namespace));
                let answer = session.send(&with_body("PATCH", path, MERGE, status(namespace, parent)))?;
                anyhow::ensure!(answer.code < 300, "{}", answer.text());
            }
        };
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(send)).collect();
        for client in clients {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        ready.join().map_err(|_| anyhow::anyhow!("the watch panicked"))?
    })?;
    Ok(BareFigures {
        writes_per_second: 3.0 * parents as f64 / started.elapsed().as_secs_f64(),
        server_cpu_seconds: cluster.cpu_seconds()? - server_used,
    })
}

/// What the bare client needs to know of a parent.
struct Known {
    name: String,
    uid: String,
    version: String,
}

fn known(cluster: &Cluster, namespace: &str) -> Result<BTreeMap<String, Known>> {
    let list = cluster.target.get(&pairs(namespace))?.value().context("a list")?;
    let items = list["items"].as_array().context("items")?;
    let known = items.iter().map(|item| {
        let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default().to_owned();
        (text("name"), Known { name: text("name"), uid: text("uid"), version: text("resourceVersion") })
    });
    Ok(known.collect())
}

/// What Windlass applies. Nothing compares the two: look here when the controller changes.
fn config_map(namespace: &str, parent: &Known, suffix: &str) -> String {
    let Known { name, uid, .. } = parent;
    format!(
        r#"{{"apiVersion":"v1","data":{{"value":"hello"}},"kind":"ConfigMap","metadata":{{"labels":{{"windlass.dev/controller":"two-configmaps","windlass.dev/owner":"{namespace}.{name}"}},"name":"{name}-{suffix}","namespace":"{namespace}","ownerReferences":[{{"apiVersion":"example.windlass.dev/v1","blockOwnerDeletion":true,"controller":true,"kind":"Pair","name":"{name}","uid":"{uid}"}}]}}}}"#
    )
}

/// What Windlass writes into the status, but for the time, and for the uids of the outputs, which are those of the parent.
fn status(namespace: &str, parent: &Known) -> String {
    let Known { name, uid, version } = parent;
    let condition = |kind: &str, reason: &str, message: &str| {
        format!(
            r#"{{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"{message}","observedGeneration":1,"reason":"{reason}","status":"True","type":"{kind}"}}"#
        )
    };
    let output = |suffix: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","name":"{name}-{suffix}","namespace":"{namespace}","resource":"configmaps","uid":"{uid}"}}"#
        )
    };
    format!(
        r#"{{"metadata":{{"resourceVersion":"{version}"}},"status":{{"conditions":[{},{},{}],"controllers":[{{"conditions":["FirstReady","SecondReady"],"name":"two-configmaps","observedGeneration":1,"outputs":[{},{}],"ready":true}}],"observedGeneration":1}}}}"#,
        condition("FirstReady", "Done", "First is done"),
        condition("SecondReady", "Done", "Second is done"),
        condition("Ready", "AllDone", "All states are done"),
        output("cm1"),
        output("cm2"),
    )
}
