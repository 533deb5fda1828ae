//! Pairs of words and the numbers they were given: a set shared by threads that can be asked both ways.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::shard::{Arrival, Shard, TOUCHED_AT_ONCE, hash, shard_of};

/// How many parts the set has. Each has a lock of its own, so threads rarely wait for each other.
pub(super) const SHARDS: usize = 64;
/// A number is an offset within a shard, with the shard in the bits above.
pub(super) const OFFSET_BITS: u32 = 26;
pub(super) const OFFSET_MASK: u32 = (1 << OFFSET_BITS) - 1;
/// More pairs than this may not fit, as shards are only about equally full.
pub(super) const MAX_PAIRS: usize = SHARDS * (1 << OFFSET_BITS) / 16 * 15;

/// The shard of a number, and the offset in it.
pub(super) fn shard_and_offset(id: u32) -> (usize, usize) {
    ((id >> OFFSET_BITS) as usize, (id & OFFSET_MASK) as usize)
}

/// The offset of a number in its shard. Shards fill up at the same pace, so of two numbers the one with the
/// higher offset was most likely given later.
pub(super) fn offset_in_shard(id: u32) -> u32 {
    id & OFFSET_MASK
}

/// The number of an offset in a shard.
pub(super) fn id_of(shard: usize, offset: usize) -> u32 {
    (shard as u32) << OFFSET_BITS | offset as u32
}

const FIRST_GROUPS: usize = 16;

/// The set.
pub(super) struct PairTable {
    shards: Vec<Padded>,
    len: AtomicUsize,
    held: AtomicUsize,
    bytes: AtomicUsize,
}

/// Two locks in one cache line would slow each other down.
#[repr(align(128))]
struct Padded(Mutex<Shard>);

impl PairTable {
    pub(super) fn new() -> Self {
        // Shards fill alike. If they began alike they would all grow at the same time, and be at their emptiest together.
        let shard = |number| Shard::new(FIRST_GROUPS + number * FIRST_GROUPS / 2 / SHARDS);
        let shards: Vec<Shard> = (0..SHARDS).map(shard).collect();
        let bytes = shards.iter().map(|shard| size_of::<Padded>() + shard.bytes()).sum::<usize>();
        let shards = shards.into_iter().map(|shard| Padded(Mutex::new(shard))).collect();
        PairTable { shards, len: 0.into(), held: 0.into(), bytes: bytes.into() }
    }

    /// How many pairs there are.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// How many of them are held back.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The pair of a number.
    pub(super) fn get(&self, id: u32) -> u64 {
        let (shard, offset) = shard_and_offset(id);
        self.lock(shard).pairs.get(offset).expect("numbers are given with their pairs")
    }

    /// The number of a pair.
    pub(super) fn id(&self, pair: u64) -> u32 {
        let hash = hash(pair);
        let number = shard_of(hash);
        let mut shard = self.lock(number);
        let before = shard.bytes();
        let (offset, is_new) = shard.insert(pair, hash);
        if is_new {
            self.len.fetch_add(1, Ordering::Relaxed);
            // A list that is packed again may take less than before: the sum wraps around, as it should.
            self.bytes.fetch_add(shard.bytes().wrapping_sub(before), Ordering::Relaxed);
        }
        id_of(number, offset)
    }

    /// Looks many pairs up at once, in their order within each shard. Shards are gone through from `first`
    /// on, so that threads that start at different ones keep out of each other's way.
    pub(super) fn look_up(&self, arrivals: &mut [Arrival], groups: &mut Groups, first: usize) {
        groups.arrange(arrivals.iter().map(|arrival| shard_of(arrival.hash)));
        // Summed up here and added once: the shared counters are contended by all threads.
        let (mut added, mut bytes, mut held) = (0, 0_usize, 0);
        self.visit(groups, first, |number, shard, group| {
            let before = (shard.pairs.len(), shard.bytes());
            for few in group.chunks(TOUCHED_AT_ONCE) {
                held += shard.arrive_together(arrivals, few, number);
            }
            added += shard.pairs.len() - before.0;
            bytes = bytes.wrapping_add(shard.bytes().wrapping_sub(before.1));
        });
        self.len.fetch_add(added, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // Fewer may be held than before, and fewer bytes taken: the sums wrap around, as they should.
        self.held.fetch_add(held as usize, Ordering::Relaxed);
    }

    /// The pairs of many numbers, in their order. Each shard is locked once.
    pub(super) fn get_all(&self, ids: &[u32], groups: &mut Groups, first: usize, pairs: &mut Vec<u64>) {
        groups.arrange(ids.iter().map(|id| shard_and_offset(*id).0));
        pairs.clear();
        pairs.resize(ids.len(), 0);
        self.visit(groups, first, |_, shard, group| {
            for index in group {
                let (_, offset) = shard_and_offset(ids[*index as usize]);
                let pair = shard.pairs.get(offset).expect("numbers are given with their pairs");
                pairs[*index as usize] = pair;
            }
        });
    }

    /// Visits all shards that things belong to, once each, from `first` on. Those that another thread is in come last.
    fn visit(&self, groups: &Groups, first: usize, mut visit: impl FnMut(usize, &mut Shard, &[u32])) {
        let mut busy = 0_u64;
        let numbers = (0..SHARDS).map(|step| (first + step) % SHARDS);
        for number in numbers.clone().filter(|number| !groups.of(*number).is_empty()) {
            match self.shards[number].0.try_lock() {
                Ok(mut shard) => visit(number, &mut shard, groups.of(number)),
                Err(_) => busy |= 1 << number,
            }
        }
        for number in numbers.filter(|number| busy & (1 << number) != 0) {
            visit(number, &mut self.lock(number), groups.of(number));
        }
    }

    /// Lets a pair go that is held back. Says whether it still was.
    pub(super) fn release(&self, id: u32) -> bool {
        let (shard, offset) = shard_and_offset(id);
        let was_held = self.lock(shard).release(offset);
        if was_held {
            self.held.fetch_sub(1, Ordering::Relaxed);
        }
        was_held
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard].0.lock().expect("nothing that could panic runs while a shard is locked")
    }
}

