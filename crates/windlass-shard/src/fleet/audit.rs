//! What must hold in a simulated fleet, and what is measured.

use std::collections::BTreeMap;

use crate::lease::Incarnation;
use crate::ring::Ring;
use crate::slot::Slot;
use crate::timing::Millis;

use super::ROUND_MS;
use super::node::Node;
use super::scenario::Scenario;

/// The longest list of violations.
const MOST_VIOLATIONS: usize = 20;

/// What a run has shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What must never happen, and happened.
    pub violations: Vec<String>,
    /// Slots that no one acted on for the duration of a lease in the end, after all was quiet.
    pub unserved: usize,
    /// Rounds of writes to a slot.
    pub writes: u64,
    /// How often a slot was given to another instance after the start; a restart under the same name does not count.
    pub moved: u64,
    /// How often slots that never changed hands were acted on, compared with how often they could have been.
    pub steady_throughput: f64,
    /// The longest that any slot was not acted on after the start, in milliseconds.
    pub longest_gap_ms: u64,
    /// Swaps of the ring.
    pub ring_swaps: u64,
    /// Swaps of the ring that were refused.
    pub ring_conflicts: u64,
}

/// The writes to a slot.
#[derive(Clone, Debug, Default)]
struct Writes {
    /// Who sent the last one, and until when it may be in flight.
    last: Option<(usize, Incarnation, u64)>,
    /// When it was last acted on.
    acted: u64,
    count: u64,
    epochs: u64,
}

/// Follows all writes.
pub(super) struct Audit {
    scenario: Scenario,
    slots: Vec<Writes>,
    in_flight: BTreeMap<(usize, Slot), u64>,
    report: Report,
    is_up: bool,
}

impl Audit {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Audit {
            scenario: *scenario,
            slots: vec![Writes::default(); scenario.slots.get()],
            in_flight: BTreeMap::new(),
            report: Report::default(),
            is_up: false,
        }
    }

    /// An instance sends a write to each slot that it may act on.
    pub(super) fn round(&mut self, node: usize, process: &Node, local: Millis, now: u64) {
        let Some(instance) = &process.instance else { return };
        let Some(incarnation) = instance.incarnation() else { return };
        self.is_up |= now >= 30_000;
        for (slot, _) in instance.held().filter(|(slot, _)| instance.permit(*slot, local).is_some()) {
            self.write(node, incarnation, slot, now);
        }
    }

    fn write(&mut self, node: usize, incarnation: Incarnation, slot: Slot, now: u64) {
        let writes = &mut self.slots[slot.index()];
        if let Some((other, its, until)) = writes.last
            && (other, its) != (node, incarnation)
            && until > now
            && self.report.violations.len() < MOST_VIOLATIONS
        {
            self.report.violations.push(format!(
                "at {now} ms instance {node} ({}) acts on slot {slot} while a write of instance {other} ({}) is in flight",
                incarnation.0, its.0
            ));
        }
        // The worst case: every write takes as long as it may, by the true time.
        let until = now + self.scenario.timing.request_ms;
        writes.last = Some((node, incarnation, until));
        if self.is_up {
            self.report.longest_gap_ms =
                self.report.longest_gap_ms.max(now - writes.acted.max(30_000).min(now));
            writes.count += 1;
            self.report.writes += 1;
        }
        writes.acted = now;
        self.in_flight.insert((node, slot), until);
    }

    /// From when on no write of an instance to a slot is in flight.
    pub(super) fn at_rest(&self, node: usize, slot: Slot) -> u64 {
        self.in_flight.get(&(node, slot)).copied().unwrap_or_default()
    }

    /// The ring was swapped.
    pub(super) fn swapped(&mut self, before: Option<&Ring>, after: &Ring) {
        let Some(before) = before else { return };
        for (slot, ownership) in after.slots() {
            let was = before.slot(slot);
            let changes = before.owner(slot) != after.owner(slot);
            let renamed = before.owner(slot).id != after.owner(slot).id;
            let grows = ownership.epoch > was.epoch;
            let same = before.owner(slot).incarnation == after.owner(slot).incarnation && !renamed;
            if ownership.epoch < was.epoch || (changes && !same && !grows) {
                self.report.violations.push(format!("the epoch of slot {slot} does not grow"));
            }
            if self.is_up {
                self.report.moved += u64::from(renamed);
                self.slots[slot.index()].epochs += u64::from(grows);
            }
        }
    }

    pub(super) fn report(mut self, ring_swaps: u64, ring_conflicts: u64, now: u64) -> Report {
        // A few slow renewals in a row make an instance pause for a moment, even when all is quiet.
        let is_served = |writes: &&Writes| writes.acted + self.scenario.timing.lease_ms >= now;
        self.report.unserved = self.slots.len() - self.slots.iter().filter(is_served).count();
        let steady: Vec<&Writes> = self.slots.iter().filter(|writes| writes.epochs == 0).collect();
        let possible = steady.len() as f64 * (now.saturating_sub(30_000) / ROUND_MS) as f64;
        let acted: u64 = steady.iter().map(|writes| writes.count).sum();
        self.report.steady_throughput = if possible > 0.0 { acted as f64 / possible } else { 1.0 };
        (self.report.ring_swaps, self.report.ring_conflicts) = (ring_swaps, ring_conflicts);
        self.report
    }
}
