//! Plays a schedule against real processes.

mod wander;

use std::time::Duration;

use agreement::World;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::time::{Instant, sleep};
use windlass_check::{Event, FinalState, Schedule, Stage};
use windlass_model::http::write;
use windlass_model::{Request, object};

use crate::cluster::Cluster;
use crate::http::Sent;
use crate::process::{Process, Sample};
use crate::random::Random;
use crate::trial::Trial;
use crate::wire::Wire;

/// A process is idle if it says so this many times in a row, and nothing has come into its queue meanwhile. Each time
/// takes two requests to it and one to the server, so that on a busy machine it takes longer.
const IDLE_SAMPLES: u32 = 8;
const SAMPLE_EVERY: Duration = Duration::from_millis(5);
/// A request that the schedule names comes within this time, or the run goes on without it.
const REQUEST_WITHIN: Duration = Duration::from_secs(3);
/// A reconcile that fails this many times in a row without a request sends none.
const SILENT_FAILURES: f64 = 2.0;
/// A process with several requests at a time may send another one first.
const OTHER_REQUEST_WITHIN: Duration = Duration::from_millis(30);
/// What the cluster's own controllers do after the last event takes no longer.
const REACHED_WITHIN: Duration = Duration::from_millis(500);
/// Where reconciles fail again and again, this many failures without a change of any object are a rest too.
const FAILURES_AT_REST: f64 = 8.0;
/// So much later, an end that surprises is looked at once more.
const SECOND_LOOK_AFTER: Duration = Duration::from_secs(2);
/// All that happens after the last event happens within this time.
const REST_WITHIN: Duration = Duration::from_secs(30);

/// How a run came out.
pub(crate) struct Played {
    /// All objects, when nothing happened any more.
    pub(crate) end: FinalState,
    /// What happened, or was to happen, in words.
    pub(crate) events: Vec<String>,
    /// Whether every event of the schedule happened, and all objects were then as in the schedule.
    pub(crate) is_in_step: bool,
    /// Events that did not happen as the schedule has them, in words.
    pub(crate) divergences: Vec<String>,
}

/// A run under way.
struct Player<'a> {
    world: &'a World,
    stage: &'a Stage,
    cluster: &'a Cluster,
    wire: Wire,
    processes: Vec<Option<Process>>,
    addresses: Vec<std::net::SocketAddr>,
    /// How far each client script has got.
    scripts: Vec<usize>,
    /// Requests that dead processes have left behind.
    late: Vec<(usize, Sent)>,
    /// Requests that were delivered.
    delivered: Vec<(usize, Sent)>,
    divergences: Vec<String>,
}

/// Plays a schedule to its end, and waits until nothing happens any more.
pub(crate) async fn play(trial: &Trial) -> Result<Played> {
    let cluster = Cluster::start(&trial.stage).await?;
    let mut player = Player::new(&trial.world, &trial.stage, &cluster).await?;
    let is_reached = player.play(&trial.schedule).await?;
    let end = player.finish(&trial.ends).await?;
    let divergences = player.end().await?;
    cluster.shutdown().await;
    let events = trial.schedule.events.iter().map(ToString::to_string).collect();
    Ok(Played { end, is_in_step: is_reached && divergences.is_empty(), events, divergences })
}

/// Lets things happen at random, within the budget of a trial, and waits until nothing happens any more. Each number is
/// another run.
pub(crate) async fn wander(trial: &Trial, number: u64) -> Result<Played> {
    let cluster = Cluster::start(&trial.stage).await?;
    let mut player = Player::new(&trial.world, &trial.stage, &cluster).await?;
    let events = player.wander(&mut Random::new(trial.seed ^ number << 32), trial.budget).await?;
    let end = player.finish(&trial.ends).await?;
    player.end().await?;
    cluster.shutdown().await;
    Ok(Played { end, is_in_step: false, events, divergences: Vec::new() })
}

/// Plays a schedule, and nothing more. Says nothing if all objects are then as the schedule says, and otherwise which
/// events did not happen.
pub(crate) async fn reaches(
    world: &World,
    stage: &Stage,
    schedule: &Schedule,
) -> Result<Option<Vec<String>>> {
    let cluster = Cluster::start(stage).await?;
    let mut player = Player::new(world, stage, &cluster).await?;
    let is_reached = player.play(schedule).await?;
    let divergences = player.end().await?;
    cluster.shutdown().await;
    Ok((!is_reached).then_some(divergences))
}

