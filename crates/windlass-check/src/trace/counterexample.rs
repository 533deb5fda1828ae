//! A violation with all that is needed to show it and to try it again: one document for tools, pages and replay.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Trace, TraceStep};

/// The number of the document's format. It grows when an older reader could not make sense of a new document.
pub const FORMAT: u64 = 1;

/// How a check failed: the broken rule, and the steps that lead there.
///
/// As JSON it is the regression file that a failed check leaves, and the data of the HTML page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterexample {
    /// The version of Windlass that found it.
    pub windlass: String,
    /// The format of the document: [`FORMAT`].
    pub format: u64,
    /// The name of the check.
    pub check: String,
    /// What the check was bounded by, in words: `2 objects, <= 1 crash`.
    pub bounds: String,
    /// The rule that is broken.
    pub violation: BrokenRule,
    /// The objects that are there from the start.
    #[serde(default)]
    pub initial: Vec<InitialObject>,
    /// The states of external services at the start, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, Value>,
    /// The way to where it shows.
    pub steps: Vec<TraceStep>,
    /// What repeats for ever from there; empty if nothing more happens, or if that does not matter.
    #[serde(default)]
    pub repeats: Vec<TraceStep>,
}

/// A rule that does not hold, in a form that can be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenRule {
    /// The kind of the rule.
    pub kind: RuleKind,
    /// The name of the property, if it is one that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// In words, for people.
    pub message: String,
}

/// The kind of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// The last state breaks an `always`.
    Always,
    /// Fair runs stay where an `eventually` does not hold.
    Eventually,
    /// No state satisfies a `sometimes`. There are no steps to show for it.
    Sometimes,
    /// The last step must never happen.
    Step,
    /// The states in which fair runs stay for ever, taken together, break a built-in rule.
    End,
}

impl BrokenRule {
    /// The last state breaks an `always`.
    pub fn always(property: &str) -> Self {
        BrokenRule::property(RuleKind::Always, property, "does not hold")
    }

    /// Fair runs stay where an `eventually` does not hold.
    pub fn eventually(property: &str) -> Self {
        BrokenRule::property(RuleKind::Eventually, property, "does not come true")
    }

    /// No state satisfies a `sometimes`.
    pub fn never(property: &str) -> Self {
        BrokenRule::property(
            RuleKind::Sometimes,
            property,
            "is true in no state: the check shows less than it seems to",
        )
    }

    /// The last step must never happen.
    pub fn step(message: &str) -> Self {
        BrokenRule { kind: RuleKind::Step, property: None, message: message.to_owned() }
    }

    /// The states in which fair runs stay for ever, taken together, break a built-in rule.
    pub fn end(message: &str) -> Self {
        BrokenRule { kind: RuleKind::End, property: None, message: message.to_owned() }
    }

    fn property(kind: RuleKind, property: &str, what: &str) -> Self {
        let word = format!("{kind:?}").to_lowercase();
        BrokenRule {
            kind,
            property: Some(property.to_owned()),
            message: format!("{word} \"{property}\" {what}"),
        }
    }
}

/// An object that is there from the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitialObject {
    /// As in [`super::ObjectChange::object`]: `configmaps default/cm1`.
    pub object: String,
    /// The object.
    pub value: Value,
}

/// Why a text is not a counterexample.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It ends in the middle.
    #[error(
        "it ends too early, at line {line}: it was not written to its end. Run the check again to get a whole one"
    )]
    Truncated {
        /// Where it ends.
        line: usize,
    },
    /// It is no JSON.
    #[error("it is not JSON ({0}). Give the .json file that a failed check has left")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON, but says nowhere which format it has.
    #[error(
        "it is JSON, but no counterexample: it has no \"format\" number. Give the .json file that a failed check has left"
    )]
    NotACounterexample,
    /// It was written by a version that this one does not know.
    #[error(
        "it has format {format}, written by Windlass {windlass}, and this is Windlass {this}, which reads format {FORMAT}. \
         Use that version, or run the check again",
        this = env!("CARGO_PKG_VERSION")
    )]
    UnknownFormat {
        /// The number it has.
        format: String,
        /// The version that wrote it, or `?`.
        windlass: String,
    },
    /// A field is missing or has another shape.
    #[error(
        "a field is not as it should be ({0}). Was it edited by hand? Run the check again to get a sound one"
    )]
    Field(#[source] serde_json::Error),
}

impl Counterexample {
    /// A document of this version's format.
    pub fn new(check: &str, bounds: &str, violation: BrokenRule) -> Self {
        Counterexample {
            windlass: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
            check: check.to_owned(),
            bounds: bounds.to_owned(),
            violation,
            initial: Vec::new(),
            services: BTreeMap::new(),
            steps: Vec::new(),
            repeats: Vec::new(),
        }
    }

