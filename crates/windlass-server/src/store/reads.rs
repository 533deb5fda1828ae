//! The read set of a write, and whether it is still valid: the validation step of optimistic concurrency.
//!
//! Evaluation is by far the longest part of a write, so it runs without a lock, against the committed snapshot. Its
//! outcome holds in a newer state if everything that it has read is the same there; only its versions differ then.

use std::sync::Arc;

use windlass_model::{Body, Effect, Key, object};

use super::state::State;

/// What the evaluation of a write has read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    keys: Vec<Key>,
    /// Group and plural.
    resources: Vec<(String, String)>,
    types: bool,
    everything: bool,
}

impl Reads {
    /// Adds one object, whether it was found or not.
    pub(crate) fn key(&mut self, key: &Key) {
        self.keys.push(key.clone());
    }

    /// Adds all objects of a resource.
    pub(crate) fn resource(&mut self, group: &str, plural: &str) {
        self.resources.push((group.to_owned(), plural.to_owned()));
    }

    /// Adds the types.
    pub(crate) fn types(&mut self) {
        self.types = true;
    }

    /// Adds something that every write changes.
    pub(crate) fn everything(&mut self) {
        self.everything = true;
    }

    /// Whether everything that was read in one state is the same in another.
    pub(crate) fn are_same(&self, seen: &State, now: &State) -> bool {
        if seen.version == now.version {
            return true;
        }
        let same_key = |key: &Key| {
            let version = |state: &State| state.get(key).map(|object| object.version());
            version(seen) == version(now)
        };
        let same_resource = |(group, plural): &(String, String)| match (
            seen.resource(group, plural),
            now.resource(group, plural),
        ) {
            (None, None) => true,
            (Some(seen), Some(now)) => seen.objects.ptr_eq(&now.objects),
            _ => false,
        };
        !self.everything
            && (!self.types || seen.types_version == now.types_version)
            && self.keys.iter().all(same_key)
            && self.resources.iter().all(same_resource)
    }
}

/// Gives the changes of an effect, and the object that it answers with, later versions.
pub(crate) fn restamp(effect: &mut Effect, later: u64) {
    if later == 0 {
        return;
    }
    let Effect { response, changes } = effect;
    let mut answer = match &mut response.body {
        Body::Object(object) => Some(object),
        _ => None,
    };
    for change in changes {
        let old = change.version.to_string();
        change.version += later;
        let new = change.version.to_string();
        let shared = match (&answer, &change.after) {
            (Some(answer), Some(after)) => Arc::ptr_eq(answer, after),
            _ => false,
        };
        // No object had this version before, so an answer that has it shows this very change.
        if let Some(object) = answer.take_if(|object| object::resource_version(object) == old) {
            if shared {
                change.after = None;
            }
            object::set_meta(Arc::make_mut(object), "resourceVersion", new.clone());
            if shared {
                change.after = Some(object.clone());
            }
        }
        if let Some(after) = change.after.as_mut().filter(|_| !shared) {
            object::set_meta(Arc::make_mut(after), "resourceVersion", new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use windlass_model::{Change, Response};

    fn object(version: u64) -> Arc<Value> {
        Arc::new(json!({ "metadata": { "resourceVersion": version.to_string() } }))
    }

    fn change(after: Option<Arc<Value>>, version: u64) -> Change {
        Change { key: Key::new("", "pods", "a", "b"), before: Some(object(3)), after, version }
    }

    #[test]
    fn later_versions_are_in_changes_and_answer() {
        let check = |answer: Arc<Value>, changes: Vec<Change>, expected: (Arc<Value>, Vec<Change>)| {
            let mut effect = Effect { response: Response::object(answer), changes };
            restamp(&mut effect, 10);
            assert_eq!((effect.response.as_object(), &effect.changes), (Some(&expected.0), &expected.1));
        };
        let shared = object(5);
        check(
            shared.clone(),
            vec![change(Some(shared), 5)],
            (object(15), vec![change(Some(object(15)), 15)]),
        );
        check(object(5), vec![change(Some(object(5)), 5)], (object(15), vec![change(Some(object(15)), 15)]));
        // A removal answers with what was there.
        check(object(3), vec![change(None, 5)], (object(3), vec![change(None, 15)]));
        // Marked and then removed in one request.
        check(
            object(6),
            vec![change(Some(object(5)), 5), change(Some(object(6)), 6), change(None, 7)],
            (object(16), vec![change(Some(object(15)), 15), change(Some(object(16)), 16), change(None, 17)]),
        );
    }
}
