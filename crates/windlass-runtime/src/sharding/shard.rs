//! What the parts of one sharded controller share: the protocol's instance, its slots, and where each parent belongs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;
use windlass::ObjectRef;
use windlass::model::ResourceId;
use windlass_shard::{
    Directory, Epoch, Instance, KeyField, Millis, Observed, Processed, RingSpec, Slot, SlotCount, SlotRange,
    Timing, Uid,
};

use super::clock::Clock;
use super::grant::Grant;
use super::outputs::OutputInformers;
use super::slot_table::SlotTable;

/// Finds the uid of a parent by its name.
pub(crate) type FindUid = Box<dyn Fn(&ObjectRef) -> Option<Box<str>> + Send + Sync>;

/// One controller's part in a fleet.
pub(crate) struct Shard {
    pub(crate) spec: RingSpec,
    /// The kind of parents.
    pub(crate) parent_resource: ResourceId,
    pub(crate) timing: Timing,
    pub(crate) clock: Clock,
    /// Something happened that the protocol must know of.
    pub(crate) wake: Notify,
    count: SlotCount,
    // Whoever holds two of these locks has taken them in this order.
    instance: Mutex<Instance>,
    parents: Mutex<Parents>,
    slots: Mutex<SlotTable>,
    find_uid: OnceLock<FindUid>,
    /// Whether this instance knows only the parents of its own slots.
    knows_own_alone: bool,
    outputs: Arc<OutputInformers>,
    registry_error: Mutex<Option<String>>,
}

/// All parents by slot, and the slots of those that were deleted and may still have a reconcile to come.
struct Parents {
    directory: Directory<Arc<ObjectRef>>,
    gone: BTreeMap<ObjectRef, Slot>,
}

/// What to do with a parent that was taken from the queue.
pub(crate) enum Admission {
    /// Reconcile it, with this grant.
    Granted(Grant),
    /// It became this instance's since it was last read: read it, and ask again.
    ReadAgain,
    /// It is not known here, which does not mean that it does not exist: read it, and ask with its uid.
    Unknown,
    /// It is another instance's, or completed.
    Refused,
}

impl Shard {
    pub(crate) fn new(
        spec: RingSpec,
        parent_resource: ResourceId,
        instance: Instance,
        count: SlotCount,
        timing: Timing,
        clock: Clock,
        outputs: Arc<OutputInformers>,
    ) -> Self {
        Shard {
            spec,
            parent_resource,
            timing,
            clock,
            wake: Notify::new(),
            count,
            instance: Mutex::new(instance),
            slots: Mutex::default(),
            parents: Mutex::new(Parents { directory: Directory::new(count), gone: BTreeMap::new() }),
            find_uid: OnceLock::new(),
            knows_own_alone: false,
            outputs,
            registry_error: Mutex::new(Some("the registry has not been read yet".to_owned())),
        }
    }

    /// Whether this instance knows only the parents of its own slots. Without this it knows all.
    pub(crate) fn knowing_own_alone(self, knows_own_alone: bool) -> Self {
        Shard { knows_own_alone, ..self }
    }

    pub(crate) fn knows_own_alone(&self) -> bool {
        self.knows_own_alone
    }

    pub(crate) fn count(&self) -> SlotCount {
        self.count
    }

    /// Says how the uid of a parent is found by its name. It is set once, before anything is reconciled.
    pub(crate) fn find_uids_with(&self, find: FindUid) {
        assert!(self.find_uid.set(find).is_ok(), "parents are found in one way");
    }

    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    pub(crate) fn outputs(&self) -> &Arc<OutputInformers> {
        &self.outputs
    }

