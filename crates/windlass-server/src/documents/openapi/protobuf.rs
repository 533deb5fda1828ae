//! OpenAPI v2 as protobuf, the only form in which Go clients ask for it.
//!
//! The numbers are those of the fields in `openapi.v2`, the messages that `gnostic` defines.

use serde_json::{Map, Value};

/// The encoded document.
pub(super) fn document(document: &Value) -> Vec<u8> {
    let mut message = Message::default();
    message.text(1, &document["swagger"]);
    message.part(2, info(&document["info"]));
    let paths = named(&document["paths"], 2, path_item);
    message.part(8, paths);
    message.part(9, named(&document["definitions"], 1, schema));
    for requirement in items(&document["security"]) {
        message.part(12, named(requirement, 1, strings_of));
    }
    message.part(13, named(&document["securityDefinitions"], 1, security));
    message.0
}

/// A message in the making. Zero, false and empty text are not written: they mean the same as absent.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, wire_type: u64) {
        self.number(u64::from(field) << 3 | wire_type);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn part(&mut self, field: u32, part: Message) {
        self.bytes(field, &part.0);
    }

    fn text(&mut self, field: u32, value: &Value) {
        if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn texts(&mut self, field: u32, values: &Value) {
        items(values).iter().filter_map(Value::as_str).for_each(|text| self.bytes(field, text.as_bytes()));
    }

    fn flag(&mut self, field: u32, value: &Value) {
        if *value == true {
            self.key(field, 0);
            self.number(1);
        }
    }

    fn integer(&mut self, field: u32, value: &Value) {
        if let Some(integer) = value.as_i64().filter(|integer| *integer != 0) {
            self.key(field, 0);
            self.number(integer as u64);
        }
    }

    fn float(&mut self, field: u32, value: &Value) {
        if let Some(float) = value.as_f64().filter(|float| *float != 0.0) {
            self.key(field, 1);
            self.0.extend(float.to_le_bytes());
        }
    }

    /// All `x-` fields of an object.
    fn extensions(&mut self, field: u32, object: &Value) {
        for (name, value) in fields(object).filter(|(name, _)| name.starts_with("x-")) {
            let mut extension = Message::default();
            extension.bytes(1, name.as_bytes());
            extension.part(2, any(value));
            self.part(field, extension);
        }
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// A message that holds, as `field`, one entry per field of an object.
fn named(object: &Value, field: u32, of: impl Fn(&Value) -> Message) -> Message {
    let mut message = Message::default();
    for (name, value) in fields(object) {
        let mut entry = Message::default();
        entry.bytes(1, name.as_bytes());
        entry.part(2, of(value));
        message.part(field, entry);
    }
    message
}

/// Wraps what may be one of several messages.
fn choice(field: u32, message: Message) -> Message {
    let mut wrapped = Message::default();
    wrapped.part(field, message);
    wrapped
}

/// Any value, as YAML; all JSON is YAML.
fn any(value: &Value) -> Message {
    let mut message = Message::default();
    message.bytes(2, format!("{value}\n").as_bytes());
    message
}

fn info(info: &Value) -> Message {
    let mut message = Message::default();
    message.text(1, &info["title"]);
    message.text(2, &info["version"]);
    message
}

fn strings_of(values: &Value) -> Message {
    let mut message = Message::default();
    message.texts(1, values);
    message
}

fn security(definition: &Value) -> Message {
    let mut message = Message::default();
    message.text(1, &definition["type"]);
    message.text(2, &definition["name"]);
    message.text(3, &definition["in"]);
    message.text(4, &definition["description"]);
    choice(2, message)
}

fn path_item(item: &Value) -> Message {
    let mut message = Message::default();
    for (field, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if let Some(found) = item.get(method) {
            message.part(field, operation(found));
        }
    }
    for found in items(&item["parameters"]) {
        message.part(9, parameter(found));
    }
    message
}

fn operation(operation: &Value) -> Message {
    let mut message = Message::default();
    message.texts(1, &operation["tags"]);
    message.text(3, &operation["description"]);
    message.text(5, &operation["operationId"]);
    message.texts(6, &operation["produces"]);
    message.texts(7, &operation["consumes"]);
    for found in items(&operation["parameters"]) {
        message.part(8, parameter(found));
    }
    message.part(9, named(&operation["responses"], 1, |found| choice(1, response(found))));
    message.texts(10, &operation["schemes"]);
    message.extensions(13, operation);
    message
}

fn response(response: &Value) -> Message {
    let mut message = Message::default();
    message.text(1, &response["description"]);
    if let Some(found) = response.get("schema") {
        message.part(2, choice(1, schema(found)));
    }
    message
}

fn parameter(parameter: &Value) -> Message {
    let kind = match parameter["in"].as_str() {
        Some("body") => choice(1, body_parameter(parameter)),
        Some("path") => choice(2, choice(4, path_parameter(parameter))),
        _ => choice(2, choice(3, query_parameter(parameter))),
    };
    choice(1, kind)
}

fn body_parameter(parameter: &Value) -> Message {
    let mut message = Message::default();
    message.text(1, &parameter["description"]);
    message.text(2, &parameter["name"]);
    message.text(3, &parameter["in"]);
    message.flag(4, &parameter["required"]);
    message.part(5, schema(&parameter["schema"]));
    message
}

fn path_parameter(parameter: &Value) -> Message {
    let mut message = Message::default();
    message.flag(1, &parameter["required"]);
    message.text(2, &parameter["in"]);
    message.text(3, &parameter["description"]);
    message.text(4, &parameter["name"]);
    message.text(5, &parameter["type"]);
    message.flag(19, &parameter["uniqueItems"]);
    message
}

fn query_parameter(parameter: &Value) -> Message {
    let mut message = Message::default();
    message.text(2, &parameter["in"]);
    message.text(3, &parameter["description"]);
    message.text(4, &parameter["name"]);
    message.text(6, &parameter["type"]);
    message.flag(20, &parameter["uniqueItems"]);
    message
}

fn schema(node: &Value) -> Message {
    let mut message = Message::default();
    for (field, keyword) in [(1, "$ref"), (2, "format"), (3, "title"), (4, "description"), (13, "pattern")] {
        message.text(field, &node[keyword]);
    }
    for (field, keyword) in [(6, "multipleOf"), (7, "maximum"), (9, "minimum")] {
        message.float(field, &node[keyword]);
    }
    for (field, keyword) in [(8, "exclusiveMaximum"), (10, "exclusiveMinimum"), (16, "uniqueItems")] {
        message.flag(field, &node[keyword]);
    }
    for (field, keyword) in [
        (11, "maxLength"),
        (12, "minLength"),
        (14, "maxItems"),
        (15, "minItems"),
        (17, "maxProperties"),
        (18, "minProperties"),
    ] {
        message.integer(field, &node[keyword]);
    }
    message.texts(19, &node["required"]);
    items(&node["enum"]).iter().for_each(|value| message.part(20, any(value)));
    match &node["additionalProperties"] {
        Value::Bool(allowed) => {
            let mut wrapped = Message::default();
            wrapped.key(2, 0);
            wrapped.number(u64::from(*allowed));
            message.part(21, wrapped);
        }
        values @ Value::Object(_) => message.part(21, choice(1, schema(values))),
        _ => {}
    }
    if let Some(kind) = node["type"].as_str() {
        message.part(22, strings_of(&Value::from(vec![kind])));
    }
    if node["items"].is_object() {
        message.part(23, choice(1, schema(&node["items"])));
    }
    if node["properties"].is_object() {
        message.part(25, named(&node["properties"], 1, schema));
    }
    message.extensions(31, node);
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The bytes of a field that holds others.
    fn part(field: u8, bytes: &[u8]) -> Vec<u8> {
        let key = u32::from(field) << 3 | 2;
        let mut part = if key < 0x80 { vec![key as u8] } else { vec![key as u8 | 0x80, (key >> 7) as u8] };
        part.push(bytes.len() as u8);
        part.extend(bytes);
        part
    }

    #[test]
    fn schemas_are_encoded_field_by_field() {
        for (value, expected) in [
            (json!({}), vec![]),
            (json!({ "format": "" }), vec![]),
            (json!({ "type": "string" }), part(22, &part(1, b"string"))),
            (json!({ "$ref": "#/x", "title": "t" }), [part(1, b"#/x"), part(3, b"t")].concat()),
            (json!({ "minimum": 1 }), vec![9 << 3 | 1, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
            (json!({ "maximum": 0, "minLength": 0, "uniqueItems": false }), vec![]),
            (json!({ "maxLength": 300 }), vec![11 << 3, 0xac, 0x02]),
            (json!({ "uniqueItems": true }), vec![0x80, 0x01, 1]),
            (json!({ "required": ["a", "b"] }), [part(19, b"a"), part(19, b"b")].concat()),
            (json!({ "enum": ["a"] }), part(20, &part(2, b"\"a\"\n"))),
            (json!({ "items": { "title": "t" } }), part(23, &part(1, &part(3, b"t")))),
            (json!({ "additionalProperties": { "title": "t" } }), part(21, &part(1, &part(3, b"t")))),
            (json!({ "additionalProperties": false }), part(21, &[2 << 3, 0])),
            (
                json!({ "properties": { "p": { "title": "t" } } }),
                part(25, &part(1, &[part(1, b"p"), part(2, &part(3, b"t"))].concat())),
            ),
            (json!({ "x-a": [1] }), part(31, &[part(1, b"x-a"), part(2, &part(2, b"[1]\n"))].concat())),
        ] {
            assert_eq!(schema(&value).0, expected, "{value}");
        }
    }

    #[test]
    fn parameters_are_of_three_kinds() {
        let named = |location: &str| json!({ "name": "n", "in": location });
        let body = [part(2, b"n"), part(3, b"body"), part(5, b"")].concat();
        assert_eq!(parameter(&named("body")).0, part(1, &part(1, &body)));
        let of = |location: &[u8]| [part(2, location), part(4, b"n")].concat();
        assert_eq!(parameter(&named("query")).0, part(1, &part(2, &part(3, &of(b"query")))));
        assert_eq!(parameter(&named("path")).0, part(1, &part(2, &part(4, &of(b"path")))));
    }
}
