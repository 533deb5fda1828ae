//! What happens to the instances of a simulated fleet, and when.

use super::Event;
use super::random::Random;
use super::scenario::Scenario;

/// What happens to the instances of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Nothing.
    None,
    /// Each of them restarts once, one after the other, and is away for a second.
    RollingRestart,
    /// One in five comes and goes every few seconds.
    Flapping,
    /// One of them dies, and does not come back.
    Death,
    /// A third of them dies at the same time, and comes back after a minute, or after five leases if that is longer.
    MassFailure,
    /// The costs of the slots become known, and then those of one slot in twenty change again and again.
    Weights,
    /// Half of them start; the others join one after the other, and then leave one after the other.
    Scale,
    /// Random pauses, shorter and longer than a lease, and random crashes.
    Chaos,
}

impl Scenario {
    /// How many instances run from the start.
    pub(super) fn first(&self) -> usize {
        match self.disturbance {
            Disturbance::Scale => self.instances.div_ceil(2),
            _ => self.instances,
        }
    }

    /// What happens when.
    pub(super) fn disturbances(&self, random: &mut Random) -> Vec<(u64, Event)> {
        match self.disturbance {
            Disturbance::None => Vec::new(),
            Disturbance::RollingRestart => self.rolling(),
            Disturbance::Flapping => self.flapping(random),
            Disturbance::Death => {
                vec![(
                    self.disturbed_from(),
                    Event::Stop { node: random.below(self.instances as u64) as usize },
                )]
            }
            Disturbance::MassFailure => self.mass_failure(),
            Disturbance::Weights => self.weights(),
            Disturbance::Scale => self.scale(),
            Disturbance::Chaos => self.chaos(random),
        }
    }

    /// When the first of them may happen: the fleet has been quiet for as long as it had to get ready.
    fn disturbed_from(&self) -> u64 {
        2 * self.warm_up_ms
    }

    /// How long they may happen.
    fn disturbed_for(&self) -> u64 {
        self.quiet_from_ms.saturating_sub(self.disturbed_from())
    }

    fn rolling(&self) -> Vec<(u64, Event)> {
        let gap = self.disturbed_for() / self.instances as u64;
        let restart = |node: usize| {
            let at = self.disturbed_from() + node as u64 * gap;
            [(at, Event::Stop { node }), (at + 1_000, Event::Start { node })]
        };
        (0..self.instances).flat_map(restart).collect()
    }

    fn flapping(&self, random: &mut Random) -> Vec<(u64, Event)> {
        let mut events = Vec::new();
        let last = self.instances - 1;
        // In a fleet of fewer than five, it is the last one.
        for node in (0..self.instances).filter(|node| node % 5 == 4 || (last < 4 && *node == last)) {
            let mut at = self.disturbed_from() + random.below(10_000);
            while at + 20_000 < self.quiet_from_ms {
                let away = 2_000 + random.below(8_000);
                events.extend([(at, Event::Stop { node }), (at + away, Event::Start { node })]);
                at += away + 2_000 + random.below(8_000);
            }
        }
        events
    }

    fn mass_failure(&self) -> Vec<(u64, Event)> {
        let at = self.disturbed_from();
        let away = (5 * self.timing.lease_ms).max(60_000);
        let dead = (0..self.instances).filter(|node| node % 3 == 0);
        dead.flat_map(|node| [(at, Event::Stop { node }), (at + away, Event::Start { node })]).collect()
    }

    /// Every minute.
    fn weights(&self) -> Vec<(u64, Event)> {
        let times = (self.disturbed_from()..self.quiet_from_ms).step_by(60_000);
        times.enumerate().map(|(time, at)| (at, Event::Weigh { changed: time > 0 })).collect()
    }

    fn scale(&self) -> Vec<(u64, Event)> {
        let more = (self.instances - self.first()) as u64;
        let gap = self.disturbed_for() / (2 * more).max(1);
        let join = |number: u64| {
            let node = self.first() + number as usize;
            let at = self.disturbed_from() + number * gap;
            [(at, Event::Start { node }), (at + more * gap, Event::Leave { node })]
        };
        (0..more).flat_map(join).collect()
    }

    fn chaos(&self, random: &mut Random) -> Vec<(u64, Event)> {
        let mut events = Vec::new();
        let mut at = self.warm_up_ms;
        while at + 20_000 < self.quiet_from_ms {
            let node = random.below(self.instances as u64) as usize;
            if random.below(2) == 0 {
                let for_ms = random.below(2 * self.timing.lease_ms + 4_000);
                events.push((at, Event::Pause { node, for_ms }));
            } else {
                let away = random.below(2 * self.timing.lease_ms);
                events.extend([(at, Event::Stop { node }), (at + away, Event::Start { node })]);
            }
            at += random.below(2 * 60_000 / self.instances as u64) + 1;
        }
        events
    }
}
