//! The memory of the world: every part that a state can be made of, and what the hosts do with them.
//!
//! All workers share one. It is asked only for what a worker has not met before.

use rustc_hash::FxHashMap;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use windlass::{Answer, Ask, CallError, Controller, Detail, RandomBytes, ReconcileResult, Shortcut, Trigger};
use windlass_model::{Change, Cluster, Key, Reason, Response, Status, Store, Timestamp, Verb, object};

use super::State;
use super::canonical::Renumbering;
use super::menu::{Menu, MenuSlot};
use super::ops::{Ending, HostOp, HostStep, NetworkOp, StepViolation};
use super::renumber;
use super::symmetry::Permutations;
use super::views::{NO_CHANGES, Views};
use crate::action::SlotIndex;
use crate::fault::Faults;
use crate::host::client::ClientEvent;
use crate::host::controller::{Active, Host, Slot, insert, remove};
use crate::host::database::{Collection, Database, insists, key_of};
use crate::host::environment::Environment;
use crate::host::network::{Message, Network};
use crate::host::service::{IsRead, Respond, ServiceStates, Services};
use crate::ids::{
    AnswerId, AskId, ChangeListId, ClusterId, HostId, JobId, JobSetId, MarksId, MessageId, NetworkId, NodeId,
    ServicesId, ViolationId,
};
use crate::intern::Interner;
use crate::reductions::Reductions;
use crate::steps::{Job, NodeNext, Steps};

/// The message that stands for a question about the time.
pub(crate) const NO_MESSAGE: MessageId = MessageId::FIRST;
/// The marks of a change that concerns no process.
pub(crate) const NO_MARKS: MarksId = MarksId::FIRST;

/// What a world is made of.
#[derive(Clone)]
pub(crate) struct Setup {
    /// One per process: a controller with several replicas is there several times.
    pub(crate) processes: Vec<Controller>,
    pub(crate) faults: Faults,
    pub(crate) cluster: Cluster,
    pub(crate) scripts: Vec<Vec<ClientEvent>>,
    pub(crate) services: BTreeMap<String, Respond>,
    pub(crate) service_states: ServiceStates,
    /// Which requests to a service change nothing.
    pub(crate) reads: BTreeMap<String, IsRead>,
    pub(crate) clock_limit: u32,
    /// How many objects a process reconciles at the same time.
    pub(crate) workers: usize,
    pub(crate) reductions: Reductions,
    /// Names of objects that are alike.
    pub(crate) alike: Vec<Vec<String>>,
    /// Whether the controllers of workloads are part of the world.
    pub(crate) workloads: bool,
}

impl Setup {
    /// Whether states are renumbered after every step. Views that are behind hold on to old numbers, so with them
    /// nothing is.
    pub(crate) fn renumbers(&self) -> bool {
        self.reductions.versions && self.faults.stale == 0
    }

    /// Whether this is a call that changes nothing.
    fn is_read(&self, ask: &Ask) -> bool {
        match ask {
            Ask::Call { service, request } => self.reads.get(service).is_some_and(|is_read| is_read(request)),
            _ => false,
        }
    }
}

/// What a request does, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The cluster afterwards.
    pub(crate) cluster: ClusterId,
    pub(crate) answer: AnswerId,
    /// Which jobs of which controllers it concerns.
    pub(crate) marks: MarksId,
    /// The number of the list of what changed, if views can be behind.
    pub(crate) changes: ChangeListId,
    /// Whether anything changed.
    pub(crate) changed: bool,
}

/// What hot paths must know of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageFacts {
    pub(crate) sender: usize,
    pub(crate) ask: AskId,
    /// 0 is the API server; the services follow.
    pub(crate) peer: usize,
    /// Whether it is known which object it is meant for, while the request itself does not insist on it.
    pub(crate) decided: bool,
}

