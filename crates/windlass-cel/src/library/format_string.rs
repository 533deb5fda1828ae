//! `"%s has %d".format([name, count])`, with the quirks of the locale that Kubernetes formats in.

use super::convert::{show, show_double};
use super::{Arguments, Outcome, Table, time};
use crate::budget::Budget;
use crate::error::EvalError;
use crate::value::{List, Value};

pub(super) const FUNCTIONS: Table = &[("format", format)];

const DEFAULT_PRECISION: usize = 6;
/// Digits after the point beyond which a clause is refused.
const MAX_PRECISION: usize = 1_000;

/// What a clause of a format string asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    String,
    Decimal,
    Fixed(usize),
    Scientific,
    Binary,
    Octal,
    Hex,
    UpperHex,
}

/// A piece of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'s> {
    Text(&'s str),
    Clause(Clause),
}

impl Clause {
    /// Whether it formats values of a type, given by the name that errors use.
    pub(crate) fn accepts(self, type_name: &str) -> bool {
        let integer = matches!(type_name, "int" | "uint");
        match self {
            Clause::String => matches!(
                type_name,
                "list"
                    | "map"
                    | "int"
                    | "uint"
                    | "double"
                    | "bool"
                    | "string"
                    | "bytes"
                    | "type"
                    | "null_type"
                    | "google.protobuf.Timestamp"
                    | "google.protobuf.Duration"
            ),
            Clause::Decimal | Clause::Octal => integer,
            Clause::Fixed(_) | Clause::Scientific => type_name == "double",
            Clause::Binary => integer || type_name == "bool",
            Clause::Hex | Clause::UpperHex => integer || matches!(type_name, "string" | "bytes"),
        }
    }

    /// What is said about a value that it does not format.
    pub(crate) fn complaint(self, type_name: &str) -> String {
        let rule = match self {
            Clause::String => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
            }
            Clause::Decimal => "decimal clause can only be used on integers",
            Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
            Clause::Scientific => "scientific clause can only be used on doubles",
            Clause::Binary => "only integers and bools can be formatted as binary",
            Clause::Octal => "octal clause can only be used on integers",
            Clause::Hex | Clause::UpperHex => {
                "only integers, byte buffers, and strings can be formatted as hex"
            }
        };
        format!("error during formatting: {rule}, was given {type_name}")
    }
}

