//! Resource versions, uids and generations matter only by equality and order: states that differ in nothing else
//! are the same.
//!
//! A version of an object that no one has in hand, be it in a reconcile under way or in a message, can just as well
//! be the next one after those that somebody has. So what a controller writes over and over again leads back to a
//! state that was seen before, and a loop is found to be one. Numbers only ever get smaller here, one object at a
//! time, and only where no one could notice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;
use windlass::{Answer, Ask};
use windlass_model::{Body, History, Key, MemoryStore, Request, Store, Types, object};

use super::parts::{NO_MESSAGE, Parts};
use super::{State, World};
use crate::host::database::key_of;
use crate::ids::{
    AnswerId, AskId, BacklogId, ClusterId, EnvironmentId, HostId, KeyId, MessageId, NetworkId, NodeId,
};
use crate::intern::{Id, Interner};

/// What somebody has in hand: versions by the number of their key (0 stands for "a version unknown"), and uids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mentions {
    versions: BTreeSet<(KeyId, u64)>,
    uids: BTreeSet<Arc<str>>,
    /// Whether there is an object of a kind that the check did not know at first: nothing is renumbered then.
    unknown: bool,
}

/// Who mentions what, by number: see [`Renumbering`].
pub(crate) type MentionsId = Id<Mentions>;

/// The number of no mentions at all.
const NONE: MentionsId = MentionsId::FIRST;
/// How long a uid is.
const UID_LENGTH: usize = 36;

/// What decides how a state is renumbered: who mentions which versions and uids, as far as it was worked out.
pub(crate) struct Renumbering {
    keys: Interner<Key>,
    sets: Interner<Mentions>,
    of_nodes: FxHashMap<NodeId, MentionsId>,
    of_answers: FxHashMap<AnswerId, MentionsId>,
    of_asks: FxHashMap<AskId, MentionsId>,
}

impl Renumbering {
    pub(crate) fn new() -> Self {
        Renumbering {
            keys: Interner::new(),
            sets: Interner::beginning_with(Mentions::default()),
            of_nodes: FxHashMap::default(),
            of_answers: FxHashMap::default(),
            of_asks: FxHashMap::default(),
        }
    }

    fn union(&mut self, one: MentionsId, other: MentionsId) -> MentionsId {
        if one == other || other == NONE {
            return one;
        }
        let mut all = (**self.sets.get(one)).clone();
        let more = self.sets.get(other);
        all.versions.extend(more.versions.iter().copied());
        all.uids.extend(more.uids.iter().cloned());
        all.unknown |= more.unknown;
        self.sets.id(all)
    }
}

/// What one worker remembers of it.
#[derive(Default)]
pub(crate) struct CanonicalMemory {
    hosts: FxHashMap<HostId, MentionsId>,
    networks: FxHashMap<NetworkId, MentionsId>,
    services: FxHashMap<EnvironmentId, MentionsId>,
    unions: FxHashMap<(MentionsId, MentionsId), MentionsId>,
    clusters: FxHashMap<(ClusterId, MentionsId), ClusterId>,
}

impl World {
    /// The state with its numbers as small as they can be.
    pub(crate) fn canonical(&mut self, state: &mut State) {
        let mut mentions = self.mentions_of_network(state.network);
        let services = self.mentions_of_services(state.environment);
        mentions = self.union(mentions, services);
        for process in 0..self.controllers() {
            let more = self.mentions_of_host(state.hosts[process]);
            mentions = self.union(mentions, more);
        }
        let (parts, cluster) = (&self.parts, state.cluster);
        let known = self.memory.canonical.clusters.entry((cluster, mentions));
        state.cluster = *known.or_insert_with(|| super::lock(parts).canonical_cluster(cluster, mentions));
    }

    fn mentions_of_network(&mut self, network: NetworkId) -> MentionsId {
        let parts = &self.parts;
        let known = self.memory.canonical.networks.entry(network);
        *known.or_insert_with(|| super::lock(parts).mentions_of_network(network))
    }

