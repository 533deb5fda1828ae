//! The driver of the protocol: sends what an instance asks of its registry, and does to slots what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use windlass_shard::{Answer, Command, Epoch, Millis, Next, Ring, Slot, Versioned};

use crate::controller_context::ControllerContext;
use crate::operations::metrics::ShardMetrics;

use super::coverage_audit::CoverageAudit;
use super::missing::MissingParents;
use super::name_check::until_name_is_free;
use super::outputs::OutputInformers;
use super::parents::Parents;
use super::registry::Registry;
use super::serving::{start_serving, stop_serving};
use super::shard::Shard;

/// How long slots come and go before watches are compacted.
const COMPACT_AFTER: Duration = Duration::from_secs(2);
/// How often the metrics are updated if nothing happens.
const METRICS_EVERY_MS: u64 = 1_000;

/// One controller's part in the protocol.
pub(crate) struct Protocol {
    pub(crate) shard: Arc<Shard>,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) context: Arc<ControllerContext>,
    pub(crate) parents: Arc<Parents>,
    pub(crate) outputs: Arc<OutputInformers>,
    /// Where to look for parents that are yet to be made; none if the controller makes none.
    pub(crate) missing: Option<MissingParents>,
    pub(crate) metrics: ShardMetrics,
    /// Whether to hand over all slots at the end.
    pub(crate) leave: bool,
}

/// Slots whose objects have been listed, with the number of the command that asked for it.
type Loaded = Vec<(Slot, Epoch, u64)>;

/// What goes on in it.
struct Driving {
    rings: BoxStream<'static, Versioned<Arc<Ring>>>,
    loaded: (mpsc::UnboundedSender<Loaded>, mpsc::UnboundedReceiver<Loaded>),
    /// The number of the last command for each slot: only its answer counts.
    last_commands: BTreeMap<Slot, u64>,
    commands: u64,
    /// Each says whether it was a compaction.
    tasks: JoinSet<bool>,
    compacting: bool,
    audit: CoverageAudit,
}

/// What the commands of one step come to.
#[derive(Default)]
struct Batch {
    load: Loaded,
    started: BTreeSet<Slot>,
    draining: usize,
    lost: BTreeSet<Slot>,
}

impl Drop for Protocol {
    fn drop(&mut self) {
        // Informers and what they notify refer to each other.
        self.outputs.close();
        self.parents.close();
    }
}

impl Protocol {
    /// Takes part until `stopping` becomes true; then leaves, if that is wanted, or just ends.
    pub(crate) async fn run(self, mut stopping: watch::Receiver<bool>) {
        let mut driving = Driving {
            rings: self.registry.watch_ring(),
            loaded: mpsc::unbounded_channel(),
            last_commands: BTreeMap::new(),
            commands: 0,
            tasks: JoinSet::new(),
            compacting: false,
            audit: CoverageAudit::new(&self.shard, &self.context, &self.metrics),
        };
        tokio::join!(
            self.outputs.unlabelled_synced(),
            until_name_is_free(&self.shard, &*self.registry, &mut stopping),
        );
        let (ring, registry) = (&self.shard.spec.controller_type, self.registry.name());
        tracing::info!(ring, instance = %self.shard.instance().id(), registry, "joining the ring");
        loop {
            if *stopping.borrow() {
                if !self.leave {
                    return;
                }
                self.shard.instance().leave();
            }
            match self.step(&mut driving) {
                Next::Ask(request) => {
                    let answer = self.registry.perform(&request).await;
                    self.shard.set_registry_error(self.registry.last_error());
                    let now = self.shard.now();
                    let read_leases = matches!(answer, Answer::Leases(_));
                    self.shard.instance().answered(answer, now);
                    if read_leases {
                        self.audit(&mut driving);
                    }
                }
                Next::WaitUntil(until) => self.wait(until, &mut driving, &mut stopping).await,
                Next::Finished => return,
            }
        }
    }

    /// Reports what is drained, asks what to do, and begins what is to be done with slots.
    fn step(&self, driving: &mut Driving) -> Next {
        let now = self.shard.now();
        let drained = self.shard.slots().drained(self.shard.timing.request_ms, now);
        let (next, commands) = {
            let mut instance = self.shard.instance();
            drained.into_iter().for_each(|(slot, epoch)| instance.drained(slot, epoch));
            let next = instance.next(now);
            (next, instance.take_commands())
        };
        self.execute(commands, driving);
        self.publish();
        next
    }

    fn execute(&self, commands: Vec<Command>, driving: &mut Driving) {
        if commands.is_empty() {
            return;
        }
        let mut batch = Batch::default();
        commands.into_iter().for_each(|command| self.perform(command, driving, &mut batch));
        let Batch { mut load, started, draining, lost } = batch;
        load.retain(|(slot, _, number)| driving.last_commands.get(slot) == Some(number));
        let ring = &self.shard.spec.controller_type;
        let (gained, lost_slots) = (load.len(), lost.len());
        tracing::info!(ring, gained, started = started.len(), draining, lost = lost_slots, "slots changed");
        self.drop_slots(&lost);
        if draining > 0 {
            // Slots without active reconciles are drained already, and nothing else says so.
            self.shard.wake.notify_one();
        }
        self.enqueue_missing(started, driving);
        if !load.is_empty() {
            self.load(load, driving);
        }
    }

