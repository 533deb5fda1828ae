//! Objects that are alike but for their names can change places, and so can processes of one controller: states that
//! differ in nothing else are the same.
//!
//! An exchange of names is carried through everything that a state is made of: keys, contents and uids of objects,
//! requests, answers, and with them the histories of reconciles. An exchange of processes is carried through whatever
//! says whose it is: jobs, messages, partitions. Whether the code treats the names alike is not taken on trust. Every exchanged history is run, and must ask the exchanged requests; every request is answered
//! for the exchanged cluster too, and must lead to the exchanged result. Where that is not so, the check is run
//! again without this.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;
use windlass::{Answer, Ask, ObjectRef};
use windlass_model::{Body, Change, History, Key, MemoryStore, Request, object};

use super::exchange::{Exchange, exchanges};
use super::parts::Parts;
use super::{CLUSTER, ENVIRONMENT, HOSTS, NETWORK, Visible, Words, World};
use crate::host::controller::{Active, Host, Slot};
use crate::host::database::Collection;
use crate::host::environment::Environment;
use crate::host::network::{Message, Network};
use crate::reductions::Reductions;
use crate::steps::{Job, NodeNext};

const UID_LENGTH: usize = 36;
/// The group of objects that define kinds. They are not about other objects, but full of prose, in which a name
/// may be a word like any other.
const DEFINITIONS: &str = "apiextensions.k8s.io";

/// What is not treated alike after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unlike {
    Names,
    Processes,
}

/// What the exchanges make of each part, as far as it was worked out.
#[derive(Default)]
pub(crate) struct Mirrors {
    pub(crate) exchanges: Vec<Exchange>,
    /// Where a uid comes from.
    uids: BTreeMap<String, (Key, u64)>,
    asks: FxHashMap<(usize, u32), u32>,
    answers: FxHashMap<(usize, u32), u32>,
    messages: FxHashMap<(usize, u32), u32>,
    nodes: FxHashMap<(usize, u32), u32>,
    jobs: FxHashMap<(usize, u32), u32>,
    clusters: FxHashMap<(usize, u32), u32>,
    services: FxHashMap<(usize, u32), u32>,
    /// What was found not to be alike.
    pub(crate) broken: Option<Unlike>,
}

/// What one worker remembers of it: by exchange, for each kind of part, what each number becomes.
#[derive(Default)]
pub(crate) struct MirrorMemory {
    words: FxHashMap<(u32, u32), u32>,
}

impl World {
    /// The state with names and processes exchanged.
    pub(crate) fn mirror(&mut self, state: &Words, exchange: usize) -> Words {
        let mut mirrored = *state;
        for place in [CLUSTER, NETWORK, ENVIRONMENT] {
            mirrored[place] = self.mirror_word(exchange, place, state[place]);
        }
        for process in 0..self.controllers() {
            let other = self.exchanges[exchange].process(process);
            // All hosts are numbered together.
            mirrored[HOSTS + other] = self.mirror_word(exchange, HOSTS, state[HOSTS + process]);
        }
        mirrored
    }

    /// What properties see of it.
    pub(super) fn mirror_visible(&mut self, (cluster, environment): Visible, exchange: usize) -> Visible {
        (self.mirror_word(exchange, CLUSTER, cluster), self.mirror_word(exchange, ENVIRONMENT, environment))
    }

    fn mirror_word(&mut self, exchange: usize, kind: usize, word: u32) -> u32 {
        let parts = &self.parts;
        let known = self.memory.mirrors.words.entry(((exchange * (HOSTS + 1) + kind) as u32, word));
        *known.or_insert_with(|| super::lock(parts).mirror(exchange, kind, word))
    }
}

