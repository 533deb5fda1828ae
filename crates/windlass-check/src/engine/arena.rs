//! A list that grows without ever being copied, so that memory holds it once and has no gaps.

const CHUNK_BITS: u32 = 12;
const CHUNK: usize = 1 << CHUNK_BITS;

/// The list, in chunks.
pub(super) struct Arena<T> {
    chunks: Vec<Vec<T>>,
}

impl<T: Copy> Arena<T> {
    pub(super) fn new() -> Self {
        Arena { chunks: Vec::new() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<T> {
        self.chunks.get(index >> CHUNK_BITS)?.get(index % CHUNK).copied()
    }

    pub(super) fn push(&mut self, value: T) {
        match self.chunks.last_mut() {
            // The first chunk grows, for lists that stay short.
            Some(last) if last.len() < CHUNK => last.push(value),
            Some(_) => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(value);
                self.chunks.push(chunk);
            }
            None => self.chunks.push(vec![value]),
        }
    }

    /// All values, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.chunks.iter().flatten().copied()
    }

    /// All values, in order, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flatten()
    }

    /// Sets a value, after as many of another as are missing.
    pub(super) fn set(&mut self, index: usize, value: T, missing: T) {
        while self.len() <= index {
            self.push(missing);
        }
        self.chunks[index >> CHUNK_BITS][index % CHUNK] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_is_pushed_and_set() {
        let mut arena = Arena::new();
        for value in 0..10_000_u32 {
            assert_eq!(arena.len(), value as usize);
            arena.push(value);
        }
        assert!((0..10_000).all(|value| arena.get(value as usize) == Some(value)));
        assert_eq!(arena.get(10_000), None);
        assert!(arena.iter().eq(0..10_000));
        arena.set(20_000, 5, 7);
        arena.set(3, 9, 7);
        assert_eq!((arena.get(20_000), arena.get(19_999), arena.get(3)), (Some(5), Some(7), Some(9)));
        assert_eq!(arena.len(), 20_001);
        arena.iter_mut().for_each(|value| *value = 1);
        assert!(arena.iter().eq(std::iter::repeat_n(1, 20_001)));
    }
}
