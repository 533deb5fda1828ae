//! Symmetry reduction: states that differ only in a permutation of equal objects, or of the processes of one controller,
//! are the same.
//!
//! A permutation of names is carried through everything that a state is made of: keys, contents and uids of objects,
//! requests, answers, and with them the histories of reconciles. A permutation of processes is carried through whatever
//! says whose it is: jobs, messages, partitions.
//!
//! Whether the code treats the names alike is checked, not trusted. Every permuted history is run, and must ask the
//! permuted requests; every request is answered for the permuted cluster too, and must lead to the permuted result.
//! Where that is not so, the check is run again without symmetry.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;
use windlass::{Answer, Ask, ObjectRef};
use windlass_model::{Body, Change, History, Key, MemoryStore, Request, object};

use super::parts::Parts;
use super::permutation::{Permutation, permutations};
use super::{State, Visible, World};
use crate::host::controller::{Active, Host, Slot};
use crate::host::database::Collection;
use crate::host::environment::Environment;
use crate::host::network::{Message, Network};
use crate::ids::{
    AnswerId, AskId, BacklogId, ChangeId, ChangeListId, ClusterId, EnvironmentId, HostId, JobId, JobSetId,
    MarksId, MessageId, NetworkId, NodeId, ServicesId,
};
use crate::intern::Id;
use crate::reductions::Reductions;
use crate::steps::{Job, NodeNext};

const UID_LENGTH: usize = 36;
/// The group of objects that define kinds. They are not about other objects, but full of prose, in which a name
/// may be a word like any other.
const DEFINITIONS: &str = "apiextensions.k8s.io";

/// What is not treated alike after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asymmetry {
    Names,
    Processes,
}

/// The permutations, and what they make of each part, as far as it was worked out.
#[derive(Default)]
pub(crate) struct Permutations {
    pub(crate) all: Vec<Permutation>,
    /// Where a uid comes from.
    uids: BTreeMap<String, (Key, u64)>,
    asks: FxHashMap<(usize, AskId), AskId>,
    answers: FxHashMap<(usize, AnswerId), AnswerId>,
    messages: FxHashMap<(usize, MessageId), MessageId>,
    nodes: FxHashMap<(usize, NodeId), NodeId>,
    jobs: FxHashMap<(usize, JobId), JobId>,
    clusters: FxHashMap<(usize, ClusterId), ClusterId>,
    services: FxHashMap<(usize, ServicesId), ServicesId>,
    /// What was found not to be alike.
    pub(crate) broken: Option<Asymmetry>,
}

/// What one worker remembers of it: by permutation, what each part becomes.
#[derive(Default)]
pub(crate) struct PermutationMemory {
    clusters: FxHashMap<(usize, ClusterId), ClusterId>,
    networks: FxHashMap<(usize, NetworkId), NetworkId>,
    environments: FxHashMap<(usize, EnvironmentId), EnvironmentId>,
    hosts: FxHashMap<(usize, HostId), HostId>,
}

impl World {
    /// The state with names and processes permuted.
    pub(crate) fn permute(&mut self, state: &State, permutation: usize) -> State {
        let (cluster, environment) = self.permute_visible(World::visible(state), permutation);
        let mut permuted = State {
            cluster,
            network: self.permute_network(state.network, permutation),
            environment,
            ..*state
        };
        for process in 0..self.controllers() {
            let other = self.permutations[permutation].process(process);
            permuted.hosts[other] = self.permute_host(state.hosts[process], permutation);
        }
        permuted
    }

    /// What properties see of it.
    pub(super) fn permute_visible(&mut self, (cluster, environment): Visible, permutation: usize) -> Visible {
        let (memory, parts) = (&mut self.memory.permutations, &self.parts);
        let clusters = memory.clusters.entry((permutation, cluster));
        let environments = memory.environments.entry((permutation, environment));
        (
            *clusters.or_insert_with(|| super::lock(parts).permuted_cluster(permutation, cluster)),
            *environments
                .or_insert_with(|| super::lock(parts).permuted_environment(permutation, environment)),
        )
    }

