//! One measurement: all pods of all networks are there, and join.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::{Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_bench_load::process;
use windlass_server::{Server, ServerOptions};

use crate::pods;
use crate::simulated::Simulated;

/// It has no end in sight after so long.
const JOIN_TIMEOUT: Duration = Duration::from_secs(120);

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) seconds: f64,
    pub(crate) joins: usize,
    pub(crate) cpu_seconds: f64,
    pub(crate) reconciles: f64,
    /// How long a reconcile takes: the mean.
    pub(crate) mean_seconds: f64,
    /// Nine of ten, and ninety-nine of a hundred, take no longer than so.
    pub(crate) ninety_seconds: f64,
    pub(crate) ninety_nine_seconds: f64,
    pub(crate) requests: f64,
}

/// The controller as a process, killed when it is dropped.
struct Controller {
    child: Child,
    metrics: String,
}

impl Controller {
    fn start(kubeconfig: &Path) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--run")
            .env("KUBECONFIG", kubeconfig)
            // It ends with this process, however this one ends.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("its output is piped")?;
        let mut controller = Controller { child, metrics: String::new() };
        let mut first = String::new();
        BufReader::new(output).read_line(&mut first)?;
        controller.metrics = first.trim().to_owned();
        ensure!(!controller.metrics.is_empty(), "the controller did not start");
        Ok(controller)
    }

    async fn metrics(&self) -> Result<String> {
        let mut stream = TcpStream::connect(&self.metrics).await?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\nhost: localhost\r\n\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok(text)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes all pods, starts the controller, and waits until each is a member.
///
/// The pods are there before the controller is: it is measured at its own pace and not at theirs, and every reconcile
/// sees all pods of its network, however many networks there are.
pub(crate) async fn measure(networks: usize, pods_of_each: usize) -> Result<Figures> {
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    let server = Server::start(ServerOptions::default()).await?;
    server.kubeconfig().write(&kubeconfig)?;
    let client = client(&kubeconfig).await?;
    pods::install(&client).await?;
    let peers = Simulated::default();
    let pods = networks * pods_of_each;
    pods::create(&client, &peers, networks, pods_of_each).await?;
    let begun = Instant::now();
    let controller = Controller::start(&kubeconfig)?;
    all_joined(&client, pods, begun).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let cpu_seconds = process::cpu_seconds(controller.child.id())?;
    let metrics = controller.metrics().await?;
    let reconcile = Histogram::read(&metrics, "controller_runtime_reconcile_time_seconds");
    let figures = Figures {
        seconds,
        joins: peers.joins(),
        cpu_seconds,
        reconciles: reconcile.count,
        mean_seconds: reconcile.sum / reconcile.count,
        ninety_seconds: reconcile.within(0.9),
        ninety_nine_seconds: reconcile.within(0.99),
        requests: sum(&metrics, "rest_client_requests_total"),
    };
    // The first of each network has no peer to join.
    ensure!(
        figures.joins == pods - networks,
        "{} joins for {pods} pods in {networks} networks",
        figures.joins
    );
    drop(controller);
    peers.stop();
    server.shutdown().await;
    Ok(figures)
}

async fn client(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
    Ok(Client::try_from(config)?)
}

async fn all_joined(client: &Client, pods: usize, begun: Instant) -> Result<()> {
    loop {
        let members = pods::members(client).await?;
        if members >= pods {
            return Ok(());
        }
        ensure!(begun.elapsed() < JOIN_TIMEOUT, "only {members} of {pods} pods have joined");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A histogram as the metrics show it, over all of its labels.
struct Histogram {
    count: f64,
    sum: f64,
    /// The upper limit of each bucket, and how many are below it.
    buckets: Vec<(f64, f64)>,
}

impl Histogram {
    fn read(metrics: &str, name: &str) -> Self {
        let bucket = format!("{name}_bucket");
        let buckets = metrics.lines().filter(|line| line.starts_with(&bucket)).filter_map(|line| {
            let (_, limit) = line.split_once("le=\"")?;
            Some((limit.split_once('"')?.0.parse().unwrap_or(f64::INFINITY), value(line)))
        });
        Histogram {
            count: sum(metrics, &format!("{name}_count")),
            sum: sum(metrics, &format!("{name}_sum")),
            buckets: buckets.collect(),
        }
    }

    /// The limit of the bucket below which so large a part of all is.
    fn within(&self, part: f64) -> f64 {
        let enough = self.buckets.iter().find(|(_, below)| *below >= part * self.count);
        enough.map_or(f64::INFINITY, |(limit, _)| *limit)
    }
}

fn sum(metrics: &str, name: &str) -> f64 {
    metrics.lines().filter(|line| line.starts_with(name)).map(value).sum()
}

fn value(line: &str) -> f64 {
    line.rsplit(' ').next().and_then(|value| value.parse().ok()).unwrap_or(0.0)
}
