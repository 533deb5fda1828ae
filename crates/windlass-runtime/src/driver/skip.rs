//! Applies that would change nothing, and so are not sent.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;
use windlass::ObjectRef;
use windlass::model::apply::is_unchanged;
use windlass::model::{PatchKind, Request, Verb, object};

use crate::informer::{Informer, Informers};
use crate::sharding::{Grant, as_last_written};

use super::memo::Memo;

/// An apply of an object that an informer knows.
pub(super) struct Applying<'a> {
    informer: Arc<Informer>,
    pub(super) key: ObjectRef,
    body: &'a Value,
    pub(super) manager: &'a str,
    /// Of all that is sent, but for the uid and the version: they say which object is meant, and not what it is to be.
    pub(super) hash: u64,
}

impl<'a> Applying<'a> {
    pub(super) fn new(informers: &Informers, grant: Option<&Grant>, request: &'a Request) -> Option<Self> {
        let (Some(name), Some(body), Some(manager)) =
            (&request.name, &request.body, &request.options.field_manager)
        else {
            return None;
        };
        let whole = request.verb == Verb::Patch(PatchKind::Apply) && request.subresource.is_none();
        if !whole || request.options.dry_run {
            return None;
        }
        let (resource, namespace) = (&request.resource, request.namespace.as_deref());
        let of_slot = || grant.and_then(|grant| grant.outputs().of_slot(resource, namespace, grant.slot()));
        let informer = informers.covering(resource, namespace).or_else(of_slot)?;
        let key = ObjectRef::new(request.namespace.as_deref().unwrap_or_default(), name);
        Some(Applying { informer, key, body, manager, hash: hash(body, manager, request.options.force) })
    }

    /// The object as it is, if the apply would leave it so.
    pub(super) fn unchanged(&self, memo: &Memo) -> Option<Arc<Value>> {
        let found = self.informer.cache.get(&self.key)?;
        let live = memo.read(&found.text);
        let wanted_uid = object::uid(self.body);
        if !wanted_uid.is_empty() && wanted_uid != object::uid(&live) {
            return None;
        }
        if self.informer.cache.is_applied(&self.key, found.version, self.hash) {
            return Some(live);
        }
        if !is_unchanged(&live, &as_last_written(self.body, &live), self.manager) {
            return None;
        }
        self.informer.cache.remember_applied(&self.key, found.version, self.hash);
        Some(live)
    }

    /// Whether there is no such object yet.
    pub(super) fn is_missing(&self) -> bool {
        self.informer.cache.get(&self.key).is_none()
    }

    /// The object before an apply that was sent before: if this one changes it, another writer has changed it back.
    pub(super) fn applied_before(&self, memo: &Memo) -> Option<Arc<Value>> {
        let found = self.informer.cache.get(&self.key)?;
        self.informer.cache.was_applied(&self.key, self.hash).then(|| memo.read(&found.text))
    }

    /// Records the response to an apply: sending it again would change nothing. The server may have normalised some
    /// values, so the object alone does not show this.
    pub(super) fn remember(&self, answer: &Value) {
        if let Ok(version) = object::resource_version(answer).parse() {
            self.informer.cache.remember_applied(&self.key, version, self.hash);
        }
    }
}

fn hash(body: &Value, manager: &str, force: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    (manager, force).hash(&mut hasher);
    for (name, value) in body.as_object().into_iter().flatten() {
        name.hash(&mut hasher);
        match value.as_object() {
            Some(metadata) if name == "metadata" => {
                metadata
                    .iter()
                    .filter(|(field, _)| !["uid", "resourceVersion"].contains(&field.as_str()))
                    .for_each(|field| field.hash(&mut hasher));
            }
            _ => value.hash(&mut hasher),
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_is_of_all_but_uid_and_version() {
        let body = json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}});
        let with_uid = json!({"kind": "ConfigMap", "metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}, "data": {"a": "1"}});
        let other = json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "2"}});
        let of = |body| hash(body, "me", false);
        assert_eq!(of(&body), of(&with_uid));
        assert_ne!(of(&body), of(&other));
        assert_ne!(of(&body), hash(&body, "you", false));
        assert_ne!(of(&body), hash(&body, "me", true));
    }
}
