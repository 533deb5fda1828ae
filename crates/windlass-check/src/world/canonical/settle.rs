//! Lowers the numbers of a cluster where it cannot be noticed, one object at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use windlass_model::{History, Key, MemoryStore, Store, object};

use super::generations::ranked_generations;
use super::mentions::MentionsId;
use crate::ids::{ClusterId, KeyId};
use crate::world::parts::Parts;

impl Parts {
    /// The cluster with its numbers as small as they can be, given what is in hand.
    pub(super) fn canonical_cluster(&mut self, number: ClusterId, mentions: MentionsId) -> ClusterId {
        let cluster = self.database.cluster(number).clone();
        let mentions = self.renumbering.sets.get(mentions).clone();
        if mentions.unknown {
            // A version without a known key may be that of any object, so none may change.
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

/// Gives an object the smallest version that keeps its order to those that somebody has in hand. Says whether it is
/// another one.
fn settle_live(
    store: &mut MemoryStore,
    key: &Key,
    history: History<'_>,
    live: &Arc<Value>,
    in_hand: &[u64],
) -> bool {
    // Only its order to the versions in hand can be noticed. The next one after them is the same for all histories that
    // lead here, however often the object was written in between.
    let version = if in_hand.contains(&history.version) {
        history.version
    } else {
        in_hand.iter().max().map_or(1, |latest| latest + 1)
    };
    // A version in hand came with a generation, which code may compare with the one that it reads next.
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
    // Incarnations count up and make the uid: the next one must have none of the uids that are still referred to, be it
    // by owner references in the cluster or by somebody who holds one.
    let incarnation = (1..=history.incarnation).rev().find(known).unwrap_or(0);
    let settled = History { version, incarnation, object: None };
    store.rewrite(key, settled);
    settled != history
}

fn mentions_uid(value: &Value, uid: &str) -> bool {
    match value {
        Value::String(text) => text == uid,
        Value::Object(fields) => fields.values().any(|field| mentions_uid(field, uid)),
        Value::Array(items) => items.iter().any(|item| mentions_uid(item, uid)),
        _ => false,
    }
}
