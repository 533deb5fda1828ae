//! Enqueues the parents of one controller: after watch events, and for sources outside the cluster.

use std::sync::Arc;

use serde_json::Value;
use windlass::{Cause, ObjectRef, Trigger};

use crate::controller_context::ControllerContext;
use crate::informer::WatchEvent;
use crate::ownership::Ownership;
use crate::queue::{Priority, Reason};
use crate::trigger_priority::{priority, spec_changed};

/// Enqueues parents that this process owns.
pub(crate) struct Enqueuer {
    pub(crate) context: Arc<ControllerContext>,
    ownership: Arc<dyn Ownership>,
}

impl Enqueuer {
    pub(crate) fn new(context: Arc<ControllerContext>, ownership: Arc<dyn Ownership>) -> Self {
        Enqueuer { context, ownership }
    }

    /// Enqueues the parents that a watch event triggers.
    pub(crate) fn enqueue(&self, mut triggers: Vec<Trigger>, event: &WatchEvent) {
        triggers.retain(|trigger| self.owns(&trigger.parent));
        if triggers.is_empty() {
            return;
        }
        let key = ObjectRef::new(&event.key.namespace, &event.key.name);
        let what = format!("{} {key}", event.kind.qualified());
        let spec_changed = spec_changed(event.before.as_deref(), event.after.as_deref());
        self.context.queue.add(triggers.into_iter().map(|Trigger { parent, cause }| {
            let spec_changed = cause == Cause::Parent && spec_changed;
            let priority = priority(event.origin, cause, spec_changed);
            (parent, Reason { cause, what: what.clone(), priority, spec_changed })
        }));
    }

    /// Enqueues a parent for a source outside the cluster.
    pub(crate) fn enqueue_external(&self, parent: ObjectRef, what: &str) {
        if !self.owns(&parent) {
            return;
        }
        let reason = Reason {
            cause: Cause::Source,
            what: what.to_owned(),
            priority: Priority::Live,
            spec_changed: false,
        };
        self.context.queue.add([(parent, reason)]);
    }

    /// Counts and logs an event that no parent was enqueued for, because a function of the machine panicked over it.
    pub(crate) fn event_dropped(&self, event: &WatchEvent) {
        self.context.metrics.panicked();
        let (controller, kind) = (self.context.controller.name(), &event.kind.kind);
        tracing::error!(
            controller,
            "event dropped: a function that the machine declares for {kind} panicked"
        );
    }

    /// Whether this process reconciles a parent that looks like this. It may be gone already.
    pub(crate) fn owns_object(&self, parent: &ObjectRef, object: &Value) -> bool {
        let uid = windlass::model::object::uid(object);
        let serves = self.context.shard.as_ref().is_none_or(|shard| shard.serves_uid(parent, uid));
        serves && self.ownership.is_mine(self.context.controller.name(), parent)
    }

    /// Whether this process reconciles a parent.
    pub(crate) fn owns(&self, parent: &ObjectRef) -> bool {
        let serves = self.context.shard.as_ref().is_none_or(|shard| shard.serves(parent));
        serves && self.ownership.is_mine(self.context.controller.name(), parent)
    }
}
