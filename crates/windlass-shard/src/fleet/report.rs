//! What a run of a simulated fleet has shown.

use super::balance::Balance;
use super::movement::Movement;
use super::timeline::Timeline;

/// What a run has shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What must never happen, and happened: the first of them.
    pub violations: Vec<String>,
    /// How often two instances acted on one slot.
    pub two_actors: u64,
    /// How often an instance acted on a slot while a write of another, which no longer acts on it, was in flight.
    pub late_writes: u64,
    /// How often the epoch of a slot did not grow with a change of hands.
    pub stale_epochs: u64,
    /// Slots that no one acted on for the duration of a lease in the end, after all was quiet.
    pub unserved: usize,
    /// Rounds of writes to a slot.
    pub writes: u64,
    /// What changed hands, after the start.
    pub movement: Movement,
    /// How often slots were acted on, compared with how often they could have been.
    pub throughput: f64,
    /// Slots that stayed at their epoch from the start to the end.
    pub steady_slots: usize,
    /// How often these were acted on, compared with how often they could have been; 1 if there are none.
    pub steady_throughput: f64,
    /// The longest that each slot was not acted on after the start, in milliseconds, in ascending order; 0 if that is no
    /// longer than two rounds of writes are apart.
    pub gaps_ms: Vec<u64>,
    /// Swaps of the ring.
    pub ring_swaps: u64,
    /// Swaps of the ring that were refused.
    pub ring_conflicts: u64,
    /// How evenly the objects are shared.
    pub balance: Balance,
    /// How evenly the costs are shared, once they are known.
    pub cost_balance: Balance,
    /// The same before they were known.
    pub unknown_cost_balance: Balance,
    /// How all this came.
    pub timeline: Timeline,
}

impl Report {
    /// Whether something happened that must never happen.
    pub fn is_violated(&self) -> bool {
        self.violation_count() > 0 || self.unserved > 0
    }

    /// How often something happened that must never happen.
    pub fn violation_count(&self) -> u64 {
        self.two_actors + self.late_writes + self.stale_epochs
    }

    /// The longest that any slot was not acted on, in milliseconds.
    pub fn longest_gap_ms(&self) -> u64 {
        self.gap_ms(100)
    }

    /// The longest gap of the slot at this percentile: that many of a hundred slots have no longer one.
    pub fn gap_ms(&self, percentile: usize) -> u64 {
        let rank = (self.gaps_ms.len() * percentile).div_ceil(100);
        self.gaps_ms.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_slots() {
        let report = Report { gaps_ms: (1..=200).collect(), ..Report::default() };
        assert_eq!([0, 50, 99, 100].map(|percentile| report.gap_ms(percentile)), [1, 100, 198, 200]);
        assert_eq!(Report::default().longest_gap_ms(), 0);
    }

    #[test]
    fn slots_without_an_owner_in_the_end_are_a_violation() {
        assert!(!Report::default().is_violated());
        assert!(Report { unserved: 1, ..Report::default() }.is_violated());
        assert!(Report { late_writes: 1, ..Report::default() }.is_violated());
    }
}
