//! Readers of shards, by slot: a change wakes those that it is for, and no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;
use windlass_model::selector::{ShardKey, ShardSelector, shard_hash};

use super::record::Record;

/// A slot has the hashes that begin with the same bits. These are as many as rings of controllers have slots by
/// default: the ranges that their instances ask for then begin and end with a slot.
const SLOT_BITS: u32 = 12;

/// The hashes by which a change is selected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardHashes {
    uid: u64,
    namespace: u64,
}

impl ShardHashes {
    /// Those of the object that changed. A uid never changes, so before and after have the same.
    pub(crate) fn of(record: &Record) -> Self {
        let object = record.after.as_ref().or(record.before.as_ref());
        let uid = object.map_or_else(|| shard_hash(""), |object| object.uid_hash());
        ShardHashes { uid, namespace: shard_hash(&record.key.namespace) }
    }

    fn of_key(&self, key: ShardKey) -> u64 {
        match key {
            ShardKey::Uid => self.uid,
            ShardKey::Namespace => self.namespace,
        }
    }

    /// Whether a selector selects them.
    pub(crate) fn are_in(&self, shards: &ShardSelector) -> bool {
        shards.contains(self.of_key(shards.key()))
    }
}

/// A reader of the changes of some shards, as those who make changes see it.
#[derive(Debug)]
pub(crate) struct ShardWaiter {
    shards: ShardSelector,
    /// The version of the first change for the reader since it was last asked for, or 0.
    unseen: AtomicU64,
    more: Notify,
}

impl ShardWaiter {
    pub(crate) fn new(shards: ShardSelector) -> Self {
        ShardWaiter { shards, unseen: AtomicU64::new(0), more: Notify::new() }
    }

    pub(crate) fn shards(&self) -> &ShardSelector {
        &self.shards
    }

