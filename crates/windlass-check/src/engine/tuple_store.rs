//! The set of visited states: tuples of words, folded into pairs of pairs so that equal parts are stored once.

use std::sync::Arc;

use super::pair_table::{Groups, MAX_PAIRS, PairTable};
use super::shard::Arrival;

/// The states, for all threads.
pub(super) struct TupleStore {
    width: usize,
    /// What is paired, in order: indexes among the words and the pairs made before.
    nodes: Vec<(usize, usize)>,
    /// The two that are left in the end. Their pair, the root, stands for the whole state.
    root: (usize, usize),
    inner: PairTable,
    roots: PairTable,
}

impl TupleStore {
    pub(super) fn new(width: usize) -> Self {
        let mut nodes = Vec::new();
        let mut left: Vec<usize> = (0..width.max(1)).collect();
        while left.len() > 2 {
            let mut paired = Vec::new();
            for indexes in left.chunks(2) {
                if let [one, other] = indexes {
                    paired.push(width + nodes.len());
                    nodes.push((*one, *other));
                } else {
                    paired.extend_from_slice(indexes);
                }
            }
            left = paired;
        }
        let root = (left[0], left[left.len() - 1]);
        TupleStore { width, nodes, root, inner: PairTable::new(), roots: PairTable::new() }
    }

    /// How many states there are.
    pub(super) fn len(&self) -> usize {
        self.roots.len()
    }

    /// How many of them are held back until the next fault.
    pub(super) fn held(&self) -> usize {
        self.roots.held()
    }

    /// Whether more may not fit.
    pub(super) fn is_full(&self) -> bool {
        self.roots.len() > MAX_PAIRS || self.inner.len() > MAX_PAIRS
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.inner.bytes() + self.roots.bytes()
    }

    /// The number of a state that is there, by its root.
    pub(super) fn id(&self, root: u64) -> u32 {
        self.roots.id(root)
    }

    /// The roots of many states.
    pub(super) fn roots(&self, ids: &[u32], groups: &mut Groups, first: usize, roots: &mut Vec<u64>) {
        self.roots.get_all(ids, groups, first, roots);
    }

    /// Looks up many roots at once.
    pub(super) fn look_up(&self, arrivals: &mut [Arrival], groups: &mut Groups, first: usize) {
        self.roots.look_up(arrivals, groups, first);
    }

    /// Lets a state go that is held back. Says whether it still was.
    pub(super) fn release(&self, id: u32) -> bool {
        self.roots.release(id)
    }
}

/// Spreads numbers that follow on each other: an odd one near the golden ratio of all.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
const REMEMBERED_BITS: u32 = 13;
const REMEMBERED: usize = 1 << REMEMBERED_BITS;

/// Folds and unfolds states for one thread, remembering pairs that it has met lately.
pub(super) struct Folder {
    store: Arc<TupleStore>,
    /// The same as the store's, close at hand.
    width: usize,
    nodes: Vec<(usize, usize)>,
    /// The words of the state that is to be folded, and behind them the numbers of its pairs.
    values: Vec<u32>,
    /// The same of the state that was unfolded last: its successors share most of it.
    unfolded: Vec<u32>,
    /// By hash of the pair: the pair and its number plus one.
    numbers: Vec<(u64, u32)>,
    /// By number: the pair and its number plus one.
    pairs: Vec<(u64, u32)>,
}

impl Folder {
    pub(super) fn new(store: Arc<TupleStore>) -> Self {
        let len = store.width.max(1) + store.nodes.len();
        let remembered = if store.nodes.is_empty() { 0 } else { REMEMBERED };
        let mut folder = Folder {
            width: store.width,
            nodes: store.nodes.clone(),
            store,
            values: vec![0; len],
            unfolded: vec![0; len],
            numbers: vec![(0, 0); remembered],
            pairs: vec![(0, 0); remembered],
        };
        folder.unfold_zero();
        folder
    }

    /// Begins with a state of which all words are 0, so that there always is one to compare with.
    fn unfold_zero(&mut self) {
        for node in 0..self.store.nodes.len() {
            let (one, other) = self.store.nodes[node];
            self.unfolded[self.store.width + node] =
                self.number(join(self.unfolded[one], self.unfolded[other]));
        }
    }

    /// The root of the state of some words.
    #[inline]
    pub(super) fn fold(&mut self, words: &[u32]) -> u64 {
        // Two words are a pair as they are.
        if let [one, other] = words {
            return join(*one, *other);
        }
        self.values[..self.width].copy_from_slice(words);
        for node in 0..self.nodes.len() {
            let (one, other) = self.nodes[node];
            let (left, right) = (self.values[one], self.values[other]);
            let index = self.width + node;
            let is_same = left == self.unfolded[one] && right == self.unfolded[other];
            self.values[index] = if is_same { self.unfolded[index] } else { self.number(join(left, right)) };
        }
        let (one, other) = self.store.root;
        join(self.values[one], self.values[other])
    }

