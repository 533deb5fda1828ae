//! Quantities such as `1.5Gi` and `200m`, and the comparisons that quantities share with versions.

use std::cmp::Ordering;
use std::fmt;

use super::{Arguments, Opaque, Outcome, Table};
use crate::error::EvalError;
use crate::formats::quantity::{WRONG_FORMAT, WRONG_SUFFIX, is_suffix, split_digits};
use crate::value::Value;

pub(super) const FUNCTIONS: Table = &[
    ("quantity", quantity),
    ("isQuantity", is_quantity),
    ("sign", sign),
    ("isInteger", is_integer),
    ("asInteger", as_integer),
    ("asApproximateFloat", as_approximate_float),
    ("add", add),
    ("sub", sub),
    ("isGreaterThan", is_greater_than),
    ("isLessThan", is_less_than),
    ("compareTo", compare_to),
];

const WRONG_NUMBER: &str = "unable to parse numeric part of quantity";
const OUT_OF_RANGE: &str = "quantity is out of range";

/// Smaller parts of a unit are rounded up to this power of ten.
const NANO: i64 = -9;
/// Zeros that are written out; larger numbers are beyond what a double can hold anyway.
const MAX_PADDING: i64 = 400;
/// Digits that a sum may have: two exponents far apart must not fill the memory.
const MAX_DIGITS: i64 = 10_000;

/// A decimal number of any length. `small` is the form that converts to an integer, if Kubernetes
/// would keep the number in it: a value and a power of ten.
#[derive(Clone, Debug)]
pub struct Quantity {
    negative: bool,
    /// Most significant first, without leading zeros; empty for zero.
    digits: Vec<u8>,
    exponent: i64,
    small: Option<(i64, i64)>,
}

impl Quantity {
    fn new(negative: bool, digits: Vec<u8>, exponent: i64, small: Option<(i64, i64)>) -> Self {
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        let digits = digits.get(zeros..).unwrap_or_default().to_vec();
        // All zeros are one.
        let exponent = if digits.is_empty() { 0 } else { exponent };
        Quantity { negative: negative && !digits.is_empty(), digits, exponent, small }
    }

    fn of_small(value: i64, exponent: i64) -> Self {
        let digits = value.unsigned_abs().to_string().bytes().map(|byte| byte - b'0').collect();
        Self::new(value < 0, digits, exponent, Some((value, exponent)))
    }