    fn mentions_of_services(&mut self, environment: EnvironmentId) -> MentionsId {
        let parts = &self.parts;
        let known = self.memory.canonical.services.entry(environment);
        *known.or_insert_with(|| super::lock(parts).mentions_of_services(environment))
    }

    fn mentions_of_host(&mut self, host: HostId) -> MentionsId {
        let parts = &self.parts;
        let known = self.memory.canonical.hosts.entry(host);
        *known.or_insert_with(|| super::lock(parts).mentions_of_host(host))
    }

    fn union(&mut self, one: MentionsId, other: MentionsId) -> MentionsId {
        if one == other || other == NONE {
            return one;
        }
        let parts = &self.parts;
        let known = self.memory.canonical.unions.entry((one, other));
        *known.or_insert_with(|| super::lock(parts).renumbering.union(one, other))
    }
}

impl Parts {
    fn mentions_of_network(&mut self, network: NetworkId) -> MentionsId {
        let network = self.networks.get(network).clone();
        network.late.iter().chain(&network.copies).fold(NONE, |all, message| {
            let more = self.mentions_of_message(*message);
            self.renumbering.union(all, more)
        })
    }

    fn mentions_of_services(&mut self, environment: EnvironmentId) -> MentionsId {
        let services = self.environments.get(environment).services;
        let mut mentions = Mentions::default();
        for state in self.services.states.get(services).values() {
            collect_uids(state, &mut mentions.uids);
        }
        self.renumbering.sets.id(mentions)
    }

    fn mentions_of_host(&mut self, host: HostId) -> MentionsId {
        let host = self.hosts.get(host).clone();
        let mut all = self.mentions_of_backlog(host.unseen);
        for active in &host.active {
            let node = self.mentions_of_node(active.node);
            all = self.renumbering.union(all, node);
            for slot in &active.slots {
                let message = self.mentions_of_message(slot.message);
                all = self.renumbering.union(all, message);
                for answer in slot.replies.iter().chain(&slot.answer) {
                    let answer = self.mentions_of_answer(*answer);
                    all = self.renumbering.union(all, answer);
                }
            }
        }
        all
    }

    /// What a process has not seen yet: its view is made from the numbers that stand there.
    fn mentions_of_backlog(&mut self, backlog: BacklogId) -> MentionsId {
        let mut mentions = Mentions::default();
        for (_, change) in self.views.backlogs.get(backlog).clone().all() {
            let change = self.views.changes.get(change);
            let key = self.renumbering.keys.id(change.key.clone());
            mentions.versions.insert((key, change.version));
            for side in change.before.iter().chain(&change.after) {
                collect_uids(side, &mut mentions.uids);
                let version = object::resource_version(side).parse().ok();
                mentions.versions.extend(version.map(|version| (key, version)));
            }
        }
        self.renumbering.sets.id(mentions)
    }

    /// What a reconcile has learnt up to a point.
    fn mentions_of_node(&mut self, node: NodeId) -> MentionsId {
        if let Some(known) = self.renumbering.of_nodes.get(&node) {
            return *known;
        }
        let mut all = NONE;
        if let Some((before, answers)) = self.steps.before(node) {
            all = self.mentions_of_node(before);
            for answer in answers {
                let more = self.mentions_of_answer(answer);
                all = self.renumbering.union(all, more);
            }
        }
        self.renumbering.of_nodes.insert(node, all);
        all
    }

    fn mentions_of_message(&mut self, message: MessageId) -> MentionsId {
        if message == NO_MESSAGE {
            return NONE;
        }
        let message = self.messages.get(message).clone();
        let ask = self.mentions_of_ask(message.ask);
        let Some(uid) = &message.decided_on else { return ask };
        let decided = Mentions { uids: BTreeSet::from([uid.clone()]), ..Mentions::default() };
        let decided = self.renumbering.sets.id(decided);
        self.renumbering.union(ask, decided)
    }

    fn mentions_of_ask(&mut self, ask: AskId) -> MentionsId {
        if let Some(known) = self.renumbering.of_asks.get(&ask) {
            return *known;
        }
        let mut mentions = Mentions::default();
        match &**self.asks.get(ask) {
            Ask::Api { request, .. } => request_mentions(request, &mut self.renumbering.keys, &mut mentions),
            Ask::Call { request, .. } => collect_uids(request, &mut mentions.uids),
            Ask::Now | Ask::Random { .. } => {}
        }
        let id = self.renumbering.sets.id(mentions);
        self.renumbering.of_asks.insert(ask, id);
        id
    }

