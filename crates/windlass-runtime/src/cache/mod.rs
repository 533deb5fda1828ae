//! The cache of one informer: objects as text, never older than what this process last wrote itself.
//!
//! The cache learns of changes from two sources: the watch, in the order of versions but late, and the responses to our
//! own writes, immediately. Versions put them in order. `reached` is the version up to which the watch has reported
//! everything: a response of an earlier version is no event, whether the object has changed since or is gone.

mod head;
mod index;
mod namespace_range;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use windlass::ObjectRef;
use windlass::model::selector::LabelSelector;

pub(crate) use head::Head;
pub(crate) use index::IndexedValues;
use index::Indexes;
use namespace_range::namespace_range;

/// The objects that one informer keeps.
#[derive(Default)]
pub(crate) struct Cache {
    objects: RwLock<Objects>,
}

#[derive(Default)]
struct Objects {
    by_key: BTreeMap<Arc<ObjectRef>, Kept>,
    by_label: Indexes,
    /// Objects that our own writes removed and whose removal the watch has not reported yet, by uid.
    tombstones: HashMap<Box<str>, Tombstone>,
    /// The version up to which the watch has reported everything.
    reached: u64,
}

#[derive(Clone)]
struct Kept {
    uid: Box<str>,
    version: u64,
    labels: IndexedValues,
    text: Arc<str>,
    /// The hash of the last apply of ours, and a version in which it is known to change nothing.
    applied: Option<(u64, u64)>,
}

/// How an object was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tombstone {
    /// It was deleted, after this version.
    Deleted(u64),
    /// In this version it is no longer selected; in a later one it may be again.
    Unselected(u64),
}

impl Tombstone {
    /// Whether an event of this version is older than what is known.
    fn covers(self, version: u64) -> bool {
        match self {
            Tombstone::Deleted(_) => true,
            Tombstone::Unselected(since) => version <= since,
        }
    }

    /// Whether a list of this version may be older than what is known.
    fn outlives(self, listed: bool, version: u64) -> bool {
        match self {
            Tombstone::Deleted(known) => listed || known > version,
            Tombstone::Unselected(since) => since > version,
        }
    }
}

/// An object as text, with the version that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) version: u64,
    pub(crate) text: Arc<str>,
}

/// What is new to the cache about one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) key: ObjectRef,
    pub(crate) before: Option<Arc<str>>,
    pub(crate) after: Option<Arc<str>>,
}

/// Where a version of an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The watch, or its list.
    Informer,
    /// The answer to a write of this process.
    OwnWrite,
}

impl Cache {
    /// An object, if there is one.
    pub(crate) fn get(&self, key: &ObjectRef) -> Option<Found> {
        self.read().by_key.get(key).map(Kept::found)
    }

    /// The uid of an object, if there is one.
    pub(crate) fn uid(&self, key: &ObjectRef) -> Option<Box<str>> {
        self.read().by_key.get(key).map(|kept| kept.uid.clone())
    }

    /// The objects of one namespace, or of all, by namespace and name: all that a selector selects, and others too
    /// unless an index covers the selector.
    pub(crate) fn list(&self, namespace: Option<&str>, labels: &LabelSelector) -> Vec<Found> {
        let objects = self.read();
        if let Some(keys) = objects.by_label.candidates(labels, namespace) {
            return keys.into_iter().filter_map(|key| objects.by_key.get(key)).map(Kept::found).collect();
        }
        match namespace {
            None => objects.by_key.values().map(Kept::found).collect(),
            Some(namespace) => {
                objects.by_key.range(namespace_range(namespace)).map(|(_, kept)| kept.found()).collect()
            }
        }
    }

    /// From now on, objects are found by the values of this label too.
    pub(crate) fn index(&self, label: &str) {
        let mut objects = self.write();
        // Those that are there already would be missing in it.
        if objects.by_key.is_empty() {
            objects.by_label.add_label(label);
        }
    }

    /// The labels by whose values objects are found.
    pub(crate) fn indexed(&self) -> Arc<[Box<str>]> {
        Arc::clone(self.read().by_label.labels())
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.read().by_key.len()
    }

    /// The version from which the watch goes on.
    pub(crate) fn reached(&self) -> u64 {
        self.read().reached
    }

