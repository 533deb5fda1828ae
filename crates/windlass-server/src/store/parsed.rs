//! A few objects as values, since every write to a namespace or of a custom type looks at the same ones.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::object::StoredObject;

/// Maximum size of all texts whose values are cached; a longer text is cached on its own. A value takes several times as much.
const MAX_TEXT_BYTES: usize = 128 << 10;

/// Values by the version of the object, which is never given out twice. The oldest is forgotten first.
#[derive(Debug, Default)]
pub(crate) struct ParsedCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    values: HashMap<u64, Arc<Value>>,
    /// Version and length of the text.
    order: VecDeque<(u64, usize)>,
    text_bytes: usize,
}

impl ParsedCache {
    /// The value of an object.
    pub(crate) fn parse(&self, object: &StoredObject) -> Arc<Value> {
        if let Some(value) = self.entries().values.get(&object.version()) {
            return value.clone();
        }
        let value = object.parse();
        self.entries().insert(object, value.clone());
        value
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn insert(&mut self, object: &StoredObject, value: Arc<Value>) {
        let length = object.text().len();
        if self.values.insert(object.version(), value).is_some() {
            return;
        }
        self.order.push_back((object.version(), length));
        self.text_bytes += length;
        while self.text_bytes > MAX_TEXT_BYTES && self.order.len() > 1 {
            let Some((oldest, length)) = self.order.pop_front() else { break };
            self.values.remove(&oldest);
            self.text_bytes -= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(version: u64, length: usize) -> StoredObject {
        StoredObject::of(&json!({ "data": "x".repeat(length) }), version)
    }

    #[test]
    fn the_oldest_are_forgotten_and_a_long_one_is_kept_alone() {
        let cache = ParsedCache::default();
        for version in 1..=100 {
            assert_eq!(*cache.parse(&object(version, 10_000)), *object(version, 10_000).parse());
        }
        let kept = || cache.entries().values.keys().copied().collect::<std::collections::BTreeSet<u64>>();
        assert_eq!((kept().len(), kept().contains(&100)), (MAX_TEXT_BYTES / 10_011, true));
        cache.parse(&object(101, 2 * MAX_TEXT_BYTES));
        assert_eq!(kept(), [101].into());
        cache.parse(&object(102, 10));
        assert_eq!(kept(), [102].into());
    }
}
