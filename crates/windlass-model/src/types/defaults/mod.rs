//! The defaults that the API server sets on built-in types, and the form it gives to what it stores.
//!
//! A built-in object passes through a Go struct on its way in, which drops empty values that it cannot distinguish
//! from absent ones, writes structs that were never set, and rewrites quantities and times. All of that is in the schema;
//! defaults that depend on other fields are in the files below this one.

mod kinds;
mod pods;

use serde_json::{Map, Value};

use crate::schema::is_zero;
use crate::schema::{Schema, Shape};
use crate::time::Timestamp;
use crate::types::{Origin, TypeInfo};
use windlass_cel::formats::quantity::Quantity;

/// Brings an object into the form that the API server gives it before any rule sees it.
///
/// Does nothing to custom types. Values of the wrong JSON type are left as they are, for others to refuse.
pub(crate) fn set_defaults(info: &TypeInfo, object: &mut Value) {
    if info.origin != Origin::BuiltIn {
        return;
    }
    normalize(&info.schema, object);
    if kinds::set_defaults(info, object) {
        // What was added has defaults of its own.
        normalize(&info.schema, object);
    }
}

/// Drops empty values, fills in the defaults of the schema, and writes scalars in their canonical form.
pub(crate) fn normalize(schema: &Schema, value: &mut Value) {
    match (&schema.shape, value) {
        (Shape::Object { fields, .. }, Value::Object(object)) => normalize_object(fields, object),
        (Shape::Map { values, .. }, Value::Object(map)) => {
            for value in map.values_mut() {
                normalize_map_value(values, value);
            }
        }
        (Shape::List { items, .. }, Value::Array(list)) => {
            for item in list {
                normalize(items, item);
            }
        }
        (Shape::Any | Shape::String, value) => normalize_scalar(schema, value),
        _ => {}
    }
}

type Fields = std::collections::BTreeMap<Box<str>, std::sync::Arc<Schema>>;

fn normalize_object(fields: &Fields, object: &mut Map<String, Value>) {
    object.retain(|name, value| {
        let Some(schema) = fields.get(name.as_str()) else { return true };
        normalize(schema, value);
        // Once stored, an empty list cannot be distinguished from an absent one.
        let is_collection = matches!(schema.shape, Shape::List { .. } | Shape::Map { .. });
        let nothing = is_collection && schema.default == Some(Value::Null) && is_zero(value);
        let dropped = value.is_null() || nothing || schema.omit_zero && is_zero(value);
        !dropped
    });
    for (name, schema) in fields {
        let Some(default) = &schema.default else { continue };
        if object.contains_key(&**name) || schema.omit_zero && is_zero(default) {
            continue;
        }
        let mut value = default.clone();
        normalize(schema, &mut value);
        object.insert(name.to_string(), value);
    }
}

/// Go reads null in a map of strings as the empty string.
fn normalize_map_value(schema: &Schema, value: &mut Value) {
    if value.is_null() && schema.shape == Shape::String && schema.constraints.is_none() {
        *value = "".into();
    }
    normalize(schema, value);
    if let (Some("quantity"), Some(quantity)) = (format(schema), parsed(value)) {
        *value = quantity.round_up_to_thousandths().to_string().into();
    }
}

fn normalize_scalar(schema: &Schema, value: &mut Value) {
    let canonical = match format(schema) {
        Some("quantity") => parsed(value).map(|quantity| quantity.to_string()),
        Some("date-time") => time(value).map(|time| time.to_string()),
        Some("micro-time") => time(value).map(Timestamp::to_micro_string),
        Some("byte") => value.as_str().filter(|text| text.contains(['\r', '\n'])).map(without_line_ends),
        _ => None,
    };
    if let Some(canonical) = canonical
        && value.as_str() != Some(&canonical)
    {
        *value = canonical.into();
    }
}

fn format(schema: &Schema) -> Option<&str> {
    schema.constraints.as_ref()?.format.as_deref()
}

fn parsed(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text.trim()).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    Timestamp::parse(value.as_str()?)
}

fn without_line_ends(text: &str) -> String {
    text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect()
}

