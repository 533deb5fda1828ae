//! From messages to the JSON that Go would write for the same object.

use serde_json::{Map, Value};

use super::PREFIX;
use super::error::DecodeError;
use super::shapes::{Count, Field, Kind, Message, Shapes};
use super::values;
use super::wire::{BYTES, FIXED64, Reader, Tag, VARINT};
use crate::schema::is_zero;

/// JSON is nested at most so deep wherever it is read.
const LEVELS_MAX: usize = 127;
/// A message of two bytes is an object with all its fields, so their number bounds the memory.
const MESSAGES_MAX: usize = 100_000;

type Object = Map<String, Value>;

/// Reads the body of a request: an object of a built-in type, options or a list.
///
/// The result is what Go's JSON encoder makes of the object that it reads from the same bytes: what it leaves out if
/// it is zero is left out, and other fields are there even if nothing was sent for them. Unknown fields are
/// skipped.
pub fn decode(body: &[u8]) -> Result<Value, DecodeError> {
    decode_or(body, "", "")
}

/// Reads a body that may leave out what kind of object it is.
pub(crate) fn decode_or(body: &[u8], api_version: &str, kind: &str) -> Result<Value, DecodeError> {
    let envelope = Envelope::open(body)?;
    let or = |given: String, default: &str| if given.is_empty() { default.to_owned() } else { given };
    let (api_version, kind) = (or(envelope.api_version, api_version), or(envelope.kind, kind));
    if kind.is_empty() {
        return Err(DecodeError::NoKind);
    }
    if api_version.is_empty() {
        return Err(DecodeError::NoVersion);
    }
    let shapes = Shapes::built_in();
    let Some(shape) = shapes.of_kind(&api_version, &kind) else {
        return Err(DecodeError::UnknownKind { api_version, kind });
    };
    let mut object = Object::new();
    Decoder { shapes, messages: 0 }.message(shape, envelope.raw, &mut object, 1)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

/// The `apiVersion` and `kind` of the object in a body; `None` if it does not say.
pub(crate) fn kind_of(body: &[u8]) -> Option<(String, String)> {
    let envelope = Envelope::open(body).ok()?;
    (!envelope.kind.is_empty()).then_some((envelope.api_version, envelope.kind))
}

/// What is around the message of an object.
#[derive(Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn open(body: &'a [u8]) -> Result<Self, DecodeError> {
        if body.is_empty() {
            return Err(DecodeError::Empty);
        }
        match body.strip_prefix(PREFIX).ok_or(DecodeError::NoPrefix)? {
            [] => Err(DecodeError::EmptyBody),
            message => Envelope::read(message),
        }
    }

    fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut envelope = Envelope::default();
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag("runtime.Unknown")? {
            match tag.number {
                1 => envelope.read_type(expect_bytes(&mut reader, tag, "typeMeta")?)?,
                2 => envelope.raw = expect_bytes(&mut reader, tag, "raw")?,
                // The encoding and type of the content are always the same, but they are strings.
                3 | 4 => drop(expect_bytes(&mut reader, tag, "contentType")?),
                _ => reader.skip(tag)?,
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag("runtime.TypeMeta")? {
            match tag.number {
                1 => self.api_version = values::text(expect_bytes(&mut reader, tag, "apiVersion")?),
                2 => self.kind = values::text(expect_bytes(&mut reader, tag, "kind")?),
                _ => reader.skip(tag)?,
            }
        }
        Ok(())
    }
}

/// The bytes of a field that is a string or a message.
pub(super) fn expect_bytes<'a>(
    reader: &mut Reader<'a>,
    tag: Tag,
    field: &'static str,
) -> Result<&'a [u8], DecodeError> {
    expect(tag, BYTES, field)?;
    reader.bytes()
}

/// The number of a field that is one.
pub(super) fn expect_varint(
    reader: &mut Reader<'_>,
    tag: Tag,
    field: &'static str,
) -> Result<u64, DecodeError> {
    expect(tag, VARINT, field)?;
    reader.varint()
}

fn expect(tag: Tag, wire_type: u8, field: &'static str) -> Result<(), DecodeError> {
    if tag.wire_type == wire_type {
        return Ok(());
    }
    Err(DecodeError::WrongWireType { field, wire_type: tag.wire_type })
}

/// Reads one object.
struct Decoder {
    shapes: &'static Shapes,
    /// How many have been read.
    messages: usize,
}

impl Decoder {
    /// Reads a message into the JSON of what came before: in protobuf, messages of one field add up.
    fn message(
        &mut self,
        shape: &'static Message,
        bytes: &[u8],
        object: &mut Object,
        level: usize,
    ) -> Result<(), DecodeError> {
        self.count_message(level)?;
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag(shape.name)? {
            match shape.field(tag.number) {
                Some(field) => self.field(field, tag, &mut reader, object, level)?,
                None => reader.skip(tag)?,
            }
        }
        self.complete(shape, object, level)
    }