pub(crate) struct Parts {
    pub(crate) setup: Setup,
    pub(crate) database: Database,
    pub(crate) services: Services,
    pub(crate) steps: Steps,
    pub(crate) asks: Interner<Ask>,
    pub(crate) answers: Interner<Answer>,
    /// What is looked at of answers of which no more than the identity of objects is.
    identities: FxHashMap<AnswerId, AnswerId>,
    pub(crate) jobs: Interner<Job>,
    pub(crate) job_sets: Interner<Vec<JobId>>,
    /// Per process, the number of a set of jobs.
    pub(crate) marks: Interner<Vec<JobSetId>>,
    pub(crate) messages: Interner<Message>,
    pub(crate) hosts: Interner<Host>,
    /// What steps did to controllers, by process: two that know the same may watch different kinds.
    host_steps: FxHashMap<(HostId, usize, HostOp), HostStep>,
    pub(crate) networks: Interner<Network>,
    pub(crate) environments: Interner<Environment>,
    pub(crate) violations: Interner<StepViolation>,
    /// What the clients' scripts do, as numbers of asks; `None` where they wait.
    pub(crate) scripts: Vec<Vec<Option<AskId>>>,
    /// Where in a reconcile crashes struck: the state, and the request that was under way.
    pub(crate) crash_points: BTreeSet<String>,
    /// By script and event: the last refusal, as long as the event has never succeeded; `None` once it has.
    pub(crate) refused_events: BTreeMap<(usize, usize), Option<String>>,
    pub(crate) renumbering: Renumbering,
    pub(crate) permutations: Permutations,
    pub(crate) views: Views,
    now: Timestamp,
}

impl Parts {
    pub(crate) fn new(setup: Setup) -> Self {
        let mut asks = Interner::new();
        let mut number = |event: &ClientEvent| event.ask().map(|ask| asks.id(ask.clone()));
        let scripts = setup.scripts.iter().map(|script| script.iter().map(&mut number).collect()).collect();
        let no_message = Message { sender: usize::MAX, ask: AskId::INVALID, decided_on: None };
        Parts {
            steps: Steps::new(
                setup.processes.clone(),
                setup.renumbers().then(|| setup.cluster.types().clone()),
            ),
            database: Database::new(setup.reductions.versions, setup.workloads),
            services: Services::new(setup.services.clone()),
            asks,
            answers: Interner::new(),
            identities: FxHashMap::default(),
            jobs: Interner::new(),
            job_sets: Interner::new(),
            marks: Interner::beginning_with(Vec::new()),
            messages: Interner::beginning_with(no_message),
            hosts: Interner::new(),
            host_steps: FxHashMap::default(),
            networks: Interner::new(),
            environments: Interner::new(),
            violations: Interner::new(),
            scripts,
            crash_points: BTreeSet::new(),
            refused_events: BTreeMap::new(),
            renumbering: Renumbering::new(),
            permutations: Permutations::default(),
            views: Views::new(&setup.processes),
            now: setup.cluster.now(),
            setup,
        }
    }

    /// The first state.
    pub(crate) fn initial(&mut self) -> State {
        let cluster = self.database.id(self.setup.cluster.clone());
        let environment = Environment {
            left: self.setup.faults.most,
            scripts: vec![0; self.scripts.len()],
            services: self.services.states.id(self.setup.service_states.clone()),
            ..Environment::default()
        };
        let mut state = State {
            cluster,
            network: self.networks.id(Network::default()),
            environment: self.environments.id(environment),
            hosts: Default::default(),
        };
        for process in 0..self.setup.processes.len() {
            let listed = self.relist(cluster, process);
            let fresh = (**self.job_sets.get(listed)).clone();
            state.hosts[process] = self.hosts.id(Host { fresh, ..Host::default() });
        }
        self.find_symmetries(&state);
        state
    }

    /// What a worker wants to know of a controller's state.
    pub(crate) fn menu(&self, host: HostId) -> Menu {
        let host = self.hosts.get(host);
        let mut slots = Vec::new();
        for (active, reconcile) in host.active.iter().enumerate() {
            for (number, slot) in reconcile.slots.iter().enumerate().filter(|(_, slot)| slot.answer.is_none())
            {
                slots.push(self.menu_slot(active as u8, number as u8, slot));
            }
        }
        // While a change is still to be delivered, repeating an old notification first and delivering the new one
        // later is the same as the other way round.
        let again = host.observed.iter().filter(|job| !host.queue.contains(job) && !host.fresh.contains(job));
        Menu {
            fresh: host.fresh.clone(),
            again: if self.setup.faults.duplicates { again.copied().collect() } else { Vec::new() },
            timers: host.timers.clone(),
            can_start: host.first_to_start(self.setup.workers).is_some(),
            slots,
            unseen: host.unseen,
            behind: self.views.backlogs.get(host.unseen).kinds().collect(),
        }
    }

