//! One run: a fleet, a user, faults, and the auditor.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{interval, timeout};
use windlass_etcd::{EtcdConnection, EtcdOptions, EtcdRegistry};
use windlass_shard::{KeyField, RingSpec};

use crate::audit::Auditor;
use crate::editor::Editor;
use crate::fault::{Planned, schedule};
use crate::fleet::Fleet;
use crate::follow::Clock;
use crate::instance::{PREFIX, Settings};
use crate::plan::{Plan, Programs};
use crate::report::Report;
use crate::servers::{Servers, client};
use crate::setup::{NAMESPACE, create_parents, prepare};
use crate::strike::strike;
use crate::task::CONTROLLER;
use crate::witness::Witness;

/// All children are there by then, or the fleet does not work.
const STARTS_WITHIN: Duration = Duration::from_secs(180);
/// What is not written this long after the last fault is lost.
const SETTLES_WITHIN: Duration = Duration::from_secs(60);
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// A fleet with its objects, and an auditor who watches them.
pub struct Stage {
    plan: Plan,
    /// When things happen.
    pub clock: Clock,
    /// Its instances and servers.
    pub fleet: Fleet,
    /// Who watches it.
    pub witness: Witness,
    /// Who changes parents.
    pub editor: Editor,
    faults: BTreeMap<String, usize>,
}

impl Stage {
    /// Starts the servers, creates the parents, and starts to watch. No instance runs yet.
    ///
    /// # Errors
    /// If something does not start.
    pub async fn set(plan: &Plan, programs: &Programs) -> Result<Self> {
        let servers = tokio::task::block_in_place(|| Servers::start(plan, programs))?;
        let user = client(servers.access()).await?;
        prepare(&user, &programs.tasks).await?;
        create_parents(&user, plan.objects).await?;
        let settings = Settings {
            programs: programs.clone(),
            lease_seconds: plan.lease_seconds,
            mutant: plan.mutant.clone(),
        };
        let clock = Clock::start();
        let auditor = Auditor::new(plan.bar_ms(), plan.slots());
        let etcd = servers.registry().map(|address| etcd_registry(&address.to_string(), plan)).transpose()?;
        let witness = Witness::start(&client(servers.history_access()).await?, etcd, clock, auditor);
        Ok(Stage {
            plan: plan.clone(),
            clock,
            fleet: Fleet::new(settings, servers)?,
            witness,
            editor: Editor::new(&user, plan.objects, plan.seed),
            faults: BTreeMap::new(),
        })
    }

    /// Waits until each parent has its child. From then on edits are measured.
    ///
    /// # Errors
    /// If that takes too long.
    pub async fn wait_for_children(&mut self) -> Result<()> {
        let objects = self.plan.objects;
        let all = |auditor: &Auditor| auditor.parents() == objects && auditor.waiting() == 0;
        if timeout(STARTS_WITHIN, self.witness.wait_until(all)).await.is_err() {
            let waiting = self.witness.auditor().who_waits();
            bail!("{} of {objects} children are not written: {}", waiting.len(), waiting.join(", "));
        }
        self.witness.auditor().measure_from(self.clock.now_ms());
        Ok(())
    }

    /// Makes faults, while the user edits.
    ///
    /// # Errors
    /// If a fault cannot be made, or a process ends by itself.
    pub async fn make_faults(&mut self, planned: &[Planned], progress: &dyn Fn(&str)) -> Result<()> {
        let Stage { plan, clock, fleet, witness, editor, faults } = self;
        let made = tokio::select! {
            made = strike(planned, *clock, fleet) => made?,
            edited = editor.edit(plan.edits_per_second) => return edited,
            () = show_progress(plan, *clock, witness, progress) => return Ok(()),
        };
        for planned in planned {
            *faults.entry(planned.fault.kind().to_owned()).or_default() += 1;
        }
        let mut auditor = witness.auditor();
        made.into_iter().for_each(|fault| auditor.disturbed(fault));
        Ok(())
    }

    /// Waits until everything that was edited is written, and ends the audit.
    pub async fn finish(mut self) -> (Report, Fleet) {
        let settled = self.witness.wait_until(|auditor| auditor.waiting() == 0);
        // What is still waiting then is a violation, which the auditor reports.
        let _late = timeout(SETTLES_WITHIN, settled).await;
        let Stage { plan, clock, fleet, witness, faults, .. } = self;
        let report = Report {
            seed: plan.seed,
            server: plan.server,
            registry: plan.registry,
            instances: plan.instances,
            objects: plan.objects,
            took_ms: clock.now_ms(),
            bar_ms: plan.bar_ms(),
            faults,
            findings: witness.finish(clock.now_ms(), plan.slots()),
        };
        (report, fleet)
    }
}

/// Where the auditor sees the ring, if it is in etcd.
fn etcd_registry(address: &str, plan: &Plan) -> Result<EtcdRegistry> {
    let options: EtcdOptions = format!("etcd://{address}/{PREFIX}").parse()?;
    let spec = RingSpec::new(CONTROLLER, plan.slots().get() as u64, KeyField::Uid);
    Ok(EtcdConnection::open(&options)?
        .registry(&RingSpec { namespaces: vec![NAMESPACE.to_owned()], ..spec })?)
}

/// Shows a line every few seconds until this is dropped.
async fn show_progress(plan: &Plan, clock: Clock, witness: &Witness, progress: &dyn Fn(&str)) {
    let mut ticks = interval(PROGRESS_EVERY);
    let start_ms = clock.now_ms();
    loop {
        ticks.tick().await;
        let (waiting, found) = {
            let auditor = witness.auditor();
            (auditor.waiting(), auditor.so_far().clone())
        };
        let minutes = |seconds: u64| format!("{}:{:02}", seconds / 60, seconds % 60);
        progress(&format!(
            "{} of {}, seed {}: {} edits, {} writes, {waiting} waiting, {} violations",
            minutes((clock.now_ms() - start_ms) / 1000),
            minutes(plan.duration.as_secs()),
            plan.seed,
            found.edits,
            found.writes,
            found.violations.len(),
        ));
    }
}

/// Runs a plan from beginning to end.
///
/// # Errors
/// If something cannot be started or a fault cannot be made; violations are in the report.
pub async fn run(plan: &Plan, programs: &Programs, progress: &dyn Fn(&str)) -> Result<Report> {
    let mut stage = Stage::set(plan, programs).await?;
    if let Err(error) = play(&mut stage, plan, programs, progress).await {
        let folder = stage.fleet.keep_logs();
        return Err(error.context(format!("the run was broken off; its logs are in {}", folder.display())));
    }
    let (report, fleet) = stage.finish().await;
    if !report.is_good() {
        progress(&format!("the logs of the instances are in {}", fleet.keep_logs().display()));
    }
    Ok(report)
}

async fn play(stage: &mut Stage, plan: &Plan, programs: &Programs, progress: &dyn Fn(&str)) -> Result<()> {
    stage.fleet.scale(plan.instances).await?;
    stage.wait_for_children().await?;
    stage.make_faults(&schedule(plan.seed, &plan.scene(programs)), progress).await
}
