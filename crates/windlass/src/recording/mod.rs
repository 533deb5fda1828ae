//! A reconcile that was written down: everything that it asked and was answered, so that it can be run again.
//!
//! Start with [`Recording::from_json`] and [`replay`].

mod difference;
mod placeholder;
mod replay;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_model::Timestamp;

use crate::ask::{Answer, Ask};
use crate::bug::Bug;
use crate::kind::ObjectRef;
use crate::reconcile_result::{Event, ReconcileResult, Reconciled};

pub use difference::difference;
pub use placeholder::{PLACEHOLDER_DIGITS, PLACEHOLDER_PREFIX, is_placeholder};
pub use replay::{Replayed, replay};

/// The number of the document's format. It grows when an older reader could not make sense of a new document.
pub const FORMAT: u64 = 1;

/// A reconcile from its beginning to its end. As JSON it is the file that `windlass replay` reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The format of the document: [`FORMAT`]. Nothing else that Windlass writes has a field of this name.
    pub recording: u64,
    /// The version of Windlass that wrote it.
    pub windlass: String,
    /// Identifies the recording.
    pub id: String,
    /// The name of the controller.
    pub controller: String,
    /// The parent.
    pub target: ObjectRef,
    /// Whether the parent was to be made if it did not exist.
    pub create_missing: bool,
    /// What had changed, in words.
    pub causes: Vec<String>,
    /// When it began.
    pub at: Timestamp,
    /// What it asked, batch by batch, with the answers.
    pub batches: Vec<Batch>,
    /// How it ended.
    pub end: RecordedEnd,
}

/// What a reconcile asked at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The state that asked.
    pub state: String,
    /// What it asked, with the answers, in order.
    pub exchanges: Vec<Exchange>,
}

/// An ask with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// What was asked.
    pub ask: Ask,
    /// What was answered.
    pub answer: Answer,
}

/// How a reconcile ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordedEnd {
    /// It came to its end.
    Ended {
        /// What the driver was to do next.
        #[serde(alias = "verdict")]
        result: ReconcileResult,
        /// The states that ran, in order.
        path: Vec<String>,
        /// A mistake in the controller's code that it met.
        bug: Option<String>,
        /// Events about the parent.
        events: Vec<Event>,
    },
    /// Its code is wrong, and it could not go on.
    Bug(String),
    /// It did not come to its end in its time.
    TimedOut,
}

impl RecordedEnd {
    /// How a reconcile ended, without its types.
    pub fn of(ended: &Reconciled) -> Self {
        RecordedEnd::Ended {
            result: ended.result.clone(),
            path: ended.path.iter().map(|state| (*state).to_owned()).collect(),
            bug: ended.bug.as_ref().map(Bug::to_string),
            events: ended.events.clone(),
        }
    }

    /// Whether this is what people look for: a failure that is no conflict with another writer.
    pub fn is_failure(&self) -> bool {
        match self {
            RecordedEnd::Ended { result, .. } => {
                matches!(result, ReconcileResult::Failed { .. } | ReconcileResult::Terminal { .. })
            }
            RecordedEnd::Bug(_) | RecordedEnd::TimedOut => true,
        }
    }
}

/// Why a text is not a recording.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON, or ends in the middle.
    #[error("it is not JSON ({0}). Give a .json file that a running controller has saved")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON, but no recording.
    #[error(
        "it is JSON, but no recording: it has no \"recording\" number. Give a .json file that a running controller has saved"
    )]
    NotARecording,
    /// It was written by a version that this one does not know.
    #[error(
        "it has format {format}, written by Windlass {windlass}, and this is Windlass {this}, which reads format {FORMAT}. \
         Use that version",
        this = env!("CARGO_PKG_VERSION")
    )]
    UnknownFormat {
        /// The number it has.
        format: String,
        /// The version that wrote it, or `?`.
        windlass: String,
    },
    /// A field is missing or has another shape.
    #[error("a field is not as it should be ({0}). Was it edited by hand?")]
    Field(#[source] serde_json::Error),
    /// An answer cannot be one to what was asked.
    #[error("the answers of batch {batch} do not fit what was asked. Was it edited by hand?")]
    Answers {
        /// Which batch, counted from 1.
        batch: usize,
    },
}

impl Recording {
    /// Whether a JSON document is meant to be a recording, of whatever format.
    pub fn is_one(document: &Value) -> bool {
        document.get("recording").is_some()
    }

    /// The document, laid out for people and for diffs.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("all keys are strings");
        text.push('\n');
        text
    }

    /// Reads a document.
    ///
    /// # Errors
    /// If it is no recording, or one of a format that this version does not know.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let value: Value = serde_json::from_str(text).map_err(ReadError::NotJson)?;
        match value.get("recording") {
            None => return Err(ReadError::NotARecording),
            Some(format) if format.as_u64() == Some(FORMAT) => {}
            Some(format) => {
                let windlass = value["windlass"].as_str().unwrap_or("?").to_owned();
                return Err(ReadError::UnknownFormat { format: format.to_string(), windlass });
            }
        }
        let recording: Recording = serde_json::from_value(value).map_err(ReadError::Field)?;
        let fits = |batch: &Batch| batch.exchanges.iter().all(|exchange| exchange.ask.fits(&exchange.answer));
        match recording.batches.iter().position(|batch| !fits(batch)) {
            Some(index) => Err(ReadError::Answers { batch: index + 1 }),
            None => Ok(recording),
        }
    }
}