    /// The watch has reported everything up to this version. Returns whether that makes sense: if it was further
    /// before, then this is another store, whose versions cannot be compared.
    pub(crate) fn bookmark(&self, version: u64) -> bool {
        let mut objects = self.write();
        let makes_sense = version >= objects.reached;
        objects.reached = objects.reached.max(version);
        makes_sense
    }

    /// An object is as this text says.
    pub(crate) fn put(&self, head: Head, text: Arc<str>, source: Source) -> Option<Change> {
        let mut objects = self.write();
        // What the watch has reported already is no event, even if the object is gone since.
        if head.version <= objects.reached {
            return None;
        }
        if source == Source::Informer {
            objects.reached = head.version;
        }
        if objects.is_known_gone(&head) {
            return None;
        }
        objects.put(head, text)
    }

    /// The watch says that an object is gone as of a version.
    pub(crate) fn deleted(&self, head: &Head) -> Option<Change> {
        let mut objects = self.write();
        if head.version <= objects.reached {
            return None;
        }
        objects.reached = head.version;
        objects.tombstones.remove(&head.uid);
        let known = objects.by_key.get(&head.key)?;
        // A newer object may have the name by now, by a write of ours that the watch has not reported yet.
        if known.version > head.version {
            return None;
        }
        objects.remove(&head.key)
    }

    /// A delete of ours has gone through: the object of this uid is gone, or that of any uid if none was asked for.
    pub(crate) fn delete_own(&self, key: &ObjectRef, uid: Option<&str>) -> Option<Change> {
        let mut objects = self.write();
        let known = objects.by_key.get(key)?;
        if uid.is_some_and(|uid| *uid != *known.uid) {
            return None;
        }
        let (uid, version) = (known.uid.clone(), known.version);
        objects.tombstones.insert(uid, Tombstone::Deleted(version));
        objects.remove(key)
    }

    /// By a write of ours an object is no longer among those that are watched.
    pub(crate) fn unselect_own(&self, head: &Head) -> Option<Change> {
        let mut objects = self.write();
        let known = objects.by_key.get(&head.key)?;
        if known.uid != head.uid || known.version >= head.version || head.version <= objects.reached {
            return None;
        }
        objects.tombstones.insert(head.uid.clone(), Tombstone::Unselected(head.version));
        objects.remove(&head.key)
    }

    /// A whole list, as of its version. What is missing in it is gone, unless we wrote it later.
    pub(crate) fn relist(&self, items: Vec<(Head, Arc<str>)>, version: u64) -> Vec<Change> {
        let mut objects = self.write();
        // A consistent list is never older than what was seen before. If it is, then this is another store, or
        // one that was restored from a copy: nothing of what is known can be compared with it.
        let is_reset = version < objects.reached;
        if is_reset {
            objects.tombstones.clear();
        }
        objects.reached = version;
        let listed: HashSet<ObjectRef> = items.iter().map(|(head, _)| head.key.clone()).collect();
        let uids: HashSet<Box<str>> = items.iter().map(|(head, _)| head.uid.clone()).collect();
        let gone = |(key, kept): (&Arc<ObjectRef>, &Kept)| {
            let missing = !listed.contains(&**key) && (is_reset || kept.version <= version);
            missing.then(|| Arc::clone(key))
        };
        let gone: Vec<Arc<ObjectRef>> = objects.by_key.iter().filter_map(gone).collect();
        let mut changes: Vec<Change> = gone.iter().filter_map(|key| objects.remove(key)).collect();
        for (head, text) in items {
            if objects.tombstones.get(&head.uid).is_some_and(|tombstone| tombstone.outlives(true, version)) {
                continue;
            }
            if let Some(known) = objects.by_key.get_mut(&head.key) {
                let same = known.uid == head.uid && known.version == head.version;
                if same || (!is_reset && known.version > version) {
                    continue;
                }
                // The list is newer as a whole, so what it says is so.
                known.version = 0;
            }
            changes.extend(objects.put(head, text));
        }
        objects.tombstones.retain(|uid, tombstone| tombstone.outlives(uids.contains(uid), version));
        changes
    }

