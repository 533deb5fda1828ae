//! A simulated scenario, with what it has shown.

use windlass_shard::fleet::{Report, Scenario, simulate_with_progress};

use crate::progress_line::ProgressLine;

use super::arguments::ScenarioName;

/// A scenario that was simulated.
pub(super) struct Run {
    pub(super) name: ScenarioName,
    pub(super) scenario: Scenario,
    pub(super) report: Report,
    /// The command that does it again.
    pub(super) again: String,
}

impl Run {
    /// Simulates a scenario.
    pub(super) fn new(name: ScenarioName, scenario: Scenario, again: String) -> Self {
        let line = ProgressLine::new();
        let report = simulate_with_progress(&scenario, |now| {
            line.iter().for_each(|line| line.show(&progress(name, now, scenario.duration_ms)));
        });
        line.iter().for_each(ProgressLine::clear);
        Run { name, scenario, report, again }
    }
}

fn progress(name: ScenarioName, now: u64, end: u64) -> String {
    format!("{}: {:.1} of {:.0} min of virtual time", name.text(), minutes(now), minutes(end))
}

/// Milliseconds in minutes.
pub(super) fn minutes(ms: u64) -> f64 {
    ms as f64 / 60_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let text = progress(ScenarioName::MassFailure, 90_000, 600_000);
        assert_eq!(text, "mass-failure: 1.5 of 10 min of virtual time");
    }
}
