//! `sets`: lists compared as sets.

use super::{Arguments, Outcome, Table};
use crate::error::EvalError;
use crate::operators::equal;
use crate::value::{List, Value};

pub(super) const FUNCTIONS: Table =
    &[("sets.contains", contains), ("sets.equivalent", equivalent), ("sets.intersects", intersects)];

fn contains<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (left, right) = pair(call, 1)?;
    Ok(Value::Bool(covers(call, &left, &right)?))
}

fn equivalent<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (left, right) = pair(call, 2)?;
    Ok(Value::Bool(covers(call, &left, &right)? && covers(call, &right, &left)?))
}

fn intersects<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (left, right) = pair(call, 1)?;
    for item in right.iter() {
        if holds(call, &left, &item)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn pair<'a>(call: &mut Arguments<'_, 'a>, factor: u64) -> Result<(List<'a>, List<'a>), EvalError> {
    let (left, right) = (call.list(0)?, call.list(1)?);
    call.budget.charge(1 + factor * (left.len() as u64).saturating_mul(right.len() as u64))?;
    Ok((left, right))
}

fn covers(call: &mut Arguments<'_, '_>, left: &List<'_>, right: &List<'_>) -> Result<bool, EvalError> {
    for item in right.iter() {
        if !holds(call, left, &item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn holds(call: &mut Arguments<'_, '_>, list: &List<'_>, wanted: &Value<'_>) -> Result<bool, EvalError> {
    for item in list.iter() {
        if equal(&item, wanted, call.budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}
