//! Makes a run shorter that ends in a violation, by leaving steps out.

use rustc_hash::FxHashMap;

use crate::violation::Violation;

use super::model::Model;
use super::walk::{Stepped, Walk};

/// Maximum number of runs to make one shorter.
const MAX_RUNS: usize = 2_000;
/// The same if every run takes a search for its ends.
const MAX_RUNS_TO_ENDS: usize = 200;

/// A run by the names of its actions. Where one of them is not possible, it is left out.
#[derive(Clone)]
pub(super) struct Run {
    /// Which of the first states it starts from.
    pub(super) first: usize,
    /// The actions.
    pub(super) names: Vec<String>,
    /// Whether it takes where fair runs end up afterwards to see the violation.
    pub(super) at_ends: bool,
}

/// A violation by the same rule, after as few of the steps of a run as can be found in reasonable time.
pub(super) fn shorten<M: Model>(
    model: &mut M,
    run: Run,
    violation: Violation,
    end_states: usize,
) -> Violation {
    let most_runs = if run.at_ends { MAX_RUNS_TO_ENDS } else { MAX_RUNS };
    let mut shortener = Shortener { model, end_states, names: FxHashMap::default(), run, violation, runs: 0 };
    let mut size = shortener.run.names.len();
    while size > 0 {
        let mut from = 0;
        while from < shortener.run.names.len() && shortener.runs < most_runs {
            if !shortener.works_without(from, size) {
                from += size;
            }
        }
        size /= 2;
    }
    shortener.violation
}

struct Shortener<'a, M: Model> {
    model: &'a mut M,
    end_states: usize,
    /// The names of the actions of states, by their words.
    names: FxHashMap<Vec<u32>, Vec<String>>,
    /// The shortest so far, and what it ends in.
    run: Run,
    violation: Violation,
    runs: usize,
}

impl<M: Model> Shortener<'_, M> {
    /// Leaves some steps out, if the same rule is violated without them.
    fn works_without(&mut self, from: usize, size: usize) -> bool {
        self.runs += 1;
        let to = (from + size).min(self.run.names.len());
        let kept = [&self.run.names[..from], &self.run.names[to..]].concat();
        let shorter = Run { names: kept, ..self.run.clone() };
        match self.replay(&shorter) {
            Some((violation, names)) if rule(&violation) == rule(&self.violation) => {
                self.violation = violation;
                self.run.names = names;
                true
            }
            _ => false,
        }
    }

    /// The violation that a run ends in, and the actions that were possible until then.
    fn replay(&mut self, run: &Run) -> Option<(Violation, Vec<String>)> {
        let start = self.model.initial().into_iter().nth(run.first)?;
        let mut walk = Walk::new(self.model, start);
        let mut used = Vec::new();
        let mut found = walk.evaluate();
        for name in &run.names {
            if found.is_some() {
                break;
            }
            let actions = walk.actions();
            let words = walk.words();
            let names = self.names.entry(words).or_insert_with(|| walk.names(&actions));
            let Some(index) = names.iter().position(|possible| possible == name) else { continue };
            match walk.step(&actions[index]) {
                Stepped::Nowhere => continue,
                Stepped::On => {}
                Stepped::Violation(violation) => found = Some(violation),
            }
            used.push(name.clone());
        }
        if found.is_none() && run.at_ends {
            found = walk.decide_liveness(self.end_states).ok().flatten();
        }
        Some((found?, used))
    }
}

/// What is broken, without how: what a message says after its first line are the particulars.
fn rule(violation: &Violation) -> (u8, &str) {
    match violation {
        Violation::Always { property, .. } => (0, property),
        Violation::Eventually { property, .. } => (1, property),
        Violation::Never { property } => (2, property),
        Violation::AtRest { message, .. } => (3, first_line(message)),
        Violation::Step { message, .. } => (4, first_line(message)),
        Violation::Code { bug, .. } => (5, bug.reason()),
    }
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}
