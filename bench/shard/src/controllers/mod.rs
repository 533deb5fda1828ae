//! The same controller three times: for each `Pair` one ConfigMap and a status, after a call of something outside.
//!
//! The third is a Go program: `controller-runtime/main.go`.

pub(crate) mod modulo;
pub(crate) mod ours;

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

/// The lease of all who have one, in seconds.
pub(crate) const LEASE_SECONDS: u64 = 6;

/// Who runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contestant {
    /// On Windlass, alone.
    Unsharded,
    /// On Windlass, sharded.
    Sharded,
    /// On kube-rs: an instance has the parents whose uid, modulo the number of instances, is its number.
    Modulo,
    /// On controller-runtime: of all instances, one is active.
    ControllerRuntime,
}

/// How many reconciles at a time, and how long each waits for something outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) workers: usize,
    pub(crate) wait_ms: u64,
}

/// An instance that is to be started.
pub(crate) struct Instance {
    pub(crate) contestant: Contestant,
    pub(crate) number: usize,
    /// How many instances there are.
    pub(crate) of: usize,
    pub(crate) work: Work,
    pub(crate) kubeconfig: PathBuf,
}

impl Contestant {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Contestant::Unsharded => "windlass, unsharded",
            Contestant::Sharded => "windlass",
            Contestant::Modulo => "kube-rs, modulo",
            Contestant::ControllerRuntime => "controller-runtime",
        }
    }
}

/// The name of the instance with this number.
pub(crate) fn instance_name(number: usize) -> String {
    format!("instance-{number}")
}

impl Instance {
    /// What starts it. `go` is the program on controller-runtime.
    pub(crate) fn command(&self, go: Option<&PathBuf>) -> Result<Command> {
        let Work { workers, wait_ms } = self.work;
        let mut command = match (self.contestant, go) {
            (Contestant::ControllerRuntime, Some(program)) => Command::new(program),
            (Contestant::ControllerRuntime, None) => {
                anyhow::bail!("there is no program on controller-runtime")
            }
            _ => Command::new(std::env::current_exe()?),
        };
        // The peers do not log each reconcile either.
        command.env("KUBECONFIG", &self.kubeconfig).env("WINDLASS_LOG", "warn");
        let instance = instance_name(self.number);
        match self.contestant {
            Contestant::Unsharded | Contestant::Sharded => {
                command.args(["run", ours::NAME, "--workers", &workers.to_string()]);
                command.args(["--wait-ms", &wait_ms.to_string()]);
            }
            Contestant::Modulo => {
                command.args([
                    "modulo",
                    "--workers",
                    &workers.to_string(),
                    "--wait-ms",
                    &wait_ms.to_string(),
                ]);
                command.args(["--number", &self.number.to_string(), "--of", &self.of.to_string()]);
            }
            Contestant::ControllerRuntime => {
                command.args(["-workers", &workers.to_string(), "-wait", &format!("{wait_ms}ms")]);
                command.args(["-instance", &instance, "-lease", &format!("{LEASE_SECONDS}s")]);
            }
        }
        if self.contestant == Contestant::Sharded {
            let lease = LEASE_SECONDS.to_string();
            command.args(["--shard", "--instance", &instance, "--shard-lease", &lease]);
            command.args(["--shard-namespace", "default"]);
        }
        Ok(command)
    }
}
