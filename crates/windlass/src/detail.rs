//! How much of the objects in an answer a reconcile looks at.
//!
//! The framework asks for outputs only to see whether they exist and who owns them. What it does not look at cannot
//! change what it does next, so the checker need not distinguish reconciles that differ in nothing else. To make that
//! true by construction, the framework drops the rest before it looks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_model::{Body, Response};

/// How much of the objects in an answer a reconcile looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Detail {
    /// All.
    #[default]
    Whole,
    /// Who it is and whose: its kind, and of its metadata what names it, who owns it, who has written to it and whether it
    /// is being deleted. An object that was written with any request other than an apply is kept whole.
    Identity,
}

/// The metadata fields that are part of the identity.
const IDENTITY: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "labels",
    "annotations",
    "ownerReferences",
    "deletionTimestamp",
    "finalizers",
    "managedFields",
];
/// The fields of a `managedFields` entry that are part of the identity.
const WRITER: [&str; 4] = ["manager", "operation", "apiVersion", "subresource"];

impl Detail {
    /// Whether nothing is thrown away.
    pub fn is_whole(&self) -> bool {
        *self == Detail::Whole
    }

    /// What is looked at of an answer.
    #[must_use]
    pub fn of(self, mut response: Response) -> Response {
        if self.is_whole() {
            return response;
        }
        match &mut response.body {
            Body::Object(found) => reduce(found),
            Body::List(list) => {
                list.items.iter_mut().for_each(reduce);
                list.resource_version.clear();
            }
            Body::Status(_) => {}
        }
        response
    }
}

fn reduce(object: &mut Arc<Value>) {
    let metadata = &object["metadata"];
    let writers = metadata["managedFields"].as_array().map_or(&[][..], Vec::as_slice);
    // Applies must get along with what the same controller has written otherwise: that takes all there is to know.
    if writers.iter().any(|entry| entry["operation"] != "Apply" && entry["subresource"].is_null()) {
        return;
    }
    let mut identity = keep(metadata, &IDENTITY);
    if !writers.is_empty() {
        let writers: Vec<Value> = writers.iter().map(|entry| keep(entry, &WRITER).into()).collect();
        identity.insert("managedFields".to_owned(), writers.into());
    }
    let mut reduced = keep(object, &["apiVersion", "kind"]);
    reduced.insert("metadata".to_owned(), identity.into());
    *object = Arc::new(reduced.into());
}

fn keep(value: &Value, names: &[&str]) -> Map<String, Value> {
    let field = |name: &&str| Some(((*name).to_owned(), value.get(*name)?.clone()));
    names.iter().filter_map(field).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(fields: Value) -> Value {
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "a",
                "uid": "1",
                "resourceVersion": "7",
                "generation": 2,
                "managedFields": [{ "manager": "windlass-x", "operation": "Apply", "time": "now", "fieldsV1": { "f:data": {} } }],
            },
            "data": { "key": "value" },
        });
        if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
            object.extend(fields);
        }
        object
    }

    fn identity(object: Value) -> Value {
        let answer = Detail::Identity.of(Response::object(Arc::new(object)));
        answer.as_object().map(|object| (**object).clone()).unwrap_or_default()
    }

    #[test]
    fn what_an_object_says_is_no_part_of_its_identity() {
        let reduced = identity(applied(json!({})));
        assert_eq!(
            reduced,
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": "a",
                    "uid": "1",
                    "managedFields": [{ "manager": "windlass-x", "operation": "Apply" }],
                },
            })
        );
        assert_eq!(identity(applied(json!({ "data": { "key": "another" } }))), reduced);
        assert_eq!(identity(reduced.clone()), reduced, "what was reduced stays so");
    }

    #[test]
    fn an_object_that_was_updated_is_kept_whole() {
        let mut object = applied(json!({}));
        object["metadata"]["managedFields"][0]["operation"] = json!("Update");
        assert_eq!(identity(object.clone()), object);
        object["metadata"]["managedFields"][0]["subresource"] = json!("status");
        assert!(identity(object).get("data").is_none(), "a status is somebody else's");
    }
}
