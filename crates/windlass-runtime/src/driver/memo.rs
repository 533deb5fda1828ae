//! The objects that one reconcile has read, so that it reads the text of each once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Texts of the cache with what they say, and how much was read in all.
#[derive(Default)]
pub(super) struct Memo {
    known: Mutex<HashMap<Address, Known>>,
    length: AtomicUsize,
}

struct Known {
    /// Held, so that no other text gets its address.
    _text: Arc<str>,
    value: Arc<Value>,
}

/// Where a text is in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Address(usize);

impl Address {
    fn of(text: &Arc<str>) -> Self {
        Address(Arc::as_ptr(text).addr())
    }
}

impl Memo {
    /// What a text of the cache says.
    pub(super) fn read(&self, text: &Arc<str>) -> Arc<Value> {
        self.known(text).unwrap_or_else(|| {
            // Its head was read when it came into the cache, so it is JSON.
            let value = Arc::new(serde_json::from_str(text).unwrap_or_default());
            self.received(text.len());
            self.keep(text, &value);
            value
        })
    }

    /// What a text of the cache says, if it was read before.
    pub(super) fn known(&self, text: &Arc<str>) -> Option<Arc<Value>> {
        self.lock().get(&Address::of(text)).map(|known| Arc::clone(&known.value))
    }

    /// A text that came into the cache, if it did, says this.
    pub(super) fn add(&self, text: Option<Arc<str>>, value: &Arc<Value>) {
        if let Some(text) = text {
            self.keep(&text, value);
        }
    }

    /// A text of this length was read.
    pub(super) fn received(&self, length: usize) {
        self.length.fetch_add(length, Ordering::Relaxed);
    }

    /// The length of all that was read.
    pub(super) fn length(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }

    fn keep(&self, text: &Arc<str>, value: &Arc<Value>) {
        let known = Known { _text: Arc::clone(text), value: Arc::clone(value) };
        self.lock().insert(Address::of(text), known);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Address, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
