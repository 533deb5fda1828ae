//! The schemas of custom resources, from what their authors wrote.

use serde_json::{Map, Value, json};

use super::components::reference;
use super::names;
use windlass_model::TypeInfo;

/// Keywords that a CRD may have but that say nothing about values.
const LEFT_OUT: &[&str] = &["$schema", "id", "example", "externalDocs"];

/// The schema of a custom resource.
pub(super) fn schema(info: &TypeInfo) -> Value {
    // Without a schema nothing may be said: clients take what is not listed for forbidden.
    let Some(Value::Object(written)) = info.open_api.as_deref() else { return json!({ "type": "object" }) };
    let mut schema = written.clone();
    complete(&mut schema);
    add_type_fields(&mut schema);
    schema.into()
}

/// Says in plain words of OpenAPI what extensions of Kubernetes stand for, here and below.
fn complete(schema: &mut Map<String, Value>) {
    for keyword in LEFT_OUT {
        schema.remove(*keyword);
    }
    for part in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = schema.get_mut(part) {
            complete(below);
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(complete);
    }
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        unfold(schema);
    }
    if schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        add_type_fields(schema);
        let required = schema.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            for name in ["kind", "apiVersion"].map(Value::from) {
                if !required.contains(&name) {
                    required.push(name);
                }
            }
        }
    }
}

/// A value that is an integer or a string, unless its author has said so too.
fn unfold(schema: &mut Map<String, Value>) {
    let either = json!([{ "type": "integer" }, { "type": "string" }]);
    let all_of = schema.get("allOf").and_then(Value::as_array);
    let said = schema.get("anyOf") == Some(&either)
        || all_of.and_then(|all_of| all_of.first()).is_some_and(|first| first["anyOf"] == either);
    if said {
        return;
    }
    if !schema.contains_key("anyOf") {
        schema.insert("anyOf".to_owned(), either);
        return;
    }
    let all_of = schema.entry("allOf").or_insert_with(|| json!([]));
    if let Some(all_of) = all_of.as_array_mut() {
        all_of.insert(0, json!({ "anyOf": either }));
    }
}

/// Whatever the author wrote, these are what they are for all objects.
fn add_type_fields(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert("apiVersion".to_owned(), json!({ "type": "string" }));
        properties.insert("kind".to_owned(), json!({ "type": "string" }));
        properties.insert("metadata".to_owned(), reference(&names::component("meta.v1.ObjectMeta")));
    }
}
