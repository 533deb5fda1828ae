//! Replay: walks a recorded counterexample through a model again and says whether the violation is reproduced.

mod ends;
mod evaluate;
#[cfg(test)]
mod tests;
mod words;

use crate::engine::{Model, Next};
use crate::trace::{Counterexample, RuleKind, TraceStep};

/// How a recorded counterexample came out when it was tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// The same steps lead to the same violation.
    Reproduced {
        /// What is violated, and where.
        message: String,
    },
    /// The same steps are possible, but nothing is violated now. The check as a whole may still fail
    /// elsewhere.
    NotReproduced {
        /// Why not.
        message: String,
    },
    /// The system behaves otherwise than it did.
    Diverged {
        /// Which step, counted from 1; what repeats is counted on after the steps that lead there.
        step: usize,
        /// What happened then.
        recorded: Box<TraceStep>,
        /// What happens now.
        now: Now,
    },
    /// A single run cannot decide it.
    Undecided {
        /// Why not.
        message: String,
    },
}

/// What happens instead of a recorded step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// The same action does something else.
    Otherwise(Box<TraceStep>),
    /// The action is not possible; these are.
    Possible(Vec<TraceStep>),
    /// The action leads to what must never happen, in words.
    Violation(String),
}

impl Replayed {
    /// Whether the violation is still there.
    pub fn is_reproduced(&self) -> bool {
        matches!(self, Replayed::Reproduced { .. })
    }
}

/// Walks the recorded steps through a fresh copy of a model.
pub fn replay<M: Model>(model: &M, counterexample: &Counterexample) -> Replayed {
    let tried = (0..model.fresh_copy().initial().len()).map(|number| {
        // A state means something to the worker that made it, and to no other.
        let mut model = model.fresh_copy();
        let start = model.initial().swap_remove(number);
        let mut walk = Walk { model, states: vec![start], violation: None };
        walk.along(counterexample).unwrap_or_else(|diverged| diverged)
    });
    // The document does not say where it starts: the start that fits best is the one that was meant.
    let nothing = || Replayed::Undecided { message: "the model has no first state".to_owned() };
    tried.max_by_key(fit).unwrap_or_else(nothing)
}

/// How well a replay fits what was recorded.
fn fit(replayed: &Replayed) -> (u8, usize) {
    match replayed {
        Replayed::Reproduced { .. } => (2, 0),
        Replayed::NotReproduced { .. } | Replayed::Undecided { .. } => (1, 0),
        Replayed::Diverged { step, .. } => (0, *step),
    }
}

/// A run that is being repeated.
struct Walk<M: Model> {
    model: M,
    /// All states so far, the first one included.
    states: Vec<M::State>,
    /// What the last step led to, if that must never happen.
    violation: Option<String>,
}

impl<M: Model> Walk<M> {
    /// Takes all steps and evaluates the end; the error is the divergence.
    fn along(&mut self, counterexample: &Counterexample) -> Result<Replayed, Replayed> {
        let Counterexample { steps, repeats, violation, .. } = counterexample;
        for (number, recorded) in (1..).zip(steps) {
            let last = number == steps.len();
            self.take(number, recorded, violation.kind == RuleKind::Step && last)?;
        }
        let end = self.states.len() - 1;
        for (number, recorded) in (steps.len() + 1..).zip(repeats) {
            self.take(number, recorded, false)?;
        }
        Ok(self.evaluate(violation, end))
    }

    /// Takes a step as it was recorded. Only the step that was recorded as a violation may be so again, and may
    /// also have become another one.
    fn take(&mut self, step: usize, recorded: &TraceStep, was_violation: bool) -> Result<(), Replayed> {
        let diverged = |now| Err(Replayed::Diverged { step, recorded: Box::new(recorded.clone()), now });
        let state = self.states.last().expect("the first state is always there").clone();
        let possible = possible(&mut self.model, &state);
        let alike = possible.iter().filter(|(described, _)| described.action == recorded.action);
        // Should a name not be unique, the action that also does the same is meant.
        let Some((described, next)) = alike.max_by_key(|(described, _)| is_same(described, recorded)) else {
            let possible = possible.into_iter().map(|(described, _)| described).collect();
            return diverged(Now::Possible(possible));
        };
        match next {
            Outcome::Violation(message) if was_violation => self.violation = Some(message.clone()),
            Outcome::Violation(message) => return diverged(Now::Violation(message.clone())),
            Outcome::State(next) if was_violation || is_same(described, recorded) => {
                self.states.push(next.clone())
            }
            Outcome::State(_) => return diverged(Now::Otherwise(Box::new(described.clone()))),
        }
        Ok(())
    }
}

/// Where a possible action leads.
enum Outcome<State> {
    State(State),
    Violation(String),
}

/// All that can happen in a state, in words, and where it leads.
fn possible<M: Model>(model: &mut M, state: &M::State) -> Vec<(TraceStep, Outcome<M::State>)> {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    let mut possible = Vec::new();
    for action in &actions {
        let outcome = match model.next(state, action) {
            Next::Impossible => continue,
            Next::State(next) => Outcome::State(next),
            Next::Violation(message) => Outcome::Violation(message),
        };
        possible.push((model.describe(state, action), outcome));
    }
    possible
}

/// Whether a step does what was recorded. Its name is not compared, nor who receives it: that is in the text. What it
/// did to services is not known of steps that were recorded before that was.
fn is_same(now: &TraceStep, recorded: &TraceStep) -> bool {
    (&now.actor, &now.text, &now.changes) == (&recorded.actor, &recorded.text, &recorded.changes)
        && (recorded.services.is_empty() || now.services == recorded.services)
}
