//! The schemas of built-in types, from the data file, in the dialect of OpenAPI v3.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::names;
use windlass_model::builtin_types::{Section, TYPES, sections};

/// Types that the data file calls by what they are.
const SCALARS: &[(&str, &str)] = &[
    ("json", "apiextensions.v1.JSON"),
    ("duration", "meta.v1.Duration"),
    ("fields", "meta.v1.FieldsV1"),
    ("micro-time", "meta.v1.MicroTime"),
    ("time", "meta.v1.Time"),
    ("quantity", "resource.Quantity"),
    ("raw-extension", "runtime.RawExtension"),
    ("int-or-string", "util.intstr.IntOrString"),
];

/// The schema of a built-in type by its full name.
pub(super) fn built_in(component: &str) -> Option<Value> {
    let short = names::short(component)?;
    if let Some(scalar) = scalar(short) {
        return Some(scalar);
    }
    section(short).map(object)
}

fn section(short: &str) -> Option<&'static Section<'static>> {
    static SECTIONS: OnceLock<BTreeMap<&str, Section<'_>>> = OnceLock::new();
    SECTIONS.get_or_init(|| sections(TYPES)).get(short)
}

/// A reference to a schema of the same document.
pub(super) fn reference(component: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{component}") })
}

/// A schema and what else is said about it here. Nothing may stand beside a reference.
pub(super) fn annotated(schema: Value, more: Map<String, Value>) -> Value {
    let mut fields = match schema {
        whole if more.is_empty() => return whole,
        reference if reference.get("$ref").is_some() => {
            Map::from_iter([("allOf".to_owned(), json!([reference]))])
        }
        Value::Object(fields) => fields,
        other => return other,
    };
    fields.extend(more);
    Value::Object(fields)
}

fn scalar(short: &str) -> Option<Value> {
    Some(match short {
        "apiextensions.v1.JSON" => json!({}),
        "meta.v1.Duration" => json!({ "type": "string" }),
        "meta.v1.FieldsV1" | "runtime.RawExtension" | "meta.v1.Patch" => json!({ "type": "object" }),
        "meta.v1.MicroTime" | "meta.v1.Time" => json!({ "type": "string", "format": "date-time" }),
        "resource.Quantity" => json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }),
        "util.intstr.IntOrString" => {
            json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] })
        }
        _ => return None,
    })
}

fn object(section: &Section<'_>) -> Value {
    if section.any {
        return json!({});
    }
    let mut schema = json!({ "type": "object" });
    if section.atomic {
        schema["x-kubernetes-map-type"] = "atomic".into();
    }
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, line) in &section.fields {
        if line.split(' ').any(|word| word == "required") {
            required.push(Value::from(*name));
        }
        properties.insert((*name).to_owned(), field(line));
    }
    if !properties.is_empty() {
        schema["properties"] = properties.into();
    }
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// The schema of a field, from what stands after its name.
fn field(line: &str) -> Value {
    let (line, default) = match line.split_once(" default=") {
        Some((line, default)) => (line, serde_json::from_str(default).ok()),
        None => (line, None),
    };
    let (type_ref, flags) = line.split_once(' ').unwrap_or((line, ""));
    // What writes itself has no default that a document could show, and null is none.
    let default: Option<Value> = default.filter(|default: &Value| !is_scalar(type_ref) && !default.is_null());
    let mut more: Map<String, Value> =
        default.map(|default| ("default".to_owned(), default)).into_iter().collect();
    let mut schema = of_type(type_ref);
    for flag in flags.split(' ') {
        if let Some(values) = flag.strip_prefix("enum=") {
            restrict(&mut schema, values);
        }
        add_flag(&mut more, flag, type_ref.starts_with('['));
    }
    annotated(schema, more)
}

/// Says which strings there may be: those of the field, or those in its list or map.
fn restrict(schema: &mut Value, values: &str) {
    let values: Value = values.split(',').collect();
    for part in ["items", "additionalProperties"] {
        if let Some(element) = schema.get_mut(part) {
            element["enum"] = values;
            return;
        }
    }
    schema["enum"] = values;
}

fn is_scalar(type_ref: &str) -> bool {
    SCALARS.iter().any(|(name, _)| *name == type_ref)
}

fn add_flag(more: &mut Map<String, Value>, flag: &str, is_list: bool) {
    let mut add = |name: &str, value: Value| more.insert(name.to_owned(), value);
    let (flag, argument) = flag.split_once('=').unwrap_or((flag, ""));
    match flag {
        "atomic" if is_list => add("x-kubernetes-list-type", "atomic".into()),
        "atomic" => add("x-kubernetes-map-type", "atomic".into()),
        "granular" => add("x-kubernetes-map-type", "granular".into()),
        "replace" => add("x-kubernetes-patch-strategy", "replace".into()),
        "set" => add("x-kubernetes-list-type", "set".into()),
        "map" => {
            add("x-kubernetes-list-map-keys", argument.split(',').collect::<Vec<_>>().into());
            add("x-kubernetes-list-type", "map".into())
        }
        "merge" => {
            if !argument.is_empty() {
                add("x-kubernetes-patch-merge-key", argument.into());
            }
            add("x-kubernetes-patch-strategy", "merge".into())
        }
        "retain-keys" => {
            let before = more.get("x-kubernetes-patch-strategy").and_then(Value::as_str);
            let strategy = before.map_or("retainKeys".to_owned(), |before| format!("{before},retainKeys"));
            more.insert("x-kubernetes-patch-strategy".to_owned(), strategy.into())
        }
        _ => None,
    };
}

/// The schema of a type reference: `string`, `[T]`, `{T}`, `core.v1.Pod`.
fn of_type(text: &str) -> Value {
    if let Some(items) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return json!({ "type": "array", "items": element(items) });
    }
    if let Some(values) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return json!({ "type": "object", "additionalProperties": element(values) });
    }
    match text {
        "any" => json!({ "type": "object" }),
        "boolean" | "string" | "integer" => json!({ "type": text }),
        "number" => json!({ "type": "number", "format": "double" }),
        "int32" | "int64" => json!({ "type": "integer", "format": text }),
        "bytes" => json!({ "type": "string", "format": "byte" }),
        named => {
            let scalar = SCALARS.iter().find(|(name, _)| *name == named);
            reference(&names::component(scalar.map_or(named, |(_, short)| short)))
        }
    }
}

/// What stands in a list or a map is never absent: it has the zero value of its Go type.
fn element(text: &str) -> Value {
    let zero = match text {
        "string" => json!(""),
        "boolean" => json!(false),
        "int32" | "int64" | "integer" => json!(0),
        named if section(named).is_some_and(|section| !section.any) => json!({}),
        _ => return of_type(text),
    };
    annotated(of_type(text), Map::from_iter([("default".to_owned(), zero)]))
}