    fn menu_slot(&self, active: u8, number: u8, slot: &Slot) -> MenuSlot {
        let facts = self.message_facts(slot.message);
        let ask = self.asks.get(facts.ask);
        let shortcut = match &**ask {
            Ask::Api { shortcut, .. } => *shortcut,
            _ => Shortcut::None,
        };
        MenuSlot {
            active,
            slot: number,
            message: slot.message,
            ask: facts.ask,
            peer: facts.peer,
            delivered: slot.delivered,
            replies: slot.replies.len() as u8,
            effect: ask.has_effect() && !self.setup.is_read(ask),
            shortcut,
            draws: matches!(&**ask, Ask::Random { .. }),
        }
    }

    pub(crate) fn message_facts(&self, message: MessageId) -> MessageFacts {
        let message = self.messages.get(message);
        let peer = match &**self.asks.get(message.ask) {
            Ask::Call { service, .. } => {
                let known = self.setup.service_states.keys().position(|name| name == service);
                1 + known.unwrap_or(self.setup.service_states.len())
            }
            _ => 0,
        };
        MessageFacts { sender: message.sender, ask: message.ask, peer, decided: message.decided_on.is_some() }
    }

    /// What a request does to a cluster, for the first time.
    pub(crate) fn effect(&mut self, cluster: ClusterId, ask: AskId) -> Effect {
        if !self.permutations.all.is_empty() {
            self.compare_effects(cluster, ask);
        }
        self.effect_of(cluster, ask)
    }

    pub(crate) fn effect_of(&mut self, cluster: ClusterId, ask: AskId) -> Effect {
        let applied = self.database.apply(cluster, ask, &self.asks, &mut self.answers);
        let marks = if applied.changes.is_empty() { NO_MARKS } else { self.marks_of(&applied.changes) };
        let changes =
            if self.setup.faults.can_lag() { self.views.list(&applied.changes) } else { NO_CHANGES };
        Effect {
            cluster: applied.cluster,
            answer: applied.answer,
            marks,
            changes,
            changed: !applied.changes.is_empty(),
        }
    }

    /// What the cluster's own controllers would do.
    pub(crate) fn collections(&mut self, cluster: ClusterId) -> Arc<[Collection]> {
        let wanted = self.database.collections(cluster, &mut self.asks);
        if self.setup.workloads {
            self.compare_collections(cluster, &wanted);
        }
        wanted
    }

    /// What a call does to the services: their states afterwards, and the answer.
    pub(crate) fn call(&mut self, services: ServicesId, ask: AskId) -> (ServicesId, AnswerId) {
        self.compare_calls(services, ask);
        let effect = self.services.apply(services, ask, &self.asks, &mut self.answers);
        if self.tries_other_numbers() && !self.is_same_with_other_uids(services, ask, effect) {
            self.note_dependence(&format!("what `{}` does", crate::show::ask(self.asks.get(ask))));
        }
        effect
    }

    /// Whether a service does the same when all uids that it knows, and is sent, are others.
    fn is_same_with_other_uids(
        &self,
        services: ServicesId,
        ask: AskId,
        (after, answer): (ServicesId, AnswerId),
    ) -> bool {
        let mut states = renumber::other_services(self.services.states.get(services));
        let answered = self.services.respond(&mut states, &renumber::other_ask(self.asks.get(ask)));
        let expected = renumber::other_answer(self.setup.cluster.types(), self.answers.get(answer));
        states == renumber::other_services(self.services.states.get(after))
            && Answer::Call(answered) == expected
    }

    /// Whether user code is run again on other versions, generations and uids: until something depends on them.
    pub(super) fn tries_other_numbers(&self) -> bool {
        self.setup.renumbers() && self.steps.depends_on_numbers.is_none()
    }

    /// Notes that something depends on the very numbers of versions, so that states must not be renumbered.
    pub(super) fn note_dependence(&mut self, what: &str) {
        let words = format!("{what} depends on the number of a resource version, a generation or a uid");
        self.steps.depends_on_numbers.get_or_insert(words);
    }

    fn marks_of(&mut self, changes: &[Change]) -> MarksId {
        let sets = (0..self.setup.processes.len()).map(|process| self.jobs_for(process, changes)).collect();
        self.marks.id(sets)
    }

    /// The number of the set of jobs that some changes concern.
    fn jobs_for(&mut self, process: usize, changes: &[Change]) -> JobSetId {
        let mut jobs = Vec::new();
        for Change { key, before, after, .. } in changes {
            jobs.extend(self.jobs_of(process, key, before.as_deref(), after.as_deref()));
        }
        self.job_set(jobs)
    }

