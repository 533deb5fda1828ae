//! What one watch knows: objects as text, never older than what this process last wrote itself.
//!
//! Two things tell the cache of changes: the watch, in the order of versions but late, and the answers to our own
//! writes, at once. Versions put them in order. `reached` is the version up to which the watch has told all: what an
//! answer of ours says about an earlier moment is no news, whether the object has changed since or is gone.

mod head;
mod place;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use windlass::ObjectRef;

pub(crate) use head::Head;
use place::namespace_range;

/// The objects that one watch is about.
#[derive(Default)]
pub(crate) struct Cache {
    objects: RwLock<Objects>,
}

#[derive(Default)]
struct Objects {
    by_place: BTreeMap<Arc<ObjectRef>, Kept>,
    /// The objects whose owner label has this value.
    by_owner: HashMap<Box<str>, BTreeSet<Arc<ObjectRef>>>,
    /// What we deleted and the watch has not told yet: the uid, with the last version that was known.
    tombstones: HashMap<Box<str>, u64>,
    /// The version up to which the watch has told all.
    reached: u64,
}

struct Kept {
    uid: Box<str>,
    version: u64,
    owner: Option<Box<str>>,
    text: Arc<str>,
    /// The hash of the last apply of ours, and a version in which it is known to change nothing.
    applied: Option<(u64, u64)>,
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
    pub(crate) place: ObjectRef,
    pub(crate) before: Option<Arc<str>>,
    pub(crate) after: Option<Arc<str>>,
}

/// Who says that an object is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The watch, or its list.
    Watch,
    /// The answer to a write of this process.
    OwnWrite,
}

impl Cache {
    /// An object, if there is one.
    pub(crate) fn get(&self, place: &ObjectRef) -> Option<Found> {
        self.read().by_place.get(place).map(Kept::found)
    }

    /// The objects of one namespace, or of all, by namespace and name. With an owner, only those that carry its label.
    pub(crate) fn list(&self, namespace: Option<&str>, owner: Option<&str>) -> Vec<Found> {
        let objects = self.read();
        let in_namespace = |place: &ObjectRef| namespace.is_none_or(|namespace| place.namespace == namespace);
        if let Some(owner) = owner {
            let places = objects.by_owner.get(owner).into_iter().flatten();
            let places = places.filter(|place| in_namespace(place));
            return places.filter_map(|place| objects.by_place.get(place)).map(Kept::found).collect();
        }
        match namespace {
            None => objects.by_place.values().map(Kept::found).collect(),
            Some(namespace) => {
                objects.by_place.range(namespace_range(namespace)).map(|(_, kept)| kept.found()).collect()
            }
        }
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.read().by_place.len()
    }

    /// The version from which the watch goes on.
    pub(crate) fn reached(&self) -> u64 {
        self.read().reached
    }

    /// The watch has told all up to this version. Returns whether that makes sense: if it was further before, then
    /// this is another store, whose versions cannot be compared.
    pub(crate) fn bookmark(&self, version: u64) -> bool {
        let mut objects = self.write();
        let makes_sense = version >= objects.reached;
        objects.reached = objects.reached.max(version);
        makes_sense
    }

