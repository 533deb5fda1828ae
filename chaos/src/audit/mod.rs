//! The auditor: proves from the history of the API server that each object has had one writer at a time, and always one.
//!
//! It reads no clock and does no I/O: it gets [`Observation`]s in the order of their resource versions, and the faults that
//! were made. Start with [`Auditor`].

mod children;
mod disturbance;
mod epochs;
mod findings;
mod observation;
#[cfg(test)]
mod tests;
mod violation;
mod waits;

pub use disturbance::{Disturbance, Hit};
pub use findings::{Failover, Findings, Percentiles};
pub use observation::{Deletion, Edit, Observation, OwnedRun, RingSeen, Write};
pub use violation::Violation;

use std::collections::BTreeSet;

use windlass_shard::SlotCount;

use children::Children;
use epochs::Epochs;
use waits::Waits;

/// Follows the history of a run.
///
/// Its rules:
/// - the epochs of the writes to a slot never decrease;
/// - each epoch of a slot has one writer, the one that the ring names;
/// - each change of a child is written once, and its value never goes back;
/// - an edit is followed by a write of the child within the bar, faults of servers apart;
/// - in the end each child has what its parent wants.
#[derive(Debug)]
pub struct Auditor {
    bar_ms: u64,
    /// Edits before this were made while the fleet was starting.
    from_ms: u64,
    epochs: Epochs,
    children: Children,
    waits: Waits,
    faults: Vec<Disturbance>,
    findings: Findings,
}

impl Auditor {
    /// An auditor that has seen nothing. The bar is the longest that an edit may wait after the last fault.
    pub fn new(bar_ms: u64, slots: SlotCount) -> Self {
        Auditor {
            bar_ms,
            from_ms: 0,
            epochs: Epochs::default(),
            children: Children::new(slots),
            waits: Waits::default(),
            faults: Vec::new(),
            findings: Findings::default(),
        }
    }

    /// Does not demand that edits before this moment are followed by a write in time.
    pub fn measure_from(&mut self, at_ms: u64) {
        self.from_ms = at_ms;
    }

    /// Takes what was seen next.
    pub fn observe(&mut self, observation: &Observation) {
        let violations = &mut self.findings.violations;
        match observation {
            Observation::Edited(edit) => {
                self.findings.edits += 1;
                self.children.edited(edit);
                self.waits.edited(edit, self.children.last(&edit.parent));
            }
            Observation::Written(write) => {
                self.findings.writes += 1;
                self.waits.written(write, self.children.last(&write.child));
                self.epochs.written(write, violations);
                self.children.written(write, violations);
            }
            Observation::Deleted(deletion) => self.children.deleted(deletion, violations),
            Observation::RingWritten(seen) => {
                self.findings.ring_writes += 1;
                self.epochs.ring_written(seen, violations);
            }
            Observation::HistoryLost => self.findings.history_gaps += 1,
        }
    }

    /// Takes a fault that is over.
    pub fn disturbed(&mut self, fault: Disturbance) {
        let place = self.faults.partition_point(|known| known.from_ms <= fault.from_ms);
        self.faults.insert(place, fault);
    }

    /// What was found so far. Rules that look back from the end are not in it.
    pub fn so_far(&self) -> &Findings {
        &self.findings
    }

    /// How many parents there are.
    pub fn parents(&self) -> usize {
        self.waits.parents()
    }

    /// How many parents wait for a write of their child.
    pub fn waiting(&self) -> usize {
        self.waits.waiting()
    }

    /// When the last write was seen.
    pub fn last_write_ms(&self) -> u64 {
        self.children.all().map(|write| write.at_ms).max().unwrap_or_default()
    }

    /// When the child was written that was not written for the longest time.
    pub fn oldest_write_ms(&self) -> u64 {
        self.children.all().map(|write| write.at_ms).min().unwrap_or_default()
    }

    /// The parents that wait, with their slots, for messages.
    pub fn who_waits(&self) -> Vec<String> {
        let slot = |edit: &Edit| self.children.slot_of(&edit.parent).unwrap_or_default();
        self.waits.pending().map(|edit| format!("{} in slot {}", edit.parent, slot(edit))).collect()
    }

    /// The instances that have written the children as they are now.
    pub fn writers(&self) -> BTreeSet<String> {
        self.children.all().filter_map(Write::instance).map(str::to_owned).collect()
    }

    /// Ends the audit.
    pub fn finish(mut self, at_ms: u64) -> Findings {
        let violations = &mut self.findings.violations;
        self.epochs.finish(violations);
        self.children.finish(violations);
        let last = |child: &str| self.children.last(child).cloned();
        self.waits.finish(self.bar_ms, self.from_ms, at_ms, &self.faults, last, violations);
        let measured = self.waits.answered.iter().filter(|wait| wait.edit.at_ms >= self.from_ms);
        self.findings.waits = Percentiles::of(measured.map(|wait| wait.waited_ms()).collect());
        self.findings.failovers = findings::failovers(&self.faults, &self.waits.answered);
        self.findings.moved_slots = self.epochs.moved_slots();
        self.findings
    }
}