    fn mentions_of_answer(&mut self, answer: AnswerId) -> MentionsId {
        if let Some(known) = self.renumbering.of_answers.get(&answer) {
            return *known;
        }
        let mut mentions = Mentions::default();
        match &**self.answers.get(answer) {
            Answer::Api(response) => {
                let found: Vec<&Value> = match &response.body {
                    Body::Object(found) => vec![found],
                    Body::List(list) => list.items.iter().map(|item| &**item).collect(),
                    Body::Status(_) => Vec::new(),
                };
                for found in found {
                    collect_uids(found, &mut mentions.uids);
                    // Of some objects no more than their identity is looked at.
                    if object::resource_version(found).is_empty() {
                        continue;
                    }
                    let key = key_of_object(self.setup.cluster.types(), found);
                    match (key, object::resource_version(found).parse()) {
                        (Some(key), Ok(version)) => {
                            mentions.versions.insert((self.renumbering.keys.id(key), version));
                        }
                        _ => mentions.unknown = true,
                    }
                }
            }
            Answer::Call(Ok(value)) => collect_uids(value, &mut mentions.uids),
            Answer::Call(Err(_)) | Answer::Now(_) | Answer::Random(_) => {}
        }
        let id = self.renumbering.sets.id(mentions);
        self.renumbering.of_answers.insert(answer, id);
        id
    }

    fn canonical_cluster(&mut self, number: ClusterId, mentions: MentionsId) -> ClusterId {
        let cluster = self.database.cluster(number).clone();
        let mentions = self.renumbering.sets.get(mentions).clone();
        if mentions.unknown {
            return number;
        }
        let mut by_key: BTreeMap<KeyId, Vec<u64>> = BTreeMap::new();
        for (key, version) in &mentions.versions {
            by_key.entry(*key).or_default().push(*version);
        }
        let mut store = cluster.store().clone();
        let mut is_changed = false;
        for (key, history) in cluster.store().history() {
            let in_hand = by_key.get(&self.renumbering.keys.id(key.clone())).map_or(&[][..], Vec::as_slice);
            is_changed |= match history.object {
                Some(live) => settle_live(&mut store, key, history, live, in_hand),
                None => settle_gone(&mut store, key, history, in_hand, &mentions.uids, cluster.store()),
            };
        }
        if is_changed { self.database.id(cluster.with_store(store)) } else { number }
    }
}

pub(super) fn key_of_object(types: &Types, found: &Value) -> Option<Key> {
    let (group, version) = object::split_api_version(found["apiVersion"].as_str()?);
    let resource = &types.by_kind(group, version, found["kind"].as_str()?)?.resource;
    Some(Key::new(&resource.group, &resource.plural, object::namespace(found), object::name(found)))
}

/// Gives an object the smallest version that keeps its order to those that somebody has in hand. Says whether it is
/// another one.
fn settle_live(
    store: &mut MemoryStore,
    key: &Key,
    history: History<'_>,
    live: &Arc<Value>,
    in_hand: &[u64],
) -> bool {
    let version = if in_hand.contains(&history.version) {
        history.version
    } else {
        in_hand.iter().max().map_or(1, |latest| latest + 1)
    };
    let generations = if in_hand.is_empty() { ranked_generations(live) } else { None };
    if version == history.version && generations.is_none() {
        return false;
    }
    let mut rewritten = generations.unwrap_or_else(|| (**live).clone());
    object::set_meta(&mut rewritten, "resourceVersion", version.to_string());
    let rewritten = Arc::new(rewritten);
    store.rewrite(key, History { version, object: Some(&rewritten), ..history });
    true
}

