//! Types and shorthands for the tests of apply.

mod applying;
mod laws;
mod tracking;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Apply, track_update};
use crate::request::ResourceId;
use crate::schema::{ListKind, Schema, Shape};
use crate::status::Status;
use crate::time::Timestamp;
use crate::types::{Origin, TypeInfo};

pub(super) fn of(shape: Shape) -> Schema {
    Schema { shape, ..Schema::default() }
}

pub(super) fn object(fields: &[(&str, Schema)]) -> Schema {
    let fields: BTreeMap<Box<str>, Arc<Schema>> =
        fields.iter().map(|(name, schema)| ((*name).into(), Arc::new(schema.clone()))).collect();
    of(Shape::Object { fields, atomic: false })
}

pub(super) fn map(values: Schema) -> Schema {
    of(Shape::Map { values: Arc::new(values), atomic: false })
}

pub(super) fn list(items: Schema, kind: ListKind) -> Schema {
    of(Shape::List { items: Arc::new(items), kind })
}

pub(super) fn keyed(items: Schema, keys: &[&str]) -> Schema {
    list(items, ListKind::Map(keys.iter().map(|key| (*key).into()).collect()))
}

fn atomic(schema: Schema) -> Schema {
    let shape = match schema.shape {
        Shape::Object { fields, .. } => Shape::Object { fields, atomic: true },
        Shape::Map { values, .. } => Shape::Map { values, atomic: true },
        other => other,
    };
    of(shape)
}

fn spec() -> Schema {
    let (text, number) = (of(Shape::String), of(Shape::Integer));
    let protocol = Schema { default: Some(json!("TCP")), ..text.clone() };
    let port = object(&[("port", number.clone()), ("protocol", protocol), ("name", text.clone())]);
    let container = object(&[
        ("name", text.clone()),
        ("image", text.clone()),
        ("args", list(text.clone(), ListKind::Atomic)),
        ("ports", keyed(port, &["port", "protocol"])),
        ("env", map(text.clone())),
    ]);
    object(&[
        ("replicas", number),
        ("paused", of(Shape::Boolean)),
        ("selector", atomic(map(text.clone()))),
        ("tags", list(text.clone(), ListKind::Set)),
        ("containers", keyed(container, &["name"])),
        ("strategy", object(&[("type", text)])),
        ("extra", Schema { preserve_unknown: true, ..Schema::default() }),
    ])
}

/// A custom type, `apps.example.com/v1 Web`, with lists and maps of all kinds.
pub(super) fn web() -> TypeInfo {
    let status = object(&[("ready", of(Shape::Integer))]);
    TypeInfo {
        resource: ResourceId::new("apps.example.com", "v1", "webs"),
        kind: "Web".into(),
        list_kind: "WebList".into(),
        singular: "web".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        has_status: true,
        scale: None,
        schema: Arc::new(object(&[("spec", spec()), ("status", status)])),
        open_api: None,
        origin: Origin::Custom,
        reading: None,
        storage_version: "v1".into(),
        columns: Vec::new(),
        selectable_fields: Vec::new(),
        has_generation: true,
        deprecation: None,
    }
}

/// An object of the custom type.
pub(super) fn with_spec(spec: Value) -> Value {
    json!({"apiVersion": "apps.example.com/v1", "kind": "Web",
           "metadata": {"name": "a", "namespace": "default"}, "spec": spec})
}

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_seconds(seconds)
}

/// Applies, at a second, without force.
pub(super) fn apply(live: Option<&Value>, config: &Value, manager: &str, now: i64) -> Result<Value, Status> {
    apply_with(live, config, manager, now, false, None)
}

pub(super) fn force(live: Option<&Value>, config: &Value, manager: &str, now: i64) -> Value {
    apply_with(live, config, manager, now, true, None).unwrap()
}

pub(super) fn apply_with(
    live: Option<&Value>,
    config: &Value,
    manager: &str,
    now: i64,
    force: bool,
    subresource: Option<&str>,
) -> Result<Value, Status> {
    let info = web();
    Apply { info: &info, live, config, manager, force, subresource, now: at(now) }.run()
}

pub(super) fn create(mut new: Value, manager: &str, now: i64) -> Value {
    track_update(&web(), None, &mut new, manager, None, at(now));
    new
}

pub(super) fn update(live: &Value, mut new: Value, manager: &str, now: i64) -> Value {
    track_update(&web(), Some(live), &mut new, manager, None, at(now));
    new
}

/// The entries of an object: manager, operation, seconds and fields.
pub(super) fn owners(object: &Value) -> Vec<(String, String, i64, Value)> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    entries
        .iter()
        .map(|entry| {
            let seconds = Timestamp::parse(&text(&entry["time"])).map_or(0, Timestamp::unix_seconds);
            (text(&entry["manager"]), text(&entry["operation"]), seconds, entry["fieldsV1"].clone())
        })
        .collect()
}

/// What a manager owns, or null.
pub(super) fn fields_of(object: &Value, manager: &str) -> Value {
    owners(object).into_iter().find(|owner| owner.0 == manager).map_or(Value::Null, |owner| owner.3)
}
