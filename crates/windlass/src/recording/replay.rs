//! Runs a recorded reconcile again with the code at hand, and says where it goes another way.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::ask::{Answer, Ask};
use crate::coroutine::CoroutineState;
use crate::machine::Controller;

use super::difference::difference;
use super::placeholder::compare;
use super::{Batch, RecordedEnd, Recording};

/// What came of running a recorded reconcile again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "replayed", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Replayed {
    /// It asked the same and ended in the same way.
    Same {
        /// How many batches it asked.
        batches: usize,
        /// How many values could not be compared, since a secret was part of them.
        uncertain: usize,
    },
    /// It asked something else, ended where it had gone on, or went on where it had ended.
    Diverged {
        /// In which batch, counted from 1.
        batch: usize,
        /// The state that ran then.
        recorded_state: String,
        /// The state that runs now.
        state: String,
        /// What is different: `-` as recorded, `+` as it is now.
        difference: String,
    },
    /// It asked the same and ended in another way.
    EndedOtherwise {
        /// How many batches it asked.
        batches: usize,
        /// What is different: `-` as recorded, `+` as it is now.
        difference: String,
    },
}

/// Runs a recorded reconcile again with a controller: each ask is compared with the recorded one, and answered as it
/// was then.
pub fn replay(controller: &Controller, recording: &Recording) -> Replayed {
    let mut coroutine = controller.reconcile(&recording.target, recording.create_missing);
    let mut answers: Vec<Answer> = Vec::new();
    let mut uncertain = 0;
    let count = recording.batches.len();
    for (index, batch) in recording.batches.iter().enumerate() {
        let now = match coroutine.resume(std::mem::take(&mut answers)) {
            CoroutineState::Ask(asks) => asked(&asks),
            CoroutineState::End(ended) => json!({ "end": RecordedEnd::of(&ended) }),
            CoroutineState::Bug(bug) => json!({ "end": RecordedEnd::Bug(bug.to_string()) }),
        };
        let before = recorded(batch);
        let compared = compare(&before, &now);
        if compared.differs {
            return Replayed::Diverged {
                batch: index + 1,
                recorded_state: batch.state.clone(),
                state: coroutine.state().to_owned(),
                difference: difference(&before, &now),
            };
        }
        uncertain += compared.uncertain;
        answers = batch.exchanges.iter().map(|exchange| exchange.answer.clone()).collect();
    }
    let now = match coroutine.resume(answers) {
        CoroutineState::End(ended) => RecordedEnd::of(&ended),
        CoroutineState::Bug(bug) => RecordedEnd::Bug(bug.to_string()),
        // What it asked last was not answered any more, and so not recorded.
        CoroutineState::Ask(_) if recording.end == RecordedEnd::TimedOut => RecordedEnd::TimedOut,
        CoroutineState::Ask(asks) => {
            let before = json!({ "end": recording.end });
            let state = coroutine.state().to_owned();
            let difference = difference(&before, &asked(&asks));
            let recorded_state = "(ended)".to_owned();
            return Replayed::Diverged { batch: count + 1, recorded_state, state, difference };
        }
    };
    let (before, now) = (json!(recording.end), json!(now));
    let compared = compare(&before, &now);
    if compared.differs {
        return Replayed::EndedOtherwise { batches: count, difference: difference(&before, &now) };
    }
    Replayed::Same { batches: count, uncertain: uncertain + compared.uncertain }
}

fn recorded(batch: &Batch) -> Value {
    json!({ "asks": batch.exchanges.iter().map(|exchange| &exchange.ask).collect::<Vec<_>>() })
}

fn asked(asks: &[Ask]) -> Value {
    json!({ "asks": asks })
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Replayed::Same { batches, uncertain } => {
                writeln!(f, "the same: it asks the same in all {batches} batches and ends in the same way")?;
                match uncertain {
                    0 => Ok(()),
                    _ => writeln!(f, "{uncertain} values could not be compared: a secret is part of them"),
                }
            }
            Replayed::Diverged { batch, recorded_state, state, difference } => {
                writeln!(f, "it diverges in batch {batch}, in state {state} (recorded: {recorded_state}):")?;
                writeln!(f, "- as recorded\n+ as it is now\n\n{difference}")
            }
            Replayed::EndedOtherwise { batches, difference } => {
                writeln!(f, "it asks the same in all {batches} batches, but ends in another way:")?;
                writeln!(f, "- as recorded\n+ as it is now\n\n{difference}")
            }
        }
    }
}
