//! Parents that are yet to be made, of slots that begin to be served.
//!
//! Whatever is watched may name a parent that does not exist, for the owner of the slot of its name to make. While a slot
//! is on its way, no one is its owner and such a trigger is dropped. A parent that exists is reconciled when its slot is
//! served again; one that does not is found by looking through what is watched once more.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use windlass::ObjectRef;
use windlass_shard::Slot;

use crate::informer::{EventHandler, WatchEvent};
use crate::subscription::{Subscribed, Subscription};

use super::shard::Shard;

/// What a controller watches from the start, if it makes parents that are missing.
#[derive(Clone)]
pub(crate) struct MissingParents(Arc<[Subscribed]>);

impl MissingParents {
    /// For a controller with these subscriptions.
    pub(crate) fn new(subscribed: Vec<Subscribed>) -> Self {
        MissingParents(subscribed.into())
    }

    /// Enqueues the parents of these slots that something names and that are not known. It may take a while.
    pub(super) fn enqueue(&self, shard: &Shard, slots: &BTreeSet<Slot>) {
        for Subscribed { informer, subscription } in self.0.iter() {
            informer.replay(&Enqueuing { shard, slots, subscription });
        }
    }
}

/// Looks at one object after the other.
struct Enqueuing<'a> {
    shard: &'a Shard,
    slots: &'a BTreeSet<Slot>,
    subscription: &'a Subscription,
}

impl Enqueuing<'_> {
    fn is_wanted(&self, parent: &ObjectRef) -> bool {
        !self.shard.knows(parent) && self.slots.contains(&self.shard.slot_of(parent))
    }
}

impl EventHandler for Enqueuing<'_> {
    fn changed(&self, event: &WatchEvent) {
        let Some(object) = &event.after else { return };
        // A function of the machine says which parents an object names. Its panic was reported when the object was listed.
        let named = catch_unwind(AssertUnwindSafe(|| self.subscription.named_by(object)));
        let mut triggers = named.unwrap_or_default();
        triggers.retain(|trigger| self.is_wanted(&trigger.parent));
        self.subscription.enqueuer().enqueue(triggers, event);
    }
}
