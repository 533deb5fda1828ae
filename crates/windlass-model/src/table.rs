//! Lists as `kubectl get` shows them: a `Table` with a row per object.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::field::shown_float;
use crate::json_path::{self, JsonPath};
use crate::object;
use crate::time::{Timestamp, human_duration};
use crate::types::columns::{computed_cell, row_conditions};
use crate::types::{Column, Origin, TypeInfo};

/// What each row of a table carries besides its cells (`includeObject`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    /// Nothing.
    None,
    /// The metadata.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

/// Objects as a `meta.k8s.io/v1` `Table`: the name and the columns of the type.
///
/// A custom resource whose columns do not show the age has no such column, as in Kubernetes.
pub(crate) fn to_table(
    info: &TypeInfo,
    items: &[Arc<Value>],
    resource_version: &str,
    now: Timestamp,
    include: IncludeObject,
) -> Value {
    let built_in = info.origin == Origin::BuiltIn;
    let columns = &info.columns;
    let paths: Vec<Option<JsonPath>> =
        columns.iter().map(|column| json_path::parse(&column.json_path).ok()).collect();
    let mut headers = Vec::new();
    if !built_in {
        headers.push(header("Name", "string", "name", "The name of the object, unique in its namespace.", 0));
    }
    headers.extend(columns.iter().map(|column| column_header(column, built_in)));
    let rows: Vec<Value> = items
        .iter()
        .map(|item| {
            let mut cells = Vec::new();
            if !built_in {
                cells.push(Value::from(object::name(item)));
            }
            cells.extend(columns.iter().zip(&paths).map(|(column, path)| match path {
                _ if built_in => computed_cell(info, column, item, now),
                Some(path) => cell(column, path, item, now),
                None => Value::Null,
            }));
            let mut row = json!({ "cells": cells, "object": included(item, include) });
            if let Some(conditions) = built_in.then(|| row_conditions(info, item)).flatten() {
                row["conditions"] = conditions;
            }
            row
        })
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": { "resourceVersion": resource_version },
        "columnDefinitions": headers,
        "rows": rows,
    })
}

/// The number of replicas of an object as a table: a `Scale` has columns of its own, whatever it scales.
pub(crate) fn scale_table(
    info: &TypeInfo,
    scale: &Arc<Value>,
    now: Timestamp,
    include: IncludeObject,
) -> Value {
    let column = |name: &str, kind: &str, json_path: &str| Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: String::new(),
        description: String::new(),
        priority: 0,
        json_path: json_path.to_owned(),
    };
    let columns = vec![
        column("Desired", "integer", ".spec.replicas"),
        column("Available", "integer", ".status.replicas"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ];
    let shown = TypeInfo { origin: Origin::Custom, columns, ..info.clone() };
    let mut table =
        to_table(&shown, std::slice::from_ref(scale), object::resource_version(scale), now, include);
    if info.origin == Origin::BuiltIn {
        table["columnDefinitions"][3]["type"] = "string".into();
    }
    table
}

/// The metadata of an object as a `PartialObjectMetadata`.
pub(crate) fn partial_metadata(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| Value::Object(Map::new()));
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
}

fn included(object: &Value, include: IncludeObject) -> Value {
    match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Metadata => partial_metadata(object),
        IncludeObject::Object => object.clone(),
    }
}

fn column_header(column: &Column, built_in: bool) -> Value {
    let generic = format!("Custom resource definition column (in JSONPath format): {}", column.json_path);
    let described = built_in || !column.description.is_empty();
    let description = if described { &column.description } else { &generic };
    header(&column.name, &column.kind, &column.format, description, column.priority)
}

fn header(name: &str, kind: &str, format: &str, description: &str, priority: i32) -> Value {
    json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority })
}

/// The first value that the path of a column finds; nothing if it finds none or one of another type.
fn cell(column: &Column, path: &JsonPath, object: &Value, now: Timestamp) -> Value {
    let found = json_path::evaluate(path, object).unwrap_or_default();
    let Some(value) = found.first() else { return Value::Null };
    match (column.kind.as_str(), value) {
        ("string", value) => printed(value),
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().map_or(Value::Null, |number| (number as i64).into()),
        },
        ("number", Value::Number(number)) => number.as_f64().into(),
        ("boolean", Value::Bool(flag)) => (*flag).into(),
        ("date", Value::String(text)) => age(text, now),
        _ => Value::Null,
    }
}

