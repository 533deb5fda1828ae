//! Lists: Kubernetes' own functions and those of CEL's list extension. `size` is here too.

use std::cmp::Ordering;

use super::{Arguments, Outcome, Table, strings};
use crate::budget::Budget;
use crate::error::EvalError;
use crate::operators::{add, compare, equal};
use crate::value::{List, Value};

pub(super) const FUNCTIONS: Table = &[
    ("size", size),
    ("isSorted", is_sorted),
    ("sum", sum),
    ("min", min),
    ("max", max),
    ("indexOf", index_of),
    ("lastIndexOf", last_index_of),
    ("slice", slice),
    ("flatten", flatten),
    ("sort", sort),
    ("reverse", reverse),
    ("distinct", distinct),
    ("lists.range", range),
];

/// Memory for one more value.
const VALUE_BYTES: usize = size_of::<Value<'_>>();

fn size<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let value = call.get(0)?;
    match value {
        Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_) => {
            Ok(Value::Int(value.size() as i64))
        }
        _ => Err(EvalError::no_overload()),
    }
}

/// What Kubernetes takes for walking a value: a tenth per character, else one per scalar.
fn walk_cost(value: &Value<'_>, budget: &mut Budget) -> Result<u64, EvalError> {
    budget.visit()?;
    let mut cost = 0_u64;
    match value {
        Value::String(text) => cost = text.len() as u64 / 10,
        Value::Bytes(bytes) => cost = bytes.len() as u64 / 10,
        Value::List(list) => {
            for item in list.iter() {
                cost += walk_cost(&item, budget)?;
            }
        }
        Value::Map(map) => {
            for (key, value) in map.iter() {
                cost += walk_cost(&key.to_value(), budget)? + walk_cost(&value, budget)?;
            }
        }
        _ => cost = 1,
    }
    Ok(cost)
}

fn charge_walk(call: &mut Arguments<'_, '_>) -> Result<(), EvalError> {
    let values = call.values;
    let cost = walk_cost(values.first().unwrap_or(&Value::Null), call.budget)?;
    call.budget.charge(cost)
}

/// Values of types that have no common order count as in order, as in Kubernetes.
fn order(left: &Value<'_>, right: &Value<'_>) -> Result<Option<Ordering>, EvalError> {
    match compare(left, right) {
        Ok(order) => Ok(Some(order)),
        Err(_) if is_comparable(left) && is_comparable(right) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_comparable(value: &Value<'_>) -> bool {
    compare(value, value).is_ok() || matches!(value, Value::Double(_))
}

fn is_sorted<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    charge_walk(call)?;
    let mut previous: Option<Value<'a>> = None;
    for item in call.list(0)?.iter() {
        if let Some(previous) = &previous
            && order(previous, &item)? == Some(Ordering::Greater)
        {
            return Ok(Value::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    charge_walk(call)?;
    let mut items = call.list(0)?.iter().collect::<Vec<_>>().into_iter();
    let Some(first) = items.next() else { return Ok(Value::Int(0)) };
    if !matches!(first, Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)) {
        return Err(EvalError::no_overload());
    }
    items.try_fold(first, |total, item| add(&total, &item, call.budget))
}

fn min<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    extreme(call, "min", Ordering::Greater)
}

fn max<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    extreme(call, "max", Ordering::Less)
}

fn extreme<'a>(call: &mut Arguments<'_, 'a>, name: &str, replaces: Ordering) -> Outcome<'a> {
    charge_walk(call)?;
    let mut best: Option<Value<'a>> = None;
    for item in call.list(0)?.iter() {
        let better = match &best {
            Some(best) => order(best, &item)? == Some(replaces),
            None => true,
        };
        if better {
            best = Some(item);
        }
    }
    best.ok_or_else(|| EvalError::failed(format!("{name} called on empty list")))
}

fn index_of<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    if let Value::String(_) = call.get(0)? {
        return strings::index_of(call);
    }
    charge_walk(call)?;
    let list = call.list(0)?;
    position(call, &list, 0..list.len())
}

fn last_index_of<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    if let Value::String(_) = call.get(0)? {
        return strings::last_index_of(call);
    }
    charge_walk(call)?;
    let list = call.list(0)?;
    position(call, &list, (0..list.len()).rev())
}

fn position<'a>(
    call: &mut Arguments<'_, 'a>,
    list: &List<'a>,
    indexes: impl Iterator<Item = usize>,
) -> Outcome<'a> {
    for index in indexes {
        let values = call.values;
        let (Some(item), Some(wanted)) = (list.get(index), values.get(1)) else { continue };
        if equal(&item, wanted, call.budget)? {
            return Ok(Value::Int(index as i64));
        }
    }
    Ok(Value::Int(-1))
}

