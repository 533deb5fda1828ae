//! ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, by number.

use std::sync::Arc;

use serde_json::{Value, json};

use super::ownership::{controlled, reference_to};
use super::template_hash::template_hash;
use super::writes::{Kind, REVISIONS};
use crate::object;
use crate::request::Request;
use crate::store::{Key, Store};

/// The label of a pod that names the revision that it was made from.
pub(super) const REVISION_LABEL: &str = "controller-revision-hash";
/// Default number of old revisions that are kept.
const HISTORY_LIMIT: u64 = 10;

/// The revisions of one set.
pub(super) struct Revisions<'a> {
    kind: Kind,
    set: &'a Value,
    /// By number.
    all: Vec<Arc<Value>>,
}

impl<'a> Revisions<'a> {
    pub(super) fn of<S: Store + ?Sized>(store: &S, kind: Kind, set: &'a Value) -> Self {
        let mut all = controlled(store, set, REVISIONS);
        all.sort_by_key(|revision| number(revision));
        Revisions { kind, set, all }
    }

    /// The revision of the template that the set has now.
    pub(super) fn newest(&self) -> Option<&Value> {
        let template = &self.set["spec"]["template"];
        let last = self.all.iter().rev().find(|revision| self.template_of(revision) == *template);
        last.map(|revision| &**revision)
    }

    /// The template of a revision, by its name.
    pub(super) fn template(&self, name: &str) -> Option<Value> {
        let found = self.all.iter().find(|revision| object::name(revision) == name)?;
        Some(self.template_of(found))
    }

    /// Makes the revision of the template that the set has now, or makes it the last one.
    pub(super) fn next_change<S: Store + ?Sized>(&self, store: &S) -> Option<Request> {
        let last = self.all.last().map_or(0, |revision| number(revision));
        match self.newest() {
            None => self.create(store, last + 1),
            Some(newest) if number(newest) < last => {
                let mut changed = newest.clone();
                changed["revision"] = (last + 1).into();
                Some(REVISIONS.update(changed))
            }
            Some(_) => None,
        }
    }

    fn create<S: Store + ?Sized>(&self, store: &S, revision: i64) -> Option<Request> {
        let mut template = self.set["spec"]["template"].clone();
        let hash = template_hash(&template);
        let name = format!("{}-{hash}", object::name(self.set));
        let namespace = object::namespace(self.set);
        if store.get(&Key::new(REVISIONS.group, REVISIONS.plural, namespace, &name)).is_some() {
            // That of an earlier set of this name, which is about to be collected.
            return None;
        }
        template["$patch"] = "replace".into();
        let mut labels = self.set["spec"]["template"]["metadata"]["labels"].clone();
        labels["controller.kubernetes.io/hash"] = hash.into();
        Some(REVISIONS.create(
            namespace,
            json!({
                "metadata": {
                    "name": name, "labels": labels,
                    "ownerReferences": [reference_to(self.kind, self.set)],
                },
                "data": { "spec": { "template": template } },
                "revision": revision,
            }),
        ))
    }

    /// Deletes the oldest revision that nothing uses, beyond those that are kept.
    pub(super) fn clean_up(&self, used: &[&str]) -> Option<Request> {
        let kept = self.set["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(HISTORY_LIMIT);
        let unused: Vec<&Arc<Value>> =
            self.all.iter().filter(|revision| !used.contains(&object::name(revision))).collect();
        let oldest = unused.first().filter(|_| unused.len() as u64 > kept)?;
        Some(REVISIONS.delete(oldest))
    }

    fn template_of(&self, revision: &Value) -> Value {
        let mut template = revision["data"]["spec"]["template"].clone();
        if let Some(fields) = template.as_object_mut() {
            fields.remove("$patch");
        }
        template
    }
}

fn number(revision: &Value) -> i64 {
    revision["revision"].as_i64().unwrap_or(0)
}
