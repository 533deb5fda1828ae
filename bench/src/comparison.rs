//! All measurements of a model, and what they come to.

use anyhow::{Result, bail};
use serde::Serialize;

use crate::measure::Measurement;
use crate::subject::{Engine, Subject};

/// A model on all engines.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) subject: Subject,
    pub(crate) rows: Vec<Row>,
}

/// A model on one engine: the median of its runs.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    pub(crate) engine: Engine,
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) seconds: f64,
    pub(crate) transitions_per_second: f64,
    pub(crate) bytes_per_state: f64,
}

impl Row {
    /// The median of the runs on an engine.
    ///
    /// # Errors
    /// When one run saw more states than another, or there is none.
    pub(crate) fn of_runs(engine: Engine, runs: &[Measurement]) -> Result<Self> {
        let Some(first) = runs.first() else { bail!("nothing was measured on {}", engine.name()) };
        if runs.iter().any(|run| (run.states, run.transitions) != (first.states, first.transitions)) {
            bail!("{} does not see the same in every run: {runs:?}", engine.name());
        }
        Ok(Row {
            engine,
            states: first.states,
            transitions: first.transitions,
            seconds: median(runs.iter().map(|run| run.seconds)),
            transitions_per_second: median(runs.iter().map(Measurement::transitions_per_second)),
            bytes_per_state: median(runs.iter().map(Measurement::bytes_per_state)),
        })
    }
}

impl Comparison {
    /// Makes sure that all engines have explored the same.
    ///
    /// # Errors
    /// When they have not.
    pub(crate) fn agree(&self) -> Result<()> {
        let Some(first) = self.rows.first() else { return Ok(()) };
        for row in &self.rows {
            if (row.states, row.transitions) != (first.states, first.transitions) {
                bail!(
                    "the engines do not explore the same model of {}: {} has {} states and {} transitions, \
                     {} has {} and {}",
                    self.subject.name(),
                    first.engine.name(),
                    first.states,
                    first.transitions,
                    row.engine.name(),
                    row.states,
                    row.transitions
                );
            }
        }
        Ok(())
    }

    pub(crate) fn row(&self, engine: Engine) -> Option<&Row> {
        self.rows.iter().find(|row| row.engine == engine)
    }

    /// How many times as fast ours is.
    pub(crate) fn speed_ratio(&self, theirs: &Row) -> Option<f64> {
        Some(self.row(Engine::Windlass)?.transitions_per_second / theirs.transitions_per_second)
    }

    /// How many times as much memory ours takes for a state.
    pub(crate) fn memory_ratio(&self, theirs: &Row) -> Option<f64> {
        Some(self.row(Engine::Windlass)?.bytes_per_state / theirs.bytes_per_state)
    }

    /// Their rows, the fastest first.
    pub(crate) fn theirs(&self) -> Vec<&Row> {
        let mut theirs: Vec<&Row> = self.rows.iter().filter(|row| row.engine != Engine::Windlass).collect();
        theirs.sort_by(|one, other| other.transitions_per_second.total_cmp(&one.transitions_per_second));
        theirs
    }
}

/// The middle one; of an even number, the greater of the two in the middle. 0 of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A model on ours and on both of theirs, with made-up rates and bytes.
    pub(crate) fn made_up(subject: Subject, figures: [(f64, f64); 3]) -> Comparison {
        let rows = crate::subject::ENGINES.into_iter().zip(figures);
        let rows = rows.map(|(engine, (transitions_per_second, bytes_per_state))| Row {
            engine,
            states: 10,
            transitions: 20,
            seconds: 1.0,
            transitions_per_second,
            bytes_per_state,
        });
        Comparison { subject, rows: rows.collect() }
    }

    #[test]
    fn the_middle_of_the_runs_counts() {
        let run = |seconds, bytes| Measurement { states: 10, transitions: 20, seconds, bytes };
        let row = Row::of_runs(Engine::Windlass, &[run(4.0, 100), run(1.0, 300), run(2.0, 200)]).unwrap();
        assert_eq!((row.seconds, row.transitions_per_second, row.bytes_per_state), (2.0, 10.0, 20.0));
        let fewer = Measurement { states: 9, ..run(1.0, 1) };
        assert!(Row::of_runs(Engine::Windlass, &[run(1.0, 1), fewer]).is_err());
    }

    #[test]
    fn engines_must_agree() {
        let mut comparison = made_up(Subject::Paxos, [(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)]);
        comparison.agree().unwrap();
        assert_eq!(comparison.theirs()[0].engine, Engine::StaterightDfs);
        comparison.rows[2].transitions += 1;
        let message = comparison.agree().unwrap_err().to_string();
        assert!(message.contains("stateright-dfs has 10 and 21"), "{message}");
    }
}
