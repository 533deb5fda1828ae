//! Values whose JSON is not what their message looks like: times, quantities, JSON itself.

use serde_json::Value;

use super::decode::{expect_bytes, expect_varint};
use super::error::DecodeError;
use super::shapes::Kind;
use super::wire::{Reader, Writer};
use crate::json_body as body;
use crate::time;
use windlass_cel::formats::base64::Base64;
use windlass_cel::formats::quantity::Quantity;

/// The first second of the year 1, which is no time to Go.
const NO_TIME: i64 = -62_135_596_800;
const MICROS_PER_SECOND: i64 = 1_000_000;
const NANOS_PER_MICRO: i32 = 1_000;
/// The years 0 to 9999, which RFC 3339 can write.
const WRITABLE_SECONDS: std::ops::Range<i64> = -62_167_219_200..253_402_300_800;

/// Reads a value of one of these kinds, with a maximum nesting depth.
pub(super) fn decode(
    kind: Kind,
    bytes: &[u8],
    field: &'static str,
    levels: usize,
) -> Result<Value, DecodeError> {
    match kind {
        Kind::Bytes => Ok(Base64::Standard.encode(bytes).into()),
        Kind::Time => decode_time(bytes, field),
        Kind::MicroTime => decode_micro_time(bytes, field),
        Kind::Quantity => decode_quantity(bytes, field),
        Kind::IntOrString => decode_int_or_string(bytes, field),
        Kind::Json => decode_json(bytes, field, levels),
        Kind::Strings => decode_strings(bytes),
        _ => Ok(text(bytes).into()),
    }
}

/// A string. As in Go's JSON, each byte that is not UTF-8 becomes a replacement character.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// A floating point number, from its bits.
pub(super) fn number(bits: u64, field: &'static str) -> Result<Value, DecodeError> {
    let number = f64::from_bits(bits);
    body::number_value(number).ok_or_else(|| bad(field, format!("json: unsupported value: {number}")))
}

/// Kubernetes' JSON knows only whole seconds, so no fraction is read.
fn decode_time(bytes: &[u8], field: &'static str) -> Result<Value, DecodeError> {
    match timestamp(bytes)? {
        None | Some((NO_TIME, _)) => Ok(Value::Null),
        Some((seconds, _)) => Ok(format!("{}Z", written(seconds, field)?).into()),
    }
}

fn decode_micro_time(bytes: &[u8], field: &'static str) -> Result<Value, DecodeError> {
    let Some((seconds, nanos)) = timestamp(bytes)? else { return Ok(Value::Null) };
    let micros = i64::from(nanos / NANOS_PER_MICRO);
    let seconds = seconds.saturating_add(micros.div_euclid(MICROS_PER_SECOND));
    match (seconds, micros.rem_euclid(MICROS_PER_SECOND)) {
        (NO_TIME, 0) => Ok(Value::Null),
        (seconds, micros) => Ok(format!("{}.{micros:06}Z", written(seconds, field)?).into()),
    }
}

/// Seconds and nanoseconds; nothing at all is no time.
fn timestamp(bytes: &[u8]) -> Result<Option<(i64, i32)>, DecodeError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("v1.Timestamp")? {
        match tag.number {
            1 => seconds = expect_varint(&mut reader, tag, "seconds")? as i64,
            2 => nanos = expect_varint(&mut reader, tag, "nanos")? as i32,
            _ => reader.skip(tag)?,
        }
    }
    Ok(Some((seconds, nanos)))
}

fn written(seconds: i64, field: &'static str) -> Result<String, DecodeError> {
    if WRITABLE_SECONDS.contains(&seconds) {
        return Ok(time::date_and_clock(seconds).as_str().to_owned());
    }
    Err(bad(field, format!("a time {seconds} seconds after 1970 is not in the years 0 to 9999")))
}

fn decode_quantity(bytes: &[u8], field: &'static str) -> Result<Value, DecodeError> {
    let mut quantity = "0".to_owned();
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("resource.Quantity")? {
        match tag.number {
            1 => {
                let text = text(expect_bytes(&mut reader, tag, "string")?);
                quantity = Quantity::parse(&text).map_err(|why| bad(field, why.to_owned()))?.to_string();
            }
            _ => reader.skip(tag)?,
        }
    }
    Ok(quantity.into())
}

fn decode_int_or_string(bytes: &[u8], field: &'static str) -> Result<Value, DecodeError> {
    let (mut which, mut number, mut string) = (0, 0, String::new());
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("intstr.IntOrString")? {
        match tag.number {
            1 => which = expect_varint(&mut reader, tag, "type")? as i64,
            2 => number = expect_varint(&mut reader, tag, "intVal")? as i32,
            3 => string = text(expect_bytes(&mut reader, tag, "strVal")?),
            _ => reader.skip(tag)?,
        }
    }
    match which {
        0 => Ok(number.into()),
        1 => Ok(string.into()),
        _ => Err(bad(field, "impossible IntOrString.Type".to_owned())),
    }
}

