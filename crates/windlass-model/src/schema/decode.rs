//! Reading JSON into a built-in type, as Go reads it into a struct.

use serde_json::{Map, Value};

use super::prune::join;
use super::{Schema, Shape};
use crate::time::Timestamp;
use crate::unmarshal;
use windlass_cel::formats::base64::Base64;
use windlass_cel::formats::quantity::Quantity;

/// Checks JSON types, drops unknown fields and nulls, and returns the paths of the unknown fields.
///
/// Names of fields are case-sensitive. Null in a list or map becomes the zero value, as in Go. Of the
/// formats, `int32`, `byte`, `date-time` and `quantity` matter; numbers are quantities too.
///
/// # Errors
/// The message of Kubernetes' decoder, for the first value that does not fit.
pub(crate) fn decode(schema: &Schema, value: &mut Value) -> Result<Vec<String>, String> {
    let mut decoder = Decoder { unknown: Vec::new() };
    let kind = value["kind"].as_str().map(str::to_owned);
    let root = Position { type_name: kind.as_deref(), fields: String::new(), path: String::new() };
    if value.is_null() {
        *value = zero(schema);
    }
    decoder.value(schema, value, &root)?;
    Ok(decoder.unknown)
}

/// Where decoding is, in the two ways in which Go says so.
struct Position<'a> {
    /// The innermost struct.
    type_name: Option<&'a str>,
    /// Names of fields from the root, without keys and indices: `spec.ports.port`.
    fields: String,
    /// The path that warnings show: `spec.ports[0].port`.
    path: String,
}

struct Decoder {
    unknown: Vec<String>,
}

