//! One measurement: endpoints in networks that are there.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::stream::{StreamExt, TryStreamExt};
use serde_json::json;
use windlass_mizar::api::{Endpoint, Phase, Subnet, Vpc};
use windlass_mizar::audit::compare;
use windlass_mizar::tables::Inventory;

use crate::cluster::{Cluster, until};

/// How much of everything.
pub(crate) struct Sizes {
    pub(crate) endpoints: usize,
    pub(crate) networks: usize,
    pub(crate) bouncers: usize,
    pub(crate) droplets: usize,
}

/// What came of it.
pub(crate) struct Figures {
    pub(crate) endpoints: usize,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// Without those that created the endpoints.
    pub(crate) writes: u64,
    pub(crate) calls: u64,
    pub(crate) rows: usize,
}

pub(crate) async fn measure(sizes: &Sizes) -> Result<Figures> {
    let cluster = Cluster::start(sizes.droplets).await?;
    let vpc = json!({ "metadata": { "name": "vpc" }, "spec": { "ip": "10.0.0.0", "prefix": 8 } });
    cluster.create_from::<Vpc>(vpc).await?;
    for network in 0..sizes.networks {
        let spec = json!({ "vpc": "vpc", "ip": format!("10.{network}.0.0"), "prefix": 16, "bouncers": sizes.bouncers });
        let subnet = json!({ "metadata": { "name": format!("net{network}") }, "spec": spec });
        cluster.create_from::<Subnet>(subnet).await?;
    }
    until("the networks are provisioned", async || {
        let subnets = cluster.all::<Subnet>().await?;
        Ok(subnets.len() == sizes.networks
            && subnets.iter().all(|net| net.state().phase == Phase::Provisioned))
    })
    .await?;
    let (writes, calls, cpu, begun) = (cluster.writes().await?, cluster.calls(), cpu_time()?, Instant::now());
    let create = |number: usize| {
        let cluster = &cluster;
        let spec = json!({
            "type": "simple", "vpc": "vpc", "net": format!("net{}", number % sizes.networks),
            "pod": format!("pod{number}"), "droplet": format!("node{}", number % sizes.droplets + 1),
        });
        async move {
            let name = format!("p-pod{number}");
            cluster.create_from::<Endpoint>(json!({ "metadata": { "name": name }, "spec": spec })).await
        }
    };
    futures::stream::iter((0..sizes.endpoints).map(create))
        .buffer_unordered(16)
        .try_collect::<Vec<()>>()
        .await?;
    loop {
        let endpoints = cluster.all::<Endpoint>().await?;
        let provisioned = endpoints.iter().filter(|one| one.state().phase == Phase::Provisioned).count();
        if provisioned == sizes.endpoints {
            break;
        }
        // Counting takes time from what is counted: the more there are, the less often.
        tokio::time::sleep(Duration::from_millis(100 + sizes.endpoints as u64 / 10)).await;
        ensure!(
            begun.elapsed() < Duration::from_secs(600),
            "{provisioned} of {} are provisioned",
            sizes.endpoints
        );
    }
    let seconds = begun.elapsed().as_secs_f64();
    let cpu_seconds = (cpu_time()? - cpu).as_secs_f64();
    let writes = cluster.writes().await? - writes - sizes.endpoints as u64;
    let calls = cluster.calls() - calls;
    let inventory = Inventory {
        dividers: cluster.all().await?,
        bouncers: cluster.all().await?,
        endpoints: cluster.all().await?,
    };
    let mut rows = 0;
    for (name, daemon) in &cluster.daemons {
        let found = daemon.rows();
        rows += found.len();
        let differences = compare(name, &inventory.rows(name), &found);
        ensure!(
            differences.is_empty(),
            "{} rows of {name} are wrong: {:?}",
            differences.len(),
            differences[0]
        );
    }
    cluster.stop().await;
    Ok(Figures { endpoints: sizes.endpoints, seconds, cpu_seconds, writes, calls, rows })
}

/// The processor time of this process, all of its threads included.
fn cpu_time() -> Result<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 =
        fields.get(11..13).unwrap_or_default().iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // A tick is a hundredth of a second on every Linux that Rust's standard library supports.
    Ok(Duration::from_millis(ticks * 10))
}
