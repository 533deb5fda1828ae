//! A total order on JSON values, so that they can be members of sets and keys of maps.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Orders two values: numbers, strings, booleans, lists, maps, null. `1` and `1.0` are equal.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => first_difference(
            left.iter().zip(right).map(|(left, right)| compare(left, right)),
            left.len().cmp(&right.len()),
        ),
        (Value::Object(left), Value::Object(right)) => first_difference(
            left.iter().zip(right).map(|((left_key, left), (right_key, right))| {
                left_key.cmp(right_key).then_with(|| compare(left, right))
            }),
            left.len().cmp(&right.len()),
        ),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// Whether two values are the same, numbers by what they count rather than by how they are written.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    left == right || compare(left, right) == Ordering::Equal
}

/// A value that can be a key of a map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ordered<'a>(pub(crate) &'a Value);

impl Ord for Ordered<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.0, other.0)
    }
}

impl PartialOrd for Ordered<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ordered<'_> {}

fn first_difference(mut parts: impl Iterator<Item = Ordering>, otherwise: Ordering) -> Ordering {
    parts.find(|order| order.is_ne()).unwrap_or(otherwise)
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return left.cmp(&right);
    }
    let (left_float, right_float) = (float(left), float(right));
    // Large integers share one float; without the second look the order would not be transitive.
    left_float.total_cmp(&right_float).then_with(|| exact(left).cmp(&exact(right)))
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn float(number: &Number) -> f64 {
    let float = number.as_f64().unwrap_or(0.0);
    // Adding zero turns -0.0 into 0.0, which is the same number.
    float + 0.0
}

/// Floats that equal an integer's float are whole, so the cast is exact wherever it is compared.
fn exact(number: &Number) -> i128 {
    integer(number).unwrap_or_else(|| float(number) as i128)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn orders_kinds_and_values() {
        let ascending = [
            json!(-1),
            json!(0.5),
            json!(1),
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_993_i64),
            json!(u64::MAX),
            json!("a"),
            json!("b"),
            json!(false),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!({}),
            json!({"a": 1}),
            json!({"a": 2}),
            json!(null),
        ];
        for (i, left) in ascending.iter().enumerate() {
            for (j, right) in ascending.iter().enumerate() {
                assert_eq!(compare(left, right), i.cmp(&j), "{left} {right}");
            }
        }
    }

    #[test]
    fn numbers_are_equal_however_written() {
        assert!(equal(&json!(1), &json!(1.0)));
        assert!(equal(&json!(0.0), &json!(-0.0)));
        assert!(equal(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!equal(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992.0)));
    }
}
