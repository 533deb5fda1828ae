//! A small cache that evicts the least recently used entry.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Things by key. However many there are, each use costs about the same.
pub(super) struct Recent<Key, Thing> {
    most: usize,
    uses: u64,
    things: HashMap<Key, (u64, Thing)>,
    /// The keys by their last use.
    by_use: BTreeMap<u64, Key>,
}

impl<Key: Clone + Eq + Hash, Thing> Recent<Key, Thing> {
    /// A cache with room for `most` things.
    pub(super) fn new(most: usize) -> Self {
        Recent { most, uses: 0, things: HashMap::new(), by_use: BTreeMap::new() }
    }

    /// A thing that is used now.
    pub(super) fn get<Name: Eq + Hash + ?Sized>(&mut self, key: &Name) -> Option<&Thing>
    where
        Key: Borrow<Name>,
    {
        let (used, thing) = self.things.get_mut(key)?;
        let key = self.by_use.remove(used)?;
        self.uses += 1;
        *used = self.uses;
        self.by_use.insert(self.uses, key);
        Some(thing)
    }

    /// Keeps a thing.
    pub(super) fn insert(&mut self, key: Key, thing: Thing) {
        self.remove(&key);
        self.uses += 1;
        self.by_use.insert(self.uses, key.clone());
        self.things.insert(key, (self.uses, thing));
        while self.things.len() > self.most {
            let Some((_, longest_unused)) = self.by_use.pop_first() else { return };
            self.things.remove(&longest_unused);
        }
    }

    /// Forgets a thing.
    pub(super) fn remove<Name: Eq + Hash + ?Sized>(&mut self, key: &Name)
    where
        Key: Borrow<Name>,
    {
        if let Some((used, _)) = self.things.remove(key) {
            self.by_use.remove(&used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(recent: &Recent<String, u32>) -> Vec<&str> {
        assert_eq!(recent.things.len(), recent.by_use.len());
        recent.by_use.values().map(String::as_str).collect()
    }

    #[test]
    fn evicts_the_least_recently_used() {
        let mut recent = Recent::new(3);
        ["a", "b", "c"].iter().zip(1..).for_each(|(key, thing)| recent.insert((*key).to_owned(), thing));
        assert_eq!(recent.get("a"), Some(&1));
        recent.insert("d".to_owned(), 4);
        assert_eq!(kept(&recent), ["c", "a", "d"]);
        recent.insert("c".to_owned(), 5);
        assert_eq!(kept(&recent), ["a", "d", "c"]);
        assert_eq!(recent.get("c"), Some(&5));
        recent.remove("d");
        assert_eq!(kept(&recent), ["a", "c"]);
        assert_eq!(recent.get("d"), None);
    }
}
