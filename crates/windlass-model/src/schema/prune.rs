//! Dropping what a schema does not know.

use serde_json::Value;

use super::object_meta::{self, decode_metadata};
use super::{Schema, defaults};

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops the unknown fields of a custom resource and returns their paths (`spec.list[0].foo`).
///
/// apiVersion, kind and metadata always stay; metadata is read as `ObjectMeta`, and fields of it that
/// have the wrong JSON type are dropped. [`coerce`] refuses these instead.
pub(crate) fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut unknown = object_meta::drop_malformed(object);
    unknown.append(&mut prune_root(schema, object));
    let mut embedded = Vec::new();
    object_meta::coerce_embedded(schema, object, "", &mut embedded, true).ok();
    embedded.sort();
    unknown.append(&mut embedded);
    unknown
}

/// What Kubernetes does with a custom resource that it reads: checks apiVersion, kind and metadata, here
/// and in embedded resources, drops unknown fields and returns their paths, and drops nulls that stand
/// for nothing.
///
/// # Errors
/// The message of Kubernetes' decoder, if apiVersion, kind or metadata are malformed.
pub(crate) fn coerce(schema: &Schema, object: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = decode_metadata(object)?;
    unknown.append(&mut prune_root(schema, object));
    defaults::drop_nulls(schema, object);
    let mut embedded = Vec::new();
    object_meta::coerce_embedded(schema, object, "", &mut embedded, false)
        .map_err(|error| error.to_string())?;
    embedded.sort();
    unknown.append(&mut embedded);
    Ok(unknown)
}

fn prune_root(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut pruner = Pruner { unknown: Vec::new() };
    pruner.value(Some(schema), object, "", Mode::Root);
    pruner.unknown.sort();
    pruner.unknown
}

/// Drops unknown fields of a value that is no resource unless its schema says so.
pub(super) fn prune_unknown(schema: &Schema, value: &mut Value) {
    Pruner { unknown: Vec::new() }.value(Some(schema), value, "", Mode::Plain);
}

/// What the position of a value means for its unknown fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// apiVersion, kind and metadata are known.
    Root,
    /// They are dropped.
    Plain,
    /// They stay, since the list around keeps unknown fields.
    Preserve,
}

struct Pruner {
    unknown: Vec<String>,
}

impl Pruner {
    /// Without a schema, all fields are unknown.
    fn value(&mut self, schema: Option<&Schema>, value: &mut Value, path: &str, mode: Mode) {
        let schema = schema.filter(|schema| !schema.is_unspecified());
        let preserve = mode == Mode::Preserve || schema.is_some_and(|schema| schema.preserve_unknown);
        if preserve && schema.is_none() {
            return;
        }
        match value {
            Value::Object(_) => self.object(schema, value, path, mode == Mode::Root, preserve),
            Value::Array(items) => {
                let mode = if preserve { Mode::Preserve } else { Mode::Plain };
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(schema.and_then(Schema::items), item, &format!("{path}[{index}]"), mode);
                }
            }
            _ => {}
        }
    }

    fn object(
        &mut self,
        schema: Option<&Schema>,
        value: &mut Value,
        path: &str,
        is_root: bool,
        preserve: bool,
    ) {
        let Some(map) = value.as_object_mut() else { return };
        let is_resource = is_root || schema.is_some_and(|schema| schema.embedded_resource);
        map.retain(|key, value| {
            if is_resource && META_FIELDS.contains(&key.as_str()) {
                return true;
            }
            let path = join(path, key);
            match schema.and_then(|schema| schema.child(key)) {
                Some(below) => self.value(Some(below), value, &path, Mode::Plain),
                None if preserve => {}
                None => {
                    self.unknown.push(path);
                    return false;
                }
            }
            true
        });
    }
}

/// A key below a path, as warnings write it.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field::FieldPath;
    use crate::schema::parse;

    fn schema() -> Schema {
        let node = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "known": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "open": {"type": "object", "additionalProperties": true},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"strict": {"type": "object"}}},
            "anything": {"x-kubernetes-preserve-unknown-fields": true},
            "template": {"type": "object", "x-kubernetes-embedded-resource": true,
                "properties": {"spec": {"type": "object"}}},
        }}}});
        parse(&node, &FieldPath::root()).unwrap()
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        let cases = [
            (json!({"known": "a"}), json!({"known": "a"}), vec![]),
            (json!({"foo": 1}), json!({}), vec!["spec.foo"]),
            (
                json!({"list": [{"a": "1"}, {"b": 1}]}),
                json!({"list": [{"a": "1"}, {}]}),
                vec!["spec.list[1].b"],
            ),
            (
                json!({"map": {"x": {"a": "1", "b": 2}}}),
                json!({"map": {"x": {"a": "1"}}}),
                vec!["spec.map.x.b"],
            ),
            (
                json!({"open": {"x": 1, "y": {"z": 1}}}),
                json!({"open": {"x": 1, "y": {}}}),
                vec!["spec.open.y.z"],
            ),
            (json!({"free": {"x": {"y": 1}}}), json!({"free": {"x": {"y": 1}}}), vec![]),
            (
                json!({"free": {"strict": {"y": 1}}}),
                json!({"free": {"strict": {}}}),
                vec!["spec.free.strict.y"],
            ),
            (json!({"anything": [{"a": {"b": 1}}]}), json!({"anything": [{"a": {"b": 1}}]}), vec![]),
            (
                json!({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "foo": 1}, "spec": {"x": 1}, "y": 1}}),
                json!({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}}),
                vec!["spec.template.spec.x", "spec.template.y", "spec.template.metadata.foo"],
            ),
            (json!("no object"), json!("no object"), vec![]),
        ];
        for (spec, wanted, unknown) in cases {
            let mut object =
                json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}, "spec": spec});
            assert_eq!(prune(&schema(), &mut object), unknown, "{spec}");
            assert_eq!(object["spec"], wanted);
            assert_eq!(object["metadata"], json!({"name": "a"}));
        }
    }

    #[test]
    fn metadata_is_read_as_object_meta() {
        let mut object = json!({"metadata": {"name": "a", "foo": 1, "labels": {}, "creationTimestamp": null,
            "ownerReferences": [{"name": "o", "bar": 1}], "generation": "x"}, "status": {}});
        let wanted = json!({"metadata": {"name": "a",
            "ownerReferences": [{"name": "o", "apiVersion": "", "kind": "", "uid": ""}]}});
        let mut dropped = object.clone();
        let unknown = prune(&schema(), &mut dropped);
        assert_eq!(unknown, ["metadata.foo", "metadata.ownerReferences[0].bar", "status"]);
        assert_eq!(dropped, wanted);
        let error = coerce(&schema(), &mut object).unwrap_err();
        assert_eq!(
            error,
            "json: cannot unmarshal string into Go struct field ObjectMeta.generation of type int64"
        );
    }

    #[test]
    fn embedded_resources_must_be_resources() {
        let mut object = json!({"spec": {"template": {"apiVersion": 1}}});
        let error = coerce(&schema(), &mut object).unwrap_err();
        assert_eq!(error, "spec.template.apiVersion: Invalid value: 1: must be a string");
    }
}