    fn permute_network(&mut self, network: NetworkId, permutation: usize) -> NetworkId {
        let parts = &self.parts;
        let known = self.memory.permutations.networks.entry((permutation, network));
        *known.or_insert_with(|| super::lock(parts).permuted_network(permutation, network))
    }

    fn permute_host(&mut self, host: HostId, permutation: usize) -> HostId {
        let parts = &self.parts;
        let known = self.memory.permutations.hosts.entry((permutation, host));
        *known.or_insert_with(|| super::lock(parts).permuted_host(permutation, host))
    }
}

impl Parts {
    /// Finds the symmetries: the permutations that leave the start, by its words, as it is.
    pub(crate) fn find_symmetries(&mut self, start: &State) {
        let Reductions { symmetry, replicas, .. } = self.setup.reductions;
        let names = if symmetry { self.setup.alike.clone() } else { Vec::new() };
        let processes = self.processes_by_controller(replicas);
        self.permutations.all = permutations(&names, &processes);
        self.learn_uids(start.cluster);
        let all = 0..self.permutations.all.len();
        let unchanged: Vec<bool> = all.map(|permutation| self.leaves_unchanged(permutation, start)).collect();
        // What leaves the start as it is can be done twice, and undone: nothing that belongs to it is missing.
        let found = std::mem::take(&mut self.permutations);
        let kept = found.all.into_iter().zip(unchanged);
        let all = kept.filter_map(|(permutation, is_kept)| is_kept.then_some(permutation)).collect();
        self.permutations = Permutations { all, uids: found.uids, ..Permutations::default() };
    }

    /// The processes of each controller; each by itself if they are not to be permuted.
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

    fn leaves_unchanged(&mut self, permutation: usize, start: &State) -> bool {
        let scripts: Vec<Option<AskId>> = self.scripts.iter().flatten().copied().collect();
        let moves_names = self.permutations.all[permutation].moves_names();
        self.permute_cluster(permutation, start.cluster) == start.cluster
            && self.permuted_environment(permutation, start.environment) == start.environment
            && (0..self.setup.processes.len()).all(|process| {
                let other = self.permutations.all[permutation].process(process);
                self.permuted_host(permutation, start.hosts[process]) == start.hosts[other]
            })
            // What a script waits for may be about one of the names in particular.
            && (!moves_names
                || scripts.iter().all(|ask| ask.is_some_and(|ask| self.permute_ask(permutation, ask) == ask)))
    }

    fn permuted_cluster(&mut self, permutation: usize, cluster: ClusterId) -> ClusterId {
        if self.permutations.broken.is_some() { cluster } else { self.permute_cluster(permutation, cluster) }
    }

    fn permuted_network(&mut self, permutation: usize, network: NetworkId) -> NetworkId {
        if self.permutations.broken.is_some() {
            return network;
        }
        let permuted = self.permute_network(permutation, &self.networks.get(network).clone());
        self.networks.id(permuted)
    }

    fn permuted_environment(&mut self, permutation: usize, environment: EnvironmentId) -> EnvironmentId {
        if self.permutations.broken.is_some() {
            return environment;
        }
        let permuted = self.permute_environment(permutation, &self.environments.get(environment).clone());
        self.environments.id(permuted)
    }

    fn permuted_host(&mut self, permutation: usize, host: HostId) -> HostId {
        if self.permutations.broken.is_some() {
            return host;
        }
        let permuted = self.permute_host(permutation, &self.hosts.get(host).clone());
        self.hosts.id(permuted)
    }

    fn permute_network(&mut self, permutation: usize, network: &Network) -> Network {
        let mut late: Vec<MessageId> =
            network.late.iter().map(|message| self.permute_message(permutation, *message)).collect();
        late.sort_unstable();
        let copies = sorted(network.copies.iter().map(|message| self.permute_message(permutation, *message)));
        let awaited =
            sorted(network.awaited.iter().map(|message| self.permute_message(permutation, *message)));
        Network { late, copies, awaited }
    }

