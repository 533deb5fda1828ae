//! The slots of a hash table, in groups that are looked at as a whole, which grows without leaving anything behind.

/// How many slots are in a group: as many as are in a line of the cache.
pub(super) const GROUP: usize = 16;
const CHUNK_BITS: u32 = 8;
/// How many groups are in a chunk.
const CHUNK: usize = 1 << CHUNK_BITS;

/// Slots that are filled one after the other. 0 is empty.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Group([u32; GROUP]);

impl Group {
    const EMPTY: Group = Group([0; GROUP]);

    /// The slots that are taken and have these bits under the mask, each as a bit. All are compared whatever the outcome:
    /// to guess which of them it will be, as a processor does at a branch, would mostly be wrong.
    #[inline]
    pub(super) fn like(&self, bits: u32, mask: u32) -> u32 {
        let is_like = |slot: u32| (slot ^ bits) & mask == 0 && slot != 0;
        self.0.iter().enumerate().fold(0, |found, (index, slot)| found | u32::from(is_like(*slot)) << index)
    }

    /// What a slot says.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> u32 {
        self.0[slot % GROUP]
    }

    /// Whether the slot that is filled last is empty.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.0[GROUP - 1] == 0
    }

    /// Fills the first slot that is empty. Says whether there was one.
    #[inline]
    fn push(&mut self, value: u32) -> bool {
        let filled = self.0.iter().filter(|slot| **slot != 0).count();
        let Some(empty) = self.0.get_mut(filled) else { return false };
        *empty = value;
        true
    }
}

/// The groups, in chunks.
///
/// All that a slot says can be worked out again, so growing means to empty the chunks that are there and to add some:
/// no chunk is ever given back, to be too small for any other use.
pub(super) struct Slots {
    chunks: Vec<Vec<Group>>,
    groups: usize,
}

impl Slots {
    /// A few groups.
    pub(super) fn new(groups: usize) -> Self {
        let groups = groups.clamp(1, CHUNK);
        Slots { chunks: vec![vec![Group::EMPTY; groups]], groups }
    }

    /// How many slots there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.groups * GROUP
    }

    /// How many groups there are.
    #[inline]
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    #[inline]
    pub(super) fn group(&self, group: usize) -> &Group {
        &self.chunks[group >> CHUNK_BITS][group % CHUNK]
    }

    /// The group after another; the first comes after the last.
    #[inline]
    pub(super) fn after(&self, group: usize) -> usize {
        if group + 1 == self.groups { 0 } else { group + 1 }
    }

    /// Fills the first empty slot from a group on. Some slot is empty.
    #[inline]
    pub(super) fn push(&mut self, first: usize, value: u32) {
        let mut group = first;
        while !self.chunks[group >> CHUNK_BITS][group % CHUNK].push(value) {
            group = self.after(group);
        }
    }

    /// Empties all slots, and makes them half as many more: doubling would leave more than half of them empty for long.
    pub(super) fn grow(&mut self) {
        self.groups = (self.groups * 3).div_ceil(2);
        if self.groups <= CHUNK {
            // Not there together with those that it replaces.
            self.chunks.clear();
            self.chunks.push(vec![Group::EMPTY; self.groups]);
            return;
        }
        self.chunks.iter_mut().for_each(|chunk| chunk.fill(Group::EMPTY));
        if let Some(first) = self.chunks.first_mut() {
            first.resize(CHUNK, Group::EMPTY);
        }
        self.chunks.resize_with(self.groups.div_ceil(CHUNK), || vec![Group::EMPTY; CHUNK]);
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        let groups = if self.chunks.len() == 1 { self.groups } else { self.chunks.len() * CHUNK };
        groups * size_of::<Group>() + self.chunks.capacity() * size_of::<Vec<Group>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_is_empty_then() {
        let mut slots = Slots::new(5);
        while slots.len() < 50_000 {
            let last = slots.groups() - 1;
            // Those of the last group go round to the first.
            (1..=slots.len()).for_each(|value| slots.push(last, value as u32));
            assert!((0..=last).all(|group| !slots.group(group).has_room()));
            assert_eq!((slots.group(last).get(0), slots.group(0).get(0)), (1, GROUP as u32 + 1));
            assert_eq!((slots.after(0), slots.after(last)), (1, 0));
            slots.grow();
            assert!(
                slots.groups() > last + 1
                    && (0..slots.groups()).all(|group| slots.group(group).0 == [0; GROUP])
            );
        }
        assert!((200_000..350_000).contains(&slots.bytes()), "{}", slots.bytes());
    }

    #[test]
    fn a_group_shows_what_is_alike() {
        let mut slots = Slots::new(1);
        [0x10, 0x23, 0x14, 0x15].into_iter().for_each(|value| slots.push(0, value));
        assert_eq!(slots.group(0).like(0x10, 0xf0), 0b1101);
        assert_eq!(slots.group(0).like(0x20, 0xf0), 0b0010);
        assert_eq!(slots.group(0).like(0x00, 0xf0), 0, "an empty slot is like nothing");
    }
}
