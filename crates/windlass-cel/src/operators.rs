//! What the operators do: arithmetic, order, equality, membership.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ast::{Binary, Unary};
use crate::budget::Budget;
use crate::error::EvalError;
use crate::library::Outcome;
use crate::schema::ListKind;
use crate::value::{Key, List, Value};

fn overflow() -> EvalError {
    EvalError::failed("integer overflow")
}

fn unsigned_overflow() -> EvalError {
    EvalError::failed("unsigned integer overflow")
}

/// `!a` or `-a`.
pub(crate) fn unary<'a>(operator: Unary, value: &Value<'a>) -> Outcome<'a> {
    match (operator, value) {
        (Unary::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
        (Unary::Negate, Value::Int(number)) => number.checked_neg().map(Value::Int).ok_or_else(overflow),
        (Unary::Negate, Value::Double(number)) => Ok(Value::Double(-number)),
        _ => Err(EvalError::no_overload()),
    }
}

/// Every operator of two operands except membership, with its cost.
pub(crate) fn binary<'a>(
    operator: Binary,
    left: &Value<'a>,
    right: &Value<'a>,
    budget: &mut Budget,
) -> Outcome<'a> {
    charge(operator, left, right, budget)?;
    let order = |holds: fn(Ordering) -> bool| Ok(Value::Bool(holds(compare(left, right)?)));
    match operator {
        Binary::Add => add(left, right, budget),
        Binary::Subtract => subtract(left, right),
        Binary::Multiply => multiply(left, right),
        Binary::Divide => divide(left, right),
        Binary::Modulo => modulo(left, right),
        Binary::Equal => Ok(Value::Bool(equal(left, right, budget)?)),
        Binary::NotEqual => Ok(Value::Bool(!equal(left, right, budget)?)),
        Binary::Less => order(Ordering::is_lt),
        Binary::LessEqual => order(Ordering::is_le),
        Binary::Greater => order(Ordering::is_gt),
        Binary::GreaterEqual => order(Ordering::is_ge),
        Binary::In => contains(left, right, budget),
    }
}

fn charge(
    operator: Binary,
    left: &Value<'_>,
    right: &Value<'_>,
    budget: &mut Budget,
) -> Result<(), EvalError> {
    let textual = matches!(left, Value::String(_) | Value::Bytes(_))
        && matches!(right, Value::String(_) | Value::Bytes(_));
    match operator {
        Binary::Equal | Binary::NotEqual if matches!(left, Value::Opaque(_)) => budget.charge(1),
        Binary::Equal | Binary::NotEqual => budget.charge_traversal(left.size().min(right.size())),
        Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual if textual => {
            budget.charge_traversal(left.size().min(right.size()))
        }
        Binary::Add if textual => budget.charge_traversal(left.size().saturating_add(right.size())),
        _ => budget.charge(1),
    }
}

/// The sum of numbers, times and durations; text, bytes and lists one after the other.
pub(crate) fn add<'a>(left: &Value<'a>, right: &Value<'a>, budget: &mut Budget) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_add(*b).ok_or_else(overflow)?),
        (Value::Uint(a), Value::Uint(b)) => Value::Uint(a.checked_add(*b).ok_or_else(unsigned_overflow)?),
        (Value::Double(a), Value::Double(b)) => Value::Double(a + b),
        (Value::String(a), Value::String(b)) => {
            budget.work(a.len() + b.len())?;
            Value::text([&**a, &**b].concat())
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            budget.work(a.len() + b.len())?;
            Value::Bytes([&**a, &**b].concat().into())
        }
        (Value::List(a), Value::List(b)) => Value::List(concatenate(a, b, budget)?),
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.checked_add(*b).ok_or_else(overflow)?),
        (Value::Timestamp(timestamp), Value::Duration(nanos))
        | (Value::Duration(nanos), Value::Timestamp(timestamp)) => {
            Value::Timestamp(timestamp.plus(i128::from(*nanos))?)
        }
        _ => return Err(EvalError::no_overload()),
    })
}

/// Lists that a schema calls sets or maps are merged: what both have stands once, with the later value.
fn concatenate<'a>(left: &List<'a>, right: &List<'a>, budget: &mut Budget) -> Result<List<'a>, EvalError> {
    budget.work((left.len() + right.len()) * size_of::<Value<'_>>())?;
    let mut items: Vec<Value<'a>> = left.iter().collect();
    match left.kind() {
        Some(kind @ (ListKind::Set | ListKind::Map(_))) => {
            let mut positions: BTreeMap<String, usize> = BTreeMap::new();
            for (index, item) in items.iter().enumerate() {
                positions.insert(identity(item, kind), index);
            }
            for item in right.iter() {
                let position = *positions.entry(identity(&item, kind)).or_insert(items.len());
                match items.get_mut(position) {
                    Some(old) => *old = item,
                    None => items.push(item),
                }
            }
        }
        _ => items.extend(right.iter()),
    }
    Ok(List::built(items, left.kind()))
}

/// The identity of an item within a set or map list.
fn identity(item: &Value<'_>, kind: &ListKind) -> String {
    match (kind, item) {
        (ListKind::Map(names), Value::Map(map)) => {
            let field = |name: &str| map.get(&Key::String(super::value::Text::Shared(Arc::from(name))));
            let parts = names.iter().map(|name| field(name).map(|value| value.to_json()));
            parts
                .map(|part| part.map_or_else(|| "-".to_owned(), |part| part.to_string()))
                .collect::<Vec<_>>()
                .join(",")
        }
        _ => item.to_json().to_string(),
    }
}

fn subtract<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_sub(*b).ok_or_else(overflow)?),
        (Value::Uint(a), Value::Uint(b)) => Value::Uint(a.checked_sub(*b).ok_or_else(unsigned_overflow)?),
        (Value::Double(a), Value::Double(b)) => Value::Double(a - b),
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.checked_sub(*b).ok_or_else(overflow)?),
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            Value::Duration(i64::try_from(a.unix_nanos() - b.unix_nanos()).map_err(|_| overflow())?)
        }
        (Value::Timestamp(timestamp), Value::Duration(nanos)) => {
            Value::Timestamp(timestamp.plus(-i128::from(*nanos))?)
        }
        _ => return Err(EvalError::no_overload()),
    })
}

