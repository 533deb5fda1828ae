//! Which versions and uids somebody has in hand: an active reconcile, a message, an undelivered change, a service.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;
use windlass::{Answer, Ask};
use windlass_model::{Body, Key, Request, Types, object};

use super::generations::mentions_generation;
use crate::host::database::key_of;
use crate::ids::{AnswerId, AskId, BacklogId, EnvironmentId, HostId, KeyId, MessageId, NetworkId, NodeId};
use crate::intern::{Id, Interner};
use crate::world::parts::{NO_MESSAGE, Parts};

/// What somebody has in hand: versions by the number of their key (0 stands for "a version unknown"), and uids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mentions {
    pub(super) versions: BTreeSet<(KeyId, u64)>,
    pub(super) uids: BTreeSet<Arc<str>>,
    /// Whether there is an object of a kind that the check did not know at first: nothing is renumbered then.
    pub(super) unknown: bool,
}

/// Who mentions what, by number: see [`Renumbering`].
pub(crate) type MentionsId = Id<Mentions>;

/// The number of no mentions at all.
pub(super) const NONE: MentionsId = MentionsId::FIRST;
/// How long a uid is.
const UID_LENGTH: usize = 36;

/// What decides how a state is renumbered: who mentions which versions and uids, as far as it was worked out.
pub(crate) struct Renumbering {
    pub(super) keys: Interner<Key>,
    pub(super) sets: Interner<Mentions>,
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

    pub(super) fn union(&mut self, one: MentionsId, other: MentionsId) -> MentionsId {
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

impl Parts {
    pub(super) fn mentions_of_network(&mut self, network: NetworkId) -> MentionsId {
        let network = self.networks.get(network).clone();
        network.late.iter().chain(&network.copies).fold(NONE, |all, message| {
            let more = self.mentions_of_message(*message);
            self.renumbering.union(all, more)
        })
    }

    pub(super) fn mentions_of_services(&mut self, environment: EnvironmentId) -> MentionsId {
        let services = self.environments.get(environment).services;
        let mut mentions = Mentions::default();
        for state in self.services.states.get(services).values() {
            collect_uids(state, &mut mentions.uids);
        }
        self.renumbering.sets.id(mentions)
    }

    pub(super) fn mentions_of_host(&mut self, host: HostId) -> MentionsId {
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
            // All answers count, not only the last: code can go back to what it has read at first.
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
        // A question about the time says nothing, and has no ask to look at.
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
}

pub(super) fn key_of_object(types: &Types, found: &Value) -> Option<Key> {
    let (group, version) = object::split_api_version(found["apiVersion"].as_str()?);
    let resource = &types.by_kind(group, version, found["kind"].as_str()?)?.resource;
    Some(Key::new(&resource.group, &resource.plural, object::namespace(found), object::name(found)))
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
