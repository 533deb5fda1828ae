//! A grant: what a reconcile of a sharded controller may send, and until when.

use std::sync::{Arc, Mutex, PoisonError};

use windlass::model::{Reason, Status};
use windlass_shard::{Epoch, Millis, Slot};

use super::outputs::OutputInformers;
use super::shard::Shard;
use super::stamp::Stamp;

tokio::task_local! {
    static FENCE: Fence;
}

/// Who calls a service, for the service to refuse a call of an earlier owner that arrives late.
///
/// The epoch of a slot grows whenever it changes hands. A service that has seen an epoch for a slot refuses lower ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The ring: the controller's name.
    pub ring: String,
    /// The slot of the parent whose reconcile calls.
    pub slot: usize,
    /// The epoch at which this instance owns the slot.
    pub epoch: u64,
}

impl Fence {
    /// That of the call in which this is asked, by a [`ServiceClient`](crate::ServiceClient); none if the controller is
    /// not sharded.
    pub fn current() -> Option<Self> {
        FENCE.try_with(Clone::clone).ok()
    }
}

/// Lets one reconcile of a slot act. While it exists, the slot is not drained.
pub(crate) struct Grant {
    shard: Arc<Shard>,
    slot: Slot,
    epoch: Epoch,
    stamp: Stamp,
}

impl Grant {
    /// For a reconcile that has begun in the slot table.
    pub(super) fn new(shard: &Arc<Shard>, slot: Slot, epoch: Epoch, writer: String) -> Self {
        let stamp = Stamp { parents: shard.parent_resource.clone(), slot, epoch, writer };
        Grant { shard: Arc::clone(shard), slot, epoch, stamp }
    }

    pub(crate) fn slot(&self) -> Slot {
        self.slot
    }

    /// What is known of the outputs of the controller's slots.
    pub(crate) fn outputs(&self) -> &OutputInformers {
        self.shard.outputs()
    }

    /// Calls a service so that its client can pass on the epoch: see [`Fence::current`].
    pub(crate) async fn fencing<Calling: Future>(&self, calling: Calling) -> Calling::Output {
        let ring = self.shard.spec.controller_type.clone();
        FENCE.scope(Fence { ring, slot: self.slot.index(), epoch: self.epoch.0 }, calling).await
    }

    /// What to write on outputs.
    pub(crate) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// The longest that a request may be in flight.
    pub(crate) fn flight(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.shard.timing.request_ms)
    }

    /// The time until which a request may be sent, if it may be sent now. The permit must be of the epoch at which the
    /// reconcile began: it has read nothing of what others wrote since.
    fn permitted_at(&self) -> Option<Millis> {
        let now = self.shard.now();
        let permit = self.shard.instance().permit(self.slot, now)?;
        (permit.epoch == self.epoch).then_some(now)
    }

    /// Whether something with an effect may be sent now.
    pub(crate) fn is_valid(&self) -> bool {
        self.permitted_at().is_some()
    }

    /// Accompanies a request with an effect from its first attempt to its answer.
    pub(crate) fn flight_guard(&self) -> InFlight<'_> {
        InFlight { grant: self, sent: Mutex::new(None) }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        // The protocol looks at all slots when it wakes up, which is too much to do after each reconcile.
        if self.shard.slots().end(self.slot) {
            self.shard.wake.notify_one();
        }
    }
}

/// A request that may be on its way. If it is dropped without an answer, the slot is not handed over before the request
/// can no longer arrive.
pub(crate) struct InFlight<'a> {
    grant: &'a Grant,
    /// When the last attempt was sent.
    sent: Mutex<Option<Millis>>,
}

impl InFlight<'_> {
    /// Asks whether an attempt may be sent now; what to answer instead, if not.
    pub(crate) fn refusal(&self) -> Option<Status> {
        let Some(now) = self.grant.permitted_at() else { return Some(not_owned()) };
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        None
    }

    /// The last attempt was answered: nothing of it is on its way any more.
    pub(crate) fn answered(self) {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(sent) = *self.sent.lock().unwrap_or_else(PoisonError::into_inner) {
            self.grant.shard.slots().unanswered(self.grant.slot, sent);
        }
    }
}

pub(crate) const NOT_OWNED: &str =
    "the object is on its way to another instance: this process no longer writes it";

fn not_owned() -> Status {
    Status::failure(503, Reason::ServiceUnavailable, NOT_OWNED)
}
