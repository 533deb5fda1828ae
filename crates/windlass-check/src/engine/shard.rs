//! One part of a set of pairs: the pairs in the order of their arrival, and where each is.

use std::hint::black_box;

use super::pair_list::PairList;
use super::pair_table::{OFFSET_BITS, OFFSET_MASK, SHARDS, id_of};
use super::slots::{Group, Slots};

/// Number of look-ups that wait for memory together: what they read stays close at hand until it is needed.
pub(super) const TOUCHED_AT_ONCE: usize = 64;

/// A pair that is to be looked up with others.
pub(super) struct Arrival {
    pub(super) pair: u64,
    pub(super) hash: u64,
    /// Its number, once it was looked up.
    pub(super) id: u32,
    /// Whether it is held back, if it is new.
    pub(super) is_held: bool,
    /// Whether it is to be visited: it is new, or it was held back and now needs no further fault.
    pub(super) is_new: bool,
}

impl Arrival {
    #[inline]
    pub(super) fn new(pair: u64, is_held: bool) -> Self {
        Arrival { pair, hash: hash(pair), id: 0, is_held, is_new: false }
    }

    /// Its position among this many.
    #[inline]
    pub(super) fn slot(&self, slots: usize) -> usize {
        group_of(self.hash, slots)
    }
}

/// A part of the set, which one thread at a time has for itself.
pub(super) struct Shard {
    /// The pairs, in the order of their arrival.
    pub(super) pairs: PairList,
    /// Where each pair is, by its hash: its offset plus one, below as many bits of the hash as there is room for.
    /// 0 is empty.
    slots: Slots,
    /// How many bits of a slot are for the offset.
    offset_bits: u32,
    /// A bit for each pair, set if it is held back. Shorter than it would be if the last are not.
    held: Vec<u64>,
}

impl Shard {
    pub(super) fn new(groups: usize) -> Self {
        let slots = Slots::new(groups);
        let offset_bits = offset_bits(slots.len());
        Shard { pairs: PairList::new(), slots, offset_bits, held: Vec::new() }
    }

