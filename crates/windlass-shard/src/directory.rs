//! The directory: what every instance knows about every object, and what to do with an object because of it.
//!
//! All instances see all objects, of which each owns a part. Of each object only what ownership needs is kept: its uid, its
//! key, when it was created, its status, and at which epoch of its slot it was last seen by its owner. Objects stand in
//! the list of their slot, sorted by uid, so that the slot is both the index for look-ups and the one for membership
//! changes: what a changed ring means takes a look at 4096 slots, and none at objects that stay.

use crate::lease::InstanceId;
use crate::ring::{Epoch, Ring};
use crate::slot::{Slot, SlotCount, SlotRange};

/// A uid in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid([u8; 16]);

impl Uid {
    /// The uid of this text. UUIDs are kept as they are, and others as a hash of 128 bits.
    pub fn new(text: &str) -> Self {
        let is_uuid = text.len() == 36 && [8, 13, 18, 23].iter().all(|dash| text.as_bytes()[*dash] == b'-');
        let digits: String = text.chars().filter(|character| *character != '-').collect();
        match u128::from_str_radix(&digits, 16) {
            Ok(number)
                if is_uuid && digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) =>
            {
                Uid(number.to_be_bytes())
            }
            _ => Uid(fnv_1a_128(text.as_bytes()).to_be_bytes()),
        }
    }
}

/// FNV-1a with 128 bits.
fn fnv_1a_128(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

/// Whether there is anything left to do for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// There may be.
    Open,
    /// There is not, for ever: a finished Job.
    Completed,
}

/// What is known of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<Key> {
    uid: Uid,
    /// Its namespace and name, or a pointer to them.
    pub key: Key,
    /// When it was created, in seconds since 1970.
    pub created: u64,
    /// The epoch of its slot when this instance last read it as its owner, in the last 32 bits; 0 if it never did.
    read_at: u32,
    /// Whether there is anything left to do for it.
    pub status: Status,
}

/// What an event says about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed<Key> {
    /// Its uid.
    pub uid: Uid,
    /// Its slot.
    pub slot: Slot,
    /// Its namespace and name, or a pointer to them.
    pub key: Key,
    /// When it was created, in seconds since 1970.
    pub created: u64,
    /// Whether there is anything left to do for it.
    pub status: Status,
}

/// What to do with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preprocessed {
    /// The object is completed, and is no longer tracked.
    Removed,
    /// It is tracked, and its owner is another instance.
    NotMine,
    /// It is tracked and mine: enqueue it.
    Enqueue {
        /// Whether it was not known before.
        is_new: bool,
        /// Whether it became mine since the last event.
        is_reassigned: bool,
    },
}

/// What to do with an object that was taken from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processed {
    /// Another instance owns it now, or it is not tracked any more: drop it from the queue.
    NotMine,
    /// It became mine meanwhile: read it again before anything else.
    ReadAgain,
    /// It is completed, and no longer tracked: drop it from the queue.
    Completed,
    /// Reconcile it.
    Reconcile,
}

/// All objects that are not completed, by slot.
#[derive(Clone, Debug)]
pub struct Directory<Key> {
    slots: Vec<Vec<Record<Key>>>,
    len: usize,
}