fn multiply<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_mul(*b).ok_or_else(overflow)?),
        (Value::Uint(a), Value::Uint(b)) => Value::Uint(a.checked_mul(*b).ok_or_else(unsigned_overflow)?),
        (Value::Double(a), Value::Double(b)) => Value::Double(a * b),
        _ => return Err(EvalError::no_overload()),
    })
}

fn divide<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            return Err(EvalError::failed("division by zero"));
        }
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_div(*b).ok_or_else(overflow)?),
        (Value::Uint(a), Value::Uint(b)) => Value::Uint(a / b),
        (Value::Double(a), Value::Double(b)) => Value::Double(a / b),
        _ => return Err(EvalError::no_overload()),
    })
}

fn modulo<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            return Err(EvalError::failed("modulus by zero"));
        }
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_rem(*b).ok_or_else(overflow)?),
        (Value::Uint(a), Value::Uint(b)) => Value::Uint(a % b),
        _ => return Err(EvalError::no_overload()),
    })
}

/// The order of two values that have one; numbers of all kinds do.
pub(crate) fn compare(left: &Value<'_>, right: &Value<'_>) -> Result<Ordering, EvalError> {
    if let Some(order) = compare_numbers(left, right) {
        return order.ok_or_else(|| EvalError::failed("NaN values cannot be ordered"));
    }
    match (left, right) {
        (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok(a.unix_nanos().cmp(&b.unix_nanos())),
        (Value::Duration(a), Value::Duration(b)) => Ok(a.cmp(b)),
        _ => Err(EvalError::no_overload()),
    }
}

/// `None` if they are not both numbers, `Some(None)` if one of them is not a number in the other sense.
fn compare_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Option<Ordering>> {
    Some(match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        // As CEL has it, an integer is compared as the double nearest to it.
        (Value::Int(a), Value::Double(b)) => (*a as f64).partial_cmp(b),
        (Value::Uint(a), Value::Double(b)) => (*a as f64).partial_cmp(b),
        (Value::Double(a), Value::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Value::Double(a), Value::Uint(b)) => a.partial_cmp(&(*b as f64)),
        _ => return None,
    })
}

/// Whether two values are the same. Values of different types are not, except numbers.
///
/// Values nest only as deep as JSON and the expression do, so the recursion is bounded; sharing can make
/// them very wide, so every visit counts.
pub(crate) fn equal<'a>(left: &Value<'a>, right: &Value<'a>, budget: &mut Budget) -> Result<bool, EvalError> {
    budget.visit()?;
    if let Some(order) = compare_numbers(left, right) {
        return Ok(order == Some(Ordering::Equal));
    }
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => {
            budget.work(a.len().min(b.len()))?;
            **a == **b
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            budget.work(a.len().min(b.len()))?;
            a == b
        }
        (Value::Timestamp(a), Value::Timestamp(b)) => a.unix_nanos() == b.unix_nanos(),
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => equal(a, b, budget)?,
            (a, b) => a.is_none() && b.is_none(),
        },
        (Value::Opaque(a), Value::Opaque(b)) => a == b,
        (Value::List(a), Value::List(b)) => equal_lists(a, b, budget)?,
        (Value::Map(a), Value::Map(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, value) in a.iter() {
                match b.get(&key) {
                    Some(other) if equal(&value, &other, budget)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Value::Message(a), Value::Message(b)) => {
            if a.type_name() != b.type_name() || a.fields().count() != b.fields().count() {
                return Ok(false);
            }
            for (name, value) in a.fields() {
                match b.field(name) {
                    Some(other) if equal(value, other, budget)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        _ => false,
    })
}

fn equal_lists<'a>(left: &List<'a>, right: &List<'a>, budget: &mut Budget) -> Result<bool, EvalError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    // Order does not count in lists that a schema calls sets or maps.
    if let Some(kind @ (ListKind::Set | ListKind::Map(_))) = left.kind() {
        let by_identity: BTreeMap<String, Value<'a>> =
            left.iter().map(|item| (identity(&item, kind), item)).collect();
        for item in right.iter() {
            match by_identity.get(&identity(&item, kind)) {
                Some(other) if equal(other, &item, budget)? => {}
                _ => return Ok(false),
            }
        }
        return Ok(true);
    }
    for (a, b) in left.iter().zip(right.iter()) {
        if !equal(&a, &b, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `wanted in collection`
pub(crate) fn contains<'a>(wanted: &Value<'a>, collection: &Value<'a>, budget: &mut Budget) -> Outcome<'a> {
    match collection {
        Value::List(list) => {
            for item in list.iter() {
                if equal(&item, wanted, budget)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        Value::Map(map) => {
            let found = wanted.to_key().is_some_and(|key| map.get(&key).is_some());
            Ok(Value::Bool(found))
        }
        _ => Err(EvalError::no_overload()),
    }
}
