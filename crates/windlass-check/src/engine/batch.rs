//! Successors that wait to be looked up together.

use super::exits::StepOut;
use super::pair_table::Groups;
use super::shard::Arrival;
use super::shared::NO_PARENT;
use super::tuple_store::TupleStore;

/// Number of successors that are looked up together: enough for dozens in each shard.
const FULL: usize = 8192;
/// How many states a thread remembers at first, for models that are small.
const FEW_REMEMBERED: usize = 1 << 8;
/// How many states it remembers once there are many. They should leave room in the cache of its core.
const MANY_REMEMBERED: usize = 1 << 12;

/// Successors of the states that were expanded lately.
pub(super) struct Batch {
    arrivals: Vec<Arrival>,
    /// Where the steps that must happen lead.
    successors: Vec<Successor>,
    /// States that were expanded, and where their arrivals and their successors end.
    expanded: Vec<(u32, usize, usize)>,
    groups: Groups,
    /// States met lately that are visited, or will be, by their hash. Most steps lead to one of them, which
    /// then need not be looked up again.
    met: Vec<(u64, Successor)>,
}

/// A successor.
#[derive(Clone, Copy)]
enum Successor {
    /// Nothing.
    None,
    /// It has a number.
    Known(u32),
    /// Its index among the arrivals.
    Arrived(u32),
}

impl Batch {
    pub(super) fn new() -> Self {
        Batch {
            arrivals: Vec::new(),
            successors: Vec::new(),
            expanded: Vec::new(),
            groups: Groups::new(),
            met: vec![(0, Successor::None); FEW_REMEMBERED],
        }
    }

    /// Adds a state, by its root, to which a step leads; it may have to be held back for now.
    #[inline]
    pub(super) fn add(&mut self, root: u64, by_fault: bool, is_held: bool) {
        let arrival = Arrival::new(root, is_held);
        let slot = arrival.slot(self.met.len());
        let met = &mut self.met[slot];
        let is_known = met.0 == root && !matches!(met.1, Successor::None);
        if !is_known {
            let successor = Successor::Arrived(self.arrivals.len() as u32);
            // What is held back cannot stand for what no fault leads to.
            if !is_held {
                *met = (root, successor);
            }
            self.arrivals.push(arrival);
        }
        if !by_fault {
            self.successors.push(met.1);
        }
    }

    /// All that was added since the last time are steps from this state.
    #[inline]
    pub(super) fn close(&mut self, state: u32) {
        self.expanded.push((state, self.arrivals.len(), self.successors.len()));
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.arrivals.len() >= FULL
    }

    /// Looks all arrivals up.
    pub(super) fn look_up(&mut self, store: &TupleStore, first_shard: usize) {
        store.look_up(&mut self.arrivals, &mut self.groups, first_shard);
        if self.is_full() && self.met.len() < MANY_REMEMBERED {
            self.met = vec![(0, Successor::None); MANY_REMEMBERED];
        }
        for arrival in &self.arrivals {
            let slot = arrival.slot(self.met.len());
            let met = &mut self.met[slot];
            if met.0 == arrival.pair && !matches!(met.1, Successor::None) {
                met.1 = Successor::Known(arrival.id);
            }
        }
    }

    /// The arrivals, each with the state that was expanded.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = (u32, &Arrival)> {
        let mut from = 0;
        self.expanded.iter().flat_map(move |(state, to, _)| {
            let arrivals = &self.arrivals[from..*to];
            from = *to;
            arrivals.iter().map(|arrival| (*state, arrival))
        })
    }

    /// Adds where the steps that must happen lead.
    pub(super) fn steps_out(&self, steps: &mut Vec<StepOut>) {
        let mut from = 0;
        for (state, _, to) in &self.expanded {
            let successors = &self.successors[from..*to];
            from = *to;
            if *state != NO_PARENT {
                steps.push(StepOut::new(*state, successors.iter().filter_map(|next| self.number(*next))));
            }
        }
    }

    fn number(&self, successor: Successor) -> Option<u32> {
        match successor {
            Successor::None => None,
            Successor::Known(id) => Some(id),
            Successor::Arrived(index) => Some(self.arrivals[index as usize].id),
        }
    }

    /// Begins anew, but still knows what it has met.
    pub(super) fn clear(&mut self) {
        self.arrivals.clear();
        self.successors.clear();
        self.expanded.clear();
    }
}
