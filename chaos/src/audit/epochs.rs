//! Epochs of a slot never decrease, and each has one writer: the owner that the ring names.

use std::collections::BTreeMap;

use super::observation::{RingSeen, Write};
use super::violation::Violation;

/// What is known of the slots.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    /// The write of the newest epoch of each slot.
    newest: BTreeMap<usize, Write>,
    /// The first write of each slot and epoch.
    writers: BTreeMap<(usize, u64), Write>,
    /// The owner of each slot and epoch by the ring.
    owners: BTreeMap<(usize, u64), String>,
    /// The epoch and the owner of each slot in the last ring.
    ring: BTreeMap<usize, (u64, String)>,
}

impl Epochs {
    /// Takes the next write in the order of versions.
    pub(super) fn written(&mut self, write: &Write, violations: &mut Vec<Violation>) {
        let (Some(slot), Some(epoch), Some(writer)) = (write.slot, write.epoch, &write.writer) else {
            violations.push(Violation::Unmarked { write: write.clone() });
            return;
        };
        match self.newest.get(&slot) {
            Some(newer) if newer.epoch > Some(epoch) => {
                violations.push(Violation::OldEpoch { newer: newer.clone(), late: write.clone() });
            }
            _ => _ = self.newest.insert(slot, write.clone()),
        }
        let first = self.writers.entry((slot, epoch)).or_insert_with(|| write.clone());
        if first.writer.as_ref() != Some(writer) {
            violations.push(Violation::TwoWriters { first: first.clone(), second: write.clone() });
        }
    }

    /// Takes the next ring in the order of versions.
    pub(super) fn ring_written(&mut self, seen: &RingSeen, violations: &mut Vec<Violation>) {
        for run in &seen.runs {
            for slot in run.from..=run.to {
                let after = (run.epoch, run.owner.clone());
                if let Some(before) = self.ring.get(&slot).filter(|before| goes_back(before, &after)) {
                    let before = before.clone();
                    violations.push(Violation::RingWentBack { slot, before, after: after.clone() });
                }
                if self.ring.get(&slot) != Some(&after) {
                    self.owners.insert((slot, run.epoch), run.owner.clone());
                    self.ring.insert(slot, after);
                }
            }
        }
    }

    /// Compares the writers with the owners, once both histories are complete.
    pub(super) fn finish(&self, violations: &mut Vec<Violation>) {
        for (place, write) in &self.writers {
            // A watch may skip a ring that was soon followed by another.
            let Some(owner) = self.owners.get(place) else { continue };
            if write.writer.as_ref() != Some(owner) {
                violations.push(Violation::NotTheOwner { write: write.clone(), owner: owner.clone() });
            }
        }
    }

    /// How many slots were written by more than one instance.
    pub(super) fn moved_slots(&self) -> usize {
        let mut instances: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for ((slot, _), write) in &self.writers {
            let known = instances.entry(*slot).or_default();
            known.extend(write.instance().filter(|instance| !known.contains(instance)));
        }
        instances.values().filter(|known| known.len() > 1).count()
    }
}

fn goes_back(before: &(u64, String), after: &(u64, String)) -> bool {
    after.0 < before.0 || (after.0 == before.0 && after.1 != before.1)
}
