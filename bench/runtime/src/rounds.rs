//! One round: a contestant converges, is touched, is started again, and looks at everything again after a while.

use std::collections::BTreeMap;
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
    /// What the API server and etcd computed until every parent was ready.
    pub(crate) server_cpu_seconds: f64,
    pub(crate) peak_mebibytes: f64,
    pub(crate) touched: Cost,
    pub(crate) restarted: Cost,
    pub(crate) resynced: Cost,
}

/// What the bare client showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BareFigures {
    pub(crate) writes_per_second: f64,
    pub(crate) server_cpu_seconds: f64,
}

/// What something cost that changes nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) writes: f64,
    pub(crate) cpu_seconds: f64,
}

impl Cost {
    const NOT_MEASURED: Cost = Cost { writes: f64::NAN, cpu_seconds: f64::NAN };
}

/// A contestant in a namespace of its own.
pub(crate) struct Trial<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) contestant: Contestant,
    pub(crate) namespace: &'a str,
    pub(crate) parents: u64,
    /// So many make the parents, and touch them.
    pub(crate) clients: usize,
}

impl Trial<'_> {
    /// Measures it from its first start until it looks at everything again after another one.
    pub(crate) fn measure(&self) -> Result<Figures> {
        let (process, figures) = self.converging()?;

        let before = self.requests()?;
        self.cluster.touch(self.namespace, self.parents, self.clients)?;
        let touched = Cost {
            cpu_seconds: process.settle()? - figures.cpu_seconds,
            writes: self.requests()?.since(before).writes - self.parents as f64,
        };
        process.terminate()?;

        let before = self.requests()?;
        let started = Instant::now();
        let process = self.start(None)?;
        let restarted =
            Cost { cpu_seconds: process.settle()?, writes: self.requests()?.since(before).writes };
        let settled_after = started.elapsed();
        process.terminate()?;

        let resynced = self.resync(settled_after)?;
        Ok(Figures { touched, restarted, resynced, ..figures })
    }

    /// Measures it until every parent is ready, and no further.
    pub(crate) fn converge(&self) -> Result<Figures> {
        let (process, figures) = self.converging()?;
        process.terminate()?;
        Ok(figures)
    }

    /// Starts it, and waits until nothing is left to do for it.
    fn converging(&self) -> Result<(Process, Figures)> {
        self.cluster.prepare(self.namespace, self.parents, self.clients)?;
        let before = self.requests()?;
        let readiness = self.cluster.readiness(self.namespace)?;
        let server_used = self.cluster.cpu_seconds()?;
        let started = Instant::now();
        let process = self.start(None)?;
        readiness.wait(self.parents)?;
        let seconds = started.elapsed().as_secs_f64();
        let server_cpu_seconds = self.cluster.cpu_seconds()? - server_used;
        let cpu_seconds = process.settle()?;
        let figures = Figures {
            seconds,
            requests: self.requests()?.since(before),
            cpu_seconds,
            server_cpu_seconds,
            peak_mebibytes: process.peak_mebibytes()?,
            touched: Cost::NOT_MEASURED,
            restarted: Cost::NOT_MEASURED,
            resynced: Cost::NOT_MEASURED,
        };
        Ok((process, figures))
    }

    /// Measures the first time that it looks at everything again, long after it has settled.
    fn resync(&self, settled_after: Duration) -> Result<Cost> {
        let interval = Duration::from_secs(2 * settled_after.as_secs() + 5);
        let started = Instant::now();
        let process = self.start(Some(interval))?;
        let used = process.settle()?;
        ensure!(started.elapsed() < interval, "it looks again before it has settled");
        let before = self.requests()?;
        // The last parent was looked at somewhat later than the first.
        sleep((started + interval + settled_after / 2).saturating_duration_since(Instant::now()));
        let cost =
            Cost { cpu_seconds: process.settle()? - used, writes: self.requests()?.since(before).writes };
        process.terminate()?;
        Ok(cost)
    }

    fn start(&self, resync: Option<Duration>) -> Result<Process> {
        Process::start(self.contestant, &self.cluster.kubeconfig(), self.namespace, resync)
    }

    fn requests(&self) -> Result<Requests> {
        Requests::so_far(&self.cluster.target)
    }
}

/// Sends the writes that a controller needs, from clients that know everything.
pub(crate) fn bare(cluster: &Cluster, namespace: &str, parents: u64, clients: usize) -> Result<BareFigures> {
    cluster.prepare(namespace, parents, clients)?;
    let known = known(cluster, namespace)?;
    let server_used = cluster.cpu_seconds()?;
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

/// What Windlass applies, to the letter.
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
