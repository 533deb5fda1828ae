//! The objects that one reconcile has read, so that it reads the text of each once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Texts of the cache with what they say.
#[derive(Default)]
pub(super) struct Memo(Mutex<Vec<(Arc<str>, Arc<Value>)>>);

impl Memo {
    /// What a text of the cache says.
    pub(super) fn read(&self, text: &Arc<str>) -> Arc<Value> {
        let mut known = self.lock();
        if let Some((_, value)) = known.iter().find(|(known, _)| Arc::ptr_eq(known, text)) {
            return Arc::clone(value);
        }
        // Its head was read when it came into the cache, so it is JSON.
        let value = Arc::new(serde_json::from_str(text).unwrap_or_default());
        known.push((Arc::clone(text), Arc::clone(&value)));
        value
    }

    /// A text that came into the cache, if it did, says this.
    pub(super) fn add(&self, text: Option<Arc<str>>, value: &Arc<Value>) {
        if let Some(text) = text {
            self.lock().push((text, Arc::clone(value)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Arc<str>, Arc<Value>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
