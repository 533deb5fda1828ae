//! Between JSON and the values of expressions, with the help of a schema.

use serde_json::Value as Json;

use crate::formats::base64::Base64;
use crate::library::time::{self, CelTimestamp};
use crate::parser::is_reserved;
use crate::schema::{Schema, Shape};
use crate::value::{Key, List, Map, Text, Value};

/// How many values `render` writes before it gives up.
const MAX_RENDERED: usize = 1_000_000;

/// Fields of every resource; rules may read them though a schema seldom names them.
const RESOURCE_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A value that looks at JSON through a schema.
pub(crate) fn view<'a>(json: &'a Json, schema: Option<&'a Schema>) -> Value<'a> {
    let shape = schema.map(|schema| &schema.shape);
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => view_number(number, shape),
        Json::String(text) => view_text(text, schema),
        Json::Array(items) => match shape {
            Some(Shape::List { items: item_schema, kind }) => {
                Value::List(List::json(items, Some(item_schema), Some(kind)))
            }
            _ => Value::List(List::json(items, None, None)),
        },
        Json::Object(entries) => {
            let known = matches!(shape, Some(Shape::Object { .. } | Shape::Map { .. }));
            Value::Map(Map::json(entries, if known { schema } else { None }))
        }
    }
}

fn view_number<'a>(number: &serde_json::Number, shape: Option<&Shape>) -> Value<'a> {
    let double = number.as_f64().unwrap_or(f64::NAN);
    match (number.as_i64(), shape) {
        (_, Some(Shape::Number)) => Value::Double(double),
        (Some(integer), _) => Value::Int(integer),
        (None, Some(Shape::Integer)) if double == (double as i64) as f64 => Value::Int(double as i64),
        (None, _) => Value::Double(double),
    }
}

/// Text that does not parse as its format says stays text: validation has refused it already.
fn view_text<'a>(text: &'a str, schema: Option<&'a Schema>) -> Value<'a> {
    let format = schema
        .filter(|schema| schema.shape == Shape::String)
        .and_then(|schema| schema.constraints.as_ref())
        .and_then(|constraints| constraints.format.as_deref());
    let special = match format {
        Some("date-time") => CelTimestamp::parse_lenient(text).map(Value::Timestamp),
        Some("date") => CelTimestamp::parse_date(text).map(Value::Timestamp),
        Some("duration") => time::parse_lenient_duration(text).map(Value::Duration),
        Some("byte") => Base64::Standard.decode(text).ok().map(|bytes| Value::Bytes(bytes.into())),
        _ => None,
    };
    special.unwrap_or(Value::String(Text::Borrowed(text)))
}

/// The value of a key, or of a field by its escaped name.
pub(crate) fn field<'a>(
    entries: &'a serde_json::Map<String, Json>,
    schema: Option<&'a Schema>,
    name: &str,
) -> Option<Value<'a>> {
    match schema.map(|schema| &schema.shape) {
        Some(Shape::Object { fields, .. }) => {
            let name = unescape(name)?;
            let value = entries.get(&name).filter(|value| !value.is_null())?;
            match fields.get(name.as_str()) {
                Some(schema) => Some(view(value, Some(schema))),
                None => RESOURCE_FIELDS.contains(&name.as_str()).then(|| view(value, None)),
            }
        }
        Some(Shape::Map { values, .. }) => entries.get(name).map(|value| view(value, Some(values))),
        _ => entries.get(name).map(|value| view(value, None)),
    }
}

/// All keys and values; of an object the known fields, by their escaped names.
pub(crate) fn fields<'a>(
    entries: &'a serde_json::Map<String, Json>,
    schema: Option<&'a Schema>,
) -> Box<dyn Iterator<Item = (Key<'a>, Value<'a>)> + 'a> {
    let values = match schema.map(|schema| &schema.shape) {
        Some(Shape::Object { fields, .. }) => {
            let present = entries.iter().filter(|(_, value)| !value.is_null());
            return Box::new(present.filter_map(|(name, value)| {
                let schema = fields.get(name.as_str())?;
                let escaped = escape(name).unwrap_or_else(|| name.clone());
                Some((Key::String(Text::Shared(escaped.into())), view(value, Some(schema))))
            }));
        }
        Some(Shape::Map { values, .. }) => Some(&**values),
        _ => None,
    };
    Box::new(
        entries.iter().map(move |(name, value)| (Key::String(Text::Borrowed(name)), view(value, values))),
    )
}