    fn job_set(&mut self, mut jobs: Vec<JobId>) -> JobSetId {
        jobs.sort_unstable();
        jobs.dedup();
        self.job_sets.id(jobs)
    }

    pub(super) fn jobs_of(
        &mut self,
        process: usize,
        key: &Key,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Vec<JobId> {
        let declaration = self.setup.processes[process].declaration();
        let creates_missing = declaration.creates_missing();
        let triggers = declaration.triggers(key, before, after);
        if self.tries_other_numbers() {
            let other = |found: Option<&Value>| found.map(|found| renumber::with_other_numbers(key, found));
            if declaration.triggers(key, other(before).as_ref(), other(after).as_ref()) != triggers {
                let name = self.setup.processes[process].name();
                let what =
                    format!("which parents controller `{name}` reconciles after a change of {}", key.plural);
                self.note_dependence(&what);
            }
        }
        let job = |trigger: Trigger| Job {
            controller: process,
            target: trigger.parent,
            create_missing: creates_missing && trigger.cause.creates_missing(),
        };
        triggers.into_iter().map(|trigger| self.jobs.id(job(trigger))).collect()
    }

    /// The jobs of a controller that starts to watch: one for everything that concerns it.
    pub(crate) fn relist(&mut self, cluster: ClusterId, process: usize) -> JobSetId {
        let cluster = self.database.cluster(cluster).clone();
        let mut jobs = Vec::new();
        for (key, found) in cluster.store().all() {
            jobs.extend(self.jobs_of(process, &key, None, Some(&found)));
        }
        self.job_set(jobs)
    }

    /// What a step does to a controller.
    pub(crate) fn host_op(&mut self, host: HostId, process: usize, op: HostOp) -> HostStep {
        if let Some(known) = self.host_steps.get(&(host, process, op)) {
            return *known;
        }
        let step = self.do_host_op(host, process, op);
        self.host_steps.insert((host, process, op), step);
        step
    }

    fn do_host_op(&mut self, host: HostId, process: usize, op: HostOp) -> HostStep {
        let mut host = (**self.hosts.get(host)).clone();
        let (mut ending, mut violation) = (None, None);
        match op {
            HostOp::Notify(job) => {
                remove(&mut host.fresh, job);
                if self.setup.faults.duplicates {
                    self.may_notify_again(&mut host, job);
                }
                self.enqueue(&mut host, job);
            }
            HostOp::NotifyAgain(job) => self.enqueue(&mut host, job),
            HostOp::Timer(job) => {
                remove(&mut host.timers, job);
                self.enqueue(&mut host, job);
            }
            HostOp::Mark(jobs) => {
                self.job_sets.get(jobs).iter().for_each(|job| insert(&mut host.fresh, *job));
            }
            HostOp::Commit { changes, is_cut } => self.commit(&mut host, process, changes, is_cut),
            HostOp::Advance { kind } => self.advance(&mut host, process, kind),
            HostOp::Start => (ending, violation) = self.start(&mut host, process),
            HostOp::Answered { slot, answer } => {
                // The version in an answer brings caches up to date when it arrives.
                let answer =
                    if self.setup.faults.can_lag() { answer } else { self.detail(&host, slot, answer) };
                let waiting = &mut host.active[usize::from(slot.active)].slots[usize::from(slot.slot)];
                waiting.delivered = true;
                insert(&mut waiting.replies, answer);
            }
            HostOp::Receive { slot, answer } => {
                (ending, violation) =
                    self.receive(&mut host, process, slot.active.into(), slot.slot.into(), answer);
            }
            HostOp::Reply { slot, reply } => {
                let waiting = &host.active[usize::from(slot.active)].slots[usize::from(slot.slot)];
                let answer = waiting.replies[usize::from(reply)];
                (ending, violation) =
                    self.receive(&mut host, process, slot.active.into(), slot.slot.into(), answer);
            }
            HostOp::Crash { unseen, listed } => {
                self.note_crash(&host);
                let fresh = (**self.job_sets.get(listed)).clone();
                // Notices of the old watch may still come.
                host = Host {
                    fresh,
                    observed: host.observed.clone(),
                    skew: host.skew,
                    unseen,
                    ..Host::default()
                };
            }
            HostOp::Gap { unseen, listed } => {
                host.fresh = (**self.job_sets.get(listed)).clone();
                host.unseen = unseen;
            }
            HostOp::ClockJump { forward } => host.skew += if forward { 1 } else { -1 },
        }
        HostStep {
            host: self.hosts.id(host),
            ending,
            violation: violation.map(|found| self.violations.id(found)),
        }
    }

    /// Jobs of one parent are done as one, which may make the parent if any of them may.
    fn enqueue(&mut self, host: &mut Host, job: JobId) {
        let (plain, making) = (self.job_with(job, false), self.job_with(job, true));
        match host.queue.iter().position(|known| [plain, making].contains(known)) {
            None => host.queue.push(job),
            Some(index) if job == making => host.queue[index] = job,
            Some(_) => {}
        }
    }

    /// A repeated notification for a parent that may be made is also one for a parent that is there.
    fn may_notify_again(&mut self, host: &mut Host, job: JobId) {
        let (plain, making) = (self.job_with(job, false), self.job_with(job, true));
        if host.observed.contains(&making) {
            return;
        }
        remove(&mut host.observed, plain);
        insert(&mut host.observed, job);
    }

    /// The same job, but a missing parent may be made, or not.
    fn job_with(&mut self, job: JobId, create_missing: bool) -> JobId {
        let known = self.jobs.get(job).clone();
        if known.create_missing == create_missing {
            return job;
        }
        self.jobs.id(Job { create_missing, ..(*known).clone() })
    }

    fn note_crash(&mut self, host: &Host) {
        for active in &host.active {
            let running = self.steps.node(active.node).state;
            for slot in active.slots.iter().filter(|slot| slot.message != NO_MESSAGE) {
                let ask = self.asks.get(self.messages.get(slot.message).ask);
                self.crash_points.insert(format!("{running}: {}", crate::show::ask(ask)));
            }
        }
    }

    fn start(&mut self, host: &mut Host, process: usize) -> (Option<Ending>, Option<StepViolation>) {
        let index = host.first_to_start(self.setup.workers).expect("only a controller that can start does");
        let job = host.queue.remove(index);
        let description = self.jobs.get(job).clone();
        let node = self.steps.start(&description, &mut self.asks, &self.answers);
        self.enter(host, process, job, node)
    }

    /// A reconcile has reached a point: send what it asks, or end it.
    fn enter(
        &mut self,
        host: &mut Host,
        process: usize,
        job: JobId,
        mut node: NodeId,
    ) -> (Option<Ending>, Option<StepViolation>) {
        loop {
            match self.steps.node(node).next.clone() {
                NodeNext::Bug(bug) => return (None, Some(StepViolation::Code((*bug).clone()))),
                NodeNext::End(ended) => {
                    if is_tried_again(&ended.result) {
                        // That it is time makes no parent.
                        insert(&mut host.timers, self.job_with(job, false));
                    }
                    return (
                        Some(Ending {
                            job,
                            node,
                            done: matches!(ended.result, ReconcileResult::Done { .. }),
                        }),
                        None,
                    );
                }
                NodeNext::Ask(asked) => {
                    let slots: Vec<Slot> =
                        asked.iter().map(|ask| self.send(host, process, node, *ask)).collect();
                    if slots.iter().any(|slot| slot.answer.is_none()) {
                        host.activate(Active { job, node, slots });
                        return (None, None);
                    }
                    // It asked for the time only, which takes no message.
                    let given = slots.iter().filter_map(|slot| slot.answer).collect();
                    node = self.steps.follow(node, given, &mut self.asks, &self.answers);
                }
            }
        }
    }

    fn send(&mut self, host: &Host, process: usize, node: NodeId, ask: AskId) -> Slot {
        let request = match &**self.asks.get(ask) {
            Ask::Now => {
                let jump = i64::try_from(self.setup.faults.clock_jump.as_secs()).unwrap_or(0);
                let now = self.now.plus_seconds(i64::from(host.skew) * jump);
                let answer = self.answers.id(Answer::Now(now));
                return Slot { message: NO_MESSAGE, answer: Some(answer), ..Slot::default() };
            }
            Ask::Api { request, .. } => Some(request.clone()),
            Ask::Call { .. } | Ask::Random { .. } => None,
        };
        let decided_on = request.filter(|request| acts_on_what_it_saw(request)).and_then(|request| {
            self.steps.last_seen_uid(node, &key_of(&request)?, &self.asks, &self.answers)
        });
        let message = self.messages.id(Message { sender: process, ask, decided_on });
        Slot { message, ..Slot::default() }
    }

    /// A controller gets an answer; with the last one of a batch it goes on.
    fn receive(
        &mut self,
        host: &mut Host,
        process: usize,
        active: usize,
        slot: usize,
        answer: AnswerId,
    ) -> (Option<Ending>, Option<StepViolation>) {
        let ask = self.messages.get(host.active[active].slots[slot].message).ask;
        self.see_own_write(host, process, ask, answer);
        let answer = self.detail_of(ask, answer);
        let reconcile = &mut host.active[active];
        let message = reconcile.slots[slot].message;
        // Further answers to the same ask would be dropped.
        reconcile.slots[slot] = Slot { message, delivered: true, replies: Vec::new(), answer: Some(answer) };
        if reconcile.slots.iter().any(|slot| slot.answer.is_none()) {
            return (None, None);
        }
        let reconcile = host.active.remove(active);
        let given = reconcile.slots.iter().filter_map(|slot| slot.answer).collect();
        let node = self.steps.follow(reconcile.node, given, &mut self.asks, &self.answers);
        self.enter(host, process, reconcile.job, node)
    }

    /// What is looked at of the answer to a request of a reconcile.
    fn detail(&mut self, host: &Host, slot: SlotIndex, answer: AnswerId) -> AnswerId {
        let waiting = &host.active[usize::from(slot.active)].slots[usize::from(slot.slot)];
        self.detail_of(self.messages.get(waiting.message).ask, answer)
    }

    fn detail_of(&mut self, ask: AskId, answer: AnswerId) -> AnswerId {
        let Ask::Api { detail: Detail::Identity, .. } = &**self.asks.get(ask) else { return answer };
        if let Some(known) = self.identities.get(&answer) {
            return *known;
        }
        let Answer::Api(response) = &**self.answers.get(answer) else { return answer };
        let identity = Detail::Identity.of(response.clone());
        let identity = self.answers.id(Answer::Api(identity));
        self.identities.insert(answer, identity);
        identity
    }

    /// What a step does to the network.
    pub(crate) fn network_op(&mut self, network: NetworkId, op: NetworkOp) -> NetworkId {
        let mut network = (**self.networks.get(network)).clone();
        match op {
            NetworkOp::AddLate(message) => network.add_late(message),
            NetworkOp::TakeLate(index) => drop(network.late.remove(index)),
            NetworkOp::AddCopy(message) => insert(&mut network.copies, message),
            NetworkOp::AddAwaitedCopy(message) => {
                insert(&mut network.copies, message);
                insert(&mut network.awaited, message);
            }
            NetworkOp::UseCopy(message) => {
                remove(&mut network.copies, message);
                remove(&mut network.awaited, message);
            }
            NetworkOp::Abandon(message) => remove(&mut network.awaited, message),
            NetworkOp::DropDead(cluster) => {
                let alive = |message: &MessageId| {
                    !self.database.is_dead(cluster, self.asks.get(self.messages.get(*message).ask))
                };
                network.late.retain(alive);
                let awaited = &network.awaited;
                network.copies.retain(|message| awaited.contains(message) || alive(message));
            }
        }
        self.networks.id(network)
    }

    /// Whether a random value was asked for, so that not even the same order of things leads to the same objects.
    pub(crate) fn draws(&self) -> bool {
        self.steps.draws
    }

    /// One of the values that can be drawn at a point of a reconcile. They differ from those of earlier draws of the
    /// same reconcile; another reconcile may draw the same or others.
    pub(crate) fn drawn_answer(&mut self, host: HostId, slot: SlotIndex, value: u8) -> AnswerId {
        let host = self.hosts.get(host);
        let node = host.active[usize::from(slot.active)].node;
        let is_draw = |answer: &AnswerId| matches!(&**self.answers.get(*answer), Answer::Random(_));
        let mut earlier = usize::from(slot.slot);
        let mut at = self.steps.before(node);
        while let Some((before, answers)) = at {
            earlier += answers.iter().filter(|answer| is_draw(answer)).count();
            at = self.steps.before(before);
        }
        let number = 2 * earlier as u64 + u64::from(value);
        self.answers.id(Answer::Random(RandomBytes::numbered(number)))
    }

    /// Notes whether an event of a script has ever succeeded.
    pub(crate) fn note_event(&mut self, script: usize, event: usize, answer: AnswerId) {
        let refusal = match &**self.answers.get(answer) {
            Answer::Api(response) => response.failure().map(|status| status.message.clone()),
            Answer::Call(Err(error)) => Some(error.to_string()),
            _ => None,
        };
        let noted = self.refused_events.entry((script, event)).or_insert_with(|| refusal.clone());
        *noted = noted.take().and(refusal);
    }

    /// The answer to a message that went astray.
    pub(crate) fn timeout_answer(&mut self, message: MessageId) -> AnswerId {
        let ask = self.asks.get(self.messages.get(message).ask).clone();
        let answer = match &*ask {
            Ask::Call { service, .. } => Answer::Call(Err(CallError::Timeout { service: service.clone() })),
            _ => Answer::Api(Response::status(Status::failure(
                504,
                Reason::Timeout,
                "no answer in time: whether the request had an effect is not known",
            ))),
        };
        self.answers.id(answer)
    }

    /// The answer of a peer that cannot just now.
    pub(crate) fn unavailable_answer(&mut self, message: MessageId) -> AnswerId {
        let ask = self.asks.get(self.messages.get(message).ask).clone();
        let message = "the server is currently unable to handle the request";
        let answer = match &*ask {
            Ask::Call { service, .. } => Answer::Call(Err(CallError::Unavailable {
                service: service.clone(),
                message: message.to_owned(),
            })),
            _ => Answer::Api(Response::status(Status::failure(503, Reason::ServiceUnavailable, message))),
        };
        self.answers.id(answer)
    }

    /// Whether a message, delivered now, changes another object than the one that its sender decided on.
    pub(crate) fn hits_another_object(
        &mut self,
        cluster: ClusterId,
        message: MessageId,
    ) -> Option<ViolationId> {
        let message = self.messages.get(message).clone();
        let decided_on = message.decided_on.as_ref()?;
        let applied = self.database.apply(cluster, message.ask, &self.asks, &mut self.answers);
        let Ask::Api { request, .. } = &**self.asks.get(message.ask) else { return None };
        let key = key_of(request)?;
        let hit = applied.changes.iter().find(|change| change.key == key)?.before.clone()?;
        if object::uid(&hit) == &**decided_on {
            return None;
        }
        let controller = self.setup.processes[message.sender].name().to_owned();
        let request = crate::show::request(request);
        Some(self.violations.id(StepViolation::AnotherObject { controller, request }))
    }

    /// Bytes that all of this takes, about: what is counted is what there is most of.
    pub(crate) fn bytes(&self) -> usize {
        let hosts = self.hosts.len() * 400 + self.networks.len() * 120 + self.environments.len() * 160;
        hosts + self.database.len() * 2_000 + self.steps.len() * 400 + self.answers.len() * 1_500
    }

    /// How many distinct parts of each kind there are, for the curious.
    pub(crate) fn sizes(&self) -> String {
        format!(
            "{} stores, {} networks, {} environments, {} hosts, {} messages, {} answers, {} points of reconciles",
            self.database.len(),
            self.networks.len(),
            self.environments.len(),
            self.hosts.len(),
            self.messages.len() - 1,
            self.answers.len(),
            self.steps.len()
        )
    }
}

/// Whether a request changes an object that is there, whichever that is by then.
fn acts_on_what_it_saw(request: &windlass_model::Request) -> bool {
    matches!(request.verb, Verb::Update | Verb::Patch(_) | Verb::Delete) && !insists(request)
}

/// Whether a reconcile that ends like this is started again without anything having changed.
fn is_tried_again(result: &ReconcileResult) -> bool {
    match result {
        ReconcileResult::Gone | ReconcileResult::Idle | ReconcileResult::Terminal { .. } => false,
        ReconcileResult::Done { requeue_after } => requeue_after.is_some(),
        ReconcileResult::Requeue { .. }
        | ReconcileResult::Conflict { .. }
        | ReconcileResult::Failed { .. } => true,
    }
}

/// The violation in words.
impl std::fmt::Display for StepViolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StepViolation::Code(bug) => bug.fmt(f),
            StepViolation::AnotherObject { controller, request } => write!(
                f,
                "controller `{controller}` changes another object than the one it decided on: its `{request}` hits one of the \
                 same name with another uid. Give the uid, or the resource version, that was read along"
            ),
        }
    }
}