impl<'a> Player<'a> {
    async fn new(world: &'a World, stage: &'a Stage, cluster: &'a Cluster) -> Result<Self> {
        let wire = Wire::new(cluster.target.clone());
        let mut addresses = Vec::new();
        for process in 0..stage.processes.len() {
            addresses.push(wire.listen(process).await?);
        }
        Ok(Player {
            world,
            stage,
            cluster,
            wire,
            processes: stage.processes.iter().map(|_| None).collect(),
            addresses,
            scripts: vec![0; stage.scripts.len()],
            late: Vec::new(),
            delivered: Vec::new(),
            divergences: Vec::new(),
        })
    }

    /// Makes all events of a schedule happen, as far as they can; says whether all objects are then as they should be.
    async fn play(&mut self, schedule: &Schedule) -> Result<bool> {
        let shows_events = std::env::var_os("WINDLASS_SHOW_EVENTS").is_some();
        for event in &schedule.events {
            let happened = self.perform(event).await.with_context(|| format!("at: {event}"))?;
            if shows_events {
                println!("  {event}{}", if happened { "" } else { " (it does not happen)" });
            }
            if !happened {
                self.divergences.push(event.to_string());
            }
        }
        self.has_reached(&schedule.reached).await
    }

    /// Kills all processes; says which events did not happen.
    async fn end(self) -> Result<Vec<String>> {
        for process in self.processes.into_iter().flatten() {
            process.kill().await?;
        }
        Ok(self.divergences)
    }
}

