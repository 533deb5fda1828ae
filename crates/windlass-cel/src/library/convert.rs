//! Conversions between types: `int`, `string`, `timestamp` and the rest, and `type`.

use super::time::{self, CelTimestamp};
use super::{Arguments, Outcome, Table};
use crate::error::EvalError;
use crate::value::Value;

pub(super) const FUNCTIONS: Table = &[
    ("int", int),
    ("uint", uint),
    ("double", double),
    ("string", string),
    ("bytes", bytes),
    ("bool", bool),
    ("timestamp", timestamp),
    ("duration", duration),
    ("dyn", dynamic),
    ("type", type_of),
];

/// Whether a call of this name with a literal is worked out before the expression runs.
pub(crate) fn is_conversion(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, _)| *known == name)
}

fn failed(value: &Value<'_>, target: &str) -> EvalError {
    EvalError::failed(format!("type conversion error from '{}' to '{target}'", value.type_name()))
}

fn overflow() -> EvalError {
    EvalError::failed("integer overflow")
}

fn unsigned_overflow() -> EvalError {
    EvalError::failed("unsigned integer overflow")
}

fn int<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let value = call.get(0)?;
    Ok(Value::Int(match value {
        Value::Int(number) => *number,
        Value::Uint(number) => i64::try_from(*number).map_err(|_| overflow())?,
        // The limits themselves are refused: as doubles they stand for their neighbours too.
        Value::Double(number) if *number > i64::MIN as f64 && *number < i64::MAX as f64 => *number as i64,
        Value::Double(_) => return Err(overflow()),
        Value::String(text) => text.parse().map_err(|_| failed(value, "int"))?,
        Value::Timestamp(timestamp) => timestamp.unix_seconds(),
        Value::Duration(nanos) => *nanos,
        _ => return Err(EvalError::no_overload()),
    }))
}

fn uint<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let value = call.get(0)?;
    Ok(Value::Uint(match value {
        Value::Uint(number) => *number,
        Value::Int(number) => u64::try_from(*number).map_err(|_| unsigned_overflow())?,
        Value::Double(number) if *number >= 0.0 && *number < u64::MAX as f64 => *number as u64,
        Value::Double(_) => return Err(unsigned_overflow()),
        Value::String(text) if !text.starts_with('+') => text.parse().map_err(|_| failed(value, "uint"))?,
        Value::String(_) => return Err(failed(value, "uint")),
        _ => return Err(EvalError::no_overload()),
    }))
}

fn double<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let value = call.get(0)?;
    Ok(Value::Double(match value {
        Value::Double(number) => *number,
        Value::Int(number) => *number as f64,
        Value::Uint(number) => *number as f64,
        Value::String(text) => parse_double(text).ok_or_else(|| failed(value, "double"))?,
        _ => return Err(EvalError::no_overload()),
    }))
}

/// Underscores may stand between digits, as in Go.
fn parse_double(text: &str) -> Option<f64> {
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let separates = |index: usize| {
        digit(index.checked_sub(1).and_then(|before| bytes.get(before))) && digit(bytes.get(index + 1))
    };
    let valid = text.match_indices('_').all(|(index, _)| separates(index));
    text.replace('_', "").parse().ok().filter(|_| valid)
}

fn string<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let value = call.get(0)?.clone();
    match &value {
        Value::Bytes(bytes) => call.budget.charge_traversal(bytes.len() as u64)?,
        _ => call.budget.charge(1)?,
    }
    let text = show(&value)?;
    call.made(text)
}

/// A scalar as text.
pub(super) fn show(value: &Value<'_>) -> Result<String, EvalError> {
    Ok(match value {
        Value::String(text) => text.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => show_double(*number),
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec())
            .map_err(|_| EvalError::failed("invalid UTF-8 in bytes, cannot convert to string"))?,
        Value::Timestamp(timestamp) => timestamp.to_string(),
        Value::Duration(nanos) => time::show_duration(*nanos),
        Value::Type(name) => (*name).to_owned(),
        Value::Opaque(opaque) if opaque.type_name().starts_with("net.") => opaque.to_string(),
        _ => return Err(EvalError::no_overload()),
    })
}

/// The shortest text that reads back as the number, with an exponent below 1e-4 and from 1e6 on, as Go's `%g`.
pub(super) fn show_double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn bytes<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let value = call.get(0)?.clone();
    match value {
        Value::Bytes(_) => {
            call.budget.charge(1)?;
            Ok(value)
        }
        Value::String(text) => {
            call.charge_walk(0)?;
            call.budget.work(text.len())?;
            Ok(Value::Bytes(text.as_bytes().into()))
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn bool<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let value = call.get(0)?;
    Ok(Value::Bool(match value {
        Value::Bool(value) => *value,
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
            "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
            _ => return Err(failed(value, "bool")),
        },
        _ => return Err(EvalError::no_overload()),
    }))
}

fn timestamp<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let value = call.get(0)?;
    Ok(Value::Timestamp(match value {
        Value::Timestamp(timestamp) => *timestamp,
        Value::Int(seconds) => CelTimestamp::from_unix_seconds(*seconds)
            .ok_or_else(|| EvalError::failed("timestamp overflow"))?,
        Value::String(text) => {
            CelTimestamp::parse(text).ok_or_else(|| failed(value, "google.protobuf.Timestamp"))?
        }
        _ => return Err(EvalError::no_overload()),
    }))
}

fn duration<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let value = call.get(0)?;
    Ok(Value::Duration(match value {
        Value::Duration(nanos) | Value::Int(nanos) => *nanos,
        Value::String(text) => {
            time::parse_duration(text).ok_or_else(|| failed(value, "google.protobuf.Duration"))?
        }
        _ => return Err(EvalError::no_overload()),
    }))
}

fn dynamic<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(call.get(0)?.clone())
}

fn type_of<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::Type(call.get(0)?.type_name()))
}