    /// Adds the objects that are there from the start.
    #[must_use]
    pub fn starting_with(mut self, initial: Vec<InitialObject>) -> Self {
        self.initial = initial;
        self
    }

    /// Adds the states of external services at the start.
    #[must_use]
    pub fn with_services(mut self, services: BTreeMap<String, Value>) -> Self {
        self.services = services;
        self
    }

    /// Adds the way to where it shows, and what repeats for ever from there.
    #[must_use]
    pub fn along(mut self, trace: Trace, repeats: Trace) -> Self {
        self.steps = trace.steps;
        self.repeats = repeats.steps;
        self
    }

    /// All steps, those that repeat once and at the end.
    pub(crate) fn all_steps(&self) -> impl Iterator<Item = &TraceStep> {
        self.steps.iter().chain(&self.repeats)
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
    /// If it is no counterexample, or one of a format that this version does not know.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let value: Value = serde_json::from_str(text).map_err(|error| match error.is_eof() {
            true => ReadError::Truncated { line: error.line() },
            false => ReadError::NotJson(error),
        })?;
        // The number comes first: with another format, a missing field would be a misleading complaint.
        match value.get("format") {
            None => return Err(ReadError::NotACounterexample),
            Some(format) if format.as_u64() == Some(FORMAT) => {}
            Some(format) => {
                let windlass = value.get("windlass").and_then(Value::as_str).unwrap_or("?").to_owned();
                return Err(ReadError::UnknownFormat { format: format.to_string(), windlass });
            }
        }
        serde_json::from_value(value).map_err(ReadError::Field)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::ObjectChange;

    pub(crate) fn step(actor: &str, receiver: Option<&str>, text: &str) -> TraceStep {
        TraceStep {
            action: format!("{actor}: {text}"),
            actor: actor.to_owned(),
            receiver: receiver.map(str::to_owned),
            text: text.to_owned(),
            ..TraceStep::default()
        }
    }

    /// A crash between two writes, and a controller that then fails for ever.
    pub(crate) fn sample() -> Counterexample {
        let pair = json!({ "kind": "Pair", "metadata": { "name": "a", "resourceVersion": "1" } });
        let map = json!({ "kind": "ConfigMap", "metadata": { "name": "cm1", "resourceVersion": "1" } });
        let mut create = step("pairs", Some("database"), "create configmaps default/cm1 -> 201");
        create.changes.push(ObjectChange {
            object: "configmaps default/cm1".to_owned(),
            summary: "+ configmaps default/cm1".to_owned(),
            before: None,
            after: Some(map),
        });
        let mut crash = step("pairs", None, "CRASHES while it reconciles default/a");
        crash.fault = Some("crash".to_owned());
        let steps = vec![step("watch", Some("pairs"), "notifies pairs: default/a changed"), create, crash];
        let repeats =
            vec![step("pairs", Some("database"), "create configmaps default/cm1 -> 409 AlreadyExists")];
        Counterexample::new("pairs", "1 object, <= 1 crash", BrokenRule::eventually("a is ready"))
            .starting_with(vec![InitialObject { object: "pairs default/a".to_owned(), value: pair }])
            .along(Trace { steps }, Trace { steps: repeats })
    }

    #[test]
    fn what_is_written_is_read() {
        let document = sample();
        assert_eq!(Counterexample::from_json(&document.to_json()).unwrap(), document);
        let value: Value = serde_json::from_str(&document.to_json()).unwrap();
        assert_eq!(value["format"], 1);
        assert_eq!(value["violation"]["kind"], "eventually");
        assert_eq!(value["steps"][2]["fault"], "crash");
        assert_eq!(value["initial"][0]["object"], "pairs default/a");
        // What is not there takes no room.
        assert_eq!(value["steps"][0].get("fault"), None);
        assert_eq!(value["steps"][0].get("changes"), None);
    }

    #[test]
    fn unreadable_documents_are_rejected_with_a_reason() {
        let whole = sample().to_json();
        let newer = whole.replace("\"format\": 1", "\"format\": 7");
        let edited = whole.replace("\"bounds\"", "\"bonds\"");
        for (text, expected) in [
            (&whole[..whole.len() / 2], "ends too early"),
            ("", "ends too early, at line 1"),
            ("kind: Pair", "not JSON (expected value at line 1 column 1)"),
            ("{\"kind\": \"Pair\"}", "no counterexample: it has no \"format\" number"),
            ("[]", "no counterexample"),
            (&newer, "format 7, written by Windlass 0.1.0, and this is Windlass 0.1.0, which reads format 1"),
            (&edited, "missing field `bounds`"),
        ] {
            let message = Counterexample::from_json(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