impl Player<'_> {
    /// Makes an event happen; says whether it could.
    async fn perform(&mut self, event: &Event) -> Result<bool> {
        match event {
            Event::Client { script } => self.client(*script).await?,
            Event::Read { process } => self.read(*process).await?,
            Event::Deliver { process, request } => {
                let Some(id) = self.wait_for(*process, request).await? else { return Ok(false) };
                let waiting = self.wire.waiting(*process);
                let is_meant = waiting.iter().any(|it| it.id == id && is_same(&it.sent, request));
                self.deliver(*process, id).await?;
                return Ok(is_meant);
            }
            Event::DeliverAgain { process, request } => {
                let Some(id) = self.delivered(*process, request) else { return Ok(false) };
                self.wire.deliver(id).await?;
            }
            Event::Reply { process, request, code } => {
                let Some(id) = self.delivered(*process, request) else { return Ok(false) };
                self.wire.answer(id, Some(*code));
            }
            Event::LoseReply { process, request } => {
                let Some(id) = self.delivered(*process, request) else { return Ok(false) };
                self.wire.lose(id);
            }
            Event::LoseRequest { process, request } => {
                let Some(id) = self.wait_for(*process, request).await? else { return Ok(false) };
                self.wire.lose(id);
            }
            Event::Error { process, request } => {
                let Some(id) = self.wait_for(*process, request).await? else { return Ok(false) };
                self.wire.refuse(id);
            }
            Event::Late { process, request } => {
                let Some(sent) = take(&mut self.late, *process, request) else { return Ok(false) };
                self.wire.deliver_sent(&sent).await?;
                self.delivered.push((*process, sent));
            }
            Event::Duplicate { process, request } => {
                let Some(sent) = take(&mut self.delivered, *process, request) else { return Ok(false) };
                self.wire.deliver_sent(&sent).await?;
            }
            Event::Crash { process, sent } => return self.crash(*process, sent).await,
            Event::BreakWatch { process } => self.wire.break_watches(*process),
            Event::Other(what) => bail!("{what} cannot be played"),
        }
        Ok(true)
    }

    /// A client performs the next request of a script.
    async fn client(&mut self, script: usize) -> Result<()> {
        let event = self.stage.scripts[script].get(self.scripts[script]);
        let request = event.and_then(Option::as_ref).context("this event cannot be played")?;
        self.scripts[script] += 1;
        self.cluster.perform(request).await?;
        Ok(())
    }

    /// Waits until a process has acted on what is in its cache: it waits for an answer, is idle, or does nothing but fail.
    async fn read(&mut self, process: usize) -> Result<()> {
        self.start(process).await?;
        let deadline = Instant::now() + REQUEST_WITHIN;
        let (before, mut idle) = (self.sample(process).await?, Idle::default());
        while self.wire.waiting(process).is_empty() && Instant::now() < deadline {
            let sample = self.sample(process).await?;
            if idle.is_seen(&sample) || sample.retries - before.retries >= SILENT_FAILURES {
                break;
            }
            self.wire.next_request(SAMPLE_EVERY).await;
        }
        Ok(())
    }

    /// The number of a request that was not delivered yet; `None` if none comes. If the process sends another write
    /// instead, that one is meant. Reads that the schedule does not name are answered.
    async fn wait_for(&mut self, process: usize, request: &Request) -> Result<Option<u64>> {
        self.start(process).await?;
        let deadline = Instant::now() + REQUEST_WITHIN;
        let mut other_since: Option<Instant> = None;
        let (before, mut idle) = (self.sample(process).await?, Idle::default());
        loop {
            let waiting = self.wire.waiting(process);
            let mut new = waiting.iter().filter(|waiting| !waiting.is_delivered);
            if let Some(found) = new.clone().find(|waiting| is_same(&waiting.sent, request)) {
                return Ok(Some(found.id));
            }
            let others = new.clone().filter(|waiting| !waiting.sent.is_write());
            for read in others {
                self.wire.deliver(read.id).await?;
                self.wire.answer(read.id, None);
            }
            if let Some(other) = new.find(|waiting| waiting.sent.is_write()) {
                let since = *other_since.get_or_insert_with(Instant::now);
                if since.elapsed() > OTHER_REQUEST_WITHIN {
                    return Ok(Some(other.id));
                }
            } else if !waiting.is_empty() && self.stage.workers == 1 {
                // It waits for an answer that the schedule has not given.
                return Ok(None);
            } else {
                let sample = self.sample(process).await?;
                let only_fails = waiting.is_empty() && sample.retries - before.retries >= SILENT_FAILURES;
                if only_fails || idle.is_seen(&sample) || Instant::now() > deadline {
                    return Ok(None);
                }
            }
            self.wire.next_request(SAMPLE_EVERY).await;
        }
    }

    /// Delivers a request. A read is answered at once.
    async fn deliver(&mut self, process: usize, id: u64) -> Result<()> {
        let waiting = self.wire.waiting(process);
        let sent = waiting.into_iter().find(|waiting| waiting.id == id).context("it waits")?.sent;
        self.wire.deliver(id).await?;
        if sent.is_write() {
            self.delivered.push((process, sent));
        } else {
            self.wire.answer(id, None);
        }
        Ok(())
    }

    /// A request of a process that was delivered and not answered yet.
    fn delivered(&self, process: usize, request: &Request) -> Option<u64> {
        let waiting = self.wire.waiting(process);
        let mut delivered = waiting.iter().filter(|waiting| waiting.is_delivered);
        let same = delivered.clone().find(|waiting| is_same(&waiting.sent, request));
        same.or_else(|| delivered.next()).map(|waiting| waiting.id)
    }

    /// Kills a process. What it has sent stays on the network, as far as the schedule says so.
    async fn crash(&mut self, process: usize, sent: &[Request]) -> Result<bool> {
        let mut has_sent_all = true;
        let mut left: Vec<u64> = Vec::new();
        for request in sent {
            match self.wait_for(process, request).await? {
                Some(id) => left.push(id),
                None => has_sent_all = false,
            }
        }
        for waiting in self.wire.waiting(process).into_iter().filter(|waiting| left.contains(&waiting.id)) {
            has_sent_all &= sent.iter().any(|request| is_same(&waiting.sent, request));
            self.late.push((process, waiting.sent));
        }
        self.kill(process).await?;
        Ok(has_sent_all)
    }

    /// Kills a process, if it runs. What it has sent is forgotten.
    async fn kill(&mut self, process: usize) -> Result<()> {
        if let Some(running) = self.processes[process].take() {
            running.kill().await?;
        }
        self.wire.forget(process);
        Ok(())
    }

    /// Starts a process that does not run.
    async fn start(&mut self, process: usize) -> Result<()> {
        if self.processes[process].is_none() {
            let started = Process::start(self.world, process, self.addresses[process]).await?;
            self.processes[process] = Some(started);
        }
        Ok(())
    }

    async fn sample(&self, process: usize) -> Result<Sample> {
        self.processes[process].as_ref().context("the process runs")?.sample().await
    }

    /// Whether all objects are as they should be by now.
    async fn has_reached(&self, reached: &FinalState) -> Result<bool> {
        let deadline = Instant::now() + REACHED_WITHIN;
        loop {
            if self.cluster.end().await? == *reached {
                return Ok(true);
            }
            if Instant::now() > deadline {
                return Ok(false);
            }
            sleep(SAMPLE_EVERY).await;
        }
    }

    /// Lets everything happen that must, and returns all objects when nothing happens any more. An end that is none of
    /// the possible ones is looked at once more, in case something was still on its way.
    async fn finish(&mut self, possible: &[FinalState]) -> Result<FinalState> {
        self.wire.open().await?;
        for process in 0..self.processes.len() {
            self.start(process).await?;
        }
        for script in 0..self.scripts.len() {
            while self.scripts[script] < self.stage.scripts[script].len() {
                self.client(script).await?;
            }
        }
        // What is late comes last, when all has been put in order: that is where it does most harm.
        for (_, sent) in std::mem::take(&mut self.late) {
            self.rest().await?;
            self.wire.deliver_sent(&sent).await?;
        }
        let end = self.rest().await?;
        if possible.contains(&end) {
            return Ok(end);
        }
        sleep(SECOND_LOOK_AFTER).await;
        self.rest().await
    }

    /// Waits until all processes are idle, or do nothing but fail, and no object changes meanwhile.
    async fn rest(&self) -> Result<FinalState> {
        let deadline = Instant::now() + REST_WITHIN;
        let mut end = self.cluster.end().await?;
        loop {
            for process in 0..self.processes.len() {
                self.idle_or_failing(process, deadline).await?;
            }
            let now = self.cluster.end().await?;
            if now == end {
                return Ok(end);
            }
            if Instant::now() > deadline {
                bail!("objects change for ever");
            }
            end = now;
        }
    }

    async fn idle_or_failing(&self, process: usize, deadline: Instant) -> Result<()> {
        let mut idle = Idle::default();
        let before = self.sample(process).await?;
        loop {
            let sample = self.sample(process).await?;
            if idle.is_seen(&sample) || sample.retries - before.retries >= FAILURES_AT_REST {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("process {} does not come to rest: {sample:?}", process + 1);
            }
            sleep(SAMPLE_EVERY).await;
        }
    }
}

