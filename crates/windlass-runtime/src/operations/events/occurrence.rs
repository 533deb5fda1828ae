//! Something that happened to an object, and the Event that reports it.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass::model::{Timestamp, object};
use windlass::{Event, KindInfo};

/// Maximum lengths that the API accepts, in bytes.
const NOTE_BYTES: usize = 1024;
const WORD_BYTES: usize = 128;
const NAME_BYTES: usize = 253;

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Regarding {
    /// `example.com/v1`.
    pub api_version: String,
    /// `Pair`.
    pub kind: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid. Without it, `kubectl describe` does not show the event.
    pub uid: String,
}

impl Regarding {
    /// An object of this kind, from its JSON.
    pub fn of(kind: &KindInfo, value: &Value) -> Self {
        Regarding {
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            namespace: object::namespace(value).to_owned(),
            name: object::name(value).to_owned(),
            uid: value["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Where its events are kept: in its namespace, or in `default` if it has none.
    pub(super) fn events_namespace(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }
}

/// Who reports events.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reporter {
    controller: String,
    instance: String,
}

impl Reporter {
    pub(super) fn new(controller: &str, instance: &str) -> Self {
        let instance = cut(&format!("{controller}-{instance}"), WORD_BYTES);
        Reporter { controller: controller.to_owned(), instance }
    }
}

/// Something that happened to an object.
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    pub(super) regarding: Regarding,
    pub(super) reporter: Arc<Reporter>,
    pub(super) event: Event,
    pub(super) at: Timestamp,
}

impl Occurrence {
    /// The Event that reports it, named after the object and the time.
    pub(super) fn to_event(&self) -> Value {
        let Occurrence { regarding, reporter, event, at } = self;
        let suffix = format!(".{:x}", at.unix_micros());
        let name = cut(&regarding.name, NAME_BYTES - suffix.len());
        let mut about = json!({
            "apiVersion": regarding.api_version, "kind": regarding.kind, "name": regarding.name, "uid": regarding.uid,
        });
        if !regarding.namespace.is_empty() {
            about["namespace"] = regarding.namespace.as_str().into();
        }
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {
                "name": format!("{}{suffix}", name.trim_end_matches(['.', '-'])),
                "namespace": regarding.events_namespace(),
            },
            "eventTime": at.to_micro_string(),
            "type": if event.warning { "Warning" } else { "Normal" },
            "reason": word(&event.reason, "Unknown"),
            "action": "Reconcile",
            "note": cut(&event.message, NOTE_BYTES),
            "regarding": about,
            "reportingController": reporter.controller,
            "reportingInstance": reporter.instance,
        })
    }
}

/// A word that the API requires.
fn word(text: &str, otherwise: &str) -> String {
    cut(if text.is_empty() { otherwise } else { text }, WORD_BYTES)
}

/// A text cut to this number of bytes, between characters, with a mark where something is missing.
fn cut(text: &str, bytes: usize) -> String {
    const MARK: &str = "...";
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes - MARK.len()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{MARK}", &text[..end])
}
