//! Regular expressions: `matches`, `find`, `findAll`, in the syntax of RE2.

use std::sync::Arc;

use regex::Regex;

use super::{Arguments, Outcome, Table};
use crate::error::EvalError;
use crate::formats::pattern;
use crate::value::{Text, Value};

pub(super) const FUNCTIONS: Table = &[("matches", matches), ("find", find), ("findAll", find_all)];

/// Bytes that a compiled pattern may take.
const SIZE_LIMIT: usize = 1 << 20;

/// Compiles a pattern as RE2 would read it. The error is worded as Go words it.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    pattern::compile(pattern, SIZE_LIMIT).map_err(|error| error.to_string())
}

/// Charges as Kubernetes does: a tenth per character, times a quarter per character of the pattern.
fn charge(call: &mut Arguments<'_, '_>) -> Result<(), EvalError> {
    let text_cost = (call.get(0)?.size() + 1).div_ceil(10);
    let pattern_cost = call.get(1)?.size().div_ceil(4);
    call.budget.charge(text_cost.saturating_mul(pattern_cost))
}

/// The pattern, compiled unless it is a literal. Compiling counts: a short pattern with counted
/// repetitions can take milliseconds.
fn compiled(
    call: &mut Arguments<'_, '_>,
    to_error: fn(String) -> EvalError,
) -> Result<Arc<Regex>, EvalError> {
    if let Some(regex) = call.regex {
        return Ok(regex.clone());
    }
    let text = call.text(1)?;
    let repetitions = text.matches('{').count().min(1) * 100_000;
    call.budget.work(1_000 + text.len() * 100 + repetitions)?;
    compile(&text).map(Arc::new).map_err(to_error)
}

fn matches<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, _) = (call.text(0)?, call.text(1)?);
    charge(call)?;
    let regex = compiled(call, EvalError::failed)?;
    call.budget.work(text.len())?;
    Ok(Value::Bool(regex.is_match(&text)))
}

fn illegal(message: String) -> EvalError {
    EvalError::failed(format!("Illegal regex: {message}"))
}

fn find<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, _) = (call.text(0)?, call.text(1)?);
    charge(call)?;
    let regex = compiled(call, illegal)?;
    let found = regex.find(&text).map_or("", |found| found.as_str());
    call.made(found.to_owned())
}

fn find_all<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, _) = (call.text(0)?, call.text(1)?);
    let limit = if call.has(2) { usize::try_from(call.int(2)?).unwrap_or(usize::MAX) } else { usize::MAX };
    charge(call)?;
    let regex = compiled(call, illegal)?;
    let mut found = Vec::new();
    for matched in regex.find_iter(&text).take(limit) {
        call.budget.work(matched.len() + size_of::<Value<'_>>())?;
        found.push(Value::String(Text::Shared(matched.as_str().into())));
    }
    Ok(Value::list(found))
}
