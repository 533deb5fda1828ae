//! A list of pairs that grows without ever being copied, so that memory holds it once and has no gaps.

const CHUNK_BITS: u32 = 12;
const CHUNK: usize = 1 << CHUNK_BITS;
/// What is below takes six bytes.
const SHORT: u64 = 1 << 48;

/// The list, in chunks.
pub(super) struct PairList {
    chunks: Vec<Chunk>,
    len: usize,
}

/// Pairs of small numbers are stored in less space, until one of a chunk is too large for that.
enum Chunk {
    Short(Vec<[u16; 3]>),
    Long(Vec<u64>),
}

impl Chunk {
    fn with_capacity(capacity: usize, pair: u64) -> Self {
        if pair < SHORT {
            Chunk::Short(Vec::with_capacity(capacity))
        } else {
            Chunk::Long(Vec::with_capacity(capacity))
        }
    }

    fn push(&mut self, pair: u64) {
        match self {
            Chunk::Short(pairs) if pair < SHORT => pairs.push(shorten(pair)),
            Chunk::Short(pairs) => {
                let mut longer = Vec::with_capacity(pairs.capacity());
                longer.extend(pairs.iter().map(|short| lengthen(*short)));
                longer.push(pair);
                *self = Chunk::Long(longer);
            }
            Chunk::Long(pairs) => pairs.push(pair),
        }
    }

    #[inline]
    fn get(&self, offset: usize) -> Option<u64> {
        match self {
            Chunk::Short(pairs) => pairs.get(offset).map(|short| lengthen(*short)),
            Chunk::Long(pairs) => pairs.get(offset).copied(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Chunk::Short(pairs) => pairs.capacity() * size_of::<[u16; 3]>(),
            Chunk::Long(pairs) => pairs.capacity() * size_of::<u64>(),
        }
    }
}

fn shorten(pair: u64) -> [u16; 3] {
    [pair as u16, (pair >> 16) as u16, (pair >> 32) as u16]
}

#[inline]
fn lengthen([low, middle, high]: [u16; 3]) -> u64 {
    u64::from(low) | u64::from(middle) << 16 | u64::from(high) << 32
}

impl PairList {
    pub(super) fn new() -> Self {
        PairList { chunks: Vec::new(), len: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<u64> {
        self.chunks.get(index >> CHUNK_BITS)?.get(index % CHUNK)
    }

    pub(super) fn push(&mut self, pair: u64) {
        if self.len.is_multiple_of(CHUNK) {
            // The first chunk grows, for lists that stay short.
            let capacity = if self.len == 0 { 1 } else { CHUNK };
            self.chunks.push(Chunk::with_capacity(capacity, pair));
        }
        self.len += 1;
        if let Some(last) = self.chunks.last_mut() {
            last.push(pair);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.chunks.iter().flat_map(|chunk| (0..CHUNK).map_while(|offset| chunk.get(offset)))
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        // All between the first and the last are full.
        let ends = [self.chunks.first(), self.chunks.last()].into_iter().flatten().map(Chunk::bytes);
        let between = self.chunks.len().saturating_sub(2) * self.chunks.get(1).map_or(0, Chunk::bytes);
        ends.sum::<usize>() + between + self.chunks.capacity() * size_of::<Chunk>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_is_pushed() {
        let pairs: Vec<u64> = (0..20_000).map(|n| n * n + (n / 9_000) * (u64::MAX / 7)).collect();
        let mut list = PairList::new();
        for (index, pair) in pairs.iter().enumerate() {
            assert_eq!(list.len(), index);
            list.push(*pair);
            assert_eq!(list.get(index), Some(*pair));
        }
        assert!(pairs.iter().enumerate().all(|(index, pair)| list.get(index) == Some(*pair)));
        assert_eq!(list.get(pairs.len()), None);
        assert!(list.iter().eq(pairs));
    }

    #[test]
    fn small_pairs_take_less() {
        let fill = |pairs: std::ops::Range<u64>| {
            let mut list = PairList::new();
            pairs.for_each(|pair| list.push(pair));
            list.bytes()
        };
        assert!((600_000..700_000).contains(&fill(0..100_000)));
        assert!((800_000..900_000).contains(&fill(SHORT..SHORT + 100_000)));
    }
}