/// Forgets what no reconcile or message has in hand of a deleted object. Says whether there was anything to forget.
fn settle_gone(
    store: &mut MemoryStore,
    key: &Key,
    history: History<'_>,
    in_hand: &[u64],
    uids: &BTreeSet<Arc<str>>,
    all: &MemoryStore,
) -> bool {
    let version = in_hand.iter().max().copied().unwrap_or(0);
    let known = |incarnation: &u64| {
        let uid = MemoryStore::uid(key, *incarnation);
        uids.contains(uid.as_str()) || all.all().any(|(_, found)| mentions_uid(&found, &uid))
    };
    let incarnation = (1..=history.incarnation).rev().find(known).unwrap_or(0);
    let settled = History { version, incarnation, object: None };
    store.rewrite(key, settled);
    settled != history
}

/// The object with its generation, and those that its status says were observed, numbered by rank; `None` if they
/// are. Only what stands under these names is taken for a generation; `renumber` finds out if code keeps one elsewhere.
fn ranked_generations(live: &Value) -> Option<Value> {
    let mut seen = BTreeSet::from([object::generation(live)]);
    collect_observed(live, &mut seen);
    // Nothing was ever observed as generation 0: it is what a field says that was never set, and stays.
    seen.remove(&0);
    let rank = |number: i64| match number {
        0 => 0,
        _ => seen.iter().take_while(|seen| **seen < number).count() as i64 + 1,
    };
    if object::generation(live) == 0 || seen.iter().all(|number| rank(*number) == *number) {
        return None;
    }
    let mut ranked = live.clone();
    object::set_meta(&mut ranked, "generation", rank(object::generation(live)));
    visit_observed(&mut ranked, &mut |number| *number = rank(*number));
    Some(ranked)
}

pub(super) fn visit_observed(value: &mut Value, visit: &mut impl FnMut(&mut i64)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_i64() {
                    Some(mut number) if name == "observedGeneration" => {
                        visit(&mut number);
                        *field = number.into();
                    }
                    _ => visit_observed(field, visit),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit_observed(item, visit)),
        _ => {}
    }
}

/// Whether a generation stands in a value, as far as it is taken for one.
fn mentions_generation(value: &Value) -> bool {
    let mut observed = BTreeSet::new();
    collect_observed(value, &mut observed);
    !observed.is_empty()
}

/// Adds the generations that a value says were observed.
fn collect_observed(value: &Value, observed: &mut BTreeSet<i64>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_i64() {
                    Some(number) if name == "observedGeneration" => drop(observed.insert(number)),
                    _ => collect_observed(field, observed),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_observed(item, observed)),
        _ => {}
    }
}

fn request_mentions(request: &Request, keys: &mut Interner<Key>, mentions: &mut Mentions) {
    let wanted = &request.options.preconditions;
    mentions.uids.extend(wanted.uid.as_deref().map(Arc::from));
    if let Some(body) = &request.body {
        collect_uids(body, &mut mentions.uids);
    }
    if let Some(key) = key_of(request).filter(|_| request.verb.is_write()) {
        let of_body = request.body.as_ref().map(object::resource_version);
        let versions = [of_body, wanted.resource_version.as_deref()].into_iter().flatten();
        let versions = versions.filter_map(|version| version.parse().ok());
        let key = keys.id(key);
        // A generation may be on its way, too: the object keeps its own as long as it is.
        let unknown = request.body.as_ref().filter(|body| mentions_generation(body)).map(|_| 0);
        mentions.versions.extend(versions.chain(unknown).map(|version| (key, version)));
    }
}

/// Adds every string that may be a uid.
fn collect_uids(value: &Value, uids: &mut BTreeSet<Arc<str>>) {
    match value {
        Value::String(text) if text.len() == UID_LENGTH => drop(uids.insert(text.as_str().into())),
        Value::Object(fields) => fields.values().for_each(|field| collect_uids(field, uids)),
        Value::Array(items) => items.iter().for_each(|item| collect_uids(item, uids)),
        _ => {}
    }
}

fn mentions_uid(value: &Value, uid: &str) -> bool {
    match value {
        Value::String(text) => text == uid,
        Value::Object(fields) => fields.values().any(|field| mentions_uid(field, uid)),
        Value::Array(items) => items.iter().any(|item| mentions_uid(item, uid)),
        _ => false,
    }
}