    fn permute_environment(&mut self, permutation: usize, environment: &Environment) -> Environment {
        let clocks = environment.clocks.iter();
        let mut clocks: Vec<(JobId, u32)> =
            clocks.map(|(job, clock)| (self.permute_job(permutation, *job), *clock)).collect();
        clocks.sort_unstable();
        let cuts = environment.cuts.iter();
        let mut cuts: Vec<(usize, usize)> = cuts
            .map(|(process, peer)| (self.permutations.all[permutation].process(*process), *peer))
            .collect();
        cuts.sort_unstable();
        let oldest = self.permute_backlog(permutation, environment.oldest);
        let services = self.permute_services(permutation, environment.services);
        Environment { clocks, cuts, oldest, services, ..environment.clone() }
    }

    fn permute_host(&mut self, permutation: usize, host: &Host) -> Host {
        let mut jobs = |jobs: &[JobId]| {
            jobs.iter().map(|job| self.permute_job(permutation, *job)).collect::<Vec<JobId>>()
        };
        let queue = jobs(&host.queue);
        let [fresh, observed, timers] =
            [&host.fresh, &host.observed, &host.timers].map(|set| sorted(jobs(set)));
        let unseen = self.permute_backlog(permutation, host.unseen);
        let mut permuted =
            Host { fresh, observed, timers, queue, unseen, active: Vec::new(), ..host.clone() };
        for active in &host.active {
            let active = Active {
                job: self.permute_job(permutation, active.job),
                node: self.permute_node(permutation, active.node),
                slots: active.slots.iter().map(|slot| self.permute_slot(permutation, slot)).collect(),
            };
            permuted.activate(active);
        }
        permuted
    }

    fn permute_slot(&mut self, permutation: usize, slot: &Slot) -> Slot {
        Slot {
            message: self.permute_message(permutation, slot.message),
            replies: sorted(slot.replies.iter().map(|answer| self.permute_answer(permutation, *answer))),
            answer: slot.answer.map(|answer| self.permute_answer(permutation, answer)),
            ..slot.clone()
        }
    }

    fn permute_backlog(&mut self, permutation: usize, backlog: BacklogId) -> BacklogId {
        if !self.permutations.all[permutation].moves_names() {
            return backlog;
        }
        let backlog = self.views.backlogs.get(backlog).clone();
        let permuted = backlog.map(|change| self.permute_change(permutation, change));
        self.views.backlogs.id(permuted)
    }

    fn permute_change(&mut self, permutation: usize, change: ChangeId) -> ChangeId {
        let change = self.views.changes.get(change).clone();
        let side = |side: &Option<Arc<Value>>| {
            side.as_ref().map(|found| Arc::new(self.permutations.value(permutation, found)))
        };
        let (before, after) = (side(&change.before), side(&change.after));
        let key = self.permutations.key(permutation, &change.key);
        self.views.changes.id(Change { key, before, after, version: change.version })
    }

    fn permute_job(&mut self, permutation: usize, job: JobId) -> JobId {
        if let Some(known) = self.permutations.jobs.get(&(permutation, job)) {
            return *known;
        }
        let old = self.jobs.get(job).clone();
        let target = ObjectRef::new(
            &self.permutations.text(permutation, &old.target.namespace),
            &self.permutations.text(permutation, &old.target.name),
        );
        let controller = self.permutations.all[permutation].process(old.controller);
        let permuted = self.jobs.id(Job { controller, target, ..(*old).clone() });
        self.permutations.jobs.insert((permutation, job), permuted);
        permuted
    }

    fn permute_message(&mut self, permutation: usize, message: MessageId) -> MessageId {
        if message == super::parts::NO_MESSAGE {
            return message;
        }
        if let Some(known) = self.permutations.messages.get(&(permutation, message)) {
            return *known;
        }
        let old = self.messages.get(message).clone();
        let ask = self.permute_ask(permutation, old.ask);
        let decided_on = old.decided_on.as_ref().map(|uid| self.permutations.text(permutation, uid).into());
        let sender = self.permutations.all[permutation].process(old.sender);
        let permuted = self.messages.id(Message { sender, ask, decided_on });
        self.permutations.messages.insert((permutation, message), permuted);
        permuted
    }

