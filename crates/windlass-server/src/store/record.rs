//! A change that is durable, as watches see it.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use windlass_model::{Change, Key};

use super::object::StoredObject;

/// One object before and after a write. `before` is absent on create, `after` on removal.
#[derive(Debug)]
pub struct Record {
    /// The object.
    pub key: Arc<Key>,
    /// As it was.
    pub before: Option<StoredObject>,
    /// As it is now.
    pub after: Option<StoredObject>,
    /// The version of this write; a removal has one too.
    pub version: u64,
    /// When it was written, in milliseconds since 1970.
    pub time_ms: u64,
    /// Room for one encoding that is costly to make and the same for many watchers.
    pub encoded: OnceLock<Bytes>,
}

/// What a record takes besides the texts: itself, and its entries in the history and in a channel.
const OVERHEAD_BYTES: usize = size_of::<Record>() + 96;

impl Record {
    pub(crate) fn new(
        key: Arc<Key>,
        before: Option<StoredObject>,
        after: Option<StoredObject>,
        version: u64,
        time_ms: u64,
    ) -> Self {
        Record { key, before, after, version, time_ms, encoded: OnceLock::new() }
    }

    /// The change with its objects as values; each call parses them again.
    pub fn to_change(&self) -> Change {
        let parse = |object: &Option<StoredObject>| object.as_ref().map(StoredObject::parse);
        Change {
            key: (*self.key).clone(),
            before: parse(&self.before),
            after: parse(&self.after),
            version: self.version,
        }
    }

    /// The length of what a watcher is sent of it.
    pub(crate) fn text_bytes(&self) -> usize {
        self.after.as_ref().or(self.before.as_ref()).map_or(0, |object| object.text().len())
    }

    /// The memory that is free once the history forgets this record. What an object became is either what it
    /// still is, or counted as what it was before the next change.
    pub(crate) fn held_bytes(&self) -> usize {
        OVERHEAD_BYTES + self.before.as_ref().map_or(0, |before| before.text().len())
    }
}
