//! From JSON to the messages that Go would write for the same object.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::PREFIX;
use super::shapes::{Count, Field, Kind, Message, Shapes};
use super::values;
use super::wire::Writer;

/// The numbers of the fields around the message of an object.
const TYPE_META: u32 = 1;
const RAW: u32 = 2;
const CONTENT_ENCODING: u32 = 3;
const CONTENT_TYPE: u32 = 4;

/// Writes an object of a built-in type, a list of them, or a `Status`.
///
/// These are the bytes that Go writes for the object. `None` if the object is of another kind, or has a value that
/// its type cannot have.
pub fn encode(object: &Value) -> Option<Vec<u8>> {
    let mut writer = Writer::after(PREFIX);
    write_enveloped(object, &mut writer)?;
    Some(writer.finish())
}

/// Writes an event of a watch, `{"type": .., "object": ..}`, behind its length in four bytes.
///
/// `None` where [`encode`] has none for the object.
pub(crate) fn encode_event(event: &Value) -> Option<Vec<u8>> {
    let object = encode(&event["object"])?;
    let mut raw_extension = Writer::default();
    raw_extension.bytes(1, &object);
    let mut message = Writer::default();
    message.bytes(1, event["type"].as_str()?.as_bytes());
    message.bytes(2, &raw_extension.finish());
    let message = message.finish();
    let length = u32::try_from(message.len()).ok()?;
    Some([&length.to_be_bytes()[..], &message].concat())
}

/// Writes an object with what says which kind it is, but without the prefix.
fn write_enveloped(object: &Value, writer: &mut Writer) -> Option<()> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let shapes = Shapes::built_in();
    let shape = shapes.of_kind(api_version, kind)?;
    writer.message(TYPE_META, |writer| {
        writer.bytes(1, api_version.as_bytes());
        writer.bytes(2, kind.as_bytes());
        Some(())
    })?;
    writer.message(RAW, |writer| Encoder { shapes }.message(shape, object.as_object()?, writer))?;
    writer.bytes(CONTENT_ENCODING, b"");
    writer.bytes(CONTENT_TYPE, b"");
    Some(())
}

/// Writes the parts of one object.
struct Encoder {
    shapes: &'static Shapes,
}

impl Encoder {
    /// Writes the fields of a message, by number.
    fn message(&self, shape: &Message, object: &Map<String, Value>, writer: &mut Writer) -> Option<()> {
        shape.fields.iter().try_for_each(|field| self.field(field, object, writer))
    }

    fn field(&self, field: &Field, object: &Map<String, Value>, writer: &mut Writer) -> Option<()> {
        if let (true, Kind::Message(inner)) = (field.inline, field.kind) {
            return writer
                .message(field.number, |writer| self.message(self.shapes.message(inner), object, writer));
        }
        let value = object.get(field.name).unwrap_or(&Value::Null);
        match field.count {
            // A null is an absent value. What is neither a pointer nor a slice in Go is sent nevertheless.
            Count::One
                if value.is_null()
                    && (field.pointer || matches!(field.kind, Kind::Bytes | Kind::Strings)) =>
            {
                Some(())
            }
            Count::One => self.value(field.kind, field.number, value, writer),
            Count::List => {
                let mut items = list(value)?.iter();
                items.try_for_each(|item| self.value(field.kind, field.number, item, writer))
            }
            Count::Map => {
                map(value)?.iter().try_for_each(|(key, value)| self.entry(field, key, value, writer))
            }
        }
    }

    fn entry(&self, field: &Field, key: &str, value: &Value, writer: &mut Writer) -> Option<()> {
        writer.message(field.number, |writer| {
            writer.bytes(1, key.as_bytes());
            if value.is_null() && field.kind == Kind::Bytes {
                return Some(());
            }
            self.value(field.kind, 2, value, writer)
        })
    }

    /// Writes one value; a null is what Go makes of it, which is zero.
    fn value(&self, kind: Kind, number: u32, value: &Value, writer: &mut Writer) -> Option<()> {
        match kind {
            Kind::Message(inner) => writer.message(number, |writer| self.object(inner, value, writer)),
            Kind::SchemaOrArray(schema) => writer.message(number, |writer| match value {
                Value::Array(items) => self.schemas(schema, 2, items, writer),
                Value::Null => Some(()),
                one => self.schemas(schema, 1, std::slice::from_ref(one), writer),
            }),
            Kind::SchemaOrBool(schema) => writer.message(number, |writer| {
                let is_schema = value.is_object();
                writer.number(1, i64::from(is_schema || value.as_bool()?));
                if is_schema {
                    self.schemas(schema, 2, std::slice::from_ref(value), writer)
                } else {
                    Some(())
                }
            }),
            Kind::SchemaOrStrings(schema) => writer.message(number, |writer| match value {
                Value::Array(items) => values::encode_strings(2, items, writer),
                Value::Null => Some(()),
                one => self.schemas(schema, 1, std::slice::from_ref(one), writer),
            }),
            kind => values::encode(kind, number, value, writer),
        }
    }

    fn object(&self, shape: usize, value: &Value, writer: &mut Writer) -> Option<()> {
        self.message(self.shapes.message(shape), map(value)?, writer)
    }

    fn schemas(&self, schema: usize, number: u32, items: &[Value], writer: &mut Writer) -> Option<()> {
        items.iter().try_for_each(|item| writer.message(number, |writer| self.object(schema, item, writer)))
    }
}

/// The items of a list, or of the null that stands for an empty one.
fn list(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) => Some(items),
        Value::Null => Some(&[]),
        _ => None,
    }
}

/// The fields of an object, or of the null that stands for an empty one.
fn map(value: &Value) -> Option<&Map<String, Value>> {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    match value {
        Value::Object(fields) => Some(fields),
        Value::Null => Some(&EMPTY),
        _ => None,
    }
}
