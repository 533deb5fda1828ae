//! A simulated fleet: how large it is, how it is timed, and what it goes through.

use crate::slot::SlotCount;
use crate::timing::{Timing, TimingError};

use super::disturbance::Disturbance;
use super::objects::KeyVersion;

/// The least time that a fleet has until all instances have joined.
const LEAST_WARM_UP_MS: u64 = 30_000;

/// A fleet, and what it goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Decides everything that is random.
    pub seed: u64,
    /// Number of instances.
    pub instances: usize,
    /// Number of slots.
    pub slots: SlotCount,
    /// Number of objects. They are there from the start to the end.
    pub objects: u64,
    /// What their keys are.
    pub keys: KeyVersion,
    /// The times of the protocol.
    pub timing: Timing,
    /// After how long an instance gives up on a request to the registry.
    pub give_up_ms: u64,
    /// By how much clocks run too fast or too slow at the most.
    pub drift_millionths: u64,
    /// How long instances have to join before anything is measured.
    pub warm_up_ms: u64,
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

/// A fleet that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// No one would act on anything.
    #[error("a fleet needs at least one instance")]
    NoInstances,
    /// Some instances would have nothing to do.
    #[error("{instances} instances cannot share {slots} slots: each needs at least one")]
    TooFewSlots {
        /// Number of instances.
        instances: usize,
        /// Number of slots.
        slots: usize,
    },
    /// Nothing could happen.
    #[error(
        "{} min of virtual time are too short: with this lease and fleet, a run takes at least {} min",
        duration_ms / 60_000,
        least_ms.div_ceil(60_000)
    )]
    TooShort {
        /// How long it was to take.
        duration_ms: u64,
        /// How long it takes at least.
        least_ms: u64,
    },
    /// The times of the protocol do not go together.
    #[error(transparent)]
    Timing(#[from] TimingError),
}

impl Scenario {
    /// A hundred instances that share 4096 slots, without objects, for ten minutes.
    pub fn new(seed: u64, disturbance: Disturbance) -> Self {
        Scenario {
            seed,
            instances: 100,
            slots: SlotCount::DEFAULT,
            objects: 0,
            keys: KeyVersion::Alternating,
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
            warm_up_ms: LEAST_WARM_UP_MS,
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

    /// The same, for a time, with as much of it to get ready and to be quiet as its size and its lease need.
    ///
    /// # Errors
    /// If that is too short for anything to happen.
    pub fn lasting(self, duration_ms: u64) -> Result<Self, ScenarioError> {
        let joins_ms = 60 * self.instances as u64;
        let warm_up_ms = LEAST_WARM_UP_MS.max(5 * self.timing.lease_ms).max(joins_ms);
        // To get ready and to be quiet before and after the disturbances, and as long for them.
        let least_ms = 6 * warm_up_ms;
        if duration_ms < least_ms {
            return Err(ScenarioError::TooShort { duration_ms, least_ms });
        }
        let quiet_from_ms = duration_ms - 2 * warm_up_ms;
        Ok(Scenario { warm_up_ms, duration_ms, quiet_from_ms, ..self })
    }

    /// Whether it can be simulated.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let (instances, slots) = (self.instances, self.slots.get());
        match instances {
            0 => Err(ScenarioError::NoInstances),
            _ if instances > slots => Err(ScenarioError::TooFewSlots { instances, slots }),
            _ => Ok(self.timing.check()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_fleets_are_explained() {
        let error = |change: fn(&mut Scenario)| {
            let mut scenario = Scenario::rolling_restart(1);
            change(&mut scenario);
            scenario.check().unwrap_err().to_string()
        };
        assert_eq!(error(|scenario| scenario.instances = 0), "a fleet needs at least one instance");
        assert_eq!(
            error(|scenario| scenario.instances = 5_000),
            "5000 instances cannot share 4096 slots: each needs at least one"
        );
        assert_eq!(
            error(|scenario| scenario.timing.lease_ms = 4_000),
            "the lease (4000 ms) must last longer than an instance acts without renewing it (4000 ms)"
        );
    }

    #[test]
    fn long_leases_need_time() {
        let scenario = Scenario::rolling_restart(1);
        assert!(scenario.lasting(180_000).is_ok());
        assert_eq!(
            scenario.lasting(60_000).unwrap_err().to_string(),
            "1 min of virtual time are too short: with this lease and fleet, a run takes at least 3 min"
        );
        let slow = Timing { lease_ms: 60_000, ..Timing::default() };
        let least_ms = 1_800_000;
        assert_eq!(
            Scenario { timing: slow, ..scenario }.lasting(600_000),
            Err(ScenarioError::TooShort { duration_ms: 600_000, least_ms })
        );
    }
}
