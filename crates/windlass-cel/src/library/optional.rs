//! Optional values: `optional.of`, `hasValue`, `first`, `last` and the rest. `or` and `orValue` are lazy
//! and belong to the evaluator.

use std::sync::Arc;

use super::{Arguments, Outcome, Table};
use crate::error::EvalError;
use crate::value::Value;

pub(super) const FUNCTIONS: Table = &[
    ("optional.of", of),
    ("optional.none", none),
    ("optional.ofNonZeroValue", of_non_zero_value),
    ("optional.unwrap", unwrap),
    ("unwrapOpt", unwrap),
    ("value", value),
    ("hasValue", has_value),
    ("or", lazy),
    ("orValue", lazy),
    ("first", first),
    ("last", last),
];

fn of<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::optional(Some(call.get(0)?.clone())))
}

fn none<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::Optional(None))
}

fn of_non_zero_value<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let value = call.get(0)?;
    let zero = match value {
        Value::Null | Value::Bool(false) | Value::Int(0) | Value::Uint(0) | Value::Duration(0) => true,
        Value::Double(number) => *number == 0.0,
        Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_) => value.size() == 0,
        Value::Optional(inner) => inner.is_none(),
        _ => false,
    };
    Ok(Value::optional((!zero).then(|| value.clone())))
}

fn inner<'a>(value: &Value<'a>) -> Result<Option<Arc<Value<'a>>>, EvalError> {
    match value {
        Value::Optional(inner) => Ok(inner.clone()),
        _ => Err(EvalError::no_overload()),
    }
}

fn value<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    match inner(call.get(0)?)? {
        Some(value) => Ok(value.as_ref().clone()),
        None => Err(EvalError::failed("optional.none() dereference")),
    }
}

fn has_value<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::Bool(inner(call.get(0)?)?.is_some()))
}

fn lazy<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    match inner(call.get(0)?)? {
        Some(_) => Ok(call.get(0)?.clone()),
        None => Ok(call.get(1)?.clone()),
    }
}

fn first<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::optional(call.list(0)?.get(0)))
}

fn last<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let list = call.list(0)?;
    Ok(Value::optional(list.len().checked_sub(1).and_then(|index| list.get(index))))
}

fn unwrap<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let mut values = Vec::new();
    for item in call.list(0)?.iter() {
        match item {
            Value::Optional(Some(value)) => values.push(value.as_ref().clone()),
            Value::Optional(None) => {}
            other => {
                let message = format!("value of type {} is not optional", other.type_name());
                return Err(EvalError::failed(message));
            }
        }
    }
    Ok(Value::list(values))
}
