//! The places of one namespace as a range of all places.

use std::ops::Bound;
use std::sync::Arc;

use windlass::ObjectRef;

/// All places in a namespace: they stand together, since places are ordered by namespace first.
pub(super) fn namespace_range(namespace: &str) -> (Bound<Arc<ObjectRef>>, Bound<Arc<ObjectRef>>) {
    let first = ObjectRef::new(namespace, "");
    // Nothing lies between a text and the same text with the least character behind it.
    let after = ObjectRef { namespace: format!("{namespace}\0"), name: String::new() };
    (Bound::Included(Arc::new(first)), Bound::Excluded(Arc::new(after)))
}