/// Sets a field unless it is there already.
fn set_missing(object: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    if !object.contains_key(field) {
        object.insert(field.to_owned(), value.into());
    }
}

/// A field that is an object, made if it is missing; `None` if something else is there.
fn child<'a>(object: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Map<String, Value>> {
    object.entry(field).or_insert_with(|| Map::new().into()).as_object_mut()
}

/// The items of a field that is a list, where they are objects.
fn items<'a>(
    object: &'a mut Map<String, Value>,
    field: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    object.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Types;
    use serde_json::json;

    /// Sets defaults on an object of a kind and returns what a pointer shows.
    fn defaulted(group: &str, version: &str, kind: &str, mut object: Value) -> Value {
        let types = Types::built_in();
        set_defaults(types.by_kind(group, version, kind).unwrap(), &mut object);
        object
    }

    #[test]
    fn empty_values_are_dropped_and_structs_are_written() {
        let pod = defaulted(
            "",
            "v1",
            "Pod",
            json!({
                "metadata": { "labels": {}, "annotations": { "a": null } },
                "spec": { "hostNetwork": false, "nodeSelector": {}, "containers": [{ "name": "c", "image": "", "args": [] }] },
            }),
        );
        assert_eq!(pod["metadata"], json!({ "annotations": { "a": "" } }));
        assert_eq!(pod["status"], json!({}));
        let spec = &pod["spec"];
        assert!(spec.get("hostNetwork").is_none() && spec.get("nodeSelector").is_none());
        assert_eq!(spec["containers"][0]["resources"], json!({}));
        assert!(spec["containers"][0].get("args").is_none());
    }

    #[test]
    fn explicit_zeros_survive_where_go_has_a_pointer() {
        let deployment =
            defaulted("apps", "v1", "Deployment", json!({ "spec": { "replicas": 0, "paused": false } }));
        assert_eq!(deployment["spec"]["replicas"], 0);
        assert!(deployment["spec"].get("paused").is_none());
    }

    #[test]
    fn a_zero_that_equals_an_absent_value_gets_the_default() {
        let probe = json!({ "timeoutSeconds": 0, "periodSeconds": 5, "httpGet": { "port": 80 } });
        let pod = defaulted(
            "",
            "v1",
            "Pod",
            json!({ "spec": { "containers": [{ "name": "c", "livenessProbe": probe }] } }),
        );
        assert_eq!(
            pod["spec"]["containers"][0]["livenessProbe"],
            json!({
                "timeoutSeconds": 1, "periodSeconds": 5, "successThreshold": 1, "failureThreshold": 3,
                "httpGet": { "port": 80, "path": "/", "scheme": "HTTP" },
            })
        );
    }

    #[test]
    fn quantities_and_times_are_rewritten() {
        let claim = defaulted(
            "",
            "v1",
            "PersistentVolumeClaim",
            json!({
                "metadata": { "creationTimestamp": "2026-01-01T02:00:00.5+02:00" },
                "spec": { "resources": { "requests": { "storage": "1024Mi", "x": 0.5, "y": "1n" } } },
            }),
        );
        assert_eq!(claim["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
        assert_eq!(
            claim["spec"]["resources"]["requests"],
            json!({ "storage": "1Gi", "x": "500m", "y": "1m" })
        );
        let lease = defaulted(
            "coordination.k8s.io",
            "v1",
            "Lease",
            json!({ "spec": { "renewTime": "2026-01-01T00:00:00Z" } }),
        );
        assert_eq!(lease["spec"]["renewTime"], "2026-01-01T00:00:00.000000Z");
    }

    #[test]
    fn defaults_are_stable() {
        let mut once = defaulted("apps", "v1", "StatefulSet", json!({ "spec": { "template": {} } }));
        let types = Types::built_in();
        let first = once.clone();
        set_defaults(types.by_kind("apps", "v1", "StatefulSet").unwrap(), &mut once);
        assert_eq!(once, first);
    }

    #[test]
    fn broken_objects_are_left_to_others() {
        for object in
            [json!(null), json!([]), json!({ "spec": 3 }), json!({ "spec": { "containers": { "a": [] } } })]
        {
            for info in Types::built_in().iter() {
                set_defaults(info, &mut object.clone());
            }
        }
    }
}
