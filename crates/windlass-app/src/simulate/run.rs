//! Simulated scenarios, several at a time, with what they have shown.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use windlass_shard::fleet::{Report, Scenario, simulate_with_progress};

use crate::progress_line::ProgressLine;

use super::arguments::ScenarioName;

/// Time between two looks at how far it is.
const GLANCE: Duration = Duration::from_millis(200);

/// A scenario that was simulated.
pub(super) struct Run {
    pub(super) name: ScenarioName,
    pub(super) scenario: Scenario,
    pub(super) report: Report,
    /// The command that does it again.
    pub(super) again: String,
}

/// Simulates scenarios on all cores. `show` gets each run as soon as it and those before it are done.
///
/// # Errors
/// The first of `show`. What has begun by then still comes to its end.
pub(super) fn run_all(
    scenarios: &[(ScenarioName, Scenario)],
    again: impl Fn(ScenarioName) -> String,
    mut show: impl FnMut(&Run) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Run>> {
    let work = Work { scenarios, next: AtomicUsize::new(0), done_ms: AtomicU64::new(0) };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut runs = Vec::new();
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..cores.min(scenarios.len()) {
            let (work, sender) = (&work, sender.clone());
            scope.spawn(move || work.perform(&sender));
        }
        drop(sender);
        work.in_order(&receiver, |number, report| {
            let (name, scenario) = scenarios[number];
            let run = Run { name, scenario, report, again: again(name) };
            show(&run).inspect_err(|_| work.call_off())?;
            runs.push(run);
            Ok(())
        })
    })?;
    Ok(runs)
}

/// Scenarios that threads share.
struct Work<'a> {
    scenarios: &'a [(ScenarioName, Scenario)],
    /// Which one is the next to begin.
    next: AtomicUsize,
    /// The virtual time that has passed in all of them.
    done_ms: AtomicU64,
}

impl Work<'_> {
    /// What one thread does.
    fn perform(&self, reports: &Sender<(usize, Report)>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((_, scenario)) = self.scenarios.get(number) else { return };
            let mut last = 0;
            let report = simulate_with_progress(scenario, |now| {
                self.done_ms.fetch_add(now - last, Ordering::Relaxed);
                last = now;
            });
            self.done_ms.fetch_add(scenario.duration_ms - last, Ordering::Relaxed);
            if reports.send((number, report)).is_err() {
                return;
            }
        }
    }

    /// No scenario begins any more.
    fn call_off(&self) {
        self.next.store(self.scenarios.len(), Ordering::Relaxed);
    }

    /// Passes reports on in the order of the scenarios, and shows how far it is meanwhile.
    fn in_order(
        &self,
        reports: &Receiver<(usize, Report)>,
        mut pass_on: impl FnMut(usize, Report) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (line, mut early, mut due) = (ProgressLine::new(), BTreeMap::new(), 0);
        loop {
            match reports.recv_timeout(GLANCE) {
                Ok((number, report)) => _ = early.insert(number, report),
                Err(RecvTimeoutError::Timeout) => line.iter().for_each(|line| line.show(&self.progress())),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Some(report) = early.remove(&due) {
                line.iter().for_each(ProgressLine::clear);
                pass_on(due, report)?;
                due += 1;
            }
        }
    }

    fn progress(&self) -> String {
        let all: u64 = self.scenarios.iter().map(|(_, scenario)| scenario.duration_ms).sum();
        let done = self.done_ms.load(Ordering::Relaxed);
        format!("{:.1} of {:.0} min of virtual time", minutes(done), minutes(all))
    }
}

/// Milliseconds in minutes.
pub(super) fn minutes(ms: u64) -> f64 {
    ms as f64 / 60_000.0
}

#[cfg(test)]
mod tests {
    use windlass_shard::SlotCount;
    use windlass_shard::fleet::Disturbance;

    use super::*;

    /// A small fleet that lasts as many minutes.
    fn small(minutes: u64) -> (ScenarioName, Scenario) {
        let slots = SlotCount::new(16).unwrap();
        let scenario = Scenario { instances: 2, slots, ..Scenario::new(1, Disturbance::None) };
        (ScenarioName::Chaos, scenario.lasting(minutes * 60_000).unwrap())
    }

    #[test]
    fn runs_are_shown_in_order_whichever_ends_first() {
        let scenarios: Vec<_> = [60, 3, 20, 4].map(small).into();
        let mut shown = Vec::new();
        let runs = run_all(&scenarios, ScenarioName::text, |run| {
            shown.push(run.scenario.duration_ms / 60_000);
            Ok(())
        });
        assert_eq!((shown, runs.unwrap().len()), (vec![60, 3, 20, 4], 4));
    }

    #[test]
    fn a_run_that_cannot_be_shown_ends_it() {
        let scenarios: Vec<_> = [3; 50].map(small).into();
        let mut shown = 0;
        let result = run_all(&scenarios, ScenarioName::text, |_| {
            shown += 1;
            anyhow::bail!("the pipe is closed")
        });
        assert_eq!((shown, result.err().unwrap().to_string().as_str()), (1, "the pipe is closed"));
    }

    #[test]
    fn a_line_says_how_far_it_is() {
        let scenarios = [small(3), small(7)];
        let work = Work { scenarios: &scenarios, next: AtomicUsize::new(0), done_ms: AtomicU64::new(90_000) };
        assert_eq!(work.progress(), "1.5 of 10 min of virtual time");
    }
}
