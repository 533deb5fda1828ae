//! The parents of a sharded controller, and which slot each belongs to.
//!
//! An instance watches those of its slots, if the API server can select them; if not, every instance watches all.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use futures::future::join_all;
use serde_json::Value;
use windlass::model::{Timestamp, object};
use windlass::{Declaration, ObjectRef, WatchDeclaration};
use windlass_shard::{Observed, Slot, Status, Uid};

use crate::enqueuer::Enqueuer;
use crate::informer::{EventHandler, Informer, Informers, WatchEvent};

use super::chunks::Chunks;
use super::shard::Shard;
use super::slot_selection::SlotSelection;

/// The informers of the parents.
pub(crate) enum Parents {
    /// Every instance watches all, from the start.
    All(Vec<Arc<Informer>>),
    /// An instance watches those of its slots.
    OfSlots { chunks: Arc<Chunks>, shard: Weak<Shard> },
}

impl Parents {
    /// Feeds the directory of a shard from informers of all parents.
    pub(crate) fn all(informers: Vec<Arc<Informer>>, shard: &Arc<Shard>, declaration: &Declaration) -> Self {
        let tracker = Tracker::handler(shard, declaration);
        informers.iter().for_each(|informer| informer.add_event_handler(Arc::clone(&tracker)));
        let searched = informers.clone();
        shard.find_uids_with(Box::new(move |parent| {
            searched.iter().find_map(|informer| informer.cache.uid(parent))
        }));
        Parents::All(informers)
    }

    /// Feeds the directory of a shard from watches of its slots, which come and go.
    pub(crate) fn of_slots(
        watched: (&Arc<Informers>, &[String]),
        shard: &Arc<Shard>,
        declaration: &Declaration,
    ) -> Self {
        let selection = SlotSelection::Hash(shard.spec.key, shard.count());
        let tracker = Tracker::handler(shard, declaration);
        let chunks = Chunks::new(watched, selection, WatchDeclaration::is_of_parents, Some(tracker));
        let chunks = Arc::new(chunks);
        let searched = Arc::clone(&chunks);
        shard.find_uids_with(Box::new(move |parent| searched.uid(parent)));
        Parents::OfSlots { chunks, shard: Arc::downgrade(shard) }
    }

    /// Says who is notified.
    pub(crate) fn start(&self, enqueuer: &Arc<Enqueuer>) {
        if let Parents::OfSlots { chunks, .. } = self {
            chunks.start(enqueuer);
        }
    }

    /// Lists the parents of slots, consistently, and waits until all that is in the lists is known.
    pub(crate) async fn load(&self, slots: &[Slot]) {
        match self {
            Parents::All(informers) => {
                join_all(informers.iter().map(|informer| informer.refreshed())).await;
            }
            Parents::OfSlots { chunks, shard } => {
                // What was known of them may be outdated, and no one would say so.
                shard.upgrade().iter().for_each(|shard| shard.forget_slots(slots));
                chunks.load(slots).await;
            }
        }
    }

    /// Slots are another's now: what is known of them is of no use any more, unless every instance knows all.
    pub(crate) fn drop_slots(&self, slots: &BTreeSet<Slot>) {
        let Parents::OfSlots { chunks, shard } = self else { return };
        chunks.drop_slots(slots);
        let slots: Vec<Slot> = slots.iter().copied().collect();
        shard.upgrade().iter().for_each(|shard| shard.forget_slots(&slots));
    }

    /// Whether watches carry much that is not this instance's, or could be fewer.
    pub(crate) fn is_wasteful(&self) -> bool {
        matches!(self, Parents::OfSlots { chunks, .. } if chunks.is_wasteful())
    }

    /// Watches what is owned by as few watches as possible.
    pub(crate) fn compact(&self) {
        if let Parents::OfSlots { chunks, .. } = self {
            chunks.compact();
        }
    }

    /// Ends all watches that were opened for slots.
    pub(crate) fn close(&self) {
        if let Parents::OfSlots { chunks, .. } = self {
            chunks.close();
        }
    }

    /// A parent as it is known.
    pub(crate) fn get(&self, parent: &ObjectRef) -> Option<Value> {
        let found = match self {
            Parents::All(informers) => informers.iter().find_map(|informer| informer.cache.get(parent)),
            Parents::OfSlots { chunks, .. } => chunks.get(parent),
        }?;
        serde_json::from_str(&found.text).ok()
    }
}

/// Keeps the directory of a shard up to date.
struct Tracker {
    shard: Weak<Shard>,
    declaration: Declaration,
}

impl Tracker {
    fn handler(shard: &Arc<Shard>, declaration: &Declaration) -> Arc<dyn EventHandler> {
        Arc::new(Tracker { shard: Arc::downgrade(shard), declaration: declaration.clone() })
    }
}

impl EventHandler for Tracker {
    fn changed(&self, event: &WatchEvent) {
        let Some(shard) = self.shard.upgrade() else { return };
        let parent = ObjectRef::new(&event.key.namespace, &event.key.name);
        let before = event.before.as_deref().filter(|before| self.declaration.selects_parent(before));
        let after = event.after.as_deref().filter(|after| self.declaration.selects_parent(after));
        let is_same = |after: &&Value| before.is_some_and(|before| object::uid(before) == object::uid(after));
        if let Some(before) = before
            && after.as_ref().is_none_or(|after| !is_same(after))
        {
            shard.deleted(&parent, object::uid(before));
        }
        if let Some(after) = after {
            shard.observed(&observed(&shard, &self.declaration, parent, after));
        }
    }
}

/// What the directory keeps of a parent.
pub(super) fn observed(
    shard: &Shard,
    declaration: &Declaration,
    parent: ObjectRef,
    object: &Value,
) -> Observed<Arc<ObjectRef>> {
    let uid = object::uid(object);
    let slot = shard.slot_of_uid(&parent, uid);
    let created = object["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
    let created = Timestamp::parse(created).map_or(0, |time| time.unix_seconds().unsigned_abs());
    let status = if declaration.is_completed(object) { Status::Completed } else { Status::Open };
    Observed { uid: Uid::new(uid), slot, key: Arc::new(parent), created, status }
}