impl<Key: Clone> Directory<Key> {
    /// An empty one.
    pub fn new(count: SlotCount) -> Self {
        Directory { slots: vec![Vec::new(); count.get()], len: 0 }
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of its lists.
    pub fn bytes(&self) -> usize {
        let records: usize = self.slots.iter().map(Vec::capacity).sum();
        records * size_of::<Record<Key>>() + self.slots.capacity() * size_of::<Vec<Record<Key>>>()
    }

    /// What is known of an object.
    pub fn get(&self, slot: Slot, uid: Uid) -> Option<&Record<Key>> {
        let objects = &self.slots[slot.index()];
        objects.binary_search_by_key(&uid, |record| record.uid).ok().map(|place| &objects[place])
    }

    /// The objects of some slots: those to read and enqueue after a gain, or to purge after a loss.
    pub fn objects(&self, slots: SlotRange) -> impl Iterator<Item = &Record<Key>> {
        self.slots[slots.from.index()..=slots.to.index()].iter().flatten()
    }

    /// Number of objects that an instance owns.
    pub fn owned_by(&self, ring: &Ring, id: &InstanceId) -> usize {
        let Some(place) = ring.member(id) else { return 0 };
        let owned = ring.slots().filter(|(_, ownership)| ownership.owner == place);
        owned.map(|(slot, _)| self.slots[slot.index()].len()).sum()
    }

    /// *Preprocess*: an event for a completed object removes it; a new one is placed; of a known one it is checked whether
    /// its owner has changed; and it is enqueued only if it is mine. `mine` is the epoch at which this instance owns the
    /// slot, if it does.
    pub fn preprocess(&mut self, observed: &Observed<Key>, mine: Option<Epoch>) -> Preprocessed {
        if observed.status == Status::Completed {
            self.remove(observed.slot, observed.uid);
            return Preprocessed::Removed;
        }
        let (record, is_new) = self.place(observed);
        let Some(epoch) = mine else { return Preprocessed::NotMine };
        if is_new {
            // The event itself is the first read by its owner.
            record.read_at = short(epoch);
        }
        Preprocessed::Enqueue { is_new, is_reassigned: record.read_at != short(epoch) }
    }

    /// *Process*: of an object from the queue that was reassigned meanwhile, what is known is another's, and it must be read
    /// again; a completed one is dropped; all others are reconciled.
    pub fn process(&mut self, slot: Slot, uid: Uid, mine: Option<Epoch>) -> Processed {
        let (Some(epoch), Some(record)) = (mine, self.get_mut(slot, uid)) else { return Processed::NotMine };
        if record.read_at != short(epoch) {
            return Processed::ReadAgain;
        }
        if record.status == Status::Completed {
            self.remove(slot, uid);
            return Processed::Completed;
        }
        Processed::Reconcile
    }

    /// The owner has read an object, at an epoch of its slot. It stays, even if it is completed, until it is processed.
    pub fn read(&mut self, observed: &Observed<Key>, epoch: Epoch) {
        let (record, _) = self.place(observed);
        record.read_at = short(epoch);
    }

    /// All objects of a slot were read by its owner, at an epoch.
    pub fn read_slot(&mut self, slot: Slot, epoch: Epoch) {
        self.slots[slot.index()].iter_mut().for_each(|record| record.read_at = short(epoch));
    }

    /// Stops tracking an object.
    pub fn remove(&mut self, slot: Slot, uid: Uid) {
        let objects = &mut self.slots[slot.index()];
        if let Ok(place) = objects.binary_search_by_key(&uid, |record| record.uid) {
            objects.remove(place);
            self.len -= 1;
        }
    }

    /// Stops tracking all objects of a slot, and gives back their memory.
    pub fn forget(&mut self, slot: Slot) {
        self.len -= std::mem::take(&mut self.slots[slot.index()]).len();
    }

    fn get_mut(&mut self, slot: Slot, uid: Uid) -> Option<&mut Record<Key>> {
        let objects = &mut self.slots[slot.index()];
        let place = objects.binary_search_by_key(&uid, |record| record.uid).ok()?;
        Some(&mut objects[place])
    }

    /// The record of an object, made if there is none, with what an event says.
    fn place(&mut self, observed: &Observed<Key>) -> (&mut Record<Key>, bool) {
        let Observed { uid, slot, key, created, status } = observed.clone();
        let objects = &mut self.slots[slot.index()];
        match objects.binary_search_by_key(&uid, |record| record.uid) {
            Ok(place) => {
                objects[place].status = status;
                (&mut objects[place], false)
            }
            Err(place) => {
                if objects.len() == objects.capacity() {
                    // A list that doubles would waste a third of its memory on average.
                    objects.reserve_exact(objects.len() / 8 + 4);
                }
                objects.insert(place, Record { uid, key, created, read_at: 0, status });
                self.len += 1;
                (&mut objects[place], true)
            }
        }
    }
}

/// The last 32 bits of an epoch; never 0, which stands for none.
fn short(epoch: Epoch) -> u32 {
    (epoch.0 as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_kept_as_they_are() {
        let uid = Uid::new("6f1d7a52-4c1f-4d6f-9d0e-0c6a2f1b7c11");
        assert_eq!(uid.0[..4], [0x6f, 0x1d, 0x7a, 0x52]);
        assert_ne!(Uid::new("uid-1"), Uid::new("uid-2"));
        assert_eq!(Uid::new("uid-1"), Uid::new("uid-1"));
        // 32 digits without dashes, and signs that a number could have, are no UUIDs.
        assert_ne!(Uid::new("6f1d7a524c1f4d6f9d0e0c6a2f1b7c11"), uid);
        assert_ne!(Uid::new("+f1d7a52-4c1f-4d6f-9d0e-0c6a2f1b7c11"), uid);
    }

    #[test]
    fn objects_are_found_and_removed() {
        let mut directory = Directory::new(SlotCount::new(2).unwrap());
        let observed = |text: &str, slot| Observed {
            uid: Uid::new(text),
            slot: Slot::new(slot),
            key: text.to_owned(),
            created: 1,
            status: Status::Open,
        };
        for (text, slot) in [("b", 0), ("a", 0), ("c", 1)] {
            directory.preprocess(&observed(text, slot), None);
        }
        let range = SlotRange { from: Slot::new(0), to: Slot::new(0) };
        assert_eq!((directory.len(), directory.objects(range).count()), (3, 2));
        directory.remove(Slot::new(0), Uid::new("a"));
        directory.remove(Slot::new(1), Uid::new("a"));
        assert_eq!(directory.get(Slot::new(0), Uid::new("a")), None);
        assert_eq!(directory.get(Slot::new(0), Uid::new("b")).unwrap().key, "b");
        assert_eq!((directory.len(), directory.is_empty()), (2, false));
        directory.forget(Slot::new(0));
        assert_eq!((directory.len(), directory.objects(range).count()), (1, 0));
    }
}