fn decode_json(bytes: &[u8], field: &'static str, levels: usize) -> Result<Value, DecodeError> {
    let mut raw: &[u8] = &[];
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("runtime.RawExtension")? {
        match tag.number {
            1 => raw = expect_bytes(&mut reader, tag, "raw")?,
            _ => reader.skip(tag)?,
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    let value = body::read(raw).map_err(|why| bad(field, format!("it is not JSON: {why}")))?.value;
    if nesting(&value) > levels {
        return Err(DecodeError::TooDeep { levels });
    }
    Ok(value)
}

/// How deep lists and objects are nested.
fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(nesting).max().unwrap_or(0),
        _ => 0,
    }
}

fn decode_strings(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut items = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("v1.Verbs")? {
        match tag.number {
            1 => items.push(text(expect_bytes(&mut reader, tag, "items")?)),
            _ => reader.skip(tag)?,
        }
    }
    Ok(if items.is_empty() { Value::Null } else { items.into() })
}

/// Writes a value of one of the kinds that [`decode`] reads, or a scalar. A null is zero.
pub(super) fn encode(kind: Kind, number: u32, value: &Value, writer: &mut Writer) -> Option<()> {
    let or_zero = |read: Option<i64>| if value.is_null() { Some(0) } else { read };
    match kind {
        Kind::Boolean => writer.number(number, or_zero(value.as_bool().map(i64::from))?),
        Kind::Int32 => writer.number(number, or_zero(value.as_i64().filter(is_32_bits))?),
        Kind::Int64 => writer.number(number, or_zero(value.as_i64())?),
        Kind::Number if value.is_null() => writer.fixed64(number, 0),
        Kind::Number => writer.fixed64(number, value.as_f64()?.to_bits()),
        Kind::Bytes => writer.bytes(number, &Base64::Standard.decode(text_of(value)?).ok()?),
        Kind::Time => return encode_time(number, value, false, writer),
        Kind::MicroTime => return encode_time(number, value, true, writer),
        Kind::Quantity => return encode_quantity(number, value, writer),
        Kind::IntOrString => return encode_int_or_string(number, value, writer),
        Kind::Json => return encode_json(number, value, writer),
        Kind::Strings => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            return writer.message(number, |writer| encode_strings(1, items, writer));
        }
        _ => writer.bytes(number, text_of(value)?.as_bytes()),
    }
    Some(())
}

/// Writes each string as a value of the field.
pub(super) fn encode_strings(number: u32, items: &[Value], writer: &mut Writer) -> Option<()> {
    items.iter().try_for_each(|item| {
        writer.bytes(number, text_of(item)?.as_bytes());
        Some(())
    })
}

fn encode_time(number: u32, value: &Value, has_micros: bool, writer: &mut Writer) -> Option<()> {
    let (seconds, micros) = match value {
        Value::Null => (NO_TIME, 0),
        _ => time::unix_time(value.as_str()?)?,
    };
    let micros = if has_micros { micros } else { 0 };
    writer.message(number, |writer| {
        if (seconds, micros) != (NO_TIME, 0) {
            writer.number(1, seconds);
            writer.number(2, micros * i64::from(NANOS_PER_MICRO));
        }
        Some(())
    })
}

fn encode_quantity(number: u32, value: &Value, writer: &mut Writer) -> Option<()> {
    let quantity = match value {
        Value::Null => "0".to_owned(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok()?.to_string(),
        _ => Quantity::parse(value.as_str()?).ok()?.to_string(),
    };
    writer.message(number, |writer| {
        writer.bytes(1, quantity.as_bytes());
        Some(())
    })
}

fn encode_int_or_string(number: u32, value: &Value, writer: &mut Writer) -> Option<()> {
    let (which, int, string) = match value {
        Value::Null => (0, 0, ""),
        Value::String(text) => (1, 0, text.as_str()),
        _ => (0, value.as_i64().filter(is_32_bits)?, ""),
    };
    writer.message(number, |writer| {
        writer.number(1, which);
        writer.number(2, int);
        writer.bytes(3, string.as_bytes());
        Some(())
    })
}

fn encode_json(number: u32, value: &Value, writer: &mut Writer) -> Option<()> {
    writer.message(number, |writer| {
        if !value.is_null() {
            writer.bytes(1, value.to_string().as_bytes());
        }
        Some(())
    })
}

/// A string, or the null that stands for an empty one.
fn text_of(value: &Value) -> Option<&str> {
    if value.is_null() { Some("") } else { value.as_str() }
}

fn is_32_bits(number: &i64) -> bool {
    i32::try_from(*number).is_ok()
}

fn bad(field: &'static str, why: String) -> DecodeError {
    DecodeError::BadValue { field, why }
}