/// A list made by a function: its cost and its memory.
fn made<'a>(call: &mut Arguments<'_, 'a>, items: Vec<Value<'a>>) -> Outcome<'a> {
    call.budget.charge(11 + items.len() as u64)?;
    call.budget.work(items.len() * VALUE_BYTES)?;
    Ok(Value::list(items))
}

fn slice<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (list, start, end) = (call.list(0)?, call.int(1)?, call.int(2)?);
    let problem = if start < 0 || end < 0 {
        "negative indexes not supported".to_owned()
    } else if start > end {
        "start index must be less than or equal to end index".to_owned()
    } else if end > list.len() as i64 {
        format!("list is length {}", list.len())
    } else {
        let items = (start as usize..end as usize).filter_map(|index| list.get(index)).collect();
        return made(call, items);
    };
    Err(EvalError::failed(format!("cannot slice({start}, {end}), {problem}")))
}

fn flatten<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let list = call.list(0)?;
    let depth = if call.has(1) { call.int(1)? } else { 1 };
    if depth < 0 {
        return Err(EvalError::failed("level must be non-negative"));
    }
    call.budget.charge(11 + (list.len() as u64).saturating_mul(depth as u64))?;
    let mut items = Vec::new();
    flatten_into(&list, depth, &mut items, call.budget)?;
    Ok(Value::list(items))
}

/// Values nest only as deep as JSON and the expression do, so this recursion is bounded.
fn flatten_into<'a>(
    list: &List<'a>,
    depth: i64,
    items: &mut Vec<Value<'a>>,
    budget: &mut Budget,
) -> Result<(), EvalError> {
    for item in list.iter() {
        budget.work(VALUE_BYTES)?;
        match item {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, items, budget)?,
            other => items.push(other),
        }
    }
    Ok(())
}

fn sort<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let list = call.list(0)?;
    let items: Vec<Value<'a>> = list.iter().collect();
    sort_by_keys(items.clone(), &items, call.budget)
}

/// The items in the order of their keys, which are as many.
pub(crate) fn sort_by_keys<'a>(
    items: Vec<Value<'a>>,
    keys: &[Value<'a>],
    budget: &mut Budget,
) -> Outcome<'a> {
    charge_pairs(keys, budget)?;
    budget.work(items.len() * VALUE_BYTES)?;
    let Some(first) = keys.first() else { return Ok(Value::list(items)) };
    if !is_comparable(first) {
        return Err(EvalError::failed("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(EvalError::failed("list elements must have the same type"));
    }
    let mut pairs: Vec<(&Value<'a>, Value<'a>)> = keys.iter().zip(items).collect();
    // Numbers that are not numbers have no order; they stay where they are.
    pairs.sort_by(|(left, _), (right, _)| total_order(left, right));
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

/// The sort must not see an inconsistent order, whatever the values are.
fn total_order(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    match (left, right) {
        (Value::Double(left), Value::Double(right)) => left.total_cmp(right),
        _ => compare(left, right).unwrap_or(Ordering::Equal),
    }
}

/// Kubernetes takes these functions to compare every item with every other.
fn charge_pairs(items: &[Value<'_>], budget: &mut Budget) -> Result<(), EvalError> {
    let pairs = (items.len() as u64).saturating_mul(items.len() as u64);
    let text = matches!(items.first(), Some(Value::String(_) | Value::Bytes(_)));
    let cost = pairs.saturating_mul(2).saturating_add(if text { pairs / 10 } else { 0 });
    budget.charge(cost.saturating_add(11))
}

fn reverse<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let mut items: Vec<Value<'a>> = call.list(0)?.iter().collect();
    items.reverse();
    made(call, items)
}

fn distinct<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let items: Vec<Value<'a>> = call.list(0)?.iter().collect();
    charge_pairs(&items, call.budget)?;
    let mut kept: Vec<Value<'a>> = Vec::new();
    'items: for item in items {
        for seen in &kept {
            if equal(seen, &item, call.budget)? {
                continue 'items;
            }
        }
        kept.push(item);
    }
    Ok(Value::list(kept))
}

fn range<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let count = call.int(0)?.max(0);
    call.budget.charge(11 + count as u64)?;
    call.budget.work((count as usize).saturating_mul(VALUE_BYTES))?;
    Ok(Value::list((0..count).map(Value::Int).collect()))
}
