//! Interning: equal values get the same small number, so that a state of the world is a tuple of numbers.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Numbers for values. Numbers are given in order of first sight, so equal runs number alike.
pub(crate) struct Interner<T> {
    ids: FxHashMap<Arc<T>, u32>,
    values: Vec<Arc<T>>,
}

impl<T: Hash + Eq> Interner<T> {
    pub(crate) fn new() -> Self {
        Interner { ids: FxHashMap::default(), values: Vec::new() }
    }

    /// The number of a value.
    pub(crate) fn id(&mut self, value: T) -> u32 {
        if let Some(id) = self.ids.get(&value) {
            return *id;
        }
        let id = u32::try_from(self.values.len()).expect("fewer than 2^32 distinct parts fit in memory");
        let value = Arc::new(value);
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    /// The value of a number. Cloning the result shares it.
    pub(crate) fn get(&self, id: u32) -> &Arc<T> {
        &self.values[id as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}
