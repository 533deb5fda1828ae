//! What the conditions of a namespace that is being deleted say: how far its deletion has come, and what holds it up.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::object;
use crate::request::{Request, ResourceId, Verb};
use crate::store::Store;
use crate::time::Timestamp;

/// Type, reason and message of each condition when nothing is in the way. The first three can only fail where the
/// controller asks a server that it may not reach.
const GOOD: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    (CONTENT, "ContentRemoved", "All content successfully removed"),
    (FINALIZERS, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];
const CONTENT: &str = "NamespaceContentRemaining";
const FINALIZERS: &str = "NamespaceFinalizersRemaining";

/// What is left in a namespace.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    /// The number of objects by resource, `plural.group`.
    objects: BTreeMap<String, usize>,
    /// The number of objects by finalizer.
    finalizers: BTreeMap<String, usize>,
}

impl Remaining {
    pub(super) fn count<S: Store + ?Sized>(store: &S, namespace: &str, resources: &[ResourceId]) -> Self {
        let mut remaining = Remaining::default();
        for resource in resources {
            let mut number = 0;
            for (_, found) in store.scan(&resource.group, &resource.plural, Some(namespace), None) {
                number += 1;
                for finalizer in object::finalizers(&found) {
                    *remaining.finalizers.entry(finalizer.to_owned()).or_default() += 1;
                }
            }
            remaining.objects.insert(format!("{}.{}", resource.plural, resource.group), number);
        }
        remaining
    }

    /// What stands in the way, as reason and message.
    fn trouble(&self, condition: &str) -> Option<(&'static str, String)> {
        let listed = |counts: &BTreeMap<String, usize>, words: &str| {
            let lines: Vec<String> = counts
                .iter()
                .map(|(name, number)| format!("{name} {words} {number} resource instances"))
                .collect();
            lines.join(", ")
        };
        match condition {
            CONTENT if !self.objects.is_empty() => {
                let listed = listed(&self.objects, "has");
                Some(("SomeResourcesRemain", format!("Some resources are remaining: {listed}")))
            }
            FINALIZERS if !self.finalizers.is_empty() => {
                let listed = listed(&self.finalizers, "in");
                let message = format!("Some content in the namespace has finalizers remaining: {listed}");
                Some(("SomeFinalizersRemain", message))
            }
            _ => None,
        }
    }
}

/// The request that brings the conditions up to date; `None` if they are.
pub(super) fn update(namespace: &Value, remaining: &Remaining, now: Timestamp) -> Option<Request> {
    let before = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let mut conditions = before.clone();
    for (kind, reason, message) in GOOD {
        let trouble = remaining.trouble(kind);
        let status = if trouble.is_some() { "True" } else { "False" };
        let (reason, message) = trouble.unwrap_or((reason, message.to_owned()));
        let mut condition = json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": now.to_string(),
        });
        match conditions.iter_mut().find(|known| known["type"] == kind) {
            None => conditions.push(condition),
            Some(known) => {
                if known["status"] == condition["status"] {
                    condition["lastTransitionTime"] = known["lastTransitionTime"].take();
                }
                *known = condition;
            }
        }
    }
    if conditions == before {
        return None;
    }
    let mut body = namespace.clone();
    body["status"]["conditions"] = conditions.into();
    let request = Request::new(Verb::Update, ResourceId::new("", "v1", "namespaces"));
    Some(request.named(object::name(namespace)).on("status").with_body(body).as_manager(super::MANAGER))
}
