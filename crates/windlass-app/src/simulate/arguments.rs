//! The flags of `simulate fleet`, and the scenarios that they mean.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use windlass_shard::fleet::{Disturbance, KeyVersion, Scenario, ScenarioError};
use windlass_shard::{SlotCount, Timing};

use crate::output::OutputArguments;
use crate::seed;

/// Simulate a fleet of instances that share objects, on virtual time.
///
/// It runs the protocol that decides which instance owns which object, with requests that are late or lost and clocks that
/// run at different rates. Every write is audited as if it took as long as it may. The same seed gives the same run. The
/// exit code is 0 if no two instances ever acted on one object and all objects have an owner in the end, 2 for bad usage,
/// and 3 for a violation.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  PROGRAM simulate fleet                                     100 instances, 1,000,000 objects, all scenarios
  PROGRAM simulate fleet --instances 20 --objects 100000 --scenario mass-failure --lease 15
  PROGRAM simulate fleet --scenario flapping,scale --plot fleet.svg
  PROGRAM simulate fleet --scenario chaos --seed random --output json")]
pub(crate) struct FleetArguments {
    /// Number of instances.
    #[arg(long, value_name = "N", default_value_t = 100)]
    instances: usize,
    /// Number of objects.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    objects: u64,
    /// Number of slots, a power of two.
    #[arg(long, value_name = "N", default_value_t = 4096)]
    slots: u64,
    /// UUID version of the objects' keys.
    #[arg(long, value_enum, value_name = "VERSION", default_value_t = Keys::Mixed)]
    keys: Keys,
    /// What the fleet goes through; may be several, with commas.
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',', default_value = "all")]
    scenario: Vec<ScenarioName>,
    /// Seed of all that is random, or `random` for another one each time.
    #[arg(long, value_name = "N", value_parser = seed::parse, default_value = "1")]
    seed: u64,
    /// Virtual time of each scenario.
    #[arg(long, value_name = "MINUTES", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    minutes: u64,
    /// How long a lease lasts that is not renewed. The other times of the protocol follow in proportion.
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "6")]
    lease: u64,
    /// How long an instance acts after a renewal. Default: two thirds of the lease.
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds)]
    renew: Option<u64>,
    /// How long a request is in flight at most. Default: a third of the lease.
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds)]
    request: Option<u64>,
    /// Draw the load over time to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Keys {
    V4,
    V7,
    /// Both, in turn.
    Mixed,
}

/// What a fleet goes through, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ScenarioName {
    /// Each instance restarts once.
    RollingRestart,
    /// One instance in five comes and goes every few seconds.
    Flapping,
    /// A third of the instances dies at once, and comes back.
    MassFailure,
    /// Objects differ in cost, and the costs change.
    Weights,
    /// Half of the instances join one by one, and leave again.
    Scale,
    /// Random pauses and crashes.
    Chaos,
    /// Each of them.
    All,
}

impl ScenarioName {
    const EACH: [ScenarioName; 6] = [
        ScenarioName::RollingRestart,
        ScenarioName::Flapping,
        ScenarioName::MassFailure,
        ScenarioName::Weights,
        ScenarioName::Scale,
        ScenarioName::Chaos,
    ];

    fn disturbance(self) -> Disturbance {
        match self {
            ScenarioName::RollingRestart => Disturbance::RollingRestart,
            ScenarioName::Flapping => Disturbance::Flapping,
            ScenarioName::MassFailure => Disturbance::MassFailure,
            ScenarioName::Weights => Disturbance::Weights,
            ScenarioName::Scale => Disturbance::Scale,
            ScenarioName::Chaos => Disturbance::Chaos,
            ScenarioName::All => Disturbance::None,
        }
    }

    /// As it is written on the command line.
    pub(super) fn text(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// In one line.
    pub(super) fn about(self) -> String {
        let help = self.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string));
        let help = help.unwrap_or_default();
        help[..1].to_lowercase() + &help[1..]
    }
}

impl FleetArguments {
    /// What to simulate, in this order.
    pub(super) fn scenarios(&self) -> anyhow::Result<Vec<(ScenarioName, Scenario)>> {
        let each = |name: &ScenarioName| match name {
            ScenarioName::All => ScenarioName::EACH.to_vec(),
            one => vec![*one],
        };
        let mut names: Vec<ScenarioName> = Vec::new();
        for name in self.scenario.iter().flat_map(each) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.into_iter().map(|name| Ok((name, self.fleet(name.disturbance())?))).collect()
    }

    fn fleet(&self, disturbance: Disturbance) -> anyhow::Result<Scenario> {
        let slots = SlotCount::new(self.slots).context("--slots cannot be used")?;
        anyhow::ensure!(self.objects > 0, "a fleet without objects has no load: give --objects 1 or more");
        let usual = Scenario::new(self.seed, disturbance);
        let timing = self.timing(usual.timing);
        let fleet = Scenario {
            instances: self.instances,
            objects: self.objects,
            slots,
            keys: match self.keys {
                Keys::V4 => KeyVersion::V4,
                Keys::V7 => KeyVersion::V7,
                Keys::Mixed => KeyVersion::Alternating,
            },
            give_up_ms: timing.retry_ms,
            timing,
            ..usual
        };
        let fleet = fleet.check().and_then(|()| fleet.lasting(self.minutes * 60_000));
        fleet.map_err(|error| anyhow!("{error}: {}", advice(&error)))
    }

    /// The usual times, in proportion to the lease.
    fn timing(&self, usual: Timing) -> Timing {
        let scaled = |ms: u64| (ms * self.lease / usual.lease_ms).max(1);
        Timing {
            lease_ms: self.lease,
            renew_ms: self.renew.unwrap_or(scaled(usual.renew_ms)),
            request_ms: self.request.unwrap_or(scaled(usual.request_ms)),
            retry_ms: scaled(usual.retry_ms),
            drift_ms: scaled(usual.drift_ms),
            settle_ms: usual.settle_ms,
        }
    }

    /// The command that does one scenario again.
    pub(super) fn again(&self, program: &str, name: ScenarioName) -> String {
        let keys = self.keys.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let FleetArguments { instances, objects, slots, seed, minutes, .. } = self;
        let mut text = format!(
            "{program} simulate fleet --scenario {} --seed {seed} --instances {instances} --objects {objects} \
             --slots {slots} --keys {keys} --minutes {minutes} --lease {}",
            name.text(),
            seconds(self.lease)
        );
        for (flag, ms) in [("renew", self.renew), ("request", self.request)] {
            if let Some(ms) = ms {
                text += &format!(" --{flag} {}", seconds(ms));
            }
        }
        text
    }
}

/// How to make a scenario possible.
fn advice(error: &ScenarioError) -> String {
    match error {
        ScenarioError::NoInstances => "give --instances 1 or more".to_owned(),
        ScenarioError::TooFewSlots { .. } => "give fewer --instances, or more --slots".to_owned(),
        ScenarioError::TooShort { least_ms, .. } => {
            format!("give --minutes {} or more", least_ms.div_ceil(60_000))
        }
        ScenarioError::Timing(_) => "give a longer --lease, or another --renew".to_owned(),
    }
}

/// Between a second and an hour; fractions are allowed.
fn milliseconds(text: &str) -> Result<u64, String> {
    let seconds: f64 = text.parse().map_err(|_| "give a number of seconds, such as 6 or 1.5".to_owned())?;
    if (1.0..=3600.0).contains(&seconds) {
        Ok((seconds * 1000.0).round() as u64)
    } else {
        Err("give 1 to 3600 seconds".to_owned())
    }
}

/// Milliseconds as seconds, as they are given.
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
