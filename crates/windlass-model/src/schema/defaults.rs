//! Filling in what a schema says about absent values, and dropping nulls that stand for nothing.

use serde_json::{Map, Value};

use super::{Schema, Shape};

/// Fills in the defaults of a custom resource, also below defaults.
///
/// A null that may not be null is replaced by the default, or dropped if there is none.
pub(crate) fn apply_defaults(schema: &Schema, value: &mut Value) {
    drop_nulls(schema, value);
    fill_defaults(schema, value);
}

/// Fills in defaults and leaves nulls that have none.
pub(crate) fn fill_defaults(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => fill_object(schema, map),
        Value::Array(items) => {
            let Some(below) = schema.items() else { return };
            for item in items {
                fill_null(below, item);
                fill_defaults(below, item);
            }
        }
        _ => {}
    }
}

fn fill_object(schema: &Schema, map: &mut Map<String, Value>) {
    if let Shape::Object { fields, .. } = &schema.shape {
        for (name, field) in fields {
            let Some(default) = &field.default else { continue };
            if map.get(&**name).is_none_or(|value| value.is_null() && !field.nullable) {
                map.insert(name.to_string(), default.clone());
            }
        }
    }
    for (key, value) in map {
        let Some(below) = schema.child(key) else { continue };
        fill_null(below, value);
        fill_defaults(below, value);
    }
}

fn fill_null(schema: &Schema, value: &mut Value) {
    if let (true, false, Some(default)) = (value.is_null(), schema.nullable, &schema.default) {
        *value = default.clone();
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
            apply_defaults(&schema, &mut value);
            let mut wanted = always.clone();
            wanted.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            assert_eq!(value, wanted, "{shown}");
        }
    }
}
