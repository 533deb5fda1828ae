//! The set of visited states: an arena of fixed-width tuples and an open-addressing index into it.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// Visited states, numbered in order of their discovery.
pub(crate) struct StateTable {
    width: usize,
    words: Vec<u32>,
    /// Positions in the arena, plus one; 0 is empty. The length is a power of two.
    slots: Vec<u32>,
    len: usize,
}

impl StateTable {
    pub(crate) fn new(width: usize) -> Self {
        StateTable { width, words: Vec::new(), slots: vec![0; 1024], len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, index: u32) -> &[u32] {
        let start = index as usize * self.width;
        &self.words[start..start + self.width]
    }

    /// The number of a state, and whether it is new.
    pub(crate) fn insert(&mut self, state: &[u32]) -> (u32, bool) {
        debug_assert_eq!(state.len(), self.width);
        if self.len * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash(state) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => break,
                taken if self.get(taken - 1) == state => return (taken - 1, false),
                _ => slot = (slot + 1) & mask,
            }
        }
        let index = u32::try_from(self.len).expect("fewer than 2^32 states fit in memory");
        self.words.extend_from_slice(state);
        self.len += 1;
        self.slots[slot] = index + 1;
        (index, true)
    }

    /// Bytes that the table holds.
    pub(crate) fn bytes(&self) -> usize {
        (self.words.capacity() + self.slots.capacity()) * size_of::<u32>()
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![0; mask + 1];
        for index in 0..self.len {
            let mut slot = hash(self.get(index as u32)) as usize & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = index as u32 + 1;
        }
        self.slots = slots;
    }
}

fn hash(state: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    for word in state {
        hasher.write_u32(*word);
    }
    // The low bits of Fx are weak, and they choose the slot.
    let hash = hasher.finish();
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_states_in_order_and_knows_them_again() {
        let mut table = StateTable::new(3);
        for number in 0..5_000_u32 {
            assert_eq!(table.insert(&[number, number / 7, 1]), (number, true));
        }
        for number in 0..5_000_u32 {
            assert_eq!(table.insert(&[number, number / 7, 1]), (number, false));
            assert_eq!(table.get(number), [number, number / 7, 1]);
        }
        assert_eq!(table.len(), 5_000);
    }
}