    /// Notes a change. Says whether the reader does not know yet that there are some.
    fn mark(&self, version: u64) -> bool {
        self.unseen.compare_exchange(0, version, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The first change that is not seen yet; the reader looks for it, and all after it, now.
    pub(crate) fn take_unseen(&self) -> Option<u64> {
        Some(self.unseen.swap(0, Ordering::AcqRel)).filter(|version| *version > 0)
    }

    pub(crate) fn has_unseen(&self) -> bool {
        self.unseen.load(Ordering::Acquire) > 0
    }

    /// Wakes the reader, now or when it waits next.
    pub(crate) fn wake(&self) {
        self.more.notify_one();
    }

    /// Waits until the reader is woken.
    pub(crate) async fn woken(&self) {
        self.more.notified().await;
    }
}

/// All readers of shards of one resource.
#[derive(Debug, Default)]
pub(crate) struct ShardWaiters {
    by_uid: SlotIndex,
    by_namespace: SlotIndex,
}

impl ShardWaiters {
    pub(crate) fn add(&mut self, waiter: &Arc<ShardWaiter>) {
        self.index_mut(waiter.shards.key()).add(waiter);
    }

    pub(crate) fn remove(&mut self, waiter: &Arc<ShardWaiter>) {
        self.index_mut(waiter.shards.key()).remove(waiter);
    }

    /// Notes a change for all whom it is for, and adds those of them who are to be woken.
    pub(crate) fn mark(&self, hashes: &ShardHashes, version: u64, to_wake: &mut Vec<Arc<ShardWaiter>>) {
        for (index, hash) in [(&self.by_uid, hashes.uid), (&self.by_namespace, hashes.namespace)] {
            let concerned = index.waiters(hash).iter().filter(|waiter| waiter.shards.contains(hash));
            to_wake.extend(concerned.filter(|waiter| waiter.mark(version)).cloned());
        }
    }

    fn index_mut(&mut self, key: ShardKey) -> &mut SlotIndex {
        match key {
            ShardKey::Uid => &mut self.by_uid,
            ShardKey::Namespace => &mut self.by_namespace,
        }
    }
}

/// For each slot, the readers of some of its hashes.
#[derive(Debug, Default)]
struct SlotIndex {
    /// Empty while there are no readers at all, as for most resources.
    slots: Vec<Vec<Arc<ShardWaiter>>>,
    readers: usize,
}

impl SlotIndex {
    fn add(&mut self, waiter: &Arc<ShardWaiter>) {
        self.slots.resize_with(1 << SLOT_BITS, Vec::new);
        self.readers += 1;
        for slot in slots_of(&waiter.shards) {
            self.slots[slot].push(Arc::clone(waiter));
        }
    }

    fn remove(&mut self, waiter: &Arc<ShardWaiter>) {
        for slot in slots_of(&waiter.shards) {
            self.slots[slot].retain(|known| !Arc::ptr_eq(known, waiter));
        }
        self.readers -= 1;
        if self.readers == 0 {
            self.slots = Vec::new();
        }
    }

    fn waiters(&self, hash: u64) -> &[Arc<ShardWaiter>] {
        self.slots.get(slot(hash)).map_or(&[], Vec::as_slice)
    }
}

fn slot(hash: u64) -> usize {
    (hash >> (u64::BITS - SLOT_BITS)) as usize
}

/// The slots that ranges touch, each once.
fn slots_of(shards: &ShardSelector) -> impl Iterator<Item = usize> {
    // Ranges are in order, so those before the next slot have been returned.
    let mut next = 0;
    shards.ranges().iter().flat_map(move |(first, last)| {
        let touched = slot(*first).max(next)..slot(*last) + 1;
        next = touched.end.max(next);
        touched
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: u128 = 1 << 64;

    fn slots(ranges: &[(u128, u128)]) -> Vec<usize> {
        let selector = ShardSelector::new(ShardKey::Uid, ranges.iter().copied()).unwrap();
        slots_of(&selector).collect()
    }

    #[test]
    fn ranges_touch_slots_once() {
        let width = TOP >> SLOT_BITS;
        assert_eq!(slots(&[(0, width)]), [0]);
        assert_eq!(slots(&[(width - 1, width + 1)]), [0, 1]);
        assert_eq!(slots(&[(1, 2), (3, 4), (5, width), (3 * width, 4 * width)]), [0, 3]);
        assert_eq!(slots(&[(0, TOP)]), (0..1 << SLOT_BITS).collect::<Vec<_>>());
    }

    #[test]
    fn only_those_concerned_are_marked() {
        let half = TOP / 2;
        let waiter = |key, range| Arc::new(ShardWaiter::new(ShardSelector::new(key, [range]).unwrap()));
        let lower = waiter(ShardKey::Uid, (0, half));
        let upper = waiter(ShardKey::Uid, (half, TOP));
        let namespaces = waiter(ShardKey::Namespace, (0, half));
        // Of the first slot, but not all of it.
        let narrow = waiter(ShardKey::Uid, (10, 20));
        let mut waiters = ShardWaiters::default();
        for waiter in [&lower, &upper, &namespaces, &narrow] {
            waiters.add(waiter);
        }
        let mark = |waiters: &ShardWaiters, uid, namespace, version| {
            let mut to_wake = Vec::new();
            waiters.mark(&ShardHashes { uid, namespace }, version, &mut to_wake);
            to_wake.len()
        };
        assert_eq!(mark(&waiters, 1, u64::MAX, 5), 1);
        assert_eq!(mark(&waiters, 2, u64::MAX, 6), 0, "it is woken already");
        assert_eq!(mark(&waiters, u64::MAX, 3, 7), 2);
        let unseen = [&lower, &upper, &namespaces, &narrow].map(|waiter| waiter.take_unseen());
        assert_eq!(unseen, [Some(5), Some(7), Some(7), None]);
        assert_eq!((lower.take_unseen(), lower.has_unseen()), (None, false));
        waiters.remove(&lower);
        assert_eq!(mark(&waiters, 1, u64::MAX, 8), 0);
        waiters.remove(&upper);
        waiters.remove(&narrow);
        assert!(waiters.by_uid.slots.is_empty());
    }
}
