//! Filling in what a schema says about absent values, and dropping nulls that stand for nothing.

use serde_json::{Map, Value};

use super::{Schema, Shape};
use crate::object::MAX_BYTES;

/// The defaults of an object are more than an object may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyDefaults;

/// Fills in the defaults of a custom resource, also below defaults.
///
/// A null that may not be null is replaced by the default, or dropped if there is none.
pub(crate) fn apply_defaults(schema: &Schema, value: &mut Value) -> Result<(), TooManyDefaults> {
    drop_nulls(schema, value);
    fill_defaults(schema, value)
}

/// Fills in defaults and leaves nulls that have none.
///
/// It stops when the defaults alone are more bytes than an object may have: a few bytes of a body, such as an empty item
/// of a list, can ask for all the defaults of a schema.
pub(crate) fn fill_defaults(schema: &Schema, value: &mut Value) -> Result<(), TooManyDefaults> {
    Room(MAX_BYTES).fill(schema, value)
}

/// How many bytes of defaults may still be filled in, as JSON.
struct Room(usize);

impl Room {
    fn fill(&mut self, schema: &Schema, value: &mut Value) -> Result<(), TooManyDefaults> {
        match value {
            Value::Object(map) => self.fill_object(schema, map),
            Value::Array(items) => {
                let Some(below) = schema.items() else { return Ok(()) };
                items.iter_mut().try_for_each(|item| self.fill_below(below, item))
            }
            _ => Ok(()),
        }
    }

    fn fill_object(&mut self, schema: &Schema, map: &mut Map<String, Value>) -> Result<(), TooManyDefaults> {
        if let Shape::Object { fields, .. } = &schema.shape {
            for (name, field) in fields {
                let Some(default) = &field.default else { continue };
                if map.get(&**name).is_none_or(|value| value.is_null() && !field.nullable) {
                    self.take(name.len() + "\"\":,".len())?;
                    map.insert(name.to_string(), self.copy(default)?);
                }
            }
        }
        for (key, value) in map {
            if let Some(below) = schema.child(key) {
                self.fill_below(below, value)?;
            }
        }
        Ok(())
    }

    /// Replaces a null that may not be null, and goes on below.
    fn fill_below(&mut self, below: &Schema, value: &mut Value) -> Result<(), TooManyDefaults> {
        if let (true, false, Some(default)) = (value.is_null(), below.nullable, &below.default) {
            *value = self.copy(default)?;
        }
        self.fill(below, value)
    }

    fn copy(&mut self, default: &Value) -> Result<Value, TooManyDefaults> {
        self.take(least_bytes(default))?;
        Ok(default.clone())
    }

    fn take(&mut self, bytes: usize) -> Result<(), TooManyDefaults> {
        self.0 = self.0.checked_sub(bytes).ok_or(TooManyDefaults)?;
        Ok(())
    }
}

/// Fewer bytes than this a value does not have as text.
fn least_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| 1 + least_bytes(item)).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(key, value)| key.len() + 4 + least_bytes(value)).sum::<usize>()
        }
    }
}

/// Drops fields and values of maps that are null although they may not be, and that have no default.
pub(super) fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|key, value| {
            let Some(below) = schema.child(key).filter(|below| !below.is_unspecified()) else { return true };
            if value.is_null() {
                return below.nullable || below.default.is_some();
            }
            drop_nulls(below, value);
            true
        }),
        Value::Array(items) => {
            let Some(below) = schema.items() else { return };
            items.iter_mut().for_each(|item| drop_nulls(below, item));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field::FieldPath;
    use crate::schema::parse;

    #[test]
    fn defaults_and_nulls() {
        let string = |extra: Value| {
            let mut node = json!({"type": "string"});
            node.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            node
        };
        let node = json!({"type": "object", "properties": {
            "a": string(json!({"default": "A"})),
            "n": string(json!({"default": "N", "nullable": true})),
            "plain": string(json!({})),
            "nullable": string(json!({"nullable": true})),
            "object": {"type": "object", "default": {}, "properties": {"inner": string(json!({"default": "I"}))}},
            "absent": {"type": "object", "properties": {"inner": string(json!({"default": "I"}))}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"x": string(json!({"default": "X"}))}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": string(json!({"default": "X"}))}}},
            "values": {"type": "object", "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "additionalProperties": true},
        }});
        let schema = parse(&node, &FieldPath::root()).unwrap();
        let always = json!({"a": "A", "n": "N", "object": {"inner": "I"}});
        let cases = [
            (json!({}), json!({})),
            (json!({"a": "b"}), json!({"a": "b"})),
            (json!({"a": null}), json!({})),
            (json!({"n": null}), json!({"n": null})),
            (json!({"plain": null, "nullable": null}), json!({"nullable": null})),
            (json!({"object": null}), json!({})),
            (json!({"object": {"inner": "x"}}), json!({"object": {"inner": "x"}})),
            (json!({"absent": {}}), json!({"absent": {"inner": "I"}})),
            (json!({"list": [{}, {"x": "y"}]}), json!({"list": [{"x": "X"}, {"x": "y"}]})),
            (json!({"list": [null]}), json!({"list": [null]})),
            (json!({"map": {"k": {}, "l": null}}), json!({"map": {"k": {"x": "X"}}})),
            (json!({"values": {"k": null, "l": "m"}}), json!({"values": {"l": "m"}})),
            (json!({"open": {"k": null}}), json!({"open": {"k": null}})),
        ];
        for (mut value, extra) in cases {
            let shown = value.clone();
            assert_eq!(apply_defaults(&schema, &mut value), Ok(()));
            let mut wanted = always.clone();
            wanted.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            assert_eq!(value, wanted, "{shown}");
        }
    }

    #[test]
    fn defaults_that_no_object_can_have_are_not_filled_in() {
        let fields: Map<String, Value> = (0..1000)
            .map(|number| (format!("field{number}"), json!({"type": "string", "default": "x".repeat(100)})))
            .collect();
        let node = json!({"type": "object", "properties": {
            "items": {"type": "array", "items": {"type": "object", "properties": fields}},
            "nulls": {"type": "array", "items": {"type": "string", "default": "x".repeat(100)}},
        }});
        let schema = parse(&node, &FieldPath::root()).unwrap();
        let of = |field: &str, item: Value, count: usize| json!({ field: vec![item; count] });
        assert_eq!(fill_defaults(&schema, &mut of("items", json!({}), 10)), Ok(()));
        let mut bomb = of("items", json!({}), 500_000);
        assert_eq!(fill_defaults(&schema, &mut bomb), Err(TooManyDefaults));
        assert!(least_bytes(&bomb) < 3 * MAX_BYTES, "it stops where the limit is");
        let mut nulls = of("nulls", Value::Null, 500_000);
        assert_eq!(fill_defaults(&schema, &mut nulls), Err(TooManyDefaults));
    }
}
