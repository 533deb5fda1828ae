//! All final states that are possible in a world.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::check::Check;
use crate::engine::{self, Options, StopReason, Violation};
use crate::oracle::Oracle;
use crate::reductions::Reductions;
use crate::rules::Rules;
use crate::subject::Subject;

use super::FinalState;

/// Where the fair runs of a world end up.
#[derive(Clone, Debug, PartialEq)]
pub enum FinalStates {
    /// In one of these. All states were explored.
    All(Vec<FinalState>),
    /// In some of them objects change for ever, so they have no final state.
    Restless,
    /// It is not known: there are more states than were allowed, or the controllers' code has a bug.
    Unknown,
}

impl Check {
    /// Explores at most `max_states` states, whatever the rules of the check are, and collects the final states.
    pub fn final_states(&self, max_states: usize) -> FinalStates {
        // Symmetry would show one of several final states that differ in names only.
        let reductions = Reductions { symmetry: false, replicas: false, ..Reductions::default() };
        self.final_states_with(reductions, max_states)
    }

    fn final_states_with(&self, reductions: Reductions, max_states: usize) -> FinalStates {
        let mut setup = self.subject().world.parts().setup.clone();
        setup.reductions = reductions;
        let rules = Rules { oracles: [Oracle::Converges].into(), ..Rules::default() };
        let subject = Subject::new(setup, rules);
        let options = Options { symmetry: false, max_states, ..Options::default() };
        let exploration = engine::explore(&subject, &options);
        if reductions.versions && subject.world.parts().steps.depends_on_numbers.is_some() {
            return self.final_states_with(Reductions { versions: false, ..reductions }, max_states);
        }
        match (exploration.stop_reason, exploration.violation) {
            (StopReason::Complete, None) => FinalStates::All(distinct(subject.settled())),
            (StopReason::Violated, Some(Violation::AtRest { .. })) => FinalStates::Restless,
            _ => FinalStates::Unknown,
        }
    }
}

/// Final states that differ in the states of services, or in made-up names, are one here.
fn distinct(settled: Vec<BTreeMap<String, Value>>) -> Vec<FinalState> {
    let mut ends: Vec<FinalState> = Vec::new();
    for objects in settled {
        let end = FinalState::of_settled(objects);
        if !ends.contains(&end) {
            ends.push(end);
        }
    }
    ends
}
