//! What was worked out lately, in a table that never grows.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::intern::Id;

/// Numbers by what they were asked for. What was asked for last replaces others.
pub(crate) struct Recent<K, T> {
    slots: Vec<(K, Option<Id<T>>)>,
}

const SLOT_BITS: u32 = 13;

impl<K, T> Default for Recent<K, T> {
    fn default() -> Self {
        Recent { slots: Vec::new() }
    }
}

impl<K: Copy + Default + Eq + Hash, T> Recent<K, T> {
    fn slot(key: &K) -> usize {
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        (hasher.finish() >> (64 - SLOT_BITS)) as usize
    }

    /// The number of a key, if it is still known.
    #[inline]
    pub(crate) fn get(&self, key: &K) -> Option<Id<T>> {
        let (known, number) = self.slots.get(Self::slot(key))?;
        if known == key { *number } else { None }
    }

    /// Remembers the number of a key.
    pub(crate) fn set(&mut self, key: K, number: Id<T>) {
        if self.slots.is_empty() {
            self.slots = vec![(K::default(), None); 1 << SLOT_BITS];
        }
        self.slots[Self::slot(&key)] = (key, Some(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_was_set_or_nothing() {
        let mut recent: Recent<(u32, u32), ()> = Recent::default();
        assert_eq!(recent.get(&(0, 0)), None);
        for number in 0..100_000_u32 {
            recent.set((number, number / 3), Id::from_word(number));
            assert_eq!(recent.get(&(number, number / 3)), Some(Id::from_word(number)));
        }
        let known = (0..100_000_u32).filter_map(|number| Some((number, recent.get(&(number, number / 3))?)));
        let known: Vec<(u32, Id<()>)> = known.collect();
        assert!(known.len() > 1_000 && known.iter().all(|(asked, found)| *asked == found.word()));
    }
}
