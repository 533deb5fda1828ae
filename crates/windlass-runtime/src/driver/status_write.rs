//! Writes of a parent's status, which another writer may change back.
//!
//! A reconcile writes the status only where it differs, so writing the same status twice in a row is a correction.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;
use windlass::model::{PatchKind, Request, Verb, object};
use windlass::{ObjectRef, Rival};

use crate::informer::{Informer, Informers};

use super::memo::Memo;

/// A write of the status of an object that an informer knows.
pub(super) struct StatusWrite<'a> {
    informer: Arc<Informer>,
    pub(super) key: ObjectRef,
    pub(super) manager: &'a str,
    /// Hash of the field manager and the status, without timestamps.
    pub(super) hash: u64,
}

impl<'a> StatusWrite<'a> {
    pub(super) fn new(informers: &Informers, request: &'a Request) -> Option<Self> {
        let (Some(name), Some(body), Some(manager)) =
            (&request.name, &request.body, &request.options.field_manager)
        else {
            return None;
        };
        let of_status = request.subresource.as_deref() == Some("status");
        if request.verb != Verb::Patch(PatchKind::Merge) || !of_status || request.options.dry_run {
            return None;
        }
        let key = ObjectRef::new(request.namespace.as_deref().unwrap_or_default(), name);
        let informer = informers.covering(&request.resource, request.namespace.as_deref());
        let informer = informer.or_else(|| informers.knowing(&request.resource, &key))?;
        let mut hasher = DefaultHasher::new();
        manager.hash(&mut hasher);
        hash_without_times(&body["status"], &mut hasher);
        Some(StatusWrite { informer, key, manager, hash: hasher.finish() })
    }

    /// Who else has written the status since the same was written before; `None` if it is written for the first time.
    pub(super) fn rivals(&self, memo: &Memo) -> Option<Vec<Rival>> {
        let found = self.informer.cache.get(&self.key)?;
        if !self.informer.cache.was_applied(&self.key, self.hash) {
            return None;
        }
        let live = memo.read(&found.text);
        let entries = live["metadata"]["managedFields"].as_array().into_iter().flatten();
        let of_status = entries.filter(|entry| entry["fieldsV1"].get("f:status").is_some());
        let mut others: Vec<&str> = of_status.filter_map(|entry| entry["manager"].as_str()).collect();
        others.retain(|manager| *manager != self.manager);
        others.sort_unstable();
        others.dedup();
        let rival = |manager: Option<&str>| Rival {
            field: ".status".to_owned(),
            manager: manager.map(str::to_owned),
        };
        Some(if others.is_empty() {
            vec![rival(None)]
        } else {
            others.into_iter().map(|other| rival(Some(other))).collect()
        })
    }

    /// It was written, and this is the answer.
    pub(super) fn remember(&self, answer: &Value) {
        if let Ok(version) = object::resource_version(answer).parse() {
            self.informer.cache.remember_applied(&self.key, version, self.hash);
        }
    }
}

/// Ignores `lastTransitionTime`, which differs each time a condition is reverted.
fn hash_without_times(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| *name != "lastTransitionTime") {
                name.hash(hasher);
                hash_without_times(field, hasher);
            }
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash_without_times(item, hasher));
        }
        _ => value.hash(hasher),
    }
}