    /// The root of the state that was unfolded last.
    #[inline]
    pub(super) fn unfolded_root(&self) -> u64 {
        let (one, other) = self.store.root;
        join(self.unfolded[one], self.unfolded[other])
    }

    /// The words of a state.
    pub(super) fn unfold(&mut self, id: u32) -> &[u32] {
        self.unfold_root(self.store.roots.get(id))
    }

    /// The words of a state, by its root.
    pub(super) fn unfold_root(&mut self, root: u64) -> &[u32] {
        let (one, other) = self.store.root;
        let (left, right) = split(root);
        (self.unfolded[one], self.unfolded[other]) = (left, right);
        for node in (0..self.store.nodes.len()).rev() {
            let (one, other) = self.store.nodes[node];
            let (left, right) = split(self.pair(self.unfolded[self.store.width + node]));
            (self.unfolded[one], self.unfolded[other]) = (left, right);
        }
        &self.unfolded[..self.store.width]
    }

    fn number(&mut self, pair: u64) -> u32 {
        let slot = pair.wrapping_mul(SPREAD) >> (64 - REMEMBERED_BITS);
        let remembered = &mut self.numbers[slot as usize];
        if remembered.0 == pair && remembered.1 != 0 {
            return remembered.1 - 1;
        }
        let number = self.store.inner.id(pair);
        *remembered = (pair, number.wrapping_add(1));
        number
    }

    fn pair(&mut self, number: u32) -> u64 {
        let slot = u64::from(number).wrapping_mul(SPREAD) >> (64 - REMEMBERED_BITS);
        let remembered = &mut self.pairs[slot as usize];
        if remembered.1 == number.wrapping_add(1) && remembered.1 != 0 {
            return remembered.0;
        }
        *remembered = (self.store.inner.get(number), number.wrapping_add(1));
        remembered.0
    }
}

fn join(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

fn split(pair: u64) -> (u32, u32) {
    ((pair >> 32) as u32, pair as u32)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engine::random::Random;

    fn insert(folder: &mut Folder, words: &[u32]) -> (u32, bool) {
        let mut arrivals = [Arrival::new(folder.fold(words), false)];
        folder.store.clone().look_up(&mut arrivals, &mut Groups::new(), 0);
        (arrivals[0].id, arrivals[0].is_new)
    }

    #[test]
    fn agrees_with_an_ordered_set_at_every_width() {
        let mut random = Random::new(1);
        for width in 0..=12 {
            let mut folder = Folder::new(Arc::new(TupleStore::new(width)));
            let mut expected = BTreeMap::new();
            for _ in 0..5_000 {
                let words: Vec<u32> = (0..width).map(|_| random.below(3) as u32 * 0x7fff_ffff).collect();
                let (id, is_new) = insert(&mut folder, &words);
                assert_eq!(is_new, !expected.contains_key(&words), "{words:?}");
                assert_eq!(*expected.entry(words.clone()).or_insert(id), id);
                assert_eq!(folder.unfold(id), words);
            }
            for (words, id) in &expected {
                assert_eq!(folder.unfold(*id), words);
            }
            assert_eq!(folder.store.len(), expected.len());
        }
    }

    #[test]
    fn one_thread_reads_what_others_wrote() {
        let store = Arc::new(TupleStore::new(7));
        let write = |from: u32| {
            let mut folder = Folder::new(store.clone());
            (from..from + 3_000).map(|n| insert(&mut folder, &[n, n / 3, 1, n % 5, n, 2, n / 9]).0).collect()
        };
        let ids: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                [0, 1_000].into_iter().map(|from| scope.spawn(move || write(from))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(ids[0][1_000..], ids[1][..2_000]);
        assert_eq!(store.len(), 4_000);
        let mut folder = Folder::new(store);
        for (n, id) in (1_000..).zip(&ids[1]) {
            assert_eq!(folder.unfold(*id), [n, n / 3, 1, n % 5, n, 2, n / 9]);
        }
    }

    #[test]
    fn parts_are_shared() {
        let store = Arc::new(TupleStore::new(8));
        let mut folder = Folder::new(store.clone());
        for n in 0..100_000 {
            insert(&mut folder, &[n % 10, 0, n / 10 % 10, 0, n / 100 % 10, n / 1_000 % 10, n / 10_000, 0]);
        }
        assert_eq!((store.len(), store.inner.len() < 2_000), (100_000, true));
    }
}
