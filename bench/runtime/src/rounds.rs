//! One round: a contestant converges, is touched, is started again, and looks at everything again after a while.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::cluster::Cluster;
use crate::controllers::Contestant;
use crate::process::Process;
use crate::requests::Requests;

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
    /// Number of clients that make the parents, and touch them.
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
        ensure!(started.elapsed() < interval, "it requeues before it has settled");
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
