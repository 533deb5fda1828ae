//! What must hold in a simulated fleet: no two act on a slot, and none while a write of another is in flight.

use std::collections::BTreeMap;

use crate::lease::Incarnation;
use crate::ring::Ring;
use crate::slot::Slot;

use super::ROUND_MS;
use super::movement::places;
use super::node::Node;
use super::report::Report;
use super::scenario::Scenario;

/// The longest list of violations.
const MAX_VIOLATIONS: usize = 20;

/// The writes to a slot.
#[derive(Clone, Debug, Default)]
struct Writes {
    /// The last one.
    last: Option<Write>,
    /// When it was last acted on.
    acted: u64,
    longest_gap: u64,
    count: u64,
    epochs: u64,
}

/// Who sent a write, and until when it may be in flight.
#[derive(Clone, Copy, Debug)]
struct Write {
    node: usize,
    incarnation: Incarnation,
    until: u64,
}

/// Follows all writes.
pub(super) struct Audit {
    scenario: Scenario,
    slots: Vec<Writes>,
    /// Until when the last write of each instance to each slot may be in flight.
    in_flight: Vec<BTreeMap<Slot, u64>>,
    report: Report,
}

impl Audit {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Audit {
            scenario: *scenario,
            slots: vec![Writes::default(); scenario.slots.get()],
            in_flight: vec![BTreeMap::new(); scenario.instances],
            report: Report::default(),
        }
    }

    /// An instance sends a write to each slot that it may act on.
    pub(super) fn round(&mut self, node: usize, nodes: &[Node], now: u64) {
        let Some(instance) = &nodes[node].instance else { return };
        let Some(incarnation) = instance.incarnation() else { return };
        let local = nodes[node].local(now);
        // The worst case: every write takes as long as it may, by the true time.
        let write = Write { node, incarnation, until: now + self.scenario.timing.request_ms };
        for (slot, _) in instance.held().filter(|(slot, _)| instance.permit(*slot, local).is_some()) {
            self.check(slot, write, nodes, now);
            self.count(slot, write, now);
        }
    }

    /// No write of another may be in flight.
    fn check(&mut self, slot: Slot, write: Write, nodes: &[Node], now: u64) {
        let Some(last) = self.slots[slot.index()].last else { return };
        if (last.node, last.incarnation) == (write.node, write.incarnation) || last.until <= now {
            return;
        }
        let acts = last.node != write.node && nodes[last.node].may_act(slot, now);
        let how = if acts {
            self.report.two_actors += 1;
            "acts on it too"
        } else {
            self.report.late_writes += 1;
            "has a write to it in flight"
        };
        self.violated(|| {
            format!(
                "at {now} ms instance {} (incarnation {}) acts on slot {slot} while instance {} (incarnation {}) {how}",
                write.node, write.incarnation.0, last.node, last.incarnation.0
            )
        });
    }

    fn count(&mut self, slot: Slot, write: Write, now: u64) {
        let start = self.scenario.warm_up_ms;
        let writes = &mut self.slots[slot.index()];
        writes.last = Some(write);
        if now >= start {
            writes.longest_gap = writes.longest_gap.max(now - writes.acted.clamp(start, now));
            writes.count += 1;
        }
        writes.acted = now;
        self.in_flight[write.node].insert(slot, write.until);
    }

    fn violated(&mut self, text: impl FnOnce() -> String) {
        if self.report.violations.len() < MAX_VIOLATIONS {
            self.report.violations.push(text());
        }
    }

    /// From when on no write of an instance to a slot is in flight.
    pub(super) fn at_rest(&self, node: usize, slot: Slot) -> u64 {
        self.in_flight[node].get(&slot).copied().unwrap_or_default()
    }

    /// The ring was swapped.
    pub(super) fn swapped(&mut self, before: &Ring, after: &Ring, now: u64) {
        let places = places(before, after);
        for ((slot, was), (_, is)) in before.slots().zip(after.slots()) {
            let stays = places[was.owner] == Some(is.owner)
                && before.members()[was.owner].incarnation == after.members()[is.owner].incarnation;
            let grows = is.epoch > was.epoch;
            if is.epoch < was.epoch || (!stays && !grows) {
                self.report.stale_epochs += 1;
                self.violated(|| format!("at {now} ms the epoch of slot {slot} does not grow"));
            }
            if now >= self.scenario.warm_up_ms {
                self.slots[slot.index()].epochs += u64::from(grows);
            }
        }
    }

    /// The sum of what the slots have that no one acts on.
    pub(super) fn unowned(&self, of_slots: &[u64], now: u64) -> u64 {
        let unowned = self.slots.iter().zip(of_slots).filter(|(writes, _)| is_gap(now - writes.acted));
        unowned.map(|(_, has)| has).sum()
    }

    pub(super) fn report(mut self, now: u64) -> Report {
        let start = self.scenario.warm_up_ms;
        for writes in &mut self.slots {
            writes.longest_gap = writes.longest_gap.max(now - writes.acted.clamp(start.min(now), now));
        }
        // A few slow renewals in a row make an instance pause for a moment, even when all is quiet.
        let is_served = |writes: &&Writes| writes.acted + self.scenario.timing.lease_ms >= now;
        self.report.unserved = self.slots.len() - self.slots.iter().filter(is_served).count();
        let rounds = now.saturating_sub(start) / ROUND_MS;
        let (_, writes, throughput) = acted(self.slots.iter(), rounds);
        (self.report.writes, self.report.throughput) = (writes, throughput);
        let steady = self.slots.iter().filter(|writes| writes.epochs == 0);
        (self.report.steady_slots, _, self.report.steady_throughput) = acted(steady, rounds);
        let gaps = self.slots.iter().map(|writes| writes.longest_gap);
        self.report.gaps_ms = gaps.map(|gap| if is_gap(gap) { gap } else { 0 }).collect();
        self.report.gaps_ms.sort_unstable();
        self.report
    }
}

/// Whether a time between two writes is more than they are apart if all is well.
fn is_gap(ms: u64) -> bool {
    ms > 2 * ROUND_MS
}

/// How many slots there are, how often they were acted on, and how often that is of what is possible.
fn acted<'a>(slots: impl Iterator<Item = &'a Writes>, rounds: u64) -> (usize, u64, f64) {
    let (count, writes) = slots.fold((0, 0), |(count, sum), writes| (count + 1, sum + writes.count));
    let possible = (count as u64 * rounds) as f64;
    (count, writes, if possible > 0.0 { writes as f64 / possible } else { 1.0 })
}
