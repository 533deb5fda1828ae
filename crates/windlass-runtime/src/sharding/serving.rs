//! What happens when a slot begins and ceases to be served.

use std::sync::Arc;

use windlass::{Cause, ObjectRef};

use crate::controller_context::ControllerContext;
use crate::queue::{Priority, Reason};

use super::parents::Parents;
use super::shard::Shard;
use windlass_shard::Slot;

/// Enqueues the parents of a slot, as if they had just appeared: those that the controller's predicate leaves out of a first
/// list are left out here, too. Their events were dropped while the slot was another's, or was loaded. What is live goes
/// first, so that a mass move holds up no one.
pub(super) fn start_serving(shard: &Shard, context: &Arc<ControllerContext>, parents: &Parents, slot: Slot) {
    let declaration = context.controller.declaration();
    let mut appearing = Vec::new();
    for parent in shard.parents_of(slot) {
        let known = parents.get(&parent);
        known.iter().for_each(|object| context.metrics.parent_assigned(object));
        // One that is not known whole is looked at by its reconcile.
        if known.is_none_or(|object| declaration.is_triggered_by_appearance(&object)) {
            appearing.push(parent);
        }
    }
    let reason = || Reason {
        cause: Cause::Parent,
        what: format!("slot {slot} was assigned to this instance"),
        priority: Priority::Background,
        spec_changed: false,
    };
    context.queue.add(appearing.iter().map(|parent| (ObjectRef::clone(parent), reason())));
}

/// Takes all parents of a slot out of the queue, timers included.
pub(super) fn stop_serving(shard: &Shard, context: &Arc<ControllerContext>, parents: &Parents, slot: Slot) {
    let gone = shard.purge_gone(slot);
    context.queue.forget(gone.iter());
    let owned = shard.parents_of(slot);
    for parent in &owned {
        parents.get(parent).iter().for_each(|parent| context.metrics.parent_released(parent));
    }
    context.queue.forget(owned.iter().map(|parent| &**parent));
}