    /// The point of a reconcile that permuted answers lead to: the code is run with them.
    fn permute_node(&mut self, permutation: usize, node: NodeId) -> NodeId {
        if let Some(known) = self.permutations.nodes.get(&(permutation, node)) {
            return *known;
        }
        let permuted = match self.steps.before(node) {
            None => {
                let job = self.steps.job(node).clone();
                let job = self.jobs.id((*job).clone());
                let job = self.permute_job(permutation, job);
                let job = self.jobs.get(job).clone();
                self.steps.start(&job, &mut self.asks, &self.answers)
            }
            Some((before, answers)) => {
                let before = self.permute_node(permutation, before);
                // It has asked for something else by now: there are no answers to go on with.
                if self.permutations.broken.is_some() {
                    return node;
                }
                let given = answers.iter().map(|answer| self.permute_answer(permutation, *answer)).collect();
                self.steps.follow(before, given, &mut self.asks, &self.answers)
            }
        };
        self.compare_nodes(permutation, node, permuted);
        self.permutations.nodes.insert((permutation, node), permuted);
        permuted
    }

    /// The permuted history must ask for the permuted requests.
    fn compare_nodes(&mut self, permutation: usize, node: NodeId, permuted: NodeId) {
        let expected = match self.steps.node(node).next.clone() {
            NodeNext::Ask(asked) => {
                let asked = asked.iter().map(|ask| self.permute_ask(permutation, *ask)).collect();
                Some(NodeNext::Ask(asked))
            }
            // What its end says is for people; whether it ends there is what counts.
            NodeNext::End(_) | NodeNext::Bug(_) => None,
        };
        let same = match (&expected, &self.steps.node(permuted).next) {
            (Some(expected), found) => expected == found,
            (None, found) => !matches!(found, NodeNext::Ask(_)),
        };
        if !same {
            self.permutations.note_asymmetry(permutation);
        }
    }

    pub(super) fn permute_ask(&mut self, permutation: usize, ask: AskId) -> AskId {
        if !self.permutations.all[permutation].moves_names() {
            return ask;
        }
        if let Some(known) = self.permutations.asks.get(&(permutation, ask)) {
            return *known;
        }
        let permuted = match &**self.asks.get(ask) {
            Ask::Api { request, shortcut, detail } => {
                let request = Box::new(self.permutations.request(permutation, request));
                Ask::Api { request, shortcut: *shortcut, detail: *detail }
            }
            Ask::Call { service, request } => {
                let request = self.permutations.value(permutation, request);
                Ask::Call { service: service.clone(), request }
            }
            other @ (Ask::Now | Ask::Random { .. }) => other.clone(),
        };
        let permuted = self.asks.id(permuted);
        self.permutations.asks.insert((permutation, ask), permuted);
        permuted
    }

    fn permute_answer(&mut self, permutation: usize, answer: AnswerId) -> AnswerId {
        if !self.permutations.all[permutation].moves_names() {
            return answer;
        }
        if let Some(known) = self.permutations.answers.get(&(permutation, answer)) {
            return *known;
        }
        let mut permuted = (**self.answers.get(answer)).clone();
        match &mut permuted {
            Answer::Api(response) => match &mut response.body {
                Body::Object(found) => *found = Arc::new(self.permutations.value(permutation, found)),
                Body::List(list) => {
                    for item in &mut list.items {
                        *item = Arc::new(self.permutations.value(permutation, item));
                    }
                    let sort_key = |item: &Arc<Value>| {
                        (object::namespace(item).to_owned(), object::name(item).to_owned())
                    };
                    list.items.sort_by_key(sort_key);
                }
                Body::Status(status) => {
                    status.message = self.permutations.text(permutation, &status.message);
                    if let Some(name) = status.details.as_mut().and_then(|details| details.name.as_mut()) {
                        *name = self.permutations.text(permutation, name);
                    }
                }
            },
            Answer::Call(Ok(value)) => *value = self.permutations.value(permutation, value),
            Answer::Call(Err(_)) | Answer::Now(_) | Answer::Random(_) => {}
        }
        let permuted = self.answers.id(permuted);
        self.permutations.answers.insert((permutation, answer), permuted);
        permuted
    }

