//! The keys of one namespace as a range of all keys.

use std::ops::Bound;
use std::sync::Arc;

use windlass::ObjectRef;

/// All keys in a namespace: they are adjacent, since keys are ordered by namespace first.
pub(super) fn namespace_range(namespace: &str) -> (Bound<Arc<ObjectRef>>, Bound<Arc<ObjectRef>>) {
    let first = ObjectRef::new(namespace, "");
    // Nothing lies between a text and the same text with the least character behind it.
    let after = ObjectRef { namespace: format!("{namespace}\0"), name: String::new() };
    (Bound::Included(Arc::new(first)), Bound::Excluded(Arc::new(after)))
}