    /// Why the registry could not be read or written the last time; none if it could.
    pub(crate) fn registry_error(&self) -> Option<String> {
        self.registry_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_registry_error(&self, error: Option<String>) {
        *self.registry_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// The protocol's state.
    pub(crate) fn instance(&self) -> MutexGuard<'_, Instance> {
        self.instance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn slots(&self) -> MutexGuard<'_, SlotTable> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parents(&self) -> MutexGuard<'_, Parents> {
        self.parents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a parent with this uid.
    pub(crate) fn slot_of_uid(&self, parent: &ObjectRef, uid: &str) -> Slot {
        match self.spec.key {
            KeyField::Uid => Slot::of(uid, self.count),
            KeyField::Namespace => Slot::of(&parent.namespace, self.count),
        }
    }

    /// The slot of a parent. One that does not exist has the slot of its name, until it does: somebody has to make it.
    pub(crate) fn slot_of(&self, parent: &ObjectRef) -> Slot {
        self.slot_as_known(parent, self.uid_of(parent).as_deref())
    }

    /// The uid of a parent, if it is known to exist.
    fn uid_of(&self, parent: &ObjectRef) -> Option<Box<str>> {
        self.find_uid.get().and_then(|find| find(parent))
    }

    /// The slot of a parent with this uid, or of one that does not exist.
    fn slot_as_known(&self, parent: &ObjectRef, uid: Option<&str>) -> Slot {
        match uid {
            Some(uid) => self.slot_of_uid(parent, uid),
            None if self.spec.key == KeyField::Namespace => self.slot_of_uid(parent, ""),
            None => {
                let gone = self.parents().gone.get(parent).copied();
                gone.unwrap_or_else(|| Slot::of(&parent.to_string(), self.count))
            }
        }
    }

    /// Whether a parent of this name is known to exist.
    pub(crate) fn knows(&self, parent: &ObjectRef) -> bool {
        self.uid_of(parent).is_some()
    }

    /// Whether this instance reconciles a parent now.
    pub(crate) fn serves(&self, parent: &ObjectRef) -> bool {
        let slot = self.slot_of(parent);
        self.slots().serves(slot).is_some()
    }

    /// Whether this instance reconciles a parent with this uid now.
    pub(crate) fn serves_uid(&self, parent: &ObjectRef, uid: &str) -> bool {
        let slot = self.slot_of_uid(parent, uid);
        self.slots().serves(slot).is_some()
    }

    /// Decides about a parent that was taken from the queue: it may have been reassigned since it was put in.
    pub(crate) fn admit(self: &Arc<Self>, parent: &ObjectRef) -> Admission {
        let uid = self.uid_of(parent);
        if uid.is_none() && self.knows_own_alone && self.spec.key == KeyField::Uid {
            return Admission::Unknown;
        }
        let Some((grant, slot, epoch)) = self.grant(self.slot_as_known(parent, uid.as_deref())) else {
            return Admission::Refused;
        };
        let Some(uid) = uid else { return Admission::Granted(grant) };
        match self.parents().directory.process(slot, Uid::new(&uid), Some(epoch)) {
            Processed::Reconcile => Admission::Granted(grant),
            Processed::ReadAgain => Admission::ReadAgain,
            Processed::NotMine | Processed::Completed => Admission::Refused,
        }
    }

    /// Decides about a parent that was not known, and has just been read: it has this uid, or does not exist.
    pub(crate) fn admit_as_read(self: &Arc<Self>, parent: &ObjectRef, uid: Option<&str>) -> Admission {
        let slot = match uid {
            Some(uid) => self.slot_of_uid(parent, uid),
            None => self.slot_of(parent),
        };
        match self.grant(slot) {
            Some((grant, ..)) => Admission::Granted(grant),
            None => Admission::Refused,
        }
    }

    /// Begins a reconcile of a slot, if it is served: from here on the slot waits for it.
    fn grant(self: &Arc<Self>, slot: Slot) -> Option<(Grant, Slot, Epoch)> {
        let epoch = self.slots().begin(slot)?;
        Some((Grant::new(self, slot, epoch, self.writer()), slot, epoch))
    }

    /// The name and the incarnation of this instance.
    fn writer(&self) -> String {
        let instance = self.instance();
        let incarnation = instance.incarnation().unwrap_or_default();
        format!("{}/{}", instance.id(), incarnation.0)
    }

    /// An event shows a parent.
    pub(crate) fn observed(&self, observed: &Observed<Arc<ObjectRef>>) {
        let mine = self.slots().serves(observed.slot);
        let mut parents = self.parents();
        parents.gone.remove(&*observed.key);
        // Asked while no one can forget the slot: an event may come just after that.
        if self.knows_own_alone && !self.slots().owns(observed.slot) {
            return;
        }
        parents.directory.preprocess(observed, mine);
    }

    /// This instance has read a parent that it owns.
    pub(crate) fn read(&self, observed: &Observed<Arc<ObjectRef>>) {
        // The lock of slots must be free again: whoever has both takes that of parents first.
        let epoch = self.slots().serves(observed.slot);
        if let Some(epoch) = epoch {
            self.parents().directory.read(observed, epoch);
        }
    }

    /// A parent is gone.
    pub(crate) fn deleted(&self, parent: &ObjectRef, uid: &str) {
        let slot = self.slot_of_uid(parent, uid);
        let serves = self.slots().serves(slot).is_some();
        let mut parents = self.parents();
        parents.directory.remove(slot, Uid::new(uid));
        if serves {
            parents.gone.insert(parent.clone(), slot);
        }
    }

    /// A reconcile has found that a parent is gone: there is nothing to remember it for.
    pub(crate) fn forget_gone(&self, parent: &ObjectRef) {
        self.parents().gone.remove(parent);
    }

    /// All of a slot has been read at an epoch: what its objects were read for before no longer counts.
    pub(crate) fn all_read(&self, slot: Slot, epoch: Epoch) {
        self.parents().directory.read_slot(slot, epoch);
    }

    /// Forgets the parents of some slots.
    pub(crate) fn forget_slots(&self, slots: &[Slot]) {
        let mut parents = self.parents();
        slots.iter().for_each(|slot| parents.directory.forget(*slot));
    }

    /// The parents of a slot.
    pub(crate) fn parents_of(&self, slot: Slot) -> Vec<Arc<ObjectRef>> {
        let range = SlotRange { from: slot, to: slot };
        self.parents().directory.objects(range).map(|record| Arc::clone(&record.key)).collect()
    }

    /// Forgets what was to be done for deleted parents of a slot that is another's now; returns them.
    pub(crate) fn purge_gone(&self, slot: Slot) -> Vec<ObjectRef> {
        let mut parents = self.parents();
        let (lost, kept) = std::mem::take(&mut parents.gone).into_iter().partition(|(_, of)| *of == slot);
        parents.gone = kept;
        let lost: BTreeMap<ObjectRef, Slot> = lost;
        lost.into_keys().collect()
    }

    /// Number of objects that are tracked, and of those that this instance owns by the ring.
    pub(crate) fn object_counts(&self) -> (usize, usize) {
        let (instance, parents) = (self.instance(), self.parents());
        let owned = instance.ring().map_or(0, |ring| parents.directory.owned_by(ring, instance.id()));
        (parents.directory.len(), owned)
    }
}
