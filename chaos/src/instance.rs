//! One instance of the controller: a process behind proxies of its own.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use conformance::access::Access;
use conformance::process::Program;

use crate::fault::{Direction, Silence};
use crate::plan::Programs;
use crate::proxy::Proxy;
use crate::servers::{Servers, address};
use crate::setup::NAMESPACE;
use crate::task::CONTROLLER;

/// The variable with the rule that a broken instance breaks.
pub const MUTANT: &str = "WINDLASS_CHAOS_MUTANT";
/// What an instance may take to hand over its slots.
const TERMINATES_WITHIN: Duration = Duration::from_secs(30);
/// Where keys are in etcd.
pub(crate) const PREFIX: &str = "chaos";

/// How instances are started.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The programs.
    pub programs: Programs,
    /// L, in seconds.
    pub lease_seconds: u64,
    /// A rule that they break.
    pub mutant: Option<String>,
}

/// An instance, whether its process runs or not.
#[derive(Debug)]
pub struct Instance {
    name: String,
    settings: Settings,
    folder: PathBuf,
    api: Proxy,
    registry: Option<Proxy>,
    process: Option<Program>,
    /// How often it was started.
    starts: usize,
}

impl Instance {
    /// An instance whose process does not run yet. Its files are in the folder.
    ///
    /// # Errors
    /// If its proxies cannot listen or its kubeconfig cannot be written.
    pub async fn new(name: &str, settings: &Settings, servers: &Servers, folder: &Path) -> Result<Self> {
        let api = Proxy::start(address(servers.access())?).await?;
        let registry = match servers.registry() {
            Some(registry) => Some(Proxy::start(registry).await?),
            None => None,
        };
        let access = Access { url: format!("https://{}", api.address()), ..servers.access().clone() };
        fs::write(folder.join(format!("{name}.kubeconfig")), access.kubeconfig())?;
        let instance = Instance {
            name: name.to_owned(),
            settings: settings.clone(),
            folder: folder.to_owned(),
            api,
            registry,
            process: None,
            starts: 0,
        };
        instance.set_clock(None)?;
        Ok(instance)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts its process.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn start(&mut self) -> Result<()> {
        self.starts += 1;
        let log = self.folder.join(format!("{}.{}.log", self.name, self.starts));
        let program = Program::start(&self.name, &mut self.command(), log, Stdio::null())?;
        self.process = Some(program);
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.settings.programs.tasks);
        command.args(["run", CONTROLLER, "--namespace", NAMESPACE, "--kubeconfig"]).arg(self.kubeconfig());
        command.args(["--shard", "--instance", &self.name, "--shard-namespace", NAMESPACE]);
        command.args(["--shard-lease", &self.settings.lease_seconds.to_string()]);
        command.args(["--registry", &self.registry_argument()]);
        if let Some(mutant) = &self.settings.mutant {
            command.env(MUTANT, mutant);
        }
        if let Some(library) = &self.settings.programs.faketime {
            command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", self.clock());
            // Reading the file at each question for the time would be slow.
            command.env("FAKETIME_CACHE_DURATION", "1");
            // What jumps is the time of the day. Two names, since versions differ.
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
        }
        command
    }

    fn registry_argument(&self) -> String {
        let etcd = |address: SocketAddr| format!("etcd://{address}/{PREFIX}");
        self.registry.as_ref().map_or_else(|| "api".to_owned(), |proxy| etcd(proxy.address()))
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.join(format!("{}.kubeconfig", self.name))
    }

    fn clock(&self) -> PathBuf {
        self.folder.join(format!("{}.clock", self.name))
    }

    /// Fails with its last words if its process has ended by itself.
    ///
    /// # Errors
    /// See above.
    pub fn check(&mut self) -> Result<()> {
        self.process.as_mut().map_or(Ok(()), Program::check)
    }

    /// What its process has said so far, at all starts.
    pub fn log(&self) -> String {
        let log = |start: usize| self.folder.join(format!("{}.{start}.log", self.name));
        (1..=self.starts).map(|start| fs::read_to_string(log(start)).unwrap_or_default()).collect()
    }

    /// Kills its process without warning.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn kill(&mut self) -> Result<()> {
        self.process.take().map_or(Ok(()), |mut process| process.kill())
    }

    /// Asks its process to end, and waits until it has handed over its slots.
    ///
    /// # Errors
    /// If it does not end in time, or not well.
    pub async fn terminate(&mut self) -> Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        process.signal("TERM")?;
        let asked = Instant::now();
        loop {
            match process.ended()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("{} ended with {status}:\n{}", self.name, process.last_words()),
                None if asked.elapsed() > TERMINATES_WITHIN => {
                    bail!("{} does not end after SIGTERM:\n{}", self.name, process.last_words())
                }
                // There is no other way to wait for a process of the standard library.
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Stops its process where it stands.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn pause(&self) -> Result<()> {
        self.process.as_ref().map_or(Ok(()), |process| process.signal("STOP"))
    }

    /// Lets its process go on.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn resume(&self) -> Result<()> {
        self.process.as_ref().map_or(Ok(()), |process| process.signal("CONT"))
    }

    /// Cuts it off from all servers.
    pub fn partition(&self, silence: Silence) {
        self.api.cut(silence);
        self.lose_registry(silence);
    }

    /// Cuts it off from the registry, where that is not the API server.
    pub fn lose_registry(&self, silence: Silence) {
        if let Some(registry) = &self.registry {
            registry.cut(silence);
        }
    }

    /// Connects it with all servers.
    pub fn heal(&self) {
        self.api.heal();
        if let Some(registry) = &self.registry {
            registry.heal();
        }
    }

    /// Makes the time of its day jump; without a direction, back to what it is.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn set_clock(&self, direction: Option<Direction>) -> Result<()> {
        let text = match direction {
            None => "+0\n",
            Some(Direction::Forwards) => "+3600\n",
            Some(Direction::Backwards) => "-3600\n",
        };
        fs::write(self.clock(), text).context("cannot set the clock")
    }
}
