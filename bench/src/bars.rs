//! The bars: how much faster and smaller ours is to be.
//!
//! Like is compared with like: breadth first, with the way to each state kept, so that traces are shortest. The ratios to
//! their search depth first, which keeps a fingerprint of each state and nothing else, are shown beside it.

use serde::Serialize;

use crate::comparison::{Comparison, Row};
use crate::subject::{Engine, Subject};

/// What a bar is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bar {
    /// Minimum ratio of transitions per second.
    Speed(f64),
    /// At most one so-and-so-manyth of the memory for each state.
    Memory(f64),
}

const BARS: [(Subject, Bar); 4] = [
    (Subject::Pairs, Bar::Speed(10.0)),
    (Subject::TwoPhaseCommit, Bar::Speed(2.0)),
    (Subject::Paxos, Bar::Speed(2.0)),
    (Subject::Pairs, Bar::Memory(5.0)),
];

/// A bar, and whether it is reached.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    /// What is wanted.
    pub(crate) bar: String,
    /// Against each order of theirs; the first decides.
    pub(crate) against: Vec<Against>,
    pub(crate) reached: bool,
}

/// A bar against one of their engines.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Against {
    pub(crate) engine: Engine,
    /// How many times as good ours is.
    pub(crate) factor: f64,
    pub(crate) reached: bool,
}

/// Evaluates all bars whose models were measured.
pub(crate) fn evaluate(comparisons: &[Comparison]) -> Vec<Verdict> {
    let measured = |(subject, bar): (Subject, Bar)| {
        let comparison = comparisons.iter().find(|comparison| comparison.subject == subject)?;
        Some(evaluate_bar(comparison, bar))
    };
    BARS.into_iter().filter_map(measured).collect()
}

fn evaluate_bar(comparison: &Comparison, bar: Bar) -> Verdict {
    let (wanted, text) = match bar {
        Bar::Speed(times) => (times, format!(">= {times}x transitions/s on {}", comparison.subject.name())),
        Bar::Memory(times) => {
            (times, format!("<= 1/{times} memory per state on {}", comparison.subject.name()))
        }
    };
    let factor = |theirs: &Row| match bar {
        Bar::Speed(_) => comparison.speed_ratio(theirs),
        Bar::Memory(_) => comparison.memory_ratio(theirs).map(f64::recip),
    };
    let mut theirs = comparison.theirs();
    theirs.sort_by_key(|theirs| theirs.engine != Engine::StaterightBfs);
    let against: Vec<Against> = theirs
        .into_iter()
        .filter_map(|theirs| Some((theirs.engine, factor(theirs)?)))
        .map(|(engine, factor)| Against { engine, factor, reached: factor >= wanted })
        .collect();
    let reached = against.first().is_some_and(|alike| alike.reached);
    Verdict { bar: text, against, reached }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = |reached| if reached { "reached" } else { "NOT reached" };
        write!(f, "{}: {}", self.bar, word(self.reached))?;
        for against in &self.against {
            write!(f, "; {:.1} against {}", against.factor, against.engine.name())?;
            if against.reached != self.reached {
                write!(f, " ({} there)", word(against.reached))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::made_up;

    #[test]
    fn the_one_that_is_alike_decides() {
        let pairs = made_up(Subject::Pairs, [(100.0, 5.0), (9.0, 50.0), (20.0, 20.0)]);
        let lines: Vec<String> = evaluate(&[pairs]).iter().map(Verdict::to_string).collect();
        assert_eq!(
            lines,
            [
                ">= 10x transitions/s on seed-0: reached; 11.1 against stateright-bfs; \
                 5.0 against stateright-dfs (NOT reached there)",
                "<= 1/5 memory per state on seed-0: reached; 10.0 against stateright-bfs; \
                 4.0 against stateright-dfs (NOT reached there)",
            ]
        );
    }

    #[test]
    fn a_bar_can_be_reached() {
        let commit = made_up(Subject::TwoPhaseCommit, [(4.0, 1.0), (1.0, 1.0), (2.0, 1.0)]);
        let verdicts = evaluate(&[commit]);
        assert_eq!(verdicts.len(), 1);
        assert!(verdicts[0].reached);
    }
}
