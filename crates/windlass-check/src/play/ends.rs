//! All ends that are possible in a world.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::check::Check;
use crate::engine::{self, Ended, Options};
use crate::oracle::Oracle;
use crate::reductions::Reductions;
use crate::rules::Rules;
use crate::subject::Subject;

use super::End;

/// Where the fair runs of a world end up.
#[derive(Clone, Debug, PartialEq)]
pub enum Ends {
    /// In one of these. All states were explored.
    All(Vec<End>),
    /// In some of them objects change for ever, so they have no end.
    Restless,
    /// It is not known: there are more states than were allowed, or the controllers' code itself is wrong.
    Unknown,
}

impl Check {
    /// Explores all states, at most so many, whatever the rules of the check are, and collects the ends.
    pub fn ends(&self, max_states: usize) -> Ends {
        // Symmetry would show one of several ends that differ in names only.
        let reductions = Reductions { symmetry: false, replicas: false, ..Reductions::default() };
        self.ends_with(reductions, max_states)
    }

    fn ends_with(&self, reductions: Reductions, max_states: usize) -> Ends {
        let mut setup = self.subject().world.parts().setup.clone();
        setup.reductions = reductions;
        let rules = Rules { oracles: [Oracle::Converges].into(), ..Rules::default() };
        let subject = Subject::new(setup, rules);
        let options = Options { symmetry: false, max_states, ..Options::default() };
        let exploration = engine::explore(&subject, &options);
        if reductions.versions && subject.world.parts().steps.depends_on_numbers.is_some() {
            return self.ends_with(Reductions { versions: false, ..reductions }, max_states);
        }
        match (exploration.ended, exploration.violation) {
            (Ended::Complete, None) => Ends::All(distinct(subject.settled())),
            (Ended::Violated, Some(engine::Violation::End { .. })) => Ends::Restless,
            _ => Ends::Unknown,
        }
    }
}

/// Ends that differ in the states of services, or in made-up names, are one here.
fn distinct(settled: Vec<BTreeMap<String, Value>>) -> Vec<End> {
    let mut ends: Vec<End> = Vec::new();
    for objects in settled {
        let end = End::of_settled(objects);
        if !ends.contains(&end) {
            ends.push(end);
        }
    }
    ends
}
