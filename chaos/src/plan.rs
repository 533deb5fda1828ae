//! What a run is to do: how many instances and objects, on which servers, for how long.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;
use windlass_shard::SlotCount;

use crate::fault::Scene;

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Draws the faults and the edits.
    pub seed: u64,
    /// How long faults go on.
    pub duration: Duration,
    /// The API server.
    pub server: ServerKind,
    /// Where the ring and the leases are.
    pub registry: RegistryKind,
    /// Number of instances.
    pub instances: usize,
    /// Number of parents.
    pub objects: usize,
    /// Edits of parents per second.
    pub edits_per_second: u32,
    /// L, in seconds.
    pub lease_seconds: u64,
    /// The longest that an edit may wait after the last fault.
    pub bar: Duration,
    /// A rule of the protocol that the instances break.
    pub mutant: Option<String>,
}

/// The programs that a run starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// `chaos-tasks`: an instance of the controller.
    pub tasks: PathBuf,
    /// `chaos-server`: the embedded server.
    pub server: PathBuf,
    /// The folder with kube-apiserver and etcd, if there is one.
    pub assets: Option<PathBuf>,
    /// libfaketime, if it is installed.
    pub faketime: Option<PathBuf>,
}

/// An API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum ServerKind {
    /// The embedded server as a process.
    Embedded,
    /// A real kube-apiserver with its etcd.
    Kubernetes,
}

/// A registry of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum RegistryKind {
    /// The API server.
    Api,
    /// An etcd of its own.
    Etcd,
}

impl Plan {
    /// A short run on the embedded server.
    pub fn new(seed: u64) -> Self {
        Plan {
            seed,
            duration: Duration::from_secs(60),
            server: ServerKind::Embedded,
            registry: RegistryKind::Api,
            instances: 5,
            objects: 2_000,
            edits_per_second: 20,
            lease_seconds: 6,
            bar: Duration::from_secs(9),
            mutant: None,
        }
    }

    /// Where faults are to happen.
    pub fn scene(&self, programs: &Programs) -> Scene {
        Scene {
            instances: self.instances,
            lease_ms: self.lease_seconds * 1_000,
            bar_ms: self.bar_ms(),
            duration_ms: self.duration.as_millis() as u64,
            has_registry: self.registry == RegistryKind::Etcd,
            has_clocks: programs.faketime.is_some(),
        }
    }

    /// The bar in milliseconds.
    pub fn bar_ms(&self) -> u64 {
        self.bar.as_millis() as u64
    }

    /// Number of slots of the ring.
    pub fn slots(&self) -> SlotCount {
        SlotCount::DEFAULT
    }
}

impl fmt::Display for ServerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ServerKind::Embedded => "the embedded server",
            ServerKind::Kubernetes => "kube-apiserver",
        })
    }
}

impl fmt::Display for RegistryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RegistryKind::Api => "the API",
            RegistryKind::Etcd => "etcd",
        })
    }
}