fn age(time: &str, now: Timestamp) -> Value {
    match Timestamp::parse(time) {
        Some(then) => human_duration(now.unix_seconds() - then.unix_seconds()).into(),
        None => "<invalid>".into(),
    }
}

/// A value as text: scalars plain, everything else as JSON.
fn printed(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::String(text) => text.as_str().into(),
        Value::Number(number) if !number.is_i64() => number.as_f64().map(shown_float).into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::types_of;
    use crate::request::ResourceId;
    use crate::types::Types;

    fn info(columns: Value) -> TypeInfo {
        let crd = json!({
            "spec": {"group": "g.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
                "versions": [{"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns}]},
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        });
        types_of(&crd).remove(0)
    }

    #[test]
    fn rows_show_what_columns_name() {
        let columns = json!([
            {"name": "Text", "type": "string", "jsonPath": ".spec.text"},
            {"name": "Number as text", "type": "string", "jsonPath": ".spec.count"},
            {"name": "Object as text", "type": "string", "jsonPath": ".spec.object"},
            {"name": "Count", "type": "integer", "jsonPath": ".spec.count", "priority": 1, "description": "how many"},
            {"name": "Ratio", "type": "number", "jsonPath": ".spec.count"},
            {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
            {"name": "Wrong", "type": "boolean", "jsonPath": ".spec.text"},
            {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"},
            {"name": "Missing", "type": "string", "jsonPath": ".spec.missing"},
            {"name": "Broken", "type": "string", "jsonPath": ".spec["},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            {"name": "Bad date", "type": "date", "jsonPath": ".spec.text"},
        ]);
        let object = Arc::new(json!({
            "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z"},
            "spec": {"text": "t", "count": 3, "object": {"k": [1]}, "on": true},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }));
        let now = Timestamp::from_unix_seconds(300);
        let table = to_table(&info(columns), &[object], "7", now, IncludeObject::Metadata);
        let wanted =
            json!(["a", "t", "3", "{\"k\":[1]}", 3, 3.0, true, null, "True", null, null, "5m", "<invalid>"]);
        assert_eq!(table["rows"][0]["cells"], wanted);
        assert_eq!(table["metadata"]["resourceVersion"], "7");
        assert_eq!(table["columnDefinitions"][0]["format"], "name");
        let count = json!({"name": "Count", "type": "integer", "format": "", "description": "how many", "priority": 1});
        assert_eq!(table["columnDefinitions"][4], count);
        assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
        assert_eq!(table["rows"][0]["object"]["metadata"]["name"], "a");
    }

    #[test]
    fn without_columns_there_is_the_age() {
        let items = [Arc::new(json!({"metadata": {"name": "a"}}))];
        for (include, wanted) in
            [(IncludeObject::None, json!(null)), (IncludeObject::Object, (*items[0]).clone())]
        {
            let table = to_table(&info(json!([])), &items, "", Timestamp::default(), include);
            assert_eq!(table["rows"], json!([{"cells": ["a", null], "object": wanted}]));
            assert_eq!(table["columnDefinitions"][1]["name"], "Age");
        }
    }

    #[test]
    fn cells_of_built_in_types_are_computed() {
        let types = Types::built_in();
        let now = Timestamp::from_unix_seconds(300);
        for (kind, object, wanted) in [
            (
                ("", "v1", "configmaps"),
                json!({"metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z"}, "data": {"x": "y"}}),
                json!(["a", 1, "5m"]),
            ),
            (
                ("", "v1", "events"),
                json!({
                    "metadata": {"name": "a"}, "lastTimestamp": "1970-01-01T00:03:00Z", "type": "Normal",
                    "reason": "Made", "message": "it is made", "involvedObject": {"kind": "Pod", "name": "p"},
                }),
                json!(["2m", "Normal", "Made", "pod/p", "", "", "it is made", "<unknown>", 1, "a"]),
            ),
        ] {
            let info = types.get(&ResourceId::new(kind.0, kind.1, kind.2)).unwrap();
            let table = to_table(info, &[Arc::new(object)], "", now, IncludeObject::None);
            assert_eq!(table["rows"][0]["cells"], wanted);
            assert_eq!(table["columnDefinitions"][1]["description"], "");
        }
    }
}