    fn permute_services(&mut self, permutation: usize, services: ServicesId) -> ServicesId {
        if !self.permutations.all[permutation].moves_names() {
            return services;
        }
        if let Some(known) = self.permutations.services.get(&(permutation, services)) {
            return *known;
        }
        let states = self.services.states.get(services).clone();
        let states =
            states.iter().map(|(name, state)| (name.clone(), self.permutations.value(permutation, state)));
        let permuted = self.services.states.id(states.collect());
        self.permutations.services.insert((permutation, services), permuted);
        permuted
    }

    fn permute_cluster(&mut self, permutation: usize, cluster: ClusterId) -> ClusterId {
        if !self.permutations.all[permutation].moves_names() {
            return cluster;
        }
        if let Some(known) = self.permutations.clusters.get(&(permutation, cluster)) {
            return *known;
        }
        let old = self.database.cluster(cluster).clone();
        let mut store = MemoryStore::default();
        for (key, history) in old.store().history() {
            if &*key.group == DEFINITIONS {
                store.rewrite(key, history);
                continue;
            }
            let object = history.object.map(|found| Arc::new(self.permutations.value(permutation, found)));
            let history = History { object: object.as_ref(), ..history };
            store.rewrite(&self.permutations.key(permutation, key), history);
        }
        let permuted = self.database.id(old.with_store(store));
        self.permutations.clusters.insert((permutation, cluster), permuted);
        permuted
    }

    /// Remembers where the uids of a cluster come from.
    pub(crate) fn learn_uids(&mut self, cluster: ClusterId) {
        for (key, history) in self.database.cluster(cluster).store().history() {
            if let Some(found) = history.object
                && !self.permutations.uids.contains_key(object::uid(found))
            {
                let origin = (key.clone(), history.incarnation);
                self.permutations.uids.insert(object::uid(found).to_owned(), origin);
            }
        }
    }

    /// What a request does to a cluster must be, permuted, what the permuted request does to the permuted cluster.
    pub(crate) fn compare_effects(&mut self, cluster: ClusterId, ask: AskId) {
        let after = self.effect_of(cluster, ask).cluster;
        self.learn_uids(after);
        for permutation in 0..self.permutations.all.len() {
            let (there, asked) =
                (self.permute_cluster(permutation, cluster), self.permute_ask(permutation, ask));
            let (here, there) = (self.effect_of(cluster, ask), self.effect_of(there, asked));
            self.learn_uids(there.cluster);
            let marks = self.permute_marks(permutation, here.marks);
            let same = self.permute_cluster(permutation, here.cluster) == there.cluster
                && self.permute_changes(permutation, here.changes) == there.changes
                && self.permute_answer(permutation, here.answer) == there.answer
                && marks == there.marks;
            if !same {
                self.permutations.note_asymmetry(permutation);
            }
        }
    }

    /// The jobs that a change concerns, by process, with names and processes permuted.
    fn permute_marks(&mut self, permutation: usize, marks: MarksId) -> MarksId {
        let marks = self.marks.get(marks).clone();
        let mut permuted = (*marks).clone();
        for (process, jobs) in marks.iter().enumerate() {
            let other = self.permutations.all[permutation].process(process);
            permuted[other] = self.permute_job_set(permutation, *jobs);
        }
        self.marks.id(permuted)
    }

    /// A list of changes with names permuted.
    fn permute_changes(&mut self, permutation: usize, changes: ChangeListId) -> ChangeListId {
        if !self.setup.faults.can_lag() || !self.permutations.all[permutation].moves_names() {
            return changes;
        }
        let changes = self.views.change_lists.get(changes).clone();
        let permuted = changes.iter().map(|change| self.permute_change(permutation, *change)).collect();
        self.views.change_lists.id(permuted)
    }

