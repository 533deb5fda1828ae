//! What the auditor has found: the violations, and what was measured.

use serde::Serialize;

use super::disturbance::{Disturbance, Hit};
use super::violation::Violation;
use super::waits::Answered;

/// What a history has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// What must not be in the history.
    pub violations: Vec<Violation>,
    /// Edits of parents.
    pub edits: usize,
    /// Writes of children.
    pub writes: usize,
    /// Writes of the ring; 0 if it is in etcd.
    pub ring_writes: usize,
    /// Slots that more than one instance has written.
    pub moved_slots: usize,
    /// How often the server had forgotten a part of the history.
    pub history_gaps: usize,
    /// From an edit to the write of the child.
    pub waits: Percentiles,
    /// What became of the objects of instances that failed.
    pub failovers: Vec<Failover>,
}

/// Times, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Percentiles {
    /// Half of them were shorter.
    pub p50_ms: u64,
    /// One in a hundred was longer.
    pub p99_ms: u64,
    /// The longest.
    pub max_ms: u64,
}

/// The objects of an instance that failed were written by others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failover {
    /// The fault.
    #[serde(flatten)]
    pub fault: Disturbance,
    /// How many of its objects were edited, and written by others.
    pub objects: usize,
    /// The longest that one of them waited, from its edit or from the fault on.
    pub longest_ms: u64,
}

impl Percentiles {
    /// Of these times, in any order.
    pub(super) fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).saturating_sub(1);
            times.get(rank).copied().unwrap_or_default()
        };
        Percentiles { p50_ms: at(50), p99_ms: at(99), max_ms: at(100) }
    }
}

/// The failovers, one for each fault whose objects others have written.
pub(super) fn failovers(faults: &[Disturbance], answered: &[Answered]) -> Vec<Failover> {
    let mut failovers: Vec<Failover> = Vec::new();
    for (fault, waited_ms) in answered.iter().filter_map(|wait| taken_over(faults, wait)) {
        match failovers.iter_mut().find(|failover| failover.fault == *fault) {
            Some(failover) => {
                failover.objects += 1;
                failover.longest_ms = failover.longest_ms.max(waited_ms);
            }
            None => failovers.push(Failover { fault: fault.clone(), objects: 1, longest_ms: waited_ms }),
        }
    }
    failovers.sort_by_key(|failover| failover.fault.from_ms);
    failovers
}

/// The last fault of the former writer, if somebody else or a later incarnation wrote the object while it waited.
fn taken_over<'a>(faults: &'a [Disturbance], wait: &Answered) -> Option<(&'a Disturbance, u64)> {
    let before = wait.before.as_ref().filter(|before| before.writer != wait.write.writer)?;
    let is_hit = |fault: &&Disturbance| match &fault.hit {
        Hit::Instance(name) => Some(name.as_str()) == before.instance(),
        Hit::Server => false,
    };
    let mut own = faults.iter().filter(is_hit).rev();
    let fault = own.find(|fault| fault.from_ms <= wait.write.at_ms)?;
    // An edit that came when the fault was over and forgotten says nothing about it.
    let is_recent = wait.edit.at_ms <= fault.until_ms.max(fault.from_ms + 1_000);
    let waited_ms = wait.write.at_ms.saturating_sub(wait.edit.at_ms.max(fault.from_ms));
    is_recent.then_some((fault, waited_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks() {
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
        let times = Percentiles::of((1..=200).rev().collect());
        assert_eq!(times, Percentiles { p50_ms: 100, p99_ms: 198, max_ms: 200 });
    }
}