    /// Reads what Kubernetes accepts, which is a little more than it documents.
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err(WRONG_FORMAT);
        }
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let significant = unsigned.trim_start_matches('0');
        if significant.is_empty() {
            return Ok(Self::of_small(0, 0));
        }
        let (whole, rest) = split_digits(significant);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        if !is_suffix(suffix) {
            return Err(WRONG_FORMAT);
        }
        let (base, power) = parse_suffix(suffix).ok_or(WRONG_SUFFIX)?;
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        let exponent = -(fraction.len() as i64);
        let quantity = match base {
            2 => Self::binary(negative, digits, exponent, power, whole.len().max(1)),
            _ => Self::decimal(negative, digits, exponent + power, whole.len().max(1) + fraction.len()),
        };
        // Without any digit, the small form is zero but the large one is an error.
        let number = text.strip_suffix(suffix).unwrap_or(text);
        if quantity.small.is_none() && !number.bytes().any(|byte| byte.is_ascii_digit()) {
            return Err(WRONG_NUMBER);
        }
        Ok(quantity)
    }

    fn decimal(negative: bool, digits: Vec<u8>, exponent: i64, length: usize) -> Self {
        if length <= 18 && exponent >= NANO {
            let value = digits.iter().fold(0_i64, |value, digit| value * 10 + i64::from(*digit));
            return Self::of_small(if negative { -value } else { value }, exponent);
        }
        Self::new(negative, digits, exponent, None).rounded()
    }

    fn binary(negative: bool, digits: Vec<u8>, exponent: i64, power: i64, length: usize) -> Self {
        let factor = 1_u64 << power.clamp(0, 62);
        let product = multiply(&digits, factor);
        let large = Self::new(negative, product, exponent, None);
        // Kubernetes keeps a whole number small if about 15 digits hold it.
        let precision = 15 - length as i64 - power * 3 / 10 - 1;
        if exponent == 0 && precision >= 0 {
            let value = large.digits.iter().fold(0_i64, |value, digit| value * 10 + i64::from(*digit));
            return Self::of_small(if negative { -value } else { value }, 0);
        }
        let rounded = large.rounded();
        let limit = Self::of_small(if negative { -i64::MAX } else { i64::MAX }, 0);
        let beyond = if negative { Ordering::Less } else { Ordering::Greater };
        if rounded.compare(&limit) == beyond { Quantity { small: None, ..limit } } else { rounded }
    }

    /// As whole nano-units, rounded away from zero.
    fn rounded(mut self) -> Self {
        let zeros = self.exponent.saturating_sub(NANO);
        if zeros > MAX_PADDING || self.digits.is_empty() {
            return self;
        }
        if zeros >= 0 {
            self.digits.resize(self.digits.len() + zeros as usize, 0);
            return Self::new(self.negative, self.digits, NANO, None);
        }
        let dropped = usize::try_from(NANO - self.exponent).unwrap_or(usize::MAX);
        let kept = self.digits.len().saturating_sub(dropped);
        let inexact = self.digits.iter().skip(kept).any(|digit| *digit != 0);
        self.digits.truncate(kept);
        if inexact {
            self.digits = sum(&self.digits, &[1]);
        }
        Self::new(self.negative, self.digits, NANO, None)
    }

    /// Which of two quantities is greater.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self.signum(), other.signum()) {
            (left, right) if left != right => left.cmp(&right),
            (-1, _) => other.compare_magnitude(self),
            _ => self.compare_magnitude(other),
        }
    }

    fn signum(&self) -> i64 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        let top = |quantity: &Self| quantity.digits.len() as i64 + quantity.exponent;
        top(self).cmp(&top(other)).then_with(|| {
            let length = self.digits.len().max(other.digits.len());
            let digit = |digits: &[u8], index: usize| digits.get(index).copied().unwrap_or(0);
            (0..length)
                .map(|index| digit(&self.digits, index).cmp(&digit(&other.digits, index)))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    fn plus(&self, other: &Self) -> Result<Self, EvalError> {
        if let (Some(left), Some(right)) = (self.small, other.small)
            && let Some((value, exponent)) = add_small(left, right)
        {
            return Ok(Self::of_small(value, exponent));
        }
        let exponent = self.exponent.min(other.exponent);
        let left = self.aligned(exponent)?;
        let right = other.aligned(exponent)?;
        if self.negative == other.negative {
            return Ok(Self::new(self.negative, sum(&left, &right), exponent, None));
        }
        let (negative, digits) = match self.compare_magnitude(other) {
            Ordering::Less => (other.negative, difference(&right, &left)),
            _ => (self.negative, difference(&left, &right)),
        };
        Ok(Self::new(negative, digits, exponent, None))
    }

    fn aligned(&self, exponent: i64) -> Result<Vec<u8>, EvalError> {
        let zeros = if self.digits.is_empty() { 0 } else { self.exponent.saturating_sub(exponent) };
        if zeros + self.digits.len() as i64 > MAX_DIGITS.max(self.digits.len() as i64) {
            return Err(EvalError::failed(OUT_OF_RANGE));
        }
        let mut digits = self.digits.clone();
        digits.resize(digits.len() + zeros as usize, 0);
        Ok(digits)
    }

    fn negated(&self) -> Self {
        let small = self.small.map(|(value, exponent)| (value.saturating_neg(), exponent));
        Quantity { negative: !self.negative && !self.digits.is_empty(), small, ..self.clone() }
    }

    fn to_integer(&self) -> Option<i64> {
        let (value, exponent) = self.small?;
        let factor = 10_i64.checked_pow(u32::try_from(exponent).ok()?)?;
        value.checked_mul(factor)
    }

    /// Go multiplies two doubles here; doing the same gives the same last digits.
    fn to_double(&self) -> f64 {
        let (base, exponent) = match self.small {
            Some((value, exponent)) => (value as f64, exponent),
            None => (self.show_digits().parse().unwrap_or(f64::INFINITY), self.exponent),
        };
        if exponent == 0 {
            return base;
        }
        base * format!("1e{exponent}").parse::<f64>().unwrap_or(f64::NAN)
    }

    fn show_digits(&self) -> String {
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        let sign = if self.negative { "-" } else { "" };
        if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show_digits())?;
        if self.exponent == 0 || self.digits.is_empty() { Ok(()) } else { write!(f, "e{}", self.exponent) }
    }
}

/// The base and the power that a suffix stands for.
fn parse_suffix(suffix: &str) -> Option<(u8, i64)> {
    Some(match suffix {
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "" => (10, 0),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        "Ki" => (2, 10),
        "Mi" => (2, 20),
        "Gi" => (2, 30),
        "Ti" => (2, 40),
        "Pi" => (2, 50),
        "Ei" => (2, 60),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()?;
            (10, i64::from(exponent as i32))
        }
    })
}

