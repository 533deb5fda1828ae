//! What is measured in a simulated fleet: how evenly its load is shared, what moves, and how it looks over time.

use crate::ring::Ring;

use super::audit::Audit;
use super::balance::{Balance, is_at_rest, loads};
use super::movement::Movement;
use super::node::{Node, number_of};
use super::objects::Objects;
use super::report::Report;
use super::scenario::Scenario;
use super::timeline::{Change, Mark, Sample, Timeline};

/// At most about this many samples of a run: more would not be seen in a plot.
const SAMPLES: u64 = 600;

/// Measures a fleet.
pub(super) struct Meter {
    scenario: Scenario,
    pub(super) objects: Objects,
    movement: Movement,
    balance: Balance,
    cost_balance: Balance,
    unknown_cost_balance: Balance,
    timeline: Timeline,
    /// Since when the costs are as they are; none before they are known.
    weighed: Option<u64>,
}

impl Meter {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Meter {
            scenario: *scenario,
            objects: Objects::new(scenario.seed, scenario.objects, scenario.keys, scenario.slots),
            movement: Movement::default(),
            balance: Balance::default(),
            cost_balance: Balance::default(),
            unknown_cost_balance: Balance::default(),
            timeline: Timeline::default(),
            weighed: None,
        }
    }

    /// Time between two samples.
    pub(super) fn every_ms(&self) -> u64 {
        (self.scenario.duration_ms / SAMPLES).max(1_000)
    }

    /// A disturbance.
    pub(super) fn changed(&mut self, change: Change, now: u64) {
        if now >= self.scenario.warm_up_ms {
            self.timeline.marks.push(Mark { at_ms: now, change });
        }
        if change == Change::Weighed {
            self.weighed = Some(now);
        }
    }

    /// The ring was swapped.
    pub(super) fn swapped(&mut self, before: &Ring, after: &Ring, now: u64) {
        if now >= self.scenario.warm_up_ms {
            self.movement.swapped(before, after, &self.objects, self.weighed.is_some());
        }
    }

    /// Looks at the fleet.
    pub(super) fn sample(&mut self, ring: &Ring, nodes: &[Node], audit: &Audit, now: u64) {
        let (objects, costs) = (loads(ring, &self.objects.counts), loads(ring, &self.objects.costs));
        let is_complete = ring.members().iter().all(|member| nodes[number_of(&member.id)].instance.is_some())
            && ring.members().len() == nodes.iter().filter(|node| node.instance.is_some()).count();
        let is_stable = is_complete && is_at_rest(ring);
        self.balance.observe(&objects, is_stable);
        match self.weighed {
            None => self.unknown_cost_balance.observe(&costs, is_stable),
            // It takes a while until those who plan know what has changed.
            Some(since) => {
                let is_known = now >= since + 2 * self.scenario.timing.lease_ms;
                self.cost_balance.observe(&costs, is_stable && is_known);
            }
        }
        self.timeline.samples.push(Sample {
            at_ms: now,
            loads: of_running(ring, nodes, &objects),
            costs: of_running(ring, nodes, &costs),
            unowned: audit.unowned(&self.objects.counts, now),
        });
    }

    /// A report with all that was measured.
    pub(super) fn report(self, audited: Report) -> Report {
        Report {
            movement: self.movement,
            balance: self.balance,
            cost_balance: self.cost_balance,
            unknown_cost_balance: self.unknown_cost_balance,
            timeline: self.timeline,
            ..audited
        }
    }
}

/// What each process has, of what each member has; none for one that does not run.
fn of_running(ring: &Ring, nodes: &[Node], of_members: &[u64]) -> Vec<Option<u64>> {
    let mut running: Vec<Option<u64>> = nodes.iter().map(|node| node.instance.as_ref().map(|_| 0)).collect();
    for (member, load) in ring.members().iter().zip(of_members) {
        running[number_of(&member.id)].iter_mut().for_each(|sum| *sum += load);
    }
    running
}
