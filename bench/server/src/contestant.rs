//! The two servers that are compared, as processes.

use std::any::Any;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use conformance::kubernetes::{Durability, Kubernetes};
use conformance::process::Folder;
use conformance::server::Server;
use conformance::target::http::HttpTarget;

/// A running server.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) target: HttpTarget,
    processes: Vec<u32>,
    /// Ends the processes, then removes their files.
    _held: Box<dyn Any>,
}

impl Contestant {
    /// The embedded server, on a folder.
    pub(crate) fn windlass(program: &Path) -> Result<Self> {
        let folder = Folder::new("bench")?;
        let server = Server::start(program, &["--data", path(&folder)?])?;
        Ok(Contestant {
            name: "windlass",
            target: HttpTarget::new("windlass", server.access())?,
            processes: vec![server.process_id()],
            _held: Box::new((server, folder)),
        })
    }

    /// kube-apiserver and etcd.
    pub(crate) fn kubernetes(assets: &Path) -> Result<Self> {
        let kubernetes = Kubernetes::start_from(assets, Durability::Durable)?;
        let (api_server, etcd) = kubernetes.process_ids();
        Ok(Contestant {
            name: "kubernetes",
            target: HttpTarget::new("kubernetes", kubernetes.access())?,
            processes: vec![api_server, etcd],
            _held: Box::new(kubernetes),
        })
    }

    /// Does something while all others are stopped.
    pub(crate) fn alone<T>(&self, all: &[Contestant], act: impl FnOnce() -> Result<T>) -> Result<T> {
        let others: Vec<u32> =
            all.iter().filter(|one| one.name != self.name).flat_map(|one| one.processes.clone()).collect();
        signal("STOP", &others)?;
        let done = act();
        signal("CONT", &others)?;
        done
    }

    /// The most memory that its processes have had, together.
    pub(crate) fn peak_bytes(&self) -> Result<u64> {
        self.processes.iter().map(|process| memory(*process, "VmHWM:")).sum()
    }

    /// The memory that its processes have.
    pub(crate) fn resident_bytes(&self) -> Result<u64> {
        self.processes.iter().map(|process| memory(*process, "VmRSS:")).sum()
    }
}

/// How long the embedded server takes until it is ready, several times: first in a new folder, then in one that
/// is there.
pub(crate) fn ready_times(program: &Path) -> Result<Vec<Duration>> {
    let folder = Folder::new("bench-ready")?;
    (0..7)
        .map(|_| {
            let started = Instant::now();
            let server = Server::start(program, &["--data", path(&folder)?])?;
            let took = started.elapsed();
            drop(server);
            Ok(took)
        })
        .collect()
}

fn path(folder: &Folder) -> Result<&str> {
    folder.path().to_str().context("the temporary folder has no UTF-8 name")
}

fn signal(name: &str, processes: &[u32]) -> Result<()> {
    for process in processes {
        let status = Command::new("kill").arg(format!("-{name}")).arg(process.to_string()).status()?;
        if !status.success() {
            bail!("cannot send SIG{name} to process {process}");
        }
    }
    Ok(())
}

fn memory(process: u32, what: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).context("no memory in its status")?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kibibytes * 1024)
}