/// Things by shard.
pub(super) struct Groups {
    ends: [u32; SHARDS + 1],
    order: Vec<u32>,
}

impl Groups {
    pub(super) fn new() -> Self {
        Groups { ends: [0; SHARDS + 1], order: Vec::new() }
    }

    /// Groups things by the shards that they belong to.
    pub(super) fn arrange(&mut self, shards: impl Iterator<Item = usize> + Clone) {
        let mut nexts = [0; SHARDS + 1];
        let mut count = 0;
        for shard in shards.clone() {
            nexts[shard + 1] += 1;
            count += 1;
        }
        for shard in 0..SHARDS {
            nexts[shard + 1] += nexts[shard];
        }
        self.ends = nexts;
        self.order.resize(count, 0);
        for (index, shard) in shards.enumerate() {
            let next = &mut nexts[shard];
            self.order[*next as usize] = index as u32;
            *next += 1;
        }
    }

    /// The indexes of those that belong to a shard, in their order.
    pub(super) fn of(&self, shard: usize) -> &[u32] {
        &self.order[self.ends[shard] as usize..self.ends[shard + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_up(table: &PairTable, pairs: impl Iterator<Item = u64>, is_held: bool) -> Vec<(u32, bool)> {
        let mut arrivals: Vec<Arrival> = pairs.map(|pair| Arrival::new(pair, is_held)).collect();
        table.look_up(&mut arrivals, &mut Groups::new(), 7);
        arrivals.iter().map(|arrival| (arrival.id, arrival.is_new)).collect()
    }

    #[test]
    fn knows_pairs_again_one_by_one_and_together() {
        let table = PairTable::new();
        let ids: Vec<u32> = (0..50_000).map(|pair| table.id(pair * pair)).collect();
        assert_eq!(table.len(), 50_000);
        for (pair, id) in (0..50_000).zip(&ids) {
            assert_eq!(table.get(*id), pair * pair);
        }
        let again = look_up(&table, (0..50_001).map(|pair| pair * pair), false);
        assert!(again.iter().zip(&ids).all(|(found, id)| *found == (*id, false)));
        assert!(again[50_000].1);
        assert_eq!(table.len(), 50_001);
    }

    #[test]
    fn pairs_twice_in_one_batch_are_new_once() {
        let table = PairTable::new();
        let found = look_up(&table, [5, 6, 5].into_iter(), false);
        assert_eq!((found[0].1, found[1].1, found[2]), (true, true, (found[0].0, false)));
    }

    #[test]
    fn what_a_fault_led_to_is_held_until_it_needs_none() {
        let table = PairTable::new();
        let held = look_up(&table, 0..100, true);
        assert!(held.iter().all(|(_, is_new)| *is_new));
        assert!(look_up(&table, 0..100, true).iter().all(|(_, is_new)| !is_new));
        assert_eq!(table.held(), 100);
        assert!(look_up(&table, 0..60, false).iter().all(|(_, is_new)| *is_new));
        assert!(look_up(&table, 0..60, false).iter().all(|(_, is_new)| !is_new));
        let released = held.iter().filter(|(id, _)| table.release(*id)).count();
        assert_eq!((released, table.held()), (40, 0));
    }

    #[test]
    fn takes_little_more_than_a_pair_and_a_slot() {
        let table = PairTable::new();
        look_up(&table, 0..1_000_000, false);
        assert!(table.bytes() < 18 * 1_000_000, "{} bytes", table.bytes());
    }
}