impl Parts {
    /// Finds out what can change places: whatever leaves the start, by its words, as it is.
    pub(crate) fn find_symmetries(&mut self, start: &[u32]) {
        let Reductions { symmetry, replicas, .. } = self.setup.reductions;
        let names = if symmetry { self.setup.alike.clone() } else { Vec::new() };
        let processes = self.processes_by_controller(replicas);
        self.mirrors.exchanges = exchanges(&names, &processes);
        self.learn_uids(start[CLUSTER]);
        let all = 0..self.mirrors.exchanges.len();
        let unchanged: Vec<bool> = all.map(|exchange| self.leaves_unchanged(exchange, start)).collect();
        // What leaves the start as it is can be done twice, and undone: nothing that belongs to it is missing.
        let found = std::mem::take(&mut self.mirrors);
        let kept = found.exchanges.into_iter().zip(unchanged);
        let exchanges = kept.filter_map(|(exchange, is_kept)| is_kept.then_some(exchange)).collect();
        self.mirrors = Mirrors { exchanges, uids: found.uids, ..Mirrors::default() };
    }

    /// The processes of each controller; each by itself if they are not to change places.
    fn processes_by_controller(&self, replicas: bool) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (process, controller) in self.setup.processes.iter().enumerate() {
            let is_alike =
                |group: &&mut Vec<usize>| self.setup.processes[group[0]].name() == controller.name();
            match groups.iter_mut().find(is_alike).filter(|_| replicas) {
                Some(group) => group.push(process),
                None => groups.push(vec![process]),
            }
        }
        groups
    }

    fn leaves_unchanged(&mut self, exchange: usize, start: &[u32]) -> bool {
        let scripts: Vec<Option<u32>> = self.scripts.iter().flatten().copied().collect();
        let moves_names = self.mirrors.exchanges[exchange].moves_names();
        self.mirror_cluster(exchange, start[CLUSTER]) == start[CLUSTER]
            && self.mirror(exchange, ENVIRONMENT, start[ENVIRONMENT]) == start[ENVIRONMENT]
            && (0..self.setup.processes.len()).all(|process| {
                let other = self.mirrors.exchanges[exchange].process(process);
                self.mirror(exchange, HOSTS, start[HOSTS + process]) == start[HOSTS + other]
            })
            // What a script waits for may be about one of the names in particular.
            && (!moves_names
                || scripts.iter().all(|ask| ask.is_some_and(|ask| self.mirror_ask(exchange, ask) == ask)))
    }

    fn mirror(&mut self, exchange: usize, kind: usize, word: u32) -> u32 {
        match kind {
            // The check is to be run again: nothing is exchanged any more.
            _ if self.mirrors.broken.is_some() => word,
            CLUSTER => self.mirror_cluster(exchange, word),
            NETWORK => {
                let network = self.networks.get(word).clone();
                let mirrored = self.mirror_network(exchange, &network);
                self.networks.id(mirrored)
            }
            ENVIRONMENT => {
                let environment = self.environments.get(word).clone();
                let mirrored = self.mirror_environment(exchange, &environment);
                self.environments.id(mirrored)
            }
            _ => {
                let host = self.hosts.get(word).clone();
                let mirrored = self.mirror_host(exchange, &host);
                self.hosts.id(mirrored)
            }
        }
    }

    fn mirror_network(&mut self, exchange: usize, network: &Network) -> Network {
        let mut late: Vec<u32> =
            network.late.iter().map(|message| self.mirror_message(exchange, *message)).collect();
        late.sort_unstable();
        let copies = sorted(network.copies.iter().map(|message| self.mirror_message(exchange, *message)));
        let awaited = sorted(network.awaited.iter().map(|message| self.mirror_message(exchange, *message)));
        Network { late, copies, awaited }
    }

    fn mirror_environment(&mut self, exchange: usize, environment: &Environment) -> Environment {
        let clocks = environment.clocks.iter();
        let mut clocks: Vec<(u32, u32)> =
            clocks.map(|(job, clock)| (self.mirror_job(exchange, *job), *clock)).collect();
        clocks.sort_unstable();
        let cuts = environment.cuts.iter();
        let mut cuts: Vec<(usize, usize)> =
            cuts.map(|(process, peer)| (self.mirrors.exchanges[exchange].process(*process), *peer)).collect();
        cuts.sort_unstable();
        let oldest = self.mirror_backlog(exchange, environment.oldest);
        let services = self.mirror_services(exchange, environment.services);
        Environment { clocks, cuts, oldest, services, ..environment.clone() }
    }

    fn mirror_host(&mut self, exchange: usize, host: &Host) -> Host {
        let mut jobs =
            |jobs: &[u32]| jobs.iter().map(|job| self.mirror_job(exchange, *job)).collect::<Vec<u32>>();
        let queue = jobs(&host.queue);
        let [fresh, observed, timers] =
            [&host.fresh, &host.observed, &host.timers].map(|set| sorted(jobs(set)));
        let unseen = self.mirror_backlog(exchange, host.unseen);
        let mut mirrored =
            Host { fresh, observed, timers, queue, unseen, active: Vec::new(), ..host.clone() };
        for active in &host.active {
            let active = Active {
                job: self.mirror_job(exchange, active.job),
                node: self.mirror_node(exchange, active.node),
                slots: active.slots.iter().map(|slot| self.mirror_slot(exchange, slot)).collect(),
            };
            mirrored.activate(active);
        }
        mirrored
    }

    fn mirror_slot(&mut self, exchange: usize, slot: &Slot) -> Slot {
        Slot {
            message: self.mirror_message(exchange, slot.message),
            replies: sorted(slot.replies.iter().map(|answer| self.mirror_answer(exchange, *answer))),
            answer: slot.answer.map(|answer| self.mirror_answer(exchange, answer)),
            ..slot.clone()
        }
    }

    fn mirror_backlog(&mut self, exchange: usize, backlog: u32) -> u32 {
        if !self.mirrors.exchanges[exchange].moves_names() {
            return backlog;
        }
        let backlog = self.views.backlogs.get(backlog).clone();
        let mirrored = backlog.map(|change| self.mirror_change(exchange, change));
        self.views.backlogs.id(mirrored)
    }

    fn mirror_change(&mut self, exchange: usize, change: u32) -> u32 {
        let change = self.views.changes.get(change).clone();
        let side = |side: &Option<Arc<Value>>| {
            side.as_ref().map(|found| Arc::new(self.mirrors.value(exchange, found)))
        };
        let (before, after) = (side(&change.before), side(&change.after));
        let key = self.mirrors.key(exchange, &change.key);
        self.views.changes.id(Change { key, before, after, version: change.version })
    }

    fn mirror_job(&mut self, exchange: usize, job: u32) -> u32 {
        if let Some(known) = self.mirrors.jobs.get(&(exchange, job)) {
            return *known;
        }
        let old = self.jobs.get(job).clone();
        let target = ObjectRef::new(
            &self.mirrors.text(exchange, &old.target.namespace),
            &self.mirrors.text(exchange, &old.target.name),
        );
        let controller = self.mirrors.exchanges[exchange].process(old.controller);
        let mirrored = self.jobs.id(Job { controller, target, ..(*old).clone() });
        self.mirrors.jobs.insert((exchange, job), mirrored);
        mirrored
    }

    fn mirror_message(&mut self, exchange: usize, message: u32) -> u32 {
        if message == super::parts::NO_MESSAGE {
            return message;
        }
        if let Some(known) = self.mirrors.messages.get(&(exchange, message)) {
            return *known;
        }
        let old = self.messages.get(message).clone();
        let ask = self.mirror_ask(exchange, old.ask);
        let decided_on = old.decided_on.as_ref().map(|uid| self.mirrors.text(exchange, uid).into());
        let sender = self.mirrors.exchanges[exchange].process(old.sender);
        let mirrored = self.messages.id(Message { sender, ask, decided_on });
        self.mirrors.messages.insert((exchange, message), mirrored);
        mirrored
    }

    /// The point of a reconcile that exchanged answers lead to: the code is run with them.
    fn mirror_node(&mut self, exchange: usize, node: u32) -> u32 {
        if let Some(known) = self.mirrors.nodes.get(&(exchange, node)) {
            return *known;
        }
        let mirrored = match self.steps.before(node) {
            None => {
                let job = self.steps.job(node).clone();
                let job = self.jobs.id((*job).clone());
                let job = self.mirror_job(exchange, job);
                let job = self.jobs.get(job).clone();
                self.steps.start(&job, &mut self.asks, &self.answers)
            }
            Some((before, answers)) => {
                let before = self.mirror_node(exchange, before);
                // It has asked for something else by now: there are no answers to go on with.
                if self.mirrors.broken.is_some() {
                    return node;
                }
                let given = answers.iter().map(|answer| self.mirror_answer(exchange, *answer)).collect();
                self.steps.follow(before, given, &mut self.asks, &self.answers)
            }
        };
        self.compare_nodes(exchange, node, mirrored);
        self.mirrors.nodes.insert((exchange, node), mirrored);
        mirrored
    }

    /// The exchanged history must ask for the exchanged requests.
    fn compare_nodes(&mut self, exchange: usize, node: u32, mirrored: u32) {
        let expected = match self.steps.node(node).next.clone() {
            NodeNext::Ask(asked) => {
                let asked = asked.iter().map(|ask| self.mirror_ask(exchange, *ask)).collect();
                Some(NodeNext::Ask(asked))
            }
            // What its end says is for people; whether it ends there is what counts.
            NodeNext::End(_) | NodeNext::Bug(_) => None,
        };
        let same = match (&expected, &self.steps.node(mirrored).next) {
            (Some(expected), found) => expected == found,
            (None, found) => !matches!(found, NodeNext::Ask(_)),
        };
        if !same {
            self.mirrors.note_unlike(exchange);
        }
    }

    pub(super) fn mirror_ask(&mut self, exchange: usize, ask: u32) -> u32 {
        if !self.mirrors.exchanges[exchange].moves_names() {
            return ask;
        }
        if let Some(known) = self.mirrors.asks.get(&(exchange, ask)) {
            return *known;
        }
        let mirrored = match &**self.asks.get(ask) {
            Ask::Api { request, shortcut, detail } => {
                let request = Box::new(self.mirrors.request(exchange, request));
                Ask::Api { request, shortcut: *shortcut, detail: *detail }
            }
            Ask::Call { service, request } => {
                let request = self.mirrors.value(exchange, request);
                Ask::Call { service: service.clone(), request }
            }
            other @ (Ask::Now | Ask::Random { .. }) => other.clone(),
        };
        let mirrored = self.asks.id(mirrored);
        self.mirrors.asks.insert((exchange, ask), mirrored);
        mirrored
    }

    fn mirror_answer(&mut self, exchange: usize, answer: u32) -> u32 {
        if !self.mirrors.exchanges[exchange].moves_names() {
            return answer;
        }
        if let Some(known) = self.mirrors.answers.get(&(exchange, answer)) {
            return *known;
        }
        let mut mirrored = (**self.answers.get(answer)).clone();
        match &mut mirrored {
            Answer::Api(response) => match &mut response.body {
                Body::Object(found) => *found = Arc::new(self.mirrors.value(exchange, found)),
                Body::List(list) => {
                    for item in &mut list.items {
                        *item = Arc::new(self.mirrors.value(exchange, item));
                    }
                    let place = |item: &Arc<Value>| {
                        (object::namespace(item).to_owned(), object::name(item).to_owned())
                    };
                    list.items.sort_by_key(place);
                }
                Body::Status(status) => {
                    status.message = self.mirrors.text(exchange, &status.message);
                    if let Some(name) = status.details.as_mut().and_then(|details| details.name.as_mut()) {
                        *name = self.mirrors.text(exchange, name);
                    }
                }
            },
            Answer::Call(Ok(value)) => *value = self.mirrors.value(exchange, value),
            Answer::Call(Err(_)) | Answer::Now(_) | Answer::Random(_) => {}
        }
        let mirrored = self.answers.id(mirrored);
        self.mirrors.answers.insert((exchange, answer), mirrored);
        mirrored
    }

    fn mirror_services(&mut self, exchange: usize, services: u32) -> u32 {
        if !self.mirrors.exchanges[exchange].moves_names() {
            return services;
        }
        if let Some(known) = self.mirrors.services.get(&(exchange, services)) {
            return *known;
        }
        let states = self.services.states.get(services).clone();
        let states = states.iter().map(|(name, state)| (name.clone(), self.mirrors.value(exchange, state)));
        let mirrored = self.services.states.id(states.collect());
        self.mirrors.services.insert((exchange, services), mirrored);
        mirrored
    }

    fn mirror_cluster(&mut self, exchange: usize, cluster: u32) -> u32 {
        if !self.mirrors.exchanges[exchange].moves_names() {
            return cluster;
        }
        if let Some(known) = self.mirrors.clusters.get(&(exchange, cluster)) {
            return *known;
        }
        let old = self.database.cluster(cluster).clone();
        let mut store = MemoryStore::default();
        for (key, history) in old.store().history() {
            if &*key.group == DEFINITIONS {
                store.rewrite(key, history);
                continue;
            }
            let object = history.object.map(|found| Arc::new(self.mirrors.value(exchange, found)));
            let history = History { object: object.as_ref(), ..history };
            store.rewrite(&self.mirrors.key(exchange, key), history);
        }
        let mirrored = self.database.id(old.with_store(store));
        self.mirrors.clusters.insert((exchange, cluster), mirrored);
        mirrored
    }

    /// Remembers where the uids of a cluster come from.
    pub(crate) fn learn_uids(&mut self, cluster: u32) {
        for (key, history) in self.database.cluster(cluster).store().history() {
            if let Some(found) = history.object
                && !self.mirrors.uids.contains_key(object::uid(found))
            {
                let origin = (key.clone(), history.incarnation);
                self.mirrors.uids.insert(object::uid(found).to_owned(), origin);
            }
        }
    }

    /// What a request does to a cluster must be, exchanged, what the exchanged request does to the exchanged cluster.
    pub(crate) fn compare_effects(&mut self, cluster: u32, ask: u32) {
        let after = self.effect_of(cluster, ask).cluster;
        self.learn_uids(after);
        for exchange in 0..self.mirrors.exchanges.len() {
            let (there, asked) = (self.mirror_cluster(exchange, cluster), self.mirror_ask(exchange, ask));
            let (here, there) = (self.effect_of(cluster, ask), self.effect_of(there, asked));
            self.learn_uids(there.cluster);
            let marks = self.mirror_marks(exchange, here.marks);
            let same = self.mirror_cluster(exchange, here.cluster) == there.cluster
                && self.mirror_changes(exchange, here.changes) == there.changes
                && self.mirror_answer(exchange, here.answer) == there.answer
                && marks == there.marks;
            if !same {
                self.mirrors.note_unlike(exchange);
            }
        }
    }

    /// The jobs that a change concerns, by process, with names and processes exchanged.
    fn mirror_marks(&mut self, exchange: usize, marks: u32) -> u32 {
        let marks = self.marks.get(marks).clone();
        let mut mirrored = (*marks).clone();
        for (process, jobs) in marks.iter().enumerate() {
            let other = self.mirrors.exchanges[exchange].process(process);
            mirrored[other] = self.mirror_job_set(exchange, *jobs);
        }
        self.marks.id(mirrored)
    }

    /// A list of changes with names exchanged.
    fn mirror_changes(&mut self, exchange: usize, changes: u32) -> u32 {
        if !self.setup.faults.can_lag() || !self.mirrors.exchanges[exchange].moves_names() {
            return changes;
        }
        let changes = self.views.change_lists.get(changes).clone();
        let mirrored = changes.iter().map(|change| self.mirror_change(exchange, *change)).collect();
        self.views.change_lists.id(mirrored)
    }

    /// What the cluster's own controllers would do must be, exchanged, what they would do to the exchanged cluster. The
    /// names that some of them make up depend on all of a template, the names in it included.
    pub(crate) fn compare_collections(&mut self, cluster: u32, wanted: &[Collection]) {
        for exchange in 0..self.mirrors.exchanges.len() {
            let there = self.mirror_cluster(exchange, cluster);
            let there = self.database.collections(there, &mut self.asks);
            let mut expected = Vec::new();
            for Collection { actor, ask } in wanted {
                expected.push((*actor, self.mirror_ask(exchange, *ask)));
            }
            let mut found: Vec<_> = there.iter().map(|Collection { actor, ask }| (*actor, *ask)).collect();
            expected.sort_unstable();
            found.sort_unstable();
            if expected != found {
                self.mirrors.note_unlike(exchange);
            }
        }
    }

    /// The same for a call of a service.
    pub(crate) fn compare_calls(&mut self, services: u32, ask: u32) {
        for exchange in 0..self.mirrors.exchanges.len() {
            let (there, asked) = (self.mirror_services(exchange, services), self.mirror_ask(exchange, ask));
            let (after, answer) = self.services.apply(services, ask, &self.asks, &mut self.answers);
            let expected = (self.mirror_services(exchange, after), self.mirror_answer(exchange, answer));
            if self.services.apply(there, asked, &self.asks, &mut self.answers) != expected {
                self.mirrors.note_unlike(exchange);
            }
        }
    }

    fn mirror_job_set(&mut self, exchange: usize, jobs: u32) -> u32 {
        let jobs = self.job_sets.get(jobs).clone();
        let mirrored = sorted(jobs.iter().map(|job| self.mirror_job(exchange, *job)));
        self.job_sets.id(mirrored)
    }
}

