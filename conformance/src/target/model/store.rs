//! A store whose versions count all writes, as those of a server do, and that remembers its changes.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::Value;
use windlass_model::{Change, Key, MemoryStore, Store};

/// Objects in memory under versions of the whole store.
#[derive(Debug, Default)]
pub(super) struct NumberedStore {
    objects: MemoryStore,
    changes: Vec<Change>,
    /// How often somebody asked for entropy: a dry run must not foretell the uid of a real one.
    asked: Cell<u64>,
}

impl NumberedStore {
    /// Makes a change visible.
    pub(super) fn commit(&mut self, change: &Change) {
        self.objects.commit(change);
        self.changes.push(change.clone());
    }

    /// The changes since a version.
    pub(super) fn changes_after(&self, version: u64) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.version > version)
    }

    fn version(&self) -> u64 {
        self.changes.last().map_or(1, |change| change.version)
    }
}

impl Store for NumberedStore {
    fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.objects.get(key)
    }

    fn scan<'a>(
        &'a self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a> {
        self.objects.scan(group, plural, namespace, after)
    }

    fn all<'a>(&'a self) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a> {
        self.objects.all()
    }

    fn next_version(&self, _key: &Key, nth: u64) -> u64 {
        self.version() + 1 + nth
    }

    fn list_version(&self, _group: &str, _plural: &str) -> u64 {
        self.version()
    }

    fn entropy(&self, key: &Key, salt: u64) -> u128 {
        self.asked.set(self.asked.get() + 1);
        self.objects.entropy(key, salt) ^ u128::from(self.asked.get())
    }
}