/// The name under which an expression selects a property; `None` if it cannot.
pub(crate) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (length, text) = match c {
            '_' if rest.starts_with("__") => (2, "__underscores__"),
            '.' => (1, "__dot__"),
            '-' => (1, "__dash__"),
            '/' => (1, "__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => (1, &rest[..1]),
            _ => return None,
        };
        escaped.push_str(text);
        rest = &rest[length..];
    }
    Some(escaped)
}

/// The property that an escaped name selects; `None` if the name has an unknown escape.
fn unescape(escaped: &str) -> Option<String> {
    if !escaped.contains("__") {
        return Some(escaped.to_owned());
    }
    let mut name = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(start) = rest.find("__") {
        let (before, from) = rest.split_at(start);
        name.push_str(before);
        let inner = &from[2..];
        let Some(end) = inner.find("__").filter(|end| !inner[..*end].contains('_') && *end > 0) else {
            // No escape begins here; the next one may begin at the second underscore.
            name.push('_');
            rest = &from[1..];
            continue;
        };
        name.push_str(match &inner[..end] {
            "underscores" => "__",
            "dot" => ".",
            "dash" => "-",
            "slash" => "/",
            word if is_reserved(word) && end + 4 == escaped.len() => word,
            _ => return None,
        });
        rest = &inner[end + 2..];
    }
    name.push_str(rest);
    Some(name)
}

/// The value as JSON.
pub(crate) fn render(value: &Value<'_>) -> Json {
    let mut room = MAX_RENDERED;
    render_within(value, &mut room)
}

fn render_within(value: &Value<'_>, room: &mut usize) -> Json {
    if *room == 0 {
        return Json::Null;
    }
    *room -= 1;
    match value {
        Value::Null | Value::Optional(None) => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(value) => Json::from(*value),
        Value::Uint(value) => Json::from(*value),
        Value::Double(value) => serde_json::Number::from_f64(*value).map_or(Json::Null, Json::Number),
        Value::String(text) => Json::String(text.to_string()),
        Value::Bytes(bytes) => Json::String(Base64::Standard.encode(bytes)),
        Value::List(list) => Json::Array(list.iter().map(|item| render_within(&item, room)).collect()),
        Value::Map(map) => {
            Json::Object(map.iter().map(|(key, value)| (key.show(), render_within(&value, room))).collect())
        }
        Value::Message(message) => {
            let field = |(name, value): (&str, &Value<'_>)| (name.to_owned(), render_within(value, room));
            Json::Object(message.fields().map(field).collect())
        }
        Value::Timestamp(timestamp) => Json::String(timestamp.to_string()),
        Value::Duration(nanos) => Json::String(time::show_duration(*nanos)),
        Value::Type(name) => Json::String((*name).to_owned()),
        Value::Optional(Some(value)) => render_within(value, room),
        Value::Opaque(opaque) => Json::String(opaque.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_back() {
        for (name, escaped) in [
            ("plain", "plain"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("namespace", "__namespace__"),
            ("a__b", "a__underscores__b"),
            ("__", "__underscores__"),
            ("a_b", "a_b"),
            ("_-", "___dash__"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(escaped));
            assert_eq!(unescape(escaped).as_deref(), Some(name), "{escaped}");
        }
        for name in ["", "1a", "é", "a b", "a@"] {
            assert_eq!(escape(name), None, "{name}");
        }
        for escaped in ["a__nope__", "x__namespace__"] {
            assert_eq!(unescape(escaped), None, "{escaped}");
        }
        assert_eq!(unescape("a__").as_deref(), Some("a__"));
    }
}
