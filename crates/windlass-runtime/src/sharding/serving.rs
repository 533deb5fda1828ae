//! What happens when a slot begins and ceases to be served.

use std::sync::Arc;

use windlass::{Cause, ObjectRef};

use crate::controller_context::ControllerContext;
use crate::queue::{Priority, Reason};

use super::parents::Parents;
use super::shard::Shard;
use windlass_shard::Slot;

/// Enqueues all parents of a slot. Their events were dropped while the slot was another's, or was loaded. What is live
/// goes first, so that a mass move holds up no one.
pub(super) fn start_serving(shard: &Shard, context: &Arc<ControllerContext>, parents: &Parents, slot: Slot) {
    let owned = shard.parents_of(slot);
    for parent in &owned {
        context.metrics.parent_changed(None, parents.get(parent).as_ref());
    }
    let reason = || Reason {
        cause: Cause::Parent,
        what: format!("slot {slot} was assigned to this instance"),
        priority: Priority::Background,
        spec_changed: false,
    };
    context.queue.add(owned.iter().map(|parent| (ObjectRef::clone(parent), reason())));
}

/// Takes all parents of a slot out of the queue, timers included.
pub(super) fn stop_serving(shard: &Shard, context: &Arc<ControllerContext>, parents: &Parents, slot: Slot) {
    let gone = shard.purge_gone(slot);
    context.queue.forget(gone.iter());
    let owned = shard.parents_of(slot);
    for parent in &owned {
        context.metrics.parent_changed(parents.get(parent).as_ref(), None);
    }
    context.queue.forget(owned.iter().map(|parent| &**parent));
}
