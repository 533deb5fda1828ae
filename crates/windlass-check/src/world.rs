//! The world: all hosts together. A state is a tuple of numbers, each naming an interned part.

use std::collections::BTreeMap;
use std::rc::Rc;

use windlass::{Answer, Ask, Bug, Cause, Controller, Trigger, Verdict};
use windlass_model::{Change, Cluster, Key, Store, Timestamp};

use crate::action::Action;
use crate::faults::Faults;
use crate::host::client::ClientEvent;
use crate::host::controller::{Active, Host, Slot, insert, remove};
use crate::host::database::{Database, plain};
use crate::host::network::Network;
use crate::host::service::{Respond, ServiceStates, Services};
use crate::intern::Interner;
use crate::steps::{Job, NodeNext, Steps};

/// The places of the parts in a state.
const CLUSTER: usize = 0;
const NETWORK: usize = 1;
const SERVICES: usize = 2;
/// How far each client script has got.
const SCRIPTS: usize = 3;
/// How many crashes are left.
const CRASHES: usize = 4;
const CLOCKS: usize = 5;
/// The first controller; the others follow.
const HOSTS: usize = 6;

/// How many reconciles of each job have come to their end, up to a limit. Sorted by job.
pub(crate) type Clocks = Vec<(u32, u32)>;

/// All hosts, and everything that was interned so far.
pub(crate) struct World {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) faults: Faults,
    pub(crate) database: Database,
    pub(crate) services: Services,
    pub(crate) steps: Steps,
    pub(crate) asks: Interner<Ask>,
    pub(crate) answers: Interner<Answer>,
    pub(crate) jobs: Interner<Job>,
    hosts: Interner<Host>,
    networks: Interner<Network>,
    progress: Interner<Vec<usize>>,
    pub(crate) clocks: Interner<Clocks>,
    scripts: Vec<Vec<u32>>,
    clock_limit: u32,
    now: Timestamp,
}

/// A step of the world.
pub(crate) struct Next {
    pub(crate) state: Vec<u32>,
    /// The database's changes, for traces.
    pub(crate) changes: Rc<[Change]>,
    /// The answer that was given, for traces.
    pub(crate) answer: Option<u32>,
    /// A mistake in controller code that this step ran into.
    pub(crate) bug: Option<Rc<Bug>>,
}

/// What a world is made of.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) controllers: Vec<Controller>,
    pub(crate) faults: Faults,
    pub(crate) cluster: Cluster,
    pub(crate) scripts: Vec<Vec<ClientEvent>>,
    pub(crate) services: BTreeMap<String, Respond>,
    pub(crate) service_states: ServiceStates,
    pub(crate) clock_limit: u32,
}

impl World {
    /// The world and its first state.
    pub(crate) fn new(setup: Setup) -> (Self, Vec<u32>) {
        let mut asks = Interner::new();
        let scripts: Vec<Vec<u32>> = setup
            .scripts
            .into_iter()
            .map(|script| script.into_iter().map(|event| asks.id(plain(event.0))).collect())
            .collect();
        let now = setup.cluster.now();
        let mut world = World {
            steps: Steps::new(setup.controllers.clone()),
            controllers: setup.controllers,
            faults: setup.faults,
            database: Database::new(),
            services: Services::new(setup.services),
            asks,
            answers: Interner::new(),
            jobs: Interner::new(),
            hosts: Interner::new(),
            networks: Interner::new(),
            progress: Interner::new(),
            clocks: Interner::new(),
            scripts,
            clock_limit: setup.clock_limit,
            now,
        };
        let mut state = vec![0; HOSTS + world.controllers.len()];
        state[CLUSTER] = world.database.id(setup.cluster);
        state[NETWORK] = world.networks.id(Network::default());
        state[SERVICES] = world.services.states.id(setup.service_states);
        state[SCRIPTS] = world.progress.id(vec![0; world.scripts.len()]);
        state[CRASHES] = world.faults.crashes;
        state[CLOCKS] = world.clocks.id(Clocks::new());
        for controller in 0..world.controllers.len() {
            let fresh = world.relist(state[CLUSTER], controller);
            state[HOSTS + controller] = world.hosts.id(Host { fresh, ..Host::default() });
        }
        (world, state)
    }