fn add_small(left: (i64, i64), right: (i64, i64)) -> Option<(i64, i64)> {
    match (left, right) {
        (_, (0, _)) => Some(left),
        ((0, _), _) => Some(right),
        ((a, a_exponent), (b, b_exponent)) => {
            let exponent = a_exponent.min(b_exponent);
            let scale = |value: i64, from: i64| {
                value.checked_mul(10_i64.checked_pow(u32::try_from(from - exponent).ok()?)?)
            };
            Some((scale(a, a_exponent)?.checked_add(scale(b, b_exponent)?)?, exponent))
        }
    }
}

fn multiply(digits: &[u8], factor: u64) -> Vec<u8> {
    let mut product = Vec::with_capacity(digits.len() + 20);
    let mut carry = 0_u128;
    for digit in digits.iter().rev() {
        carry += u128::from(*digit) * u128::from(factor);
        product.push((carry % 10) as u8);
        carry /= 10;
    }
    while carry > 0 {
        product.push((carry % 10) as u8);
        carry /= 10;
    }
    product.reverse();
    product
}

fn sum(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(left.len().max(right.len()) + 1);
    let (mut left, mut right) = (left.iter().rev(), right.iter().rev());
    let mut carry = 0;
    loop {
        let (a, b) = (left.next(), right.next());
        if a.is_none() && b.is_none() && carry == 0 {
            break;
        }
        let total = a.unwrap_or(&0) + b.unwrap_or(&0) + carry;
        digits.push(total % 10);
        carry = total / 10;
    }
    digits.reverse();
    digits
}

/// The first minus the second, which is not greater.
fn difference(larger: &[u8], smaller: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(larger.len());
    let mut smaller = smaller.iter().rev();
    let mut borrow = 0;
    for digit in larger.iter().rev() {
        let take = smaller.next().unwrap_or(&0) + borrow;
        borrow = u8::from(*digit < take);
        digits.push(digit + 10 * borrow - take);
    }
    digits.reverse();
    digits
}

fn receiver(call: &Arguments<'_, '_>, index: usize) -> Result<Quantity, EvalError> {
    match &*call.opaque(index)? {
        Opaque::Quantity(quantity) => Ok(quantity.clone()),
        _ => Err(EvalError::no_overload()),
    }
}

fn quantity<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    call.budget.work(text.len())?;
    Quantity::parse(&text)
        .map(|quantity| Value::opaque(Opaque::Quantity(quantity)))
        .map_err(EvalError::failed)
}

fn is_quantity<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let text = call.text(0)?;
    call.charge_walk(0)?;
    call.budget.work(text.len())?;
    Ok(Value::Bool(Quantity::parse(&text).is_ok()))
}

fn sign<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::Int(receiver(call, 0)?.signum()))
}

fn is_integer<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::Bool(receiver(call, 0)?.to_integer().is_some()))
}

fn as_integer<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    let value = receiver(call, 0)?.to_integer();
    value.map(Value::Int).ok_or_else(|| EvalError::failed("cannot convert value to integer"))
}

fn as_approximate_float<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::Double(receiver(call, 0)?.to_double()))
}

/// The second operand of a sum: a quantity or an integer.
fn operand(call: &mut Arguments<'_, '_>) -> Result<Quantity, EvalError> {
    call.budget.charge(1)?;
    match call.get(1)? {
        Value::Int(value) => Ok(Quantity::of_small(*value, 0)),
        _ => receiver(call, 1),
    }
}

fn add<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (left, right) = (receiver(call, 0)?, operand(call)?);
    Ok(Value::opaque(Opaque::Quantity(left.plus(&right)?)))
}

fn sub<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (left, right) = (receiver(call, 0)?, operand(call)?);
    Ok(Value::opaque(Opaque::Quantity(left.plus(&right.negated())?)))
}

/// The order of two quantities, or of two versions.
fn order(call: &mut Arguments<'_, '_>) -> Result<Ordering, EvalError> {
    call.budget.charge(1)?;
    match (&*call.opaque(0)?, &*call.opaque(1)?) {
        (Opaque::Quantity(left), Opaque::Quantity(right)) => Ok(left.compare(right)),
        (Opaque::Semver(left), Opaque::Semver(right)) => Ok(left.compare(right)),
        _ => Err(EvalError::no_overload()),
    }
}

fn is_greater_than<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(order(call)?.is_gt()))
}

fn is_less_than<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(order(call)?.is_lt()))
}

fn compare_to<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Int(order(call)? as i64))
}