    /// Objects are of no interest any more, though they are there.
    pub(crate) fn forget(&self, unwanted: impl Fn(&ObjectRef, &str) -> bool) {
        let mut objects = self.write();
        let forgotten =
            |(key, kept): (&Arc<ObjectRef>, &Kept)| unwanted(key, &kept.uid).then(|| Arc::clone(key));
        let forgotten: Vec<Arc<ObjectRef>> = objects.by_key.iter().filter_map(forgotten).collect();
        forgotten.iter().for_each(|key| drop(objects.remove(key)));
    }

    /// Keeps what another cache keeps, as far as it is wanted. Both have the same indexes.
    pub(crate) fn absorb(&self, other: &Cache, wanted: impl Fn(&ObjectRef, &str, &str) -> bool) {
        let (mut objects, other) = (self.write(), other.read());
        for (key, kept) in other.by_key.iter().filter(|(key, kept)| wanted(key, &kept.uid, &kept.text)) {
            if objects.by_key.get(key).is_none_or(|known| known.version < kept.version) {
                objects.remove(key);
                objects.by_label.insert(&kept.labels, key);
                objects.by_key.insert(Arc::clone(key), kept.clone());
            }
        }
        objects.tombstones.extend(other.tombstones.iter().map(|(uid, tombstone)| (uid.clone(), *tombstone)));
        // It has seen everything only up to where all of them were.
        objects.reached =
            if objects.reached == 0 { other.reached } else { objects.reached.min(other.reached) };
    }

    /// Whether an apply with this hash is known to change nothing in the object as it is.
    pub(crate) fn is_applied(&self, key: &ObjectRef, version: u64, hash: u64) -> bool {
        let objects = self.read();
        let known = objects.by_key.get(key).filter(|kept| kept.version == version);
        known.is_some_and(|kept| kept.applied == Some((hash, version)))
    }

    /// Whether the last apply of the object had this hash, whatever has become of the object since.
    pub(crate) fn was_applied(&self, key: &ObjectRef, hash: u64) -> bool {
        let objects = self.read();
        let applied = objects.by_key.get(key).and_then(|kept| kept.applied);
        applied.is_some_and(|(applied, _)| applied == hash)
    }

    /// An apply with this hash changes nothing in this version of the object.
    pub(crate) fn remember_applied(&self, key: &ObjectRef, version: u64, hash: u64) {
        if let Some(kept) = self.write().by_key.get_mut(key).filter(|kept| kept.version == version) {
            kept.applied = Some((hash, version));
        }
    }

    /// A panic while the lock was held would leave the objects whole: nothing below runs foreign code.
    fn read(&self) -> RwLockReadGuard<'_, Objects> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn found(&self) -> Found {
        Found { version: self.version, text: Arc::clone(&self.text) }
    }
}

impl Objects {
    /// Whether a write of ours has removed an object, so that this event is outdated. If the object came back since,
    /// its tombstone is removed.
    fn is_known_gone(&mut self, head: &Head) -> bool {
        let known = self.tombstones.get(&head.uid).map(|tombstone| tombstone.covers(head.version));
        if known == Some(false) {
            self.tombstones.remove(&head.uid);
        }
        known == Some(true)
    }

    /// Puts an object in, if it is newer than the one that is known.
    fn put(&mut self, head: Head, text: Arc<str>) -> Option<Change> {
        let known = self.by_key.get(&head.key);
        if known.is_some_and(|known| known.version >= head.version) {
            return None;
        }
        let applied = known.filter(|known| known.uid == head.uid).and_then(|known| known.applied);
        let removed = self.remove(&head.key);
        let key = Arc::new(head.key);
        self.by_label.insert(&head.labels, &key);
        let kept = Kept {
            uid: head.uid,
            version: head.version,
            labels: head.labels,
            text: Arc::clone(&text),
            applied,
        };
        self.by_key.insert(Arc::clone(&key), kept);
        let before = removed.and_then(|change| change.before);
        Some(Change { key: ObjectRef::clone(&key), before, after: Some(text) })
    }

    fn remove(&mut self, key: &ObjectRef) -> Option<Change> {
        let kept = self.by_key.remove(key)?;
        self.by_label.remove(&kept.labels, key);
        Some(Change { key: key.clone(), before: Some(kept.text), after: None })
    }
}

#[cfg(test)]
mod tests;