    /// What the cluster's own controllers would do must be, permuted, what they would do to the permuted cluster. The
    /// names that some of them make up depend on all of a template, the names in it included.
    pub(crate) fn compare_collections(&mut self, cluster: ClusterId, wanted: &[Collection]) {
        for permutation in 0..self.permutations.all.len() {
            let there = self.permute_cluster(permutation, cluster);
            let there = self.database.collections(there, &mut self.asks);
            let mut expected = Vec::new();
            for Collection { actor, ask } in wanted {
                expected.push((*actor, self.permute_ask(permutation, *ask)));
            }
            let mut found: Vec<_> = there.iter().map(|Collection { actor, ask }| (*actor, *ask)).collect();
            expected.sort_unstable();
            found.sort_unstable();
            if expected != found {
                self.permutations.note_asymmetry(permutation);
            }
        }
    }

    /// The same for a call of a service.
    pub(crate) fn compare_calls(&mut self, services: ServicesId, ask: AskId) {
        for permutation in 0..self.permutations.all.len() {
            let (there, asked) =
                (self.permute_services(permutation, services), self.permute_ask(permutation, ask));
            let (after, answer) = self.services.apply(services, ask, &self.asks, &mut self.answers);
            let expected =
                (self.permute_services(permutation, after), self.permute_answer(permutation, answer));
            if self.services.apply(there, asked, &self.asks, &mut self.answers) != expected {
                self.permutations.note_asymmetry(permutation);
            }
        }
    }

    fn permute_job_set(&mut self, permutation: usize, jobs: JobSetId) -> JobSetId {
        let jobs = self.job_sets.get(jobs).clone();
        let permuted = sorted(jobs.iter().map(|job| self.permute_job(permutation, *job)));
        self.job_sets.id(permuted)
    }
}

impl Permutations {
    /// Notes that something comes out differently once it is permuted.
    fn note_asymmetry(&mut self, permutation: usize) {
        let moves_names = self.all[permutation].moves_names();
        self.broken.get_or_insert(if moves_names { Asymmetry::Names } else { Asymmetry::Processes });
    }

    fn key(&self, permutation: usize, key: &Key) -> Key {
        let text = |text: &str| self.text(permutation, text);
        Key::new(&key.group, &key.plural, &text(&key.namespace), &text(&key.name))
    }

    fn request(&self, permutation: usize, request: &Request) -> Request {
        let mut permuted = request.clone();
        let text = |text: &String| self.text(permutation, text);
        permuted.name = request.name.as_ref().map(text);
        permuted.namespace = request.namespace.as_ref().map(text);
        permuted.body = request.body.as_ref().map(|body| self.value(permutation, body));
        permuted.options.label_selector = request.options.label_selector.as_ref().map(text);
        permuted.options.field_selector = request.options.field_selector.as_ref().map(text);
        permuted.options.preconditions.uid = request.options.preconditions.uid.as_ref().map(text);
        permuted
    }

    fn value(&self, permutation: usize, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(permutation, text)),
            Value::Array(items) => items.iter().map(|item| self.value(permutation, item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(name, field)| (self.text(permutation, name), self.value(permutation, field)))
                    .collect()
            }
            other => other.clone(),
        }
    }

    /// Permutes names where they stand as whole words, and the uids of the objects that have them.
    fn text(&self, permutation: usize, text: &str) -> String {
        let mut permuted = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            if let Some((uid, after)) = rest.split_at_checked(UID_LENGTH)
                && let Some((key, incarnation)) = self.uids.get(uid)
            {
                permuted += &MemoryStore::uid(&self.key(permutation, key), *incarnation);
                rest = after;
                continue;
            }
            let word = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
            if word == 0 {
                let letter = rest.chars().next().map_or(0, char::len_utf8);
                permuted += &rest[..letter];
                rest = &rest[letter..];
                continue;
            }
            permuted += self.all[permutation].word(&rest[..word]);
            rest = &rest[word..];
        }
        permuted
    }
}

fn sorted<T>(numbers: impl IntoIterator<Item = Id<T>>) -> Vec<Id<T>> {
    let mut numbers: Vec<Id<T>> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers
}
