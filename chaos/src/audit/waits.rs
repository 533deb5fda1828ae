//! How long edits wait for their child to be written, and whether that is too long.

use std::collections::{BTreeMap, VecDeque};

use super::disturbance::{Disturbance, undisturbed_ms};
use super::observation::{Edit, Write};
use super::violation::Violation;

/// An edit that was followed by a write.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) edit: Edit,
    /// The write of the child before: whose object it was.
    pub(super) before: Option<Write>,
    pub(super) write: Write,
}

impl Answered {
    /// From the edit to the write.
    pub(super) fn waited_ms(&self) -> u64 {
        // The two are seen in two watches: either may come first.
        self.write.at_ms.saturating_sub(self.edit.at_ms)
    }
}

/// All edits.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Edits that no write has followed yet, by parent.
    pending: BTreeMap<String, VecDeque<Edit>>,
    /// The last edit of each parent.
    last: BTreeMap<String, Edit>,
    pub(super) answered: Vec<Answered>,
}

impl Waits {
    /// Takes the next edit in the order of versions, with the last write of the child.
    pub(super) fn edited(&mut self, edit: &Edit, written: Option<&Write>) {
        self.last.insert(edit.parent.clone(), edit.clone());
        match written {
            Some(write) if write.value >= Some(edit.value) => {
                let (edit, write) = (edit.clone(), write.clone());
                self.answered.push(Answered { edit, before: None, write });
            }
            _ => self.pending.entry(edit.parent.clone()).or_default().push_back(edit.clone()),
        }
    }

    /// Takes the next write in the order of versions, with the one before. It answers all edits up to its value.
    pub(super) fn written(&mut self, write: &Write, before: Option<&Write>) {
        let Some(pending) = self.pending.get_mut(&write.child) else { return };
        while let Some(edit) = pending.pop_front_if(|edit| write.value >= Some(edit.value)) {
            self.answered.push(Answered { edit, before: before.cloned(), write: write.clone() });
        }
        if pending.is_empty() {
            self.pending.remove(&write.child);
        }
    }

    /// How many parents there are.
    pub(super) fn parents(&self) -> usize {
        self.last.len()
    }

    /// How many parents wait.
    pub(super) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// The oldest edit of each parent that waits.
    pub(super) fn pending(&self) -> impl Iterator<Item = &Edit> {
        self.pending.values().filter_map(VecDeque::front)
    }

    /// The edits that waited for longer than the bar, and the objects that are lost.
    pub(super) fn finish(
        &self,
        bar_ms: u64,
        from_ms: u64,
        until_ms: u64,
        disturbances: &[Disturbance],
        last: impl Fn(&str) -> Option<Write>,
        violations: &mut Vec<Violation>,
    ) {
        let undisturbed = |edit: &Edit, until_ms| undisturbed_ms(edit.at_ms, until_ms, disturbances);
        for Answered { edit, write, .. } in self.answered.iter().filter(|wait| wait.edit.at_ms >= from_ms) {
            let undisturbed_ms = undisturbed(edit, write.at_ms);
            if undisturbed_ms > bar_ms {
                let (edit, write) = (edit.clone(), Some(write.clone()));
                violations.push(Violation::Late { edit, undisturbed_ms, write });
            }
        }
        for edit in self.pending() {
            let undisturbed_ms = undisturbed(edit, until_ms);
            if undisturbed_ms > bar_ms && edit.at_ms >= from_ms {
                violations.push(Violation::Late { edit: edit.clone(), undisturbed_ms, write: None });
            }
        }
        for edit in self.last.values() {
            let write = last(&edit.parent);
            if write.as_ref().and_then(|write| write.value) != Some(edit.value) {
                violations.push(Violation::Lost { edit: edit.clone(), write });
            }
        }
    }
}
