//! Status fields of a machine's own, beside those of the framework.

use serde::Serialize;
use serde_json::{Map, Value};
use windlass_model::{apply_merge_patch, merge_patch_between};

use crate::outcome::Error;

/// What the framework itself keeps in a status.
const OF_THE_FRAMEWORK: [&str; 3] = ["conditions", "controllers", "observedGeneration"];

/// Fields of the status by name, as a machine wants them; null if it wants one gone.
#[derive(Default)]
pub(crate) struct Report(Map<String, Value>);

impl Report {
    /// Reads the fields from what a machine shows.
    pub(crate) fn of(shown: &impl Serialize) -> Result<Self, Error> {
        let refused = |message| Error::Terminal { reason: "UnusableReport".to_owned(), message };
        let fields = match serde_json::to_value(shown) {
            Ok(Value::Object(fields)) => fields,
            Ok(other) => return Err(refused(format!("a report is a struct with fields, and not {other}"))),
            Err(error) => return Err(refused(format!("the report cannot be written as JSON: {error}"))),
        };
        if let Some(taken) = OF_THE_FRAMEWORK.iter().find(|name| fields.contains_key(**name)) {
            return Err(refused(format!(
                "the status field {taken:?} is the framework's: report another one"
            )));
        }
        // A null inside is the same as nothing, and is not stored.
        let stored = |value| apply_merge_patch(&Value::Null, &value);
        Ok(Report(fields.into_iter().map(|(name, value)| (name, stored(value))).collect()))
    }

    /// Takes in a later report; of a field that both have, the later one counts.
    pub(crate) fn extend(&mut self, later: Report) {
        self.0.extend(later.0);
    }

    /// The merge patch for what is not yet so.
    pub(crate) fn changes(&self, status: &Value) -> Map<String, Value> {
        let changed = self.0.iter().filter(|(name, value)| status[name.as_str()] != **value);
        changed
            .map(|(name, value)| (name.clone(), merge_patch_between(&status[name.as_str()], value)))
            .collect()
    }

    /// A field that is not in a status although it was just written.
    pub(crate) fn lost<'a>(&'a self, status: &Value) -> Option<&'a str> {
        let wanted = self.0.iter().filter(|(_, value)| !value.is_null());
        wanted.map(|(name, _)| name.as_str()).find(|name| status[*name].is_null())
    }
}
