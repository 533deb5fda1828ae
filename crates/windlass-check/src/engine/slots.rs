//! The slots of a hash table, which grows without leaving anything behind.

const CHUNK_BITS: u32 = 12;
const CHUNK: usize = 1 << CHUNK_BITS;

/// The slots, in chunks. 0 is empty.
///
/// All that a slot says can be worked out again, so growing means to empty the chunks that are there and to add some:
/// no chunk is ever given back, to be too small for any other use.
pub(super) struct Slots {
    chunks: Vec<Vec<u32>>,
    len: usize,
}

impl Slots {
    /// A few slots.
    pub(super) fn new(len: usize) -> Self {
        Slots { chunks: vec![vec![0; len.min(CHUNK)]], len: len.min(CHUNK) }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn get(&self, slot: usize) -> u32 {
        self.chunks[slot >> CHUNK_BITS][slot % CHUNK]
    }

    #[inline]
    pub(super) fn set(&mut self, slot: usize, value: u32) {
        self.chunks[slot >> CHUNK_BITS][slot % CHUNK] = value;
    }

    /// The slot after another; the first comes after the last.
    #[inline]
    pub(super) fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.len { 0 } else { slot + 1 }
    }

    /// Empties all slots, and makes them a quarter more: doubling would leave more than half of them empty for long.
    pub(super) fn grow(&mut self) {
        self.len = self.len / 4 * 5;
        if self.len <= CHUNK {
            // Not there together with those that it takes the place of.
            self.chunks.clear();
            self.chunks.push(vec![0; self.len]);
            return;
        }
        self.chunks.iter_mut().for_each(|chunk| chunk.fill(0));
        if let Some(first) = self.chunks.first_mut() {
            first.resize(CHUNK, 0);
        }
        self.chunks.resize_with(self.len.div_ceil(CHUNK), || vec![0; CHUNK]);
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        let slots = if self.chunks.len() == 1 { self.len } else { self.chunks.len() * CHUNK };
        slots * size_of::<u32>() + self.chunks.capacity() * size_of::<Vec<u32>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_is_empty_then() {
        let mut slots = Slots::new(70);
        while slots.len() < 50_000 {
            let last = slots.len() - 1;
            (0..=last).for_each(|slot| slots.set(slot, slot as u32 + 1));
            assert!((0..=last).all(|slot| slots.get(slot) == slot as u32 + 1));
            assert_eq!((slots.after(0), slots.after(last)), (1, 0));
            slots.grow();
            assert!(slots.len() > last + 1 && (0..slots.len()).all(|slot| slots.get(slot) == 0));
        }
        assert!((200_000..240_000).contains(&slots.bytes()));
    }
}