    fn count_message(&mut self, level: usize) -> Result<(), DecodeError> {
        if level > LEVELS_MAX {
            return Err(DecodeError::TooDeep { levels: LEVELS_MAX });
        }
        self.messages += 1;
        if self.messages > MESSAGES_MAX {
            return Err(DecodeError::TooManyMessages { messages: MESSAGES_MAX });
        }
        Ok(())
    }

    /// Adds the fields that Go writes though nothing was sent for them.
    fn complete(
        &mut self,
        shape: &'static Message,
        object: &mut Object,
        level: usize,
    ) -> Result<(), DecodeError> {
        for field in &shape.fields {
            match field.kind {
                Kind::Message(inner) if field.inline => {
                    self.complete(self.shapes.message(inner), object, level)?
                }
                _ if field.omit || object.contains_key(field.name) => {}
                _ if field.pointer || field.count != Count::One => {
                    object.insert(field.name.to_owned(), Value::Null);
                }
                kind => {
                    let zero = self.zero(kind, level)?;
                    object.insert(field.name.to_owned(), zero);
                }
            }
        }
        Ok(())
    }

    /// What Go writes for a value that was never set.
    fn zero(&mut self, kind: Kind, level: usize) -> Result<Value, DecodeError> {
        Ok(match kind {
            Kind::Boolean => false.into(),
            Kind::Int32 | Kind::Int64 | Kind::Number | Kind::IntOrString => 0.into(),
            Kind::String => "".into(),
            Kind::Quantity => "0".into(),
            Kind::SchemaOrBool(_) => false.into(),
            Kind::Bytes
            | Kind::Time
            | Kind::MicroTime
            | Kind::Json
            | Kind::Strings
            | Kind::SchemaOrArray(_)
            | Kind::SchemaOrStrings(_) => Value::Null,
            Kind::Message(inner) => {
                let mut object = Object::new();
                self.count_message(level + 1)?;
                self.complete(self.shapes.message(inner), &mut object, level + 1)?;
                object.into()
            }
        })
    }

    /// Reads one occurrence of a field.
    fn field(
        &mut self,
        field: &'static Field,
        tag: Tag,
        reader: &mut Reader<'_>,
        object: &mut Object,
        level: usize,
    ) -> Result<(), DecodeError> {
        match (field.count, field.kind) {
            (Count::One, Kind::Message(inner)) if field.inline => {
                let bytes = expect_bytes(reader, tag, field.name)?;
                self.message(self.shapes.message(inner), bytes, object, level)
            }
            (Count::One, Kind::Message(inner)) => {
                let mut before = match object.remove(field.name) {
                    Some(Value::Object(before)) => before,
                    _ => Object::new(),
                };
                let bytes = expect_bytes(reader, tag, field.name)?;
                self.message(self.shapes.message(inner), bytes, &mut before, level + 1)?;
                object.insert(field.name.to_owned(), before.into());
                Ok(())
            }
            (Count::One, _) => {
                let value = self.value(field, tag, reader, level)?;
                if field.omit && !field.pointer && is_zero(&value) {
                    object.remove(field.name);
                } else {
                    object.insert(field.name.to_owned(), value);
                }
                Ok(())
            }
            (Count::List, _) => self.items(field, tag, reader, object, level),
            (Count::Map, _) => self.entry(field, tag, reader, object, level),
        }
    }

    /// Reads an item of a list, or many numbers in one.
    fn items(
        &mut self,
        field: &'static Field,
        tag: Tag,
        reader: &mut Reader<'_>,
        object: &mut Object,
        level: usize,
    ) -> Result<(), DecodeError> {
        if !matches!(object.get(field.name), Some(Value::Array(_))) {
            object.insert(field.name.to_owned(), Value::Array(Vec::new()));
        }
        let Some(Value::Array(items)) = object.get_mut(field.name) else {
            unreachable!("a list was inserted just now");
        };
        let unpacked = match field.kind {
            Kind::Boolean | Kind::Int32 | Kind::Int64 => VARINT,
            Kind::Number => FIXED64,
            _ => BYTES,
        };
        if unpacked == BYTES || tag.wire_type == unpacked {
            items.push(self.value(field, tag, reader, level + 1)?);
            return Ok(());
        }
        let mut packed = Reader::new(expect_bytes(reader, tag, field.name)?);
        while !packed.is_empty() {
            let tag = Tag { wire_type: unpacked, ..tag };
            items.push(self.value(field, tag, &mut packed, level + 1)?);
        }
        Ok(())
    }