impl Decoder {
    fn value(&mut self, schema: &Schema, value: &mut Value, position: &Position<'_>) -> Result<(), String> {
        let right = match &schema.shape {
            _ if format(schema) == "quantity" => return decode_quantity(value),
            Shape::Any => true,
            Shape::Boolean => value.is_boolean(),
            Shape::Number => value.is_number(),
            Shape::Integer => value.as_i64().is_some_and(|number| fits(schema, number)),
            Shape::IntOrString => {
                value.is_string() || value.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
            }
            Shape::String => value.is_string(),
            Shape::Object { .. } | Shape::Map { .. } => value.is_object(),
            Shape::List { .. } => value.is_array(),
        };
        if !right {
            return Err(mismatch(schema, value, position));
        }
        match value {
            Value::String(text) => check_format(schema, text),
            Value::Array(items) => self.list(schema, items, position),
            Value::Object(map) => match &schema.shape {
                Shape::Map { values, .. } => self.map(values, map, position),
                Shape::Object { .. } => self.object(schema, map, position),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        schema: &Schema,
        map: &mut Map<String, Value>,
        position: &Position<'_>,
    ) -> Result<(), String> {
        let keep = schema.preserve_unknown;
        map.retain(|name, value| {
            let known = schema.field(name).is_some();
            if !known && !keep {
                self.unknown.push(join(&position.path, name));
            }
            keep && !known || known && !value.is_null()
        });
        let type_name = schema.type_name.as_deref().map(short_name).or(position.type_name);
        for (name, value) in map {
            let Some(field) = schema.field(name) else { continue };
            let fields = join(&position.fields, name);
            self.value(field, value, &Position { type_name, fields, path: join(&position.path, name) })?;
        }
        Ok(())
    }

    fn map(
        &mut self,
        values: &Schema,
        map: &mut Map<String, Value>,
        position: &Position<'_>,
    ) -> Result<(), String> {
        for (key, value) in map {
            self.element(values, value, position, join(&position.path, key))?;
        }
        Ok(())
    }

    fn list(&mut self, schema: &Schema, items: &mut [Value], position: &Position<'_>) -> Result<(), String> {
        let Some(below) = schema.items() else { return Ok(()) };
        for (index, item) in items.iter_mut().enumerate() {
            self.element(below, item, position, format!("{}[{index}]", position.path))?;
        }
        Ok(())
    }

    fn element(
        &mut self,
        schema: &Schema,
        value: &mut Value,
        position: &Position<'_>,
        path: String,
    ) -> Result<(), String> {
        if value.is_null() {
            *value = zero(schema);
            return Ok(());
        }
        self.value(
            schema,
            value,
            &Position { type_name: position.type_name, fields: position.fields.clone(), path },
        )
    }
}

fn mismatch(schema: &Schema, value: &Value, position: &Position<'_>) -> String {
    let wanted = go_type(schema);
    match position.fields.as_str() {
        "" => unmarshal::into_value(value, &wanted),
        fields => {
            let type_name = position.type_name.unwrap_or("");
            unmarshal::into_field(value, &format!("{type_name}.{fields}"), &wanted)
        }
    }
}

fn format(schema: &Schema) -> &str {
    schema.constraints.as_deref().and_then(|constraints| constraints.format.as_deref()).unwrap_or("")
}

fn fits(schema: &Schema, number: i64) -> bool {
    format(schema) != "int32" || i32::try_from(number).is_ok()
}

/// `v1.PodSpec` without its package.
fn short_name(type_name: &str) -> &str {
    type_name.rsplit('.').next().unwrap_or(type_name)
}

fn go_type(schema: &Schema) -> String {
    match &schema.shape {
        Shape::Any => "interface {}".to_owned(),
        Shape::Boolean => "bool".to_owned(),
        Shape::Integer if format(schema) == "int32" => "int32".to_owned(),
        Shape::Integer => "int64".to_owned(),
        Shape::Number => "float64".to_owned(),
        Shape::IntOrString => "int32".to_owned(),
        Shape::String if format(schema) == "byte" => "[]uint8".to_owned(),
        Shape::String => schema.type_name.as_deref().unwrap_or("string").to_owned(),
        Shape::Object { .. } => schema.type_name.as_deref().unwrap_or("struct {}").to_owned(),
        Shape::Map { values, .. } => format!("map[string]{}", go_type(values)),
        Shape::List { items, .. } => format!("[]{}", go_type(items)),
    }
}

fn zero(schema: &Schema) -> Value {
    match &schema.shape {
        Shape::Boolean => false.into(),
        Shape::Integer | Shape::Number | Shape::IntOrString => 0.into(),
        Shape::String => "".into(),
        Shape::Object { .. } => Value::Object(Map::new()),
        Shape::Any | Shape::Map { .. } | Shape::List { .. } => Value::Null,
    }
}

fn check_format(schema: &Schema, text: &str) -> Result<(), String> {
    match (&schema.shape, format(schema)) {
        (Shape::String, "byte") => match Base64::Standard.decode(text) {
            Err(at) => Err(format!("illegal base64 data at input byte {at}")),
            Ok(_) => Ok(()),
        },
        (Shape::String, "date-time") if Timestamp::parse(text).is_none() => {
            Err(unmarshal::into_time(text, unmarshal::TIME))
        }
        (Shape::String, "micro-time") if !is_micro_time(text) => {
            Err(unmarshal::into_time(text, unmarshal::MICRO_TIME))
        }
        _ => Ok(()),
    }
}

/// Numbers are quantities, but they are kept as strings.
fn decode_quantity(value: &mut Value) -> Result<(), String> {
    if let Value::Number(number) = value {
        *value = Value::String(number.to_string());
    }
    Quantity::parse(value.as_str().unwrap_or_default())?;
    Ok(())
}

/// Microseconds have exactly six digits.
fn is_micro_time(text: &str) -> bool {
    let fraction = text.get(19..).and_then(|rest| rest.strip_prefix('.')).unwrap_or_default();
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    digits == 6 && Timestamp::parse(text).is_some()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::field::FieldPath;
    use crate::schema::build::Builder;

    fn schema() -> Schema {
        let mut schema = Builder::default().build(
            &json!({"type": "object", "properties": {
                "kind": {"type": "string"},
                "data": {"type": "object", "additionalProperties": {"type": "string"}},
                "secret": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
                "immutable": {"type": "boolean"},
                "raw": {"x-kubernetes-preserve-unknown-fields": true},
                "spec": {"type": "object", "properties": {
                    "replicas": {"type": "integer", "format": "int32"},
                    "seconds": {"type": "integer", "format": "int64"},
                    "port": {"x-kubernetes-int-or-string": true},
                    "names": {"type": "array", "items": {"type": "string"}},
                    "parts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                    "cpu": {"type": "string", "format": "quantity"},
                    "time": {"type": "string", "format": "date-time"},
                }},
            }}),
            &FieldPath::root(),
        );
        if let Shape::Object { fields, .. } = &mut schema.shape
            && let Some(spec) = fields.get_mut("spec")
        {
            let mut named = (**spec).clone();
            named.type_name = Some("v1.ThingSpec".into());
            *spec = Arc::new(named);
        }
        schema
    }

    #[test]
    fn wrong_types_are_refused_in_the_words_of_go() {
        let cases = [
            (
                json!({"data": "x"}),
                "json: cannot unmarshal string into Go struct field Thing.data of type map[string]string",
            ),
            (
                json!({"data": {"a": 1}}),
                "json: cannot unmarshal number into Go struct field Thing.data of type string",
            ),
            (
                json!({"immutable": "true"}),
                "json: cannot unmarshal string into Go struct field Thing.immutable of type bool",
            ),
            (
                json!({"spec": []}),
                "json: cannot unmarshal array into Go struct field Thing.spec of type v1.ThingSpec",
            ),
            (
                json!({"spec": {"replicas": "1"}}),
                "json: cannot unmarshal string into Go struct field ThingSpec.spec.replicas of type int32",
            ),
            (
                json!({"spec": {"replicas": 1.5}}),
                "json: cannot unmarshal number 1.5 into Go struct field ThingSpec.spec.replicas of type int32",
            ),
            (
                json!({"spec": {"replicas": 3_000_000_000_u32}}),
                "json: cannot unmarshal number 3000000000 into Go struct field ThingSpec.spec.replicas of type int32",
            ),
            (
                json!({"spec": {"port": true}}),
                "json: cannot unmarshal bool into Go struct field ThingSpec.spec.port of type int32",
            ),
            (
                json!({"spec": {"names": [1]}}),
                "json: cannot unmarshal number into Go struct field ThingSpec.spec.names of type string",
            ),
            (
                json!({"spec": {"names": {}}}),
                "json: cannot unmarshal object into Go struct field ThingSpec.spec.names of type []string",
            ),
            (
                json!({"spec": {"cpu": "1x"}}),
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
            (
                json!({"spec": {"time": "yesterday"}}),
                "parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\"",
            ),
            (
                json!({"spec": {"time": "2026-01-02 03:04:05"}}),
                "parsing time \"2026-01-02 03:04:05\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \" 03:04:05\" as \"T\"",
            ),
            (json!({"secret": {"a": "a$bc"}}), "illegal base64 data at input byte 1"),
            (json!({"secret": {"a": "abcde"}}), "illegal base64 data at input byte 4"),
        ];
        for (mut value, wanted) in cases {
            value["kind"] = "Thing".into();
            assert_eq!(decode(&schema(), &mut value).unwrap_err(), wanted, "{value}");
        }
        assert_eq!(
            decode(&schema(), &mut json!([])).unwrap_err(),
            "json: cannot unmarshal array into Go value of type struct {}"
        );
    }

    #[test]
    fn unknown_fields_and_nulls_go() {
        let cases = [
            (json!({"foo": 1, "Data": {}}), json!({}), vec!["Data", "foo"]),
            (json!({"data": null, "spec": {"replicas": null}}), json!({"spec": {}}), vec![]),
            (json!({"data": {"a": null}}), json!({"data": {"a": ""}}), vec![]),
            (
                json!({"spec": {"names": [null], "parts": [null, {"x": 1}]}}),
                json!({"spec": {"names": [""], "parts": [{}, {}]}}),
                vec!["spec.parts[1].x"],
            ),
            (json!({"raw": {"x": null}}), json!({"raw": {"x": null}}), vec![]),
            (
                json!({"spec": {"cpu": 0.5, "port": "http", "time": "2026-01-02T03:04:05Z"}}),
                json!({"spec": {"cpu": "0.5", "port": "http", "time": "2026-01-02T03:04:05Z"}}),
                vec![],
            ),
            (json!({"secret": {"a": "YWI=", "b": ""}}), json!({"secret": {"a": "YWI=", "b": ""}}), vec![]),
        ];
        for (mut value, wanted, unknown) in cases {
            assert_eq!(decode(&schema(), &mut value).unwrap(), unknown);
            assert_eq!(value, wanted);
        }
    }
}
