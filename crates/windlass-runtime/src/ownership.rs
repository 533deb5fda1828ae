//! Which parents are this process's to reconcile.

use windlass::ObjectRef;

/// Filters every queue: a parent that this process does not own is never enqueued.
pub trait Ownership: Send + Sync + 'static {
    /// Whether this process reconciles a parent of a controller.
    fn is_mine(&self, controller: &str, parent: &ObjectRef) -> bool;
}

/// One process reconciles everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Ownership for Everything {
    fn is_mine(&self, _controller: &str, _parent: &ObjectRef) -> bool {
        true
    }
}