/// Splits a format string into text and clauses.
pub(crate) fn parse(format: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(start) = rest.find('%') {
        pieces.push(Piece::Text(&rest[..start]));
        rest = &rest[start + 1..];
        if rest.is_empty() {
            return Err("unexpected end of string".to_owned());
        }
        if let Some(tail) = rest.strip_prefix('%') {
            pieces.push(Piece::Text("%"));
            rest = tail;
            continue;
        }
        let (clause, tail) =
            parse_clause(rest).map_err(|reason| format!("could not parse formatting clause: {reason}"))?;
        pieces.push(Piece::Clause(clause));
        rest = tail;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

fn parse_clause(text: &str) -> Result<(Clause, &str), String> {
    let (precision, text) = match text.strip_prefix('.') {
        Some(digits) => {
            let end = digits.bytes().position(|byte| !byte.is_ascii_digit());
            let end =
                end.ok_or("error while parsing precision: could not find end of precision specifier")?;
            let precision: usize = digits[..end].parse().map_err(|_| {
                let number = &digits[..end];
                format!("error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing {number:?}: invalid syntax")
            })?;
            (precision, &digits[end..])
        }
        None => (DEFAULT_PRECISION, text),
    };
    if precision > MAX_PRECISION {
        return Err(format!("error while parsing precision: {precision} is too large"));
    }
    let letter = text.chars().next().unwrap_or(' ');
    let clause = match letter {
        's' => Clause::String,
        'd' => Clause::Decimal,
        'f' => Clause::Fixed(precision),
        'e' => Clause::Scientific,
        'b' => Clause::Binary,
        'o' => Clause::Octal,
        'x' => Clause::Hex,
        'X' => Clause::UpperHex,
        other => return Err(format!("unrecognized formatting clause \"{other}\"")),
    };
    Ok((clause, &text[letter.len_utf8()..]))
}

fn format<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (format, values) = (call.text(0)?, call.list(1)?);
    call.charge_walk(0)?;
    let mut out = String::new();
    let mut next = 0;
    for piece in parse(&format).map_err(EvalError::failed)? {
        let clause = match piece {
            Piece::Text(text) => {
                call.budget.work(text.len())?;
                out.push_str(text);
                continue;
            }
            Piece::Clause(clause) => clause,
        };
        let value = values.get(next);
        let value = value.ok_or_else(|| EvalError::failed(format!("index {next} out of range")))?;
        write_clause(clause, &value, &mut out, call.budget)?;
        next += 1;
    }
    Ok(Value::text(out))
}

fn write_clause(
    clause: Clause,
    value: &Value<'_>,
    out: &mut String,
    budget: &mut Budget,
) -> Result<(), EvalError> {
    let special = |text: &str| matches!(text, "NaN" | "Infinity" | "-Infinity");
    let text = match (clause, value) {
        (Clause::String, value) => return write_value(value, out, budget, false),
        (Clause::Decimal, Value::Int(number)) => number.to_string(),
        (Clause::Decimal, Value::Uint(number)) => number.to_string(),
        (Clause::Fixed(precision), Value::Double(number)) => fixed(*number, precision),
        (Clause::Scientific, Value::Double(number)) => scientific(*number),
        (Clause::Fixed(_) | Clause::Scientific, Value::String(text)) if special(text) => {
            fixed(text.parse().unwrap_or(f64::NAN), 0)
        }
        (Clause::Binary, Value::Bool(value)) => u8::from(*value).to_string(),
        (Clause::Hex, Value::String(text)) => hex(text.as_bytes()),
        (Clause::Hex, Value::Bytes(bytes)) => hex(bytes),
        (Clause::UpperHex, Value::String(text)) => hex(text.as_bytes()).to_ascii_uppercase(),
        (Clause::UpperHex, Value::Bytes(bytes)) => hex(bytes).to_ascii_uppercase(),
        (clause, Value::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            format!("{sign}{}", in_base(clause, number.unsigned_abs())?)
        }
        (clause, Value::Uint(number)) => in_base(clause, *number)?,
        (clause, value) => return Err(EvalError::failed(clause.complaint(value.type_name()))),
    };
    budget.work(text.len())?;
    out.push_str(&text);
    Ok(())
}

fn in_base(clause: Clause, number: u64) -> Result<String, EvalError> {
    Ok(match clause {
        Clause::Binary => format!("{number:b}"),
        Clause::Octal => format!("{number:o}"),
        Clause::Hex => format!("{number:x}"),
        Clause::UpperHex => format!("{number:X}"),
        other => return Err(EvalError::failed(other.complaint("int"))),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn special_double(number: f64) -> Option<&'static str> {
    match number {
        number if number.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

/// `1,234,567.500000`
fn fixed(number: f64, precision: usize) -> String {
    if let Some(text) = special_double(number) {
        return text.to_owned();
    }
    let plain = format!("{:.precision$}", number.abs());
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{fraction}")
}

/// `1.234568×10⁰³`; Kubernetes takes the precision for a width, so there are always six digits.
fn scientific(number: f64) -> String {
    if let Some(text) = special_double(number) {
        return text.to_owned();
    }
    // Adding zero makes negative zero positive.
    let text = format!("{:.DEFAULT_PRECISION$e}", number + 0.0);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { "⁻" } else { "" };
    let digits = format!("{:02}", exponent.abs());
    let raised: String = digits.chars().map(superscript).collect();
    format!("{mantissa}×10{sign}{raised}")
}

fn superscript(digit: char) -> char {
    match digit {
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        other => other.to_digit(10).and_then(|digit| char::from_u32(0x2070 + digit)).unwrap_or(other),
    }
}

/// A value as text; within lists and maps as the literal that makes it.
fn write_value(
    value: &Value<'_>,
    out: &mut String,
    budget: &mut Budget,
    nested: bool,
) -> Result<(), EvalError> {
    let text = match value {
        Value::List(list) => return write_list(list, out, budget),
        Value::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in map.iter() {
                let (mut key_text, mut value_text) = (String::new(), String::new());
                write_value(&key.to_value(), &mut key_text, budget, true)?;
                write_value(&value, &mut value_text, budget, true)?;
                entries.push((key_text, value_text));
            }
            entries.sort();
            let entries: Vec<String> =
                entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Null => "null".to_owned(),
        Value::String(text) if nested => format!("{:?}", &**text),
        Value::Bytes(_) if nested => format!("b{:?}", show(value)?),
        Value::Double(number) if nested && number.is_finite() => format!("{number:.DEFAULT_PRECISION$}"),
        Value::Double(number) if nested => format!("{:?}", show_double(*number)),
        Value::Timestamp(timestamp) if nested => format!("timestamp(\"{timestamp}\")"),
        Value::Duration(nanos) if nested => format!("duration(\"{}\")", time::show_duration(*nanos)),
        Value::Optional(_) | Value::Opaque(_) | Value::Message(_) if nested => {
            return Err(EvalError::failed(format!("no formatting function for {}", value.type_name())));
        }
        Value::Optional(_) | Value::Opaque(_) | Value::Message(_) => {
            return Err(EvalError::failed(Clause::String.complaint(value.type_name())));
        }
        scalar => show(scalar)?,
    };
    budget.visit()?;
    budget.work(text.len())?;
    out.push_str(&text);
    Ok(())
}

fn write_list(list: &List<'_>, out: &mut String, budget: &mut Budget) -> Result<(), EvalError> {
    budget.visit()?;
    out.push('[');
    for (index, item) in list.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        write_value(&item, out, budget, true)?;
    }
    out.push(']');
    Ok(())
}