impl Mirrors {
    /// Something comes out differently once this is exchanged.
    fn note_unlike(&mut self, exchange: usize) {
        let moves_names = self.exchanges[exchange].moves_names();
        self.broken.get_or_insert(if moves_names { Unlike::Names } else { Unlike::Processes });
    }

    fn key(&self, exchange: usize, key: &Key) -> Key {
        let text = |text: &str| self.text(exchange, text);
        Key::new(&key.group, &key.plural, &text(&key.namespace), &text(&key.name))
    }

    fn request(&self, exchange: usize, request: &Request) -> Request {
        let mut mirrored = request.clone();
        let text = |text: &String| self.text(exchange, text);
        mirrored.name = request.name.as_ref().map(text);
        mirrored.namespace = request.namespace.as_ref().map(text);
        mirrored.body = request.body.as_ref().map(|body| self.value(exchange, body));
        mirrored.options.label_selector = request.options.label_selector.as_ref().map(text);
        mirrored.options.field_selector = request.options.field_selector.as_ref().map(text);
        mirrored.options.preconditions.uid = request.options.preconditions.uid.as_ref().map(text);
        mirrored
    }

    fn value(&self, exchange: usize, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(exchange, text)),
            Value::Array(items) => items.iter().map(|item| self.value(exchange, item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields.map(|(name, field)| (self.text(exchange, name), self.value(exchange, field))).collect()
            }
            other => other.clone(),
        }
    }

    /// Exchanges names where they stand as whole words, and the uids of the objects that have them.
    fn text(&self, exchange: usize, text: &str) -> String {
        let mut mirrored = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            if let Some((uid, after)) = rest.split_at_checked(UID_LENGTH)
                && let Some((key, incarnation)) = self.uids.get(uid)
            {
                mirrored += &MemoryStore::uid(&self.key(exchange, key), *incarnation);
                rest = after;
                continue;
            }
            let word = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
            if word == 0 {
                let letter = rest.chars().next().map_or(0, char::len_utf8);
                mirrored += &rest[..letter];
                rest = &rest[letter..];
                continue;
            }
            mirrored += self.exchanges[exchange].word(&rest[..word]);
            rest = &rest[word..];
        }
        mirrored
    }
}

fn sorted(numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers
}