    /// Reads an entry of a map.
    fn entry(
        &mut self,
        field: &'static Field,
        tag: Tag,
        reader: &mut Reader<'_>,
        object: &mut Object,
        level: usize,
    ) -> Result<(), DecodeError> {
        let (mut key, mut value) = (String::new(), None);
        let mut entry = Reader::new(expect_bytes(reader, tag, field.name)?);
        while let Some(tag) = entry.tag(field.name)? {
            match tag.number {
                1 => key = values::text(expect_bytes(&mut entry, tag, field.name)?),
                2 => value = Some(self.value(field, tag, &mut entry, level + 1)?),
                _ => entry.skip(tag)?,
            }
        }
        let value = match (value, field.kind) {
            // Go's maps have empty bytes and lists where a field would have none.
            (None, Kind::Bytes) => "".into(),
            (None | Some(Value::Null), Kind::Strings) => Value::Array(Vec::new()),
            (Some(value), _) => value,
            (None, kind) => self.zero(kind, level + 1)?,
        };
        if !matches!(object.get(field.name), Some(Value::Object(_))) {
            object.insert(field.name.to_owned(), Object::new().into());
        }
        if let Some(Value::Object(entries)) = object.get_mut(field.name) {
            entries.insert(key, value);
        }
        Ok(())
    }

    /// Reads one value, whose level is the given one if it is nested itself.
    fn value(
        &mut self,
        field: &'static Field,
        tag: Tag,
        reader: &mut Reader<'_>,
        level: usize,
    ) -> Result<Value, DecodeError> {
        let name = field.name;
        Ok(match field.kind {
            Kind::Boolean => (expect_varint(reader, tag, name)? != 0).into(),
            Kind::Int32 => (expect_varint(reader, tag, name)? as i32).into(),
            Kind::Int64 => (expect_varint(reader, tag, name)? as i64).into(),
            Kind::Number => {
                expect(tag, FIXED64, name)?;
                values::number(reader.fixed64()?, name)?
            }
            kind => {
                let bytes = expect_bytes(reader, tag, name)?;
                match kind {
                    Kind::Message(inner) => self.schema_or_object(inner, bytes, level + 1)?,
                    Kind::SchemaOrArray(schema) => self.schema_or_array(schema, bytes, level)?,
                    Kind::SchemaOrBool(schema) => self.schema_or_bool(schema, bytes, level)?,
                    Kind::SchemaOrStrings(schema) => self.schema_or_strings(schema, bytes, level)?,
                    kind => values::decode(kind, bytes, name, LEVELS_MAX.saturating_sub(level))?,
                }
            }
        })
    }

    fn schema_or_object(&mut self, shape: usize, bytes: &[u8], level: usize) -> Result<Value, DecodeError> {
        let mut object = Object::new();
        self.message(self.shapes.message(shape), bytes, &mut object, level)?;
        Ok(object.into())
    }

    fn schema_or_array(&mut self, schema: usize, bytes: &[u8], level: usize) -> Result<Value, DecodeError> {
        let (mut one, mut many) = (Value::Null, Vec::new());
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag("v1.JSONSchemaPropsOrArray")? {
            match tag.number {
                1 => {
                    one =
                        self.schema_or_object(schema, expect_bytes(&mut reader, tag, "schema")?, level + 1)?
                }
                2 => {
                    let bytes = expect_bytes(&mut reader, tag, "jSONSchemas")?;
                    many.push(self.schema_or_object(schema, bytes, level + 2)?);
                }
                _ => reader.skip(tag)?,
            }
        }
        Ok(if many.is_empty() { one } else { many.into() })
    }

    fn schema_or_bool(&mut self, schema: usize, bytes: &[u8], level: usize) -> Result<Value, DecodeError> {
        let (mut allows, mut one) = (false, None);
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag("v1.JSONSchemaPropsOrBool")? {
            match tag.number {
                1 => allows = expect_varint(&mut reader, tag, "allows")? != 0,
                2 => {
                    let bytes = expect_bytes(&mut reader, tag, "schema")?;
                    one = Some(self.schema_or_object(schema, bytes, level + 1)?);
                }
                _ => reader.skip(tag)?,
            }
        }
        Ok(one.unwrap_or_else(|| allows.into()))
    }

    fn schema_or_strings(&mut self, schema: usize, bytes: &[u8], level: usize) -> Result<Value, DecodeError> {
        let (mut one, mut many) = (Value::Null, Vec::new());
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag("v1.JSONSchemaPropsOrStringArray")? {
            match tag.number {
                1 => {
                    one =
                        self.schema_or_object(schema, expect_bytes(&mut reader, tag, "schema")?, level + 1)?
                }
                2 => many.push(values::text(expect_bytes(&mut reader, tag, "property")?)),
                _ => reader.skip(tag)?,
            }
        }
        Ok(if many.is_empty() { one } else { many.into() })
    }
}
