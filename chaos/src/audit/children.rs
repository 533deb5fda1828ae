//! Each change of a child is written once, in its slot, and its value only grows.

use std::collections::BTreeMap;

use windlass_shard::{Slot, SlotCount};

use super::observation::{Deletion, Edit, Write};
use super::violation::Violation;

/// The last write of each child.
#[derive(Debug)]
pub(super) struct Children {
    count: SlotCount,
    last: BTreeMap<String, Write>,
    /// The slot of each parent.
    slots: BTreeMap<String, usize>,
}

impl Children {
    pub(super) fn new(count: SlotCount) -> Self {
        Children { count, last: BTreeMap::new(), slots: BTreeMap::new() }
    }

    /// The last write of a child.
    pub(super) fn last(&self, child: &str) -> Option<&Write> {
        self.last.get(child)
    }

    /// The slot of a parent.
    pub(super) fn slot_of(&self, parent: &str) -> Option<usize> {
        self.slots.get(parent).copied()
    }

    /// The last writes of all children.
    pub(super) fn all(&self) -> impl Iterator<Item = &Write> {
        self.last.values()
    }

    /// Takes a parent: from now on the slot of its child is known.
    pub(super) fn edited(&mut self, edit: &Edit) {
        self.slots.insert(edit.parent.clone(), Slot::of(&edit.uid, self.count).index());
    }

    /// Takes the next write in the order of versions.
    pub(super) fn written(&mut self, write: &Write, violations: &mut Vec<Violation>) {
        let Some(before) = self.last.insert(write.child.clone(), write.clone()) else { return };
        if write.value == before.value {
            violations.push(Violation::Doubled { first: before, second: write.clone() });
        } else if write.value < before.value {
            violations.push(Violation::WentBack { newer: before, late: write.clone() });
        }
    }

    /// Takes the end of a child.
    pub(super) fn deleted(&mut self, deletion: &Deletion, violations: &mut Vec<Violation>) {
        // Whatever else was in the namespace is of no concern.
        if self.last.remove(&deletion.child).is_some() {
            violations.push(Violation::Deleted { deletion: deletion.clone() });
        }
    }

    /// Compares the slots of children with those of their parents, once all parents are known.
    pub(super) fn finish(&self, violations: &mut Vec<Violation>) {
        for (child, write) in &self.last {
            let Some(slot) = self.slots.get(child) else { continue };
            if write.slot.is_some_and(|written| written != *slot) {
                violations.push(Violation::WrongSlot { write: write.clone(), slot: *slot });
            }
        }
    }
}
