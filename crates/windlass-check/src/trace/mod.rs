//! Traces: how a system got from its first state to a violation, and the ways to show it.

mod counterexample;
mod html;
mod mermaid;
mod numbered;
mod text;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(test)]
pub(crate) use counterexample::tests::sample as counterexample_sample;
pub(crate) use numbered::numbered;

pub use counterexample::{BrokenRule, Counterexample, FORMAT, InitialObject, ReadError, RuleKind};

/// A sequence of steps, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The steps, in order.
    pub steps: Vec<TraceStep>,
}

/// One step of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// Names the action among all that are possible at that point, so that the step can be taken again.
    pub action: String,
    /// Who did it.
    pub actor: String,
    /// Who it was done to, if somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// What it did, in words.
    pub text: String,
    /// The name of the fault, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What it did to objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ObjectChange>,
    /// What it did to external services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceChange>,
    /// Which objects the text names, to distinguish those of one name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectMention>,
}

impl TraceStep {
    /// What it did to objects and services, each in one line.
    pub fn summaries(&self) -> impl Iterator<Item = &str> {
        let objects = self.changes.iter().map(|change| change.summary.as_str());
        objects.chain(self.services.iter().map(|change| change.summary.as_str()))
    }
}

/// What a step did to an external service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceChange {
    /// The name of the service.
    pub service: String,
    /// In one line: `~ service bank: 0 -> 1`.
    pub summary: String,
    /// Its state as it was.
    pub before: Value,
    /// Its state as it is now.
    pub after: Value,
}

/// An object that the text of a step names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectMention {
    /// As in [`ObjectChange::object`].
    pub object: String,
    /// Which object of that name it is.
    pub uid: String,
    /// Where in the text its name ends, in bytes.
    pub at: usize,
    /// Whether it is one of the items of a list, which the text only counts: this is where the count ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
}

/// What a step did to an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectChange {
    /// `configmaps default/cm1`.
    pub object: String,
    /// In one line: `+ configmaps default/cm1`.
    pub summary: String,
    /// As it was; absent if it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// As it is now; absent if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}
