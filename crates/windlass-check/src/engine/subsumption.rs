//! Subsumption: a state is left out if one was visited that is like it in all that must happen, and in which all
//! faults can strike that can strike in it.
//!
//! Whatever happens in the one can happen in the other, so no violation is missed; and the other was reached, so nothing
//! is made up. What must happen is the same in both, so fair runs end up alike. Only states of earlier depths count: so
//! which states are visited does not depend on the threads. (With symmetry it may, a little: which of two states stands for
//! both depends on which was met first.)

use rustc_hash::FxHashMap;

use super::model::Model;

/// The faults of visited states, as [`Model::take_faults`] returns them, by the root of all else.
#[derive(Default)]
pub(super) struct Subsumption {
    /// Of nearly all states there is one.
    first: FxHashMap<u64, u64>,
    /// Where none includes all others.
    further: FxHashMap<u64, Vec<u64>>,
}

impl Subsumption {
    /// The faults of a visited state that include those of this one.
    #[inline]
    pub(super) fn including<M: Model>(&self, model: &mut M, rest: u64, faults: u64) -> Option<u64> {
        let first = *self.first.get(&rest)?;
        if first == faults || model.includes_faults(first, faults) {
            return Some(first);
        }
        let further = self.further.get(&rest)?;
        further.iter().copied().find(|more| *more == faults || model.includes_faults(*more, faults))
    }

    /// Notes a state that is visited from now on.
    pub(super) fn add<M: Model>(&mut self, model: &mut M, rest: u64, faults: u64) {
        if self.including(model, rest, faults).is_some() {
            return;
        }
        let Some(first) = self.first.get_mut(&rest) else {
            self.first.insert(rest, faults);
            return;
        };
        if model.includes_faults(faults, *first) {
            *first = faults;
        } else {
            self.further.entry(rest).or_default().push(faults);
        }
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.first.capacity() * (size_of::<(u64, u64)>() + 1) + self.further.len() * 64
    }
}
