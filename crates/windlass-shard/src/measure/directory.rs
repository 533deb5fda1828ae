//! A directory of a million objects, and a membership change of its ring.

use std::sync::Arc;

use crate::{
    Delta, Directory, Epoch, Incarnation, InstanceId, Observed, Ring, Slot, SlotCount, SlotRange, Status, Uid,
};

/// Number of objects in the directory.
pub const OBJECTS: u64 = 1_000_000;

/// A million objects with one shared key, since keys do not count.
pub fn million_objects() -> Directory<Arc<str>> {
    let mut directory = Directory::new(SlotCount::DEFAULT);
    let key: Arc<str> = "default/web".into();
    for number in 0..OBJECTS {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let text = format!("{:08x}-{:04x}-4000-8000-{number:012x}", mixed >> 32, (mixed >> 16) & 0xffff);
        let (uid, slot) = (Uid::new(&text), Slot::of(&text, SlotCount::DEFAULT));
        directory.preprocess(
            &Observed { uid, slot, key: key.clone(), created: number, status: Status::Open },
            None,
        );
    }
    directory
}

/// The loss of one of 100 members, as another one of them computes it.
pub struct Change {
    before: Ring,
}

impl Default for Change {
    fn default() -> Self {
        let found = Ring::found(&id(0), Incarnation(1), SlotCount::DEFAULT, Epoch(1), true);
        let join = |ring: Ring, number| ring.join(&id(number), Incarnation(1));
        let before = (1..100).fold(found, join).rebalance(&[], None);
        let drained: Vec<Slot> = SlotCount::DEFAULT.slots().collect();
        Change { before: before.hand_over(&drained) }
    }
}

impl Change {
    /// Computes who owns what afterwards, and which objects that concerns; returns how many they are.
    pub fn compute(&self, directory: &Directory<Arc<str>>) -> usize {
        let after = self.before.rebalance(&[id(42)], None);
        let delta = Delta::between(Some(&self.before), &after, &id(7));
        let count = |range: &SlotRange| directory.objects(*range).count();
        delta.gained.iter().map(count).sum::<usize>() + directory.owned_by(&after, &id(7))
    }
}

fn id(number: usize) -> InstanceId {
    InstanceId::new(&format!("instance-{number}"))
}