    /// Does what a command says, but for what is done for a whole batch.
    fn perform(&self, command: Command, driving: &mut Driving, batch: &mut Batch) {
        let (Command::Load(slot, epoch)
        | Command::Start(slot, epoch)
        | Command::Drain(slot, epoch)
        | Command::Drop(slot, epoch)) = command;
        driving.commands += 1;
        driving.last_commands.insert(slot, driving.commands);
        let served = self.shard.slots().serves(slot).is_some();
        match command {
            Command::Load(..) => {
                self.shard.slots().load(slot, epoch);
                batch.load.push((slot, epoch, driving.commands));
            }
            Command::Start(..) => {
                self.shard.slots().start(slot, epoch);
                start_serving(&self.shard, &self.context, &self.parents, slot);
                batch.started.insert(slot);
            }
            Command::Drain(..) => {
                self.shard.slots().drain(slot, epoch);
                batch.draining += 1;
            }
            Command::Drop(..) => {
                self.shard.slots().drop_slot(slot, epoch);
                driving.last_commands.remove(&slot);
                batch.lost.insert(slot);
            }
        }
        if served && self.shard.slots().serves(slot).is_none() {
            stop_serving(&self.shard, &self.context, &self.parents, slot);
        }
    }

    /// Looks for parents of slots that are served from now on which are yet to be made.
    fn enqueue_missing(&self, started: BTreeSet<Slot>, driving: &mut Driving) {
        let Some(missing) = self.missing.clone().filter(|_| !started.is_empty()) else { return };
        let shard = Arc::clone(&self.shard);
        // It reads all that is watched, and renewals must not wait for that.
        driving.tasks.spawn_blocking(move || {
            missing.enqueue(&shard, &started);
            false
        });
    }

    /// Lists the objects of slots that were gained, consistently: no write of an earlier owner is missing.
    fn load(&self, slots: Loaded, driving: &mut Driving) {
        let (parents, outputs) = (Arc::clone(&self.parents), Arc::clone(&self.outputs));
        let sender = driving.loaded.0.clone();
        driving.tasks.spawn(async move {
            let numbers: Vec<Slot> = slots.iter().map(|(slot, ..)| *slot).collect();
            tokio::join!(parents.load(&numbers), outputs.load(&numbers));
            // If no one listens any more, the process is about to end.
            let _ = sender.send(slots);
            false
        });
    }

    fn report_loaded(&self, slots: Loaded, driving: &Driving) {
        for (slot, epoch, number) in slots {
            if driving.last_commands.get(&slot) != Some(&number) {
                // It was lost meanwhile, and its watch may have been opened after that. One that has come back since is
                // watched for its later command, which must go on.
                if !self.shard.slots().owns(slot) {
                    self.drop_slots(&BTreeSet::from([slot]));
                }
                continue;
            }
            self.shard.all_read(slot, epoch);
            self.shard.instance().loaded(slot, epoch);
        }
    }

    /// Ends to watch slots that are another's.
    fn drop_slots(&self, slots: &BTreeSet<Slot>) {
        self.outputs.drop_slots(slots);
        self.parents.drop_slots(slots);
    }

    /// Waits until there may be something to do.
    async fn wait(&self, until: Millis, driving: &mut Driving, stopping: &mut watch::Receiver<bool>) {
        let now = self.shard.now();
        let drain = self.shard.slots().drains_at(self.shard.timing.request_ms);
        let until = drain.map_or(until, |drain| drain.min(until)).min(now.plus(METRICS_EVERY_MS));
        let pause = Duration::from_millis(until.0.saturating_sub(now.0).max(1));
        let is_wasteful = self.outputs.is_wasteful() || self.parents.is_wasteful();
        if is_wasteful && !driving.compacting {
            driving.compacting = true;
            let (parents, outputs) = (Arc::clone(&self.parents), Arc::clone(&self.outputs));
            driving.tasks.spawn(async move {
                tokio::time::sleep(COMPACT_AFTER).await;
                // One of them may be fine as it is.
                if parents.is_wasteful() {
                    parents.compact();
                }
                if outputs.is_wasteful() {
                    outputs.compact();
                }
                true
            });
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.shard.wake.notified() => {}
            Some(ring) = driving.rings.next() => {
                let now = self.shard.now();
                self.shard.instance().observed_ring(ring, now);
            }
            Some(loaded) = driving.loaded.1.recv() => self.report_loaded(loaded, driving),
            Some(ended) = driving.tasks.join_next() => driving.compacting &= !ended.unwrap_or(true),
            // Once it has become true, nothing else changes it.
            Ok(()) = stopping.changed() => {}
        }
    }

    /// Compares what instances serve, by the leases that were just read.
    fn audit(&self, driving: &mut Driving) {
        if let Some(gaps) = driving.audit.look(&*self.registry) {
            let report = driving.audit.report(gaps);
            driving.tasks.spawn(async {
                report.await;
                false
            });
        }
    }

    /// Publishes what can be counted.
    fn publish(&self) {
        let (tracked, owned) = self.shard.object_counts();
        let slots = self.shard.slots();
        self.metrics.set(slots.owned().count(), slots.served().count(), tracked, owned);
    }
}