    /// The offsets of the pairs in a group that may be the one with this hash.
    #[inline(always)]
    fn offsets(&self, group: &Group, hash: u64) -> impl Iterator<Item = usize> {
        let mask = (1 << self.offset_bits) - 1;
        let mut like = group.like(tag_of(hash, self.offset_bits), !mask);
        std::iter::from_fn(move || {
            let slot = like.trailing_zeros() as usize;
            (like != 0).then(|| {
                like &= like - 1;
                (group.get(slot) & mask) as usize - 1
            })
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.pairs.bytes() + self.held.capacity() * size_of::<u64>() + self.slots.bytes()
    }

    /// The offset of a pair, if it is there.
    fn find(&self, pair: u64, hash: u64) -> Option<usize> {
        let mut number = group_of(hash, self.slots.groups());
        loop {
            let group = self.slots.group(number);
            let found = self.offsets(group, hash).find(|offset| self.pairs.get(*offset) == Some(pair));
            if found.is_some() || group.has_room() {
                return found;
            }
            number = self.slots.after(number);
        }
    }

    /// The offset of a pair, and whether it is new.
    pub(super) fn insert(&mut self, pair: u64, hash: u64) -> (usize, bool) {
        if let Some(offset) = self.find(pair, hash) {
            return (offset, false);
        }
        let offset = self.pairs.len();
        assert!(offset < OFFSET_MASK as usize, "the search stops before a shard is full");
        self.pairs.push(pair);
        fill_slot(&mut self.slots, hash, self.offset_bits, offset);
        if self.pairs.len() * 8 > self.slots.len() * 7 {
            self.grow();
        }
        (offset, true)
    }

    /// Looks a few arrivals up. Returns by how many the number of pairs that are held back has changed.
    ///
    /// First a slot of each is read, then the pairs that they name, and only then anything is decided: so these reads
    /// wait for memory together, and not one after the other.
    pub(super) fn arrive_together(&mut self, arrivals: &mut [Arrival], few: &[u32], shard: usize) -> isize {
        let mut slots = [0; TOUCHED_AT_ONCE];
        for (slot, index) in slots.iter_mut().zip(few) {
            *slot = self.slots.group(group_of(arrivals[*index as usize].hash, self.slots.groups())).get(0);
        }
        black_box(&slots);
        let mut offsets = [0; TOUCHED_AT_ONCE];
        for (offset, index) in offsets.iter_mut().zip(few) {
            *offset = self.likely_offset(arrivals[*index as usize].hash);
        }
        let mut is_found = [false; TOUCHED_AT_ONCE];
        for ((is_found, offset), index) in is_found.iter_mut().zip(&offsets).zip(few) {
            *is_found = self.pairs.get(*offset) == Some(arrivals[*index as usize].pair);
        }
        let mut held = 0;
        for ((is_found, offset), index) in is_found.iter().zip(offsets).zip(few) {
            let known = is_found.then_some(offset);
            held += self.arrive(&mut arrivals[*index as usize], known, shard);
        }
        held
    }

    /// The first offset of a pair that may be the one with a hash, in the group where it most likely is. If there is none,
    /// the first of all, which is at hand.
    #[inline]
    fn likely_offset(&self, hash: u64) -> usize {
        let group = self.slots.group(group_of(hash, self.slots.groups()));
        self.offsets(group, hash).next().unwrap_or(0)
    }

    /// Gives an arrival its number. Returns by how many the number of pairs that are held back has changed.
    fn arrive(&mut self, arrival: &mut Arrival, known: Option<usize>, shard: usize) -> isize {
        let (offset, is_new) = match known {
            Some(offset) => (offset, false),
            None => self.insert(arrival.pair, arrival.hash),
        };
        arrival.id = id_of(shard, offset);
        arrival.is_new = is_new;
        if arrival.is_held {
            if is_new {
                self.hold(offset);
            }
            return isize::from(is_new);
        }
        if !is_new && self.release(offset) {
            arrival.is_new = true;
            return -1;
        }
        0
    }

    fn hold(&mut self, offset: usize) {
        if self.held.len() <= offset / 64 {
            self.held.resize(self.pairs.len().div_ceil(64), 0);
        }
        self.held[offset / 64] |= 1 << (offset % 64);
    }

    /// Lets a pair go that is held back. Says whether it still was.
    pub(super) fn release(&mut self, offset: usize) -> bool {
        let Some(bits) = self.held.get_mut(offset / 64) else { return false };
        let bit = 1 << (offset % 64);
        let was_held = *bits & bit != 0;
        *bits &= !bit;
        was_held
    }

    fn grow(&mut self) {
        self.slots.grow();
        self.offset_bits = offset_bits(self.slots.len());
        for (offset, pair) in self.pairs.iter().enumerate() {
            fill_slot(&mut self.slots, hash(pair), self.offset_bits, offset);
        }
    }
}

#[inline]
fn fill_slot(slots: &mut Slots, hash: u64, offset_bits: u32, offset: usize) {
    let group = group_of(hash, slots.groups());
    slots.push(group, tag_of(hash, offset_bits) | (offset as u32 + 1));
}

/// Every bit of the result depends on every bit of the pair.
#[inline]
pub(super) fn hash(pair: u64) -> u64 {
    let mut hash = pair ^ 0x9e37_79b9_7f4a_7c15;
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash = (hash ^ (hash >> 29)).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    hash ^ (hash >> 32)
}

/// The shard of a hash.
pub(super) fn shard_of(hash: u64) -> usize {
    hash as usize % SHARDS
}

/// Bits of the hash that say nothing about shard and slot, above those of the offset.
#[inline]
fn tag_of(hash: u64, offset_bits: u32) -> u32 {
    ((hash >> 6) as u32) << offset_bits
}

/// How many bits an offset needs, plus one, in a shard with this many slots.
fn offset_bits(slots: usize) -> u32 {
    (usize::BITS - slots.leading_zeros()).clamp(6, OFFSET_BITS)
}

/// The group of a hash among `groups`, and likewise for anything else.
#[inline]
fn group_of(hash: u64, groups: usize) -> usize {
    (((hash >> 32) * groups as u64) >> 32) as usize
}