/// How often a process was seen to be idle in a row.
#[derive(Default)]
struct Idle {
    seen: u32,
    adds: f64,
}

impl Idle {
    fn is_seen(&mut self, sample: &Sample) -> bool {
        let is_idle = sample.is_idle() && (self.seen == 0 || sample.adds == self.adds);
        self.seen = if is_idle { self.seen + 1 } else { 0 };
        self.adds = sample.adds;
        self.seen >= IDLE_SAMPLES
    }
}

/// Takes the last request of a process that is the same as this one.
fn take(requests: &mut Vec<(usize, Sent)>, process: usize, request: &Request) -> Option<Sent> {
    take_at(requests, process, &Sent::from(write(request)))
}

/// The same for a request that was sent.
fn take_at(requests: &mut Vec<(usize, Sent)>, process: usize, wanted: &Sent) -> Option<Sent> {
    let index = matching(requests, process, wanted)?;
    Some(requests.remove(index).1)
}

/// The index of the last request of a process that is the same as this one.
fn matching(requests: &[(usize, Sent)], process: usize, wanted: &Sent) -> Option<usize> {
    requests.iter().rposition(|(sender, sent)| *sender == process && is_alike(sent, wanted))
}

/// Whether a process has sent this request: the same verb, to the same object.
fn is_same(sent: &Sent, request: &Request) -> bool {
    is_alike(sent, &Sent::from(write(request)))
}

fn is_alike(sent: &Sent, wanted: &Sent) -> bool {
    let name = |sent: &Sent| {
        let body: Value = serde_json::from_slice(&sent.body).unwrap_or_default();
        (object::name(&body).to_owned(), object::meta_str(&body, "generateName").to_owned())
    };
    sent.method == wanted.method
        && sent.path() == wanted.path()
        && (sent.method != hyper::Method::POST || name(sent) == name(wanted))
}