    /// An object is as this text says.
    pub(crate) fn put(&self, head: Head, text: Arc<str>, source: Source) -> Option<Change> {
        let mut objects = self.write();
        // What the watch has told already is no news, even if the object is gone since.
        if head.version <= objects.reached {
            return None;
        }
        if source == Source::Watch {
            objects.reached = head.version;
        }
        if objects.tombstones.contains_key(&head.uid) {
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
        let known = objects.by_place.get(&head.place)?;
        // A newer object may have the name by now, by a write of ours that the watch has not told yet.
        if known.version > head.version {
            return None;
        }
        objects.remove(&head.place)
    }

    /// A delete of ours has gone through: the object of this uid is gone, or that of any uid if none was asked for.
    pub(crate) fn delete_own(&self, place: &ObjectRef, uid: Option<&str>) -> Option<Change> {
        let mut objects = self.write();
        let known = objects.by_place.get(place)?;
        if uid.is_some_and(|uid| *uid != *known.uid) {
            return None;
        }
        let (uid, version) = (known.uid.clone(), known.version);
        objects.tombstones.insert(uid, version);
        objects.remove(place)
    }

    /// A whole list, as of its version. What is missing in it is gone, unless we wrote it later.
    pub(crate) fn relist(&self, items: Vec<(Head, Arc<str>)>, version: u64) -> Vec<Change> {
        let mut objects = self.write();
        // A consistent list is never older than what was seen before. If it is, then this is another store, or
        // one that was restored from a copy: nothing of what is known can be compared with it.
        let afresh = version < objects.reached;
        if afresh {
            objects.tombstones.clear();
        }
        objects.reached = version;
        let listed: HashSet<ObjectRef> = items.iter().map(|(head, _)| head.place.clone()).collect();
        let uids: HashSet<Box<str>> = items.iter().map(|(head, _)| head.uid.clone()).collect();
        let gone = |(place, kept): (&Arc<ObjectRef>, &Kept)| {
            let missing = !listed.contains(&**place) && (afresh || kept.version <= version);
            missing.then(|| Arc::clone(place))
        };
        let gone: Vec<Arc<ObjectRef>> = objects.by_place.iter().filter_map(gone).collect();
        let mut changes: Vec<Change> = gone.iter().filter_map(|place| objects.remove(place)).collect();
        for (head, text) in items {
            if objects.tombstones.contains_key(&head.uid) {
                continue;
            }
            if let Some(known) = objects.by_place.get_mut(&head.place) {
                let same = known.uid == head.uid && known.version == head.version;
                if same || (!afresh && known.version > version) {
                    continue;
                }
                // The list is newer as a whole, so what it says is so.
                known.version = 0;
            }
            changes.extend(objects.put(head, text));
        }
        objects.tombstones.retain(|uid, known| uids.contains(uid) || *known > version);
        changes
    }

    /// Whether an apply with this hash is known to change nothing in the object as it is.
    pub(crate) fn is_applied(&self, place: &ObjectRef, version: u64, hash: u64) -> bool {
        let objects = self.read();
        let known = objects.by_place.get(place).filter(|kept| kept.version == version);
        known.is_some_and(|kept| kept.applied == Some((hash, version)))
    }

    /// Whether the last apply of the object had this hash, whatever has become of the object since.
    pub(crate) fn was_applied(&self, place: &ObjectRef, hash: u64) -> bool {
        let objects = self.read();
        let applied = objects.by_place.get(place).and_then(|kept| kept.applied);
        applied.is_some_and(|(applied, _)| applied == hash)
    }

    /// An apply with this hash changes nothing in this version of the object.
    pub(crate) fn remember_applied(&self, place: &ObjectRef, version: u64, hash: u64) {
        if let Some(kept) = self.write().by_place.get_mut(place).filter(|kept| kept.version == version) {
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
    /// Puts an object in, if it is newer than the one that is known.
    fn put(&mut self, head: Head, text: Arc<str>) -> Option<Change> {
        let known = self.by_place.get(&head.place);
        if known.is_some_and(|known| known.version >= head.version) {
            return None;
        }
        let applied = known.filter(|known| known.uid == head.uid).and_then(|known| known.applied);
        let removed = self.remove(&head.place);
        let place = Arc::new(head.place);
        if let Some(owner) = &head.owner {
            self.by_owner.entry(owner.clone()).or_default().insert(Arc::clone(&place));
        }
        let kept = Kept {
            uid: head.uid,
            version: head.version,
            owner: head.owner,
            text: Arc::clone(&text),
            applied,
        };
        self.by_place.insert(Arc::clone(&place), kept);
        let before = removed.and_then(|change| change.before);
        Some(Change { place: ObjectRef::clone(&place), before, after: Some(text) })
    }

    fn remove(&mut self, place: &ObjectRef) -> Option<Change> {
        let kept = self.by_place.remove(place)?;
        if let Some(owner) = &kept.owner
            && let Some(places) = self.by_owner.get_mut(owner)
        {
            places.remove(place);
            if places.is_empty() {
                self.by_owner.remove(owner);
            }
        }
        Some(Change { place: place.clone(), before: Some(kept.text), after: None })
    }
}

#[cfg(test)]
mod tests;
