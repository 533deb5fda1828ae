//! Text: the functions of CEL and of its string extension.

use super::{Arguments, Outcome, Table};
use crate::error::EvalError;
use crate::value::Value;

pub(super) const FUNCTIONS: Table = &[
    ("startsWith", starts_with),
    ("endsWith", ends_with),
    ("contains", contains),
    ("charAt", char_at),
    ("lowerAscii", lower_ascii),
    ("upperAscii", upper_ascii),
    ("replace", replace),
    ("split", split),
    ("join", join),
    ("substring", substring),
    ("trim", trim),
    ("strings.quote", quote),
];

fn starts_with<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, prefix) = (call.text(0)?, call.text(1)?);
    call.charge_walk(0)?;
    Ok(Value::Bool(text.starts_with(&*prefix)))
}

fn ends_with<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, suffix) = (call.text(0)?, call.text(1)?);
    call.charge_walk(0)?;
    Ok(Value::Bool(text.ends_with(&*suffix)))
}

fn contains<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, part) = (call.text(0)?, call.text(1)?);
    let (text_cost, part_cost) = (call.get(0)?.size().div_ceil(10), call.get(1)?.size().div_ceil(10));
    call.budget.charge(text_cost.saturating_mul(part_cost))?;
    Ok(Value::Bool(text.contains(&*part)))
}

fn out_of_range(index: i64) -> EvalError {
    EvalError::failed(format!("index out of range: {index}"))
}

/// The byte where the character of an index starts; the number of characters is an index too.
fn byte_of(text: &str, index: i64) -> Result<usize, EvalError> {
    let wanted = usize::try_from(index).map_err(|_| out_of_range(index))?;
    let mut starts = text.char_indices().map(|(start, _)| start).chain(std::iter::once(text.len()));
    starts.nth(wanted).ok_or_else(|| out_of_range(index))
}

fn characters_before(text: &str, byte: usize) -> i64 {
    text.get(..byte).unwrap_or(text).chars().count() as i64
}

fn char_at<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, index) = (call.text(0)?, call.int(1)?);
    call.budget.charge(1)?;
    let start = byte_of(&text, index)?;
    let character: String = text.get(start..).unwrap_or("").chars().take(1).collect();
    call.made(character)
}

pub(super) fn index_of<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, part) = (call.text(0)?, call.text(1)?);
    let offset = if call.has(2) { call.int(2)? } else { 0 };
    call.budget.charge(text.len() as u64 / 10)?;
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    if offset < 0 {
        return Err(out_of_range(offset));
    }
    let Ok(start) = byte_of(&text, offset) else { return Ok(Value::Int(-1)) };
    let found = text.get(start..).unwrap_or("").find(&*part);
    Ok(Value::Int(found.map_or(-1, |found| characters_before(&text, start + found))))
}

pub(super) fn last_index_of<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, part) = (call.text(0)?, call.text(1)?);
    call.budget.charge(text.len() as u64 / 10)?;
    let characters = text.chars().count() as i64;
    let offset = if call.has(2) { call.int(2)? } else { characters };
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    if offset < 0 {
        return Err(out_of_range(offset));
    }
    if call.has(2) && offset >= characters {
        return Ok(Value::Int(-1));
    }
    // The match may start at the offset at the latest, and reach beyond it.
    let last_start = byte_of(&text, offset)?;
    let end = (last_start + part.len()).min(text.len());
    let end = (0..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let found = text.get(..end).unwrap_or("").rfind(&*part);
    Ok(Value::Int(found.map_or(-1, |found| characters_before(&text, found))))
}

fn lower_ascii<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    call.made(text.to_ascii_lowercase())
}

fn upper_ascii<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    call.made(text.to_ascii_uppercase())
}

fn trim<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    call.made(text.trim().to_owned())
}

/// A negative limit means none.
fn limit(call: &Arguments<'_, '_>, index: usize) -> Result<usize, EvalError> {
    if !call.has(index) {
        return Ok(usize::MAX);
    }
    Ok(usize::try_from(call.int(index)?).unwrap_or(usize::MAX))
}

fn charge_twice(call: &mut Arguments<'_, '_>) -> Result<(), EvalError> {
    let size = call.get(0)?.size();
    call.budget.charge_traversal(size.saturating_mul(2))
}

fn replace<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, old, new) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let limit = limit(call, 3)?;
    charge_twice(call)?;
    let count = text.matches(&*old).count().min(limit);
    // Counted before it is built: a short replacement of nothing can make a text very long.
    call.budget.work(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Value::text(text.replacen(&*old, &new, count)))
}

fn split<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, separator) = (call.text(0)?, call.text(1)?);
    let limit = limit(call, 2)?;
    charge_twice(call)?;
    let parts: Vec<Value<'a>> = if separator.is_empty() {
        let mut rest = &*text;
        let mut parts = Vec::new();
        while let Some(next) = rest.chars().next() {
            let length = if parts.len() + 1 == limit { rest.len() } else { next.len_utf8() };
            let (part, tail) = rest.split_at(length);
            call.budget.work(part.len() + size_of::<Value<'_>>())?;
            if limit == 0 {
                break;
            }
            parts.push(Value::text(part));
            rest = tail;
        }
        parts
    } else if limit == 0 {
        Vec::new()
    } else {
        let pieces = text.splitn(limit, &*separator);
        let count = text.matches(&*separator).count() + 1;
        call.budget.work(text.len() + count * size_of::<Value<'_>>())?;
        pieces.map(Value::text).collect()
    };
    Ok(Value::list(parts))
}

fn join<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let list = call.list(0)?;
    let separator = if call.has(1) { call.text(1)?.to_string() } else { String::new() };
    let mut joined = String::new();
    for (index, item) in list.iter().enumerate() {
        let Value::String(text) = &item else {
            return Err(EvalError::failed(format!("join: invalid input: {}", item.to_json())));
        };
        call.budget.work(text.len() + separator.len())?;
        if index > 0 {
            joined.push_str(&separator);
        }
        joined.push_str(text);
    }
    call.budget.charge_traversal((joined.chars().count() as u64).saturating_mul(2))?;
    Ok(Value::text(joined))
}

fn substring<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, start) = (call.text(0)?, call.int(1)?);
    call.charge_walk(0)?;
    let end = if call.has(2) { Some(call.int(2)?) } else { None };
    if let Some(end) = end
        && start > end
    {
        let message = format!("invalid substring range. start: {start}, end: {end}");
        return Err(EvalError::failed(message));
    }
    let first = byte_of(&text, start)?;
    let last = end.map_or(Ok(text.len()), |end| byte_of(&text, end))?;
    call.made(text.get(first..last).unwrap_or("").to_owned())
}

fn quote<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' | '"' => {
                quoted.push('\\');
                quoted.push(c);
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    call.made(quoted)
}
