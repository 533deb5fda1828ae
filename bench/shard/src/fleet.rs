//! The instances of a contestant, each a process.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use conformance::process::{Folder, Program};
use conformance::target::Session;
use windlass_bench_load::get;
use windlass_shard::{Ring, RingStatus, SlotCount};

use crate::cluster::Cluster;
use crate::controllers::{Contestant, Instance, Work, instance_name, ours};

/// A membership change that takes longer will never end.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(120);

/// Running instances; they are killed when this is dropped.
pub(crate) struct Fleet<'a> {
    cluster: &'a Cluster,
    contestant: Contestant,
    work: Work,
    kubeconfig: PathBuf,
    /// The program on controller-runtime.
    go: Option<PathBuf>,
    processes: Vec<Program>,
    logs: Folder,
}

/// What all instances of a fleet have in common.
pub(crate) struct Members<'a> {
    pub(crate) contestant: Contestant,
    pub(crate) work: Work,
    pub(crate) go: Option<&'a PathBuf>,
    /// How they reach the server, if not directly.
    pub(crate) kubeconfig: Option<PathBuf>,
}

impl<'a> Fleet<'a> {
    /// Starts this number of instances.
    pub(crate) fn start(cluster: &'a Cluster, members: Members<'_>, count: usize) -> Result<Self> {
        let Members { contestant, work, go, kubeconfig } = members;
        let kubeconfig = kubeconfig.unwrap_or_else(|| cluster.server.kubeconfig());
        let (go, logs) = (go.cloned(), Folder::new("bench-shard")?);
        let mut fleet = Fleet { cluster, contestant, work, kubeconfig, go, processes: Vec::new(), logs };
        for number in 0..count {
            let process = fleet.process(number, count)?;
            fleet.processes.push(process);
        }
        Ok(fleet)
    }

    fn process(&self, number: usize, of: usize) -> Result<Program> {
        let (contestant, work) = (self.contestant, self.work);
        let instance = Instance { contestant, number, of, work, kubeconfig: self.kubeconfig.clone() };
        let mut command = instance.command(self.go.as_ref())?;
        let log = self.logs.path().join(format!("{}.log", instance_name(number)));
        Program::start(contestant.name(), &mut command, log, Stdio::null())
    }

    pub(crate) fn len(&self) -> usize {
        self.processes.len()
    }

    /// Waits until all parents have an owner that reconciles them: they get a new value, and it arrives.
    pub(crate) fn settle(&mut self, value: &str) -> Result<()> {
        if self.contestant == Contestant::Sharded {
            self.wait_for_shares()?;
        }
        let parents: Vec<String> = self.cluster.parents()?.into_iter().map(|(name, _)| name).collect();
        self.cluster.edit(&parents, value)?;
        let arrived = self.cluster.children()?.wait(parents.len(), value, |_| true);
        self.explained(arrived.map(drop))
    }

    /// Sends a signal to all instances.
    pub(crate) fn signal(&self, name: &str) -> Result<()> {
        for process in &self.processes {
            let status =
                Command::new("kill").arg(format!("-{name}")).arg(process.id().to_string()).status()?;
            ensure!(status.success(), "cannot send SIG{name} to process {}", process.id());
        }
        Ok(())
    }

    /// Kills an instance without warning.
    pub(crate) fn kill(&mut self, number: usize) -> Result<()> {
        self.processes[number].kill()
    }

    /// Starts an instance again under its name.
    pub(crate) fn restart(&mut self, number: usize) -> Result<()> {
        self.processes[number] = self.process(number, self.len())?;
        Ok(())
    }

    /// The number of the active instance, for those of which only one is.
    pub(crate) fn leader(&self) -> Result<usize> {
        let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/bench-controller-runtime";
        let lease = self.cluster.target.get(path)?.value().context("a lease")?;
        let holder = lease["spec"]["holderIdentity"].as_str().context("a holder")?;
        let number = (0..self.len()).find(|number| instance_name(*number) == holder);
        number.with_context(|| format!("{holder} is none of us"))
    }

    /// The ring, once it has members.
    pub(crate) fn ring(&self) -> Result<Option<Ring>> {
        let path = format!("/apis/windlass.dev/v1alpha1/controllerrings/{}", ours::NAME);
        let answer = self.cluster.target.get(&path)?;
        if answer.code == 404 {
            return Ok(None);
        }
        let mut object = answer.value().context("a ring")?;
        let status = object["status"].take();
        if status.is_null() {
            return Ok(None);
        }
        let status: RingStatus = serde_json::from_value(status).context("the status of a ring")?;
        Ok(Ring::from_status(&status, SlotCount::DEFAULT)?)
    }

    /// Waits until each instance has its share of the slots, and none is on its way.
    fn wait_for_shares(&mut self) -> Result<()> {
        let (begun, mut session) = (Instant::now(), self.cluster.target.session());
        while !self.ring()?.is_some_and(|ring| has_shares(&ring, self.len())) {
            self.check()?;
            ensure!(
                begun.elapsed() < CHANGE_TIMEOUT,
                "the slots are not shared: {:?}",
                session.send(&get("/apis/windlass.dev/v1alpha1/controllerrings"))?.text()
            );
            session.pause();
        }
        Ok(())
    }

    /// Fails if an instance has ended.
    fn check(&mut self) -> Result<()> {
        self.processes.iter_mut().try_for_each(Program::check)
    }

    /// Adds what the instances said to a failure.
    pub(crate) fn explained<T>(&self, outcome: Result<T>) -> Result<T> {
        let Err(error) = outcome else { return outcome };
        let words: Vec<String> = self.processes.iter().map(Program::last_words).collect();
        bail!("{error:#}\n{} said:\n{}", self.contestant.name(), words.join("\n"))
    }
}

fn has_shares(ring: &Ring, members: usize) -> bool {
    let share = ring.count().get() / members;
    let owned = |place| ring.slots().filter(|(_, slot)| slot.owner == place).count();
    ring.members().len() == members
        && ring.slots().all(|(_, slot)| slot.draining_to.is_none())
        && (0..members).all(|place| owned(place) >= share)
}
