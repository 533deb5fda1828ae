//! What a policy sees of a request.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::object;
use crate::status::Status;
use crate::store::{Key, Store};
use crate::types::Types;

use super::matching::Matched;
use super::review::{Kind, Review};
use super::scope::Inputs;

/// What the metadata of `namespaceObject` shows.
const NAMESPACE_METADATA: [&str; 11] = [
    "name",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
];

/// The request in the version that a policy matches.
pub(super) struct View<'a> {
    pub(super) object: Cow<'a, Value>,
    pub(super) old_object: Cow<'a, Value>,
    pub(super) request: Value,
    pub(super) condition_request: Value,
}

impl<'a> View<'a> {
    pub(super) fn of(review: &Review<'a>, matched: &Matched, types: &Types) -> Self {
        let shown = |object: Option<&'a Value>| match object {
            None => Cow::Owned(Value::Null),
            Some(object) => as_kind(object, review, matched, types),
        };
        View {
            object: shown(review.object),
            old_object: shown(review.old_object),
            request: review.request(&matched.resource, &matched.kind),
            condition_request: review.request(review.resource, &matched.kind),
        }
    }

    pub(super) fn inputs(&self) -> Inputs<'_> {
        Inputs {
            object: &self.object,
            old_object: &self.old_object,
            request: &self.request,
            params: &Value::Null,
            namespace: &Value::Null,
        }
    }
}

/// An object in the version of the resource that a policy knows it by.
fn as_kind<'a>(object: &'a Value, review: &Review<'_>, matched: &Matched, types: &Types) -> Cow<'a, Value> {
    let Kind { group, version, kind } = &matched.kind;
    let is_shown = object["apiVersion"] == *object::api_version(group, version) && object["kind"] == **kind;
    if is_shown {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    match types.get(&matched.resource) {
        Some(info) if matched.kind != review.kind => info.convert(&mut object),
        _ => {
            object["apiVersion"] = object::api_version(group, version).into();
            object["kind"] = kind.as_str().into();
        }
    }
    Cow::Owned(object)
}

/// The variable `namespaceObject`: null outside namespaces.
pub(super) fn namespace_object<S: Store + ?Sized>(store: &S, name: &str) -> Result<Value, Status> {
    if name.is_empty() {
        return Ok(Value::Null);
    }
    let found = store.get(&Key::new("", "namespaces", "", name));
    let found = found.ok_or_else(|| Status::not_found("", "namespaces", name))?;
    let metadata = found["metadata"].as_object().into_iter().flatten();
    let metadata = metadata.filter(|(field, _)| NAMESPACE_METADATA.contains(&field.as_str()));
    let metadata: serde_json::Map<String, Value> =
        metadata.map(|(field, value)| (field.clone(), value.clone())).collect();
    Ok(json!({ "metadata": metadata, "spec": found["spec"], "status": found["status"] }))
}
