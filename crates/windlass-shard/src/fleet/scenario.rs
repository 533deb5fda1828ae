//! What a simulated fleet goes through.

use crate::slot::SlotCount;
use crate::timing::Timing;

use super::Event;
use super::random::Random;

/// A fleet, and what it goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Decides everything that is random.
    pub seed: u64,
    /// Number of instances.
    pub instances: usize,
    /// Number of slots.
    pub slots: SlotCount,
    /// The times of the protocol.
    pub timing: Timing,
    /// After how long an instance gives up on a request to the registry.
    pub give_up_ms: u64,
    /// By how much clocks run too fast or too slow at the most.
    pub drift_millionths: u64,
    /// How long it all takes.
    pub duration_ms: u64,
    /// From when on nothing is disturbed any more.
    pub quiet_from_ms: u64,
    /// What happens to the instances.
    pub disturbance: Disturbance,
    /// A rule that is broken on purpose.
    #[cfg(any(test, feature = "model"))]
    pub broken: Option<crate::mutation::Mutation>,
}

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
    /// A third of them dies at the same time, and comes back after a minute.
    MassFailure,
    /// Random pauses, shorter and longer than a lease, and random crashes.
    Chaos,
}

impl Scenario {
    /// A hundred instances that share 4096 slots for ten minutes.
    pub fn new(seed: u64, disturbance: Disturbance) -> Self {
        Scenario {
            seed,
            instances: 100,
            slots: SlotCount::DEFAULT,
            timing: Timing {
                lease_ms: 6_000,
                renew_ms: 4_000,
                request_ms: 2_000,
                retry_ms: 1_000,
                drift_ms: 100,
                settle_ms: 500,
            },
            give_up_ms: 1_000,
            drift_millionths: 1_000,
            duration_ms: 600_000,
            quiet_from_ms: 540_000,
            disturbance,
            #[cfg(any(test, feature = "model"))]
            broken: None,
        }
    }

    /// Every instance restarts once.
    pub fn rolling_restart(seed: u64) -> Self {
        Scenario::new(seed, Disturbance::RollingRestart)
    }

    /// What happens when.
    pub(super) fn disturbances(&self, random: &mut Random) -> Vec<(u64, Event)> {
        match self.disturbance {
            Disturbance::None => Vec::new(),
            Disturbance::RollingRestart => self.rolling(),
            Disturbance::Flapping => self.flapping(random),
            Disturbance::Death => {
                vec![(60_000, Event::Stop { node: random.below(self.instances as u64) as usize })]
            }
            Disturbance::MassFailure => self.mass_failure(),
            Disturbance::Chaos => self.chaos(random),
        }
    }

    fn rolling(&self) -> Vec<(u64, Event)> {
        let gap = (self.quiet_from_ms - 60_000) / self.instances as u64;
        let restart = |node: usize| {
            let at = 60_000 + node as u64 * gap;
            [(at, Event::Stop { node }), (at + 1_000, Event::Start { node })]
        };
        (0..self.instances).flat_map(restart).collect()
    }

    fn flapping(&self, random: &mut Random) -> Vec<(u64, Event)> {
        let mut events = Vec::new();
        for node in (0..self.instances).filter(|node| node % 5 == 4) {
            let mut at = 60_000 + random.below(10_000);
            while at + 20_000 < self.quiet_from_ms {
                let away = 2_000 + random.below(8_000);
                events.extend([(at, Event::Stop { node }), (at + away, Event::Start { node })]);
                at += away + 2_000 + random.below(8_000);
            }
        }
        events
    }

    fn mass_failure(&self) -> Vec<(u64, Event)> {
        let dead = (0..self.instances).filter(|node| node % 3 == 0);
        dead.flat_map(|node| [(60_000, Event::Stop { node }), (120_000, Event::Start { node })]).collect()
    }

    fn chaos(&self, random: &mut Random) -> Vec<(u64, Event)> {
        let mut events = Vec::new();
        let mut at = 30_000;
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