    pub(crate) fn cluster<'a>(&'a self, state: &[u32]) -> &'a Cluster {
        self.database.cluster(state[CLUSTER])
    }

    /// The words of a state that properties can see.
    pub(crate) fn visible(state: &[u32]) -> [u32; 3] {
        [state[CLUSTER], state[SERVICES], state[CLOCKS]]
    }

    pub(crate) fn clocks_of(&self, state: &[u32]) -> &Clocks {
        self.clocks.get(state[CLOCKS])
    }

    pub(crate) fn services_of(&self, state: &[u32]) -> &Rc<ServiceStates> {
        self.services.state(state[SERVICES])
    }

    /// How many distinct parts of each kind there are, for the curious.
    pub(crate) fn sizes(&self) -> String {
        format!(
            "{} stores, {} networks, {} hosts, {} asks, {} answers, {} points of reconciles",
            self.database.len(),
            self.networks.len(),
            self.hosts.len(),
            self.asks.len(),
            self.answers.len(),
            self.steps.len()
        )
    }

    /// Everything that can happen next, in a fixed order.
    pub(crate) fn actions(&mut self, state: &[u32], actions: &mut Vec<Action>) {
        actions.clear();
        let progress = self.progress.get(state[SCRIPTS]);
        for (script, done) in progress.iter().enumerate() {
            if *done < self.scripts[script].len() {
                actions.push(Action::Client { script });
            }
        }
        for controller in 0..self.controllers.len() {
            self.host_actions(state, controller, actions);
        }
        self.network_actions(state, actions);
        let collections = self.database.collections(state[CLUSTER], &mut self.asks).len();
        actions.extend((0..collections).map(|index| Action::Collect { index }));
    }

    fn host_actions(&self, state: &[u32], controller: usize, actions: &mut Vec<Action>) {
        let host = self.hosts.get(state[HOSTS + controller]);
        actions.extend(host.fresh.iter().map(|job| Action::Notify { controller, job: *job }));
        actions.extend(host.timers.iter().map(|job| Action::Timer { controller, job: *job }));
        if self.faults.duplicates {
            // Where news is still to come, telling old news first and new news later is the same as the
            // other way round.
            let again = host.told.iter().filter(|job| !host.queue.contains(job) && !host.fresh.contains(job));
            actions.extend(again.map(|job| Action::NotifyAgain { controller, job: *job }));
        }
        match &host.active {
            None if !host.queue.is_empty() => actions.push(Action::Start { controller }),
            None => {}
            Some(active) => {
                for (slot, sent) in active.slots.iter().enumerate() {
                    self.slot_actions(state, controller, slot, sent, actions);
                }
            }
        }
        if state[CRASHES] > 0 {
            actions.push(Action::Crash { controller });
        }
    }

    fn slot_actions(
        &self,
        state: &[u32],
        controller: usize,
        slot: usize,
        sent: &Slot,
        actions: &mut Vec<Action>,
    ) {
        if sent.answer.is_some() {
            return;
        }
        let network = self.networks.get(state[NETWORK]);
        let in_turn = self.faults.reorders || !network.has_late(controller);
        if !sent.delivered && in_turn {
            actions.push(Action::Deliver { controller, slot });
        }
        let ask = self.ask_of(state, controller, slot);
        if sent.delivered && ask.is_some_and(|ask| network.copies.contains(&ask)) {
            actions.push(Action::DeliverAgain { controller, slot });
        }
        actions.extend((0..sent.replies.len()).map(|reply| Action::Reply { controller, slot, reply }));
    }

    fn network_actions(&self, state: &[u32], actions: &mut Vec<Action>) {
        let network = self.networks.get(state[NETWORK]);
        for (index, message) in network.late.iter().enumerate() {
            let (earlier, sender) = (&network.late[..index], message.0);
            // Without reordering, the messages of one sender arrive in turn; and equal messages do the same.
            let in_turn = self.faults.reorders || earlier.iter().all(|(known, _)| *known != sender);
            if in_turn && !earlier.contains(message) {
                actions.push(Action::Late { index });
            }
        }
        actions.extend((0..network.copies.len()).map(|index| Action::Duplicate { index }));
    }

    /// Performs an action.
    pub(crate) fn perform(&mut self, state: &[u32], action: Action) -> Next {
        let mut next = Next { state: state.to_vec(), changes: Rc::new([]), answer: None, bug: None };
        match action {
            Action::Client { script } => self.client_event(&mut next, script),
            Action::Notify { controller, job } => {
                self.update_host(&mut next, controller, |host, duplicates| {
                    remove(&mut host.fresh, job);
                    if duplicates {
                        insert(&mut host.told, job);
                    }
                    host.enqueue(job);
                })
            }
            Action::NotifyAgain { controller, job } => {
                self.update_host(&mut next, controller, |host, _| host.enqueue(job));
            }
            Action::Timer { controller, job } => self.update_host(&mut next, controller, |host, _| {
                remove(&mut host.timers, job);
                host.enqueue(job);
            }),
            Action::Start { controller } => self.start(&mut next, controller),
            Action::Deliver { controller, slot } => {
                self.deliver(&mut next, controller, slot);
                if let Some(ask) = self.ask_of(state, controller, slot) {
                    self.keep_copy(&mut next, ask);
                }
            }
            Action::DeliverAgain { controller, slot } => {
                if let Some(ask) = self.ask_of(state, controller, slot) {
                    self.use_copy(&mut next, ask);
                }
                self.deliver(&mut next, controller, slot);
            }
            Action::Reply { controller, slot, reply } => self.reply(&mut next, controller, slot, reply),
            Action::Late { index } => self.deliver_late(&mut next, index),
            Action::Duplicate { index } => {
                let ask = self.networks.get(state[NETWORK]).copies[index];
                self.use_copy(&mut next, ask);
                self.execute(&mut next, ask);
            }
            Action::Collect { index } => {
                let ask = self.database.collections(state[CLUSTER], &mut self.asks)[index];
                self.execute(&mut next, ask);
            }
            Action::Crash { controller } => self.crash(&mut next, controller),
        }
        next
    }

    fn client_event(&mut self, next: &mut Next, script: usize) {
        let mut progress = (**self.progress.get(next.state[SCRIPTS])).clone();
        let ask = self.scripts[script][progress[script]];
        progress[script] += 1;
        next.state[SCRIPTS] = self.progress.id(progress);
        self.execute(next, ask);
    }

    fn update_host(&mut self, next: &mut Next, controller: usize, change: impl FnOnce(&mut Host, bool)) {
        let mut host = (**self.hosts.get(next.state[HOSTS + controller])).clone();
        change(&mut host, self.faults.duplicates);
        next.state[HOSTS + controller] = self.hosts.id(host);
    }

    fn start(&mut self, next: &mut Next, controller: usize) {
        let mut host = (**self.hosts.get(next.state[HOSTS + controller])).clone();
        let job = host.queue.remove(0);
        let description = self.jobs.get(job).clone();
        let node = self.steps.start(&description, &mut self.asks, &self.answers);
        self.enter(next, &mut host, job, node);
        next.state[HOSTS + controller] = self.hosts.id(host);
    }

    /// A reconcile has reached a point: send what it asks, or end it.
    fn enter(&mut self, next: &mut Next, host: &mut Host, job: u32, mut node: u32) {
        loop {
            match self.steps.node(node).next.clone() {
                NodeNext::Bug(bug) => {
                    next.bug = Some(bug);
                    host.active = None;
                    return;
                }
                NodeNext::End(ended) => {
                    host.active = None;
                    self.end(next, host, job, &ended.verdict);
                    return;
                }
                NodeNext::Ask(asked) => {
                    let slots: Vec<Slot> = asked.iter().map(|ask| self.send(*ask)).collect();
                    if slots.iter().any(|slot| slot.answer.is_none()) {
                        host.active = Some(Active { job, node, slots });
                        return;
                    }
                    // It asked for the time only, which takes no message.
                    let given = slots.iter().filter_map(|slot| slot.answer).collect();
                    node = self.steps.follow(node, given, &mut self.asks, &self.answers);
                }
            }
        }
    }

    fn send(&mut self, ask: u32) -> Slot {
        match &**self.asks.get(ask) {
            Ask::Now => Slot { answer: Some(self.answers.id(Answer::Now(self.now))), ..Slot::default() },
            _ => Slot::default(),
        }
    }

    fn end(&mut self, next: &mut Next, host: &mut Host, job: u32, verdict: &Verdict) {
        match verdict {
            Verdict::Gone | Verdict::Idle | Verdict::Terminal { .. } => {}
            Verdict::Done { requeue_after } => {
                self.advance_clock(next, job);
                if requeue_after.is_some() {
                    insert(&mut host.timers, job);
                }
            }
            Verdict::Requeue { .. } | Verdict::Conflict { .. } | Verdict::Failed { .. } => {
                insert(&mut host.timers, job);
            }
        }
    }

    fn advance_clock(&mut self, next: &mut Next, job: u32) {
        if self.clock_limit == 0 {
            return;
        }
        let mut clocks = (**self.clocks.get(next.state[CLOCKS])).clone();
        match clocks.binary_search_by_key(&job, |(known, _)| *known) {
            Ok(place) => clocks[place].1 = (clocks[place].1 + 1).min(self.clock_limit),
            Err(place) => clocks.insert(place, (job, 1)),
        }
        next.state[CLOCKS] = self.clocks.id(clocks);
    }

    /// An ask reaches its destination. The answer to a read is received in the same step: whether a
    /// controller waits for its answer or for the delivery of what it asks next makes no difference to
    /// anybody, and a crash in between loses nothing but the read.
    fn deliver(&mut self, next: &mut Next, controller: usize, slot: usize) {
        let Some(ask) = self.ask_of(&next.state, controller, slot) else { return };
        self.execute(next, ask);
        let Some(answer) = next.answer else { return };
        if !self.asks.get(ask).has_effect() {
            self.receive(next, controller, slot, answer);
            return;
        }
        self.update_host(next, controller, |host, _| {
            if let Some(active) = &mut host.active {
                let sent = &mut active.slots[slot];
                sent.delivered = true;
                insert(&mut sent.replies, answer);
            }
        });
    }

    fn reply(&mut self, next: &mut Next, controller: usize, slot: usize, reply: usize) {
        let host = self.hosts.get(next.state[HOSTS + controller]).clone();
        let Some(active) = &host.active else { return };
        let answer = active.slots[slot].replies[reply];
        next.answer = Some(answer);
        self.receive(next, controller, slot, answer);
    }

    /// A controller gets an answer; with the last one of a batch it goes on.
    fn receive(&mut self, next: &mut Next, controller: usize, slot: usize, answer: u32) {
        let mut host = (**self.hosts.get(next.state[HOSTS + controller])).clone();
        let Some(active) = &mut host.active else { return };
        // Further answers to the same ask would be dropped.
        active.slots[slot] = Slot { delivered: true, replies: Vec::new(), answer: Some(answer) };
        if active.slots.iter().all(|slot| slot.answer.is_some()) {
            let given = active.slots.iter().filter_map(|slot| slot.answer).collect();
            let (job, node) = (active.job, active.node);
            let node = self.steps.follow(node, given, &mut self.asks, &self.answers);
            self.enter(next, &mut host, job, node);
        }
        next.state[HOSTS + controller] = self.hosts.id(host);
    }

    fn deliver_late(&mut self, next: &mut Next, index: usize) {
        let mut network = (**self.networks.get(next.state[NETWORK])).clone();
        let (_, ask) = network.late.remove(index);
        self.set_network(next, network);
        self.execute(next, ask);
        self.keep_copy(next, ask);
    }

    /// A write that was delivered may be delivered once more.
    fn keep_copy(&mut self, next: &mut Next, ask: u32) {
        if self.faults.duplicates && self.asks.get(ask).has_effect() {
            let mut network = (**self.networks.get(next.state[NETWORK])).clone();
            insert(&mut network.copies, ask);
            self.set_network(next, network);
        }
    }

    fn use_copy(&mut self, next: &mut Next, ask: u32) {
        let mut network = (**self.networks.get(next.state[NETWORK])).clone();
        remove(&mut network.copies, ask);
        self.set_network(next, network);
    }

    /// The number of a controller's ask.
    fn ask_of(&self, state: &[u32], controller: usize, slot: usize) -> Option<u32> {
        let host = self.hosts.get(state[HOSTS + controller]);
        let NodeNext::Ask(asked) = &self.steps.node(host.active.as_ref()?.node).next else { return None };
        asked.get(slot).copied()
    }

    /// A crash forgets all that is local. Requests in flight stay on the network; the watch starts again.
    fn crash(&mut self, next: &mut Next, controller: usize) {
        next.state[CRASHES] -= 1;
        let host = self.hosts.get(next.state[HOSTS + controller]).clone();
        let mut network = (**self.networks.get(next.state[NETWORK])).clone();
        if let Some(active) = &host.active
            && let NodeNext::Ask(asked) = &self.steps.node(active.node).next
        {
            for (slot, ask) in active.slots.iter().zip(asked.iter()) {
                let lost = slot.delivered || slot.answer.is_some() || !self.asks.get(*ask).has_effect();
                if !lost {
                    network.add_late(controller, *ask, self.faults.reorders);
                }
            }
        }
        self.set_network(next, network);
        let fresh = self.relist(next.state[CLUSTER], controller);
        // Notices of the old watch may still come.
        let restarted = Host { fresh, told: host.told.clone(), ..Host::default() };
        next.state[HOSTS + controller] = self.hosts.id(restarted);
    }

    /// An ask takes effect: on the database, with the watches it concerns, or on a service.
    fn execute(&mut self, next: &mut Next, ask: u32) {
        if matches!(&**self.asks.get(ask), Ask::Call { .. }) {
            let (services, answer) =
                self.services.apply(next.state[SERVICES], ask, &self.asks, &mut self.answers);
            next.state[SERVICES] = services;
            next.answer = Some(answer);
            return;
        }
        let applied = self.database.apply(next.state[CLUSTER], ask, &self.asks, &mut self.answers);
        next.state[CLUSTER] = applied.cluster;
        next.answer = Some(applied.answer);
        next.changes = applied.changes.clone();
        if applied.changes.is_empty() {
            return;
        }
        for change in applied.changes.iter() {
            self.mark_fresh(next, change);
        }
        let network = (**self.networks.get(next.state[NETWORK])).clone();
        self.set_network(next, network);
    }

    /// The network, without the messages that can never do anything again.
    fn set_network(&mut self, next: &mut Next, mut network: Network) {
        let cluster = next.state[CLUSTER];
        network.late.retain(|(_, ask)| !self.database.is_dead(cluster, *ask, &self.asks));
        network.copies.retain(|ask| !self.database.is_dead(cluster, *ask, &self.asks));
        next.state[NETWORK] = self.networks.id(network);
    }

    fn mark_fresh(&mut self, next: &mut Next, change: &Change) {
        for controller in 0..self.controllers.len() {
            let jobs = self.jobs_for(controller, change);
            if jobs.is_empty() {
                continue;
            }
            self.update_host(next, controller, |host, _| {
                for job in jobs {
                    insert(&mut host.fresh, job);
                }
            });
        }
    }

    fn jobs_for(&mut self, controller: usize, change: &Change) -> Vec<u32> {
        let sides = [&change.before, &change.after];
        let mut jobs = Vec::new();
        for object in sides.into_iter().flatten() {
            jobs.extend(self.jobs_of(controller, &change.key, object));
        }
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    fn jobs_of(&mut self, controller: usize, key: &Key, object: &serde_json::Value) -> Vec<u32> {
        let declaration = self.controllers[controller].declaration();
        let creates_missing = declaration.creates_missing();
        let triggers = declaration.triggers(key, object);
        let job = |trigger: Trigger| Job {
            controller,
            target: trigger.parent,
            create_missing: creates_missing && trigger.cause == Cause::Watched,
        };
        triggers.into_iter().map(|trigger| self.jobs.id(job(trigger))).collect()
    }

    /// What a controller that starts to watch is told: everything that concerns it.
    fn relist(&mut self, cluster: u32, controller: usize) -> Vec<u32> {
        let cluster = self.database.cluster(cluster).clone();
        let mut jobs = Vec::new();
        for (key, object) in cluster.store().all() {
            jobs.extend(self.jobs_of(controller, &key, &object));
        }
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    /// The ask of a controller's slot, and the state that sent it, for traces.
    pub(crate) fn sent(&self, state: &[u32], controller: usize, slot: usize) -> Option<(Rc<Ask>, String)> {
        let ask = self.asks.get(self.ask_of(state, controller, slot)?).clone();
        let (_, running) = self.active(state, controller)?;
        Some((ask, running))
    }

    /// The parent that a controller is to reconcile next, for traces.
    pub(crate) fn next_in_queue(&self, state: &[u32], controller: usize) -> Option<Rc<Job>> {
        let host = self.hosts.get(state[HOSTS + controller]);
        host.queue.first().map(|job| self.jobs.get(*job).clone())
    }

    /// The parent that a controller reconciles, and the state that it is in, for traces.
    pub(crate) fn active(&self, state: &[u32], controller: usize) -> Option<(Rc<Job>, String)> {
        let host = self.hosts.get(state[HOSTS + controller]);
        let active = host.active.as_ref()?;
        Some((self.jobs.get(active.job).clone(), self.steps.node(active.node).state.clone()))
    }

    /// The ask behind an action that is not of a controller's slot, for traces.
    pub(crate) fn message(&mut self, state: &[u32], action: Action) -> Option<Rc<Ask>> {
        let ask = match action {
            Action::Client { script } => self.scripts[script][self.progress.get(state[SCRIPTS])[script]],
            Action::Late { index } => self.networks.get(state[NETWORK]).late[index].1,
            Action::Duplicate { index } => self.networks.get(state[NETWORK]).copies[index],
            Action::Collect { index } => self.database.collections(state[CLUSTER], &mut self.asks)[index],
            _ => return None,
        };
        Some(self.asks.get(ask).clone())
    }
}
