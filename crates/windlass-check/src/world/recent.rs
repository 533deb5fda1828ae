//! What was worked out lately, in a table that never grows.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

/// Numbers by what they were asked for. What was asked for last replaces others.
pub(crate) struct Recent<K> {
    /// The number plus one; 0 if there is none yet.
    slots: Vec<(K, u32)>,
}

const SLOT_BITS: u32 = 13;

impl<K: Copy + Default + Eq + Hash> Default for Recent<K> {
    fn default() -> Self {
        Recent { slots: Vec::new() }
    }
}

impl<K: Copy + Default + Eq + Hash> Recent<K> {
    fn slot(key: &K) -> usize {
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        (hasher.finish() >> (64 - SLOT_BITS)) as usize
    }

    /// The number of a key, if it is still known.
    #[inline]
    pub(crate) fn get(&self, key: &K) -> Option<u32> {
        let (known, number) = self.slots.get(Self::slot(key))?;
        if known == key { number.checked_sub(1) } else { None }
    }

    /// Remembers the number of a key, which is below 2^32 - 1.
    pub(crate) fn set(&mut self, key: K, number: u32) {
        if self.slots.is_empty() {
            self.slots = vec![(K::default(), 0); 1 << SLOT_BITS];
        }
        self.slots[Self::slot(&key)] = (key, number + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_was_set_or_nothing() {
        let mut recent = Recent::default();
        assert_eq!(recent.get(&(0, 0)), None);
        for number in 0..100_000_u32 {
            recent.set((number, number / 3), number);
            assert_eq!(recent.get(&(number, number / 3)), Some(number));
        }
        let known = (0..100_000_u32).filter_map(|number| Some((number, recent.get(&(number, number / 3))?)));
        let known: Vec<(u32, u32)> = known.collect();
        assert!(known.len() > 1_000 && known.iter().all(|(asked, found)| asked == found));
    }
}
