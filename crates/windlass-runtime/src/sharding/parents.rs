//! The parents of a sharded controller: every instance knows of all, and which slot each belongs to.

use std::sync::{Arc, Weak};

use futures::future::join_all;
use serde_json::Value;
use windlass::model::{Timestamp, object};
use windlass::{Declaration, ObjectRef};
use windlass_shard::{Observed, Status, Uid};

use crate::informer::{EventHandler, Informer, WatchEvent};

use super::shard::Shard;

/// The informers of the parents.
pub(crate) struct Parents {
    informers: Vec<Arc<Informer>>,
}

impl Parents {
    /// Feeds the directory of a shard from these informers.
    pub(crate) fn follow(
        informers: Vec<Arc<Informer>>,
        shard: &Arc<Shard>,
        declaration: &Declaration,
    ) -> Self {
        let tracker = Arc::new(Tracker { shard: Arc::downgrade(shard), declaration: declaration.clone() });
        informers.iter().for_each(|informer| informer.add_event_handler(Arc::clone(&tracker) as Arc<_>));
        let searched = informers.clone();
        shard.find_uids_with(Box::new(move |parent| {
            searched.iter().find_map(|informer| informer.cache.uid(parent))
        }));
        Parents { informers }
    }

    /// Lists all parents again, and waits until all that is in the lists is known.
    pub(crate) async fn refresh(&self) {
        join_all(self.informers.iter().map(|informer| informer.refreshed())).await;
    }

    /// A parent as it is known.
    pub(crate) fn get(&self, parent: &ObjectRef) -> Option<Value> {
        let found = self.informers.iter().find_map(|informer| informer.cache.get(parent))?;
        serde_json::from_str(&found.text).ok()
    }
}

/// Keeps the directory of a shard up to date.
struct Tracker {
    shard: Weak<Shard>,
    declaration: Declaration,
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
