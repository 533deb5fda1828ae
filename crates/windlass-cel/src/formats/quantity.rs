//! Amounts of resources: `100m`, `1.5Gi`, `2e3`.

use std::fmt;

/// An amount, exact to a billionth, with the family of suffixes it was written in.
#[derive(Clone, Debug)]
pub struct Quantity {
    billionths: i128,
    family: Family,
    /// Kubernetes keeps the text of what is nearly canonical (`1.500`), and of what is too large to compute with.
    kept: Option<String>,
}

/// Which suffixes a quantity is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// `n`, `u`, `m`, none, `k`, `M`, ...
    Decimal,
    /// `Ki`, `Mi`, ...
    Binary,
    /// `e3`
    Exponent,
}

const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const ONE: i128 = 1_000_000_000;
const THOUSANDTH: i128 = 1_000_000;

pub(crate) const WRONG_FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
pub(crate) const WRONG_SUFFIX: &str = "unable to parse quantity's suffix";

impl Quantity {
    /// Reads a quantity; the error is what Kubernetes says about it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let parts = Parts::split(text)?;
        let (family, power_of_two, exponent) = suffix(parts.suffix)?;
        let digits: String = [parts.whole, parts.fraction].concat();
        let digits_read = digits.trim_start_matches('0');
        if digits_read.is_empty() {
            return Ok(Quantity { billionths: 0, family: Family::Decimal, kept: None });
        }
        let scale = exponent.saturating_sub(i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX));
        let kept = nearly_canonical(&parts, family, scale, power_of_two).then(|| text.to_owned());
        let Some(amount) = billionths(digits_read, scale, power_of_two) else {
            return Ok(Quantity { billionths: saturated(&parts), family, kept: Some(text.to_owned()) });
        };
        Ok(Quantity { billionths: if parts.negative { -amount } else { amount }, family, kept })
    }

    /// Rounds away from zero to thousandths, as the API server does with resource lists.
    #[must_use]
    pub fn round_up_to_thousandths(mut self) -> Self {
        let rest = self.billionths % THOUSANDTH;
        let rounded = self.billionths.checked_add(rest.signum() * THOUSANDTH - rest);
        // An amount that is too large to compute with stays as it is.
        if let Some(rounded) = rounded.filter(|_| rest != 0) {
            self.billionths = rounded;
            self.kept = None;
        }
        self
    }

    /// Whether the amount is below zero.
    pub fn is_negative(&self) -> bool {
        self.billionths < 0
    }

    /// Whether the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.billionths == 0
    }

    /// Whether the amount has no fraction.
    pub fn is_whole(&self) -> bool {
        self.billionths % ONE == 0
    }
}

/// The amount alone counts: `1000m` equals `1`.
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.billionths == other.billionths
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.billionths.partial_cmp(&other.billionths)
    }
}

/// The canonical form.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kept) = &self.kept {
            return f.write_str(kept);
        }
        if self.billionths == 0 {
            return f.write_str("0");
        }
        let small = self.billionths.abs() < 1024 * ONE;
        if self.family == Family::Binary && !small && self.is_whole() {
            let (mut amount, mut index) = (self.billionths / ONE, 0);
            while amount % 1024 == 0 && index + 1 < BINARY.len() {
                amount /= 1024;
                index += 1;
            }
            return write!(f, "{amount}{}", BINARY.get(index).unwrap_or(&""));
        }
        let (mut amount, mut index) = (self.billionths, 0);
        while amount % 1000 == 0 && index + 1 < DECIMAL.len() {
            amount /= 1000;
            index += 1;
        }
        match (self.family, index) {
            (Family::Exponent, 3) => write!(f, "{amount}"),
            (Family::Exponent, _) => write!(f, "{amount}e{}", index as i32 * 3 - 9),
            _ => write!(f, "{amount}{}", DECIMAL.get(index).unwrap_or(&"")),
        }
    }
}

/// A quantity cut into its parts.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err(WRONG_FORMAT);
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        // A missing number is zero, even before a suffix.
        if !is_suffix(suffix) {
            return Err(WRONG_FORMAT);
        }
        Ok(Parts { negative: text.starts_with('-'), whole, fraction, suffix })
    }
}

/// Whether a text has the letters of the known suffixes, then perhaps a signed number.
pub(crate) fn is_suffix(text: &str) -> bool {
    let letters = text.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
    let exponent = letters.strip_prefix(['+', '-']).unwrap_or(letters);
    exponent.bytes().all(|byte| byte.is_ascii_digit())
}

/// The digits that a text starts with, and what follows them.
pub(crate) fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// The family of a suffix, its power of two and its power of ten.
fn suffix(text: &str) -> Result<(Family, u32, i32), &'static str> {
    if let Some(index) = DECIMAL.iter().position(|known| *known == text) {
        return Ok((Family::Decimal, 0, index as i32 * 3 - 9));
    }
    if let Some(index) = BINARY.iter().position(|known| *known == text) {
        return Ok((Family::Binary, index as u32 * 10, 0));
    }
    let exponent = text.strip_prefix(['e', 'E']).ok_or(WRONG_SUFFIX)?;
    exponent.parse().map(|exponent| (Family::Exponent, 0, exponent)).map_err(|_| WRONG_SUFFIX)
}

/// The amount in billionths, rounded up; `None` if it is too large.
fn billionths(digits: &str, scale: i32, power_of_two: u32) -> Option<i128> {
    // Digits that cannot matter are cut off, so that however many there are they can be computed with.
    let needless = usize::try_from(-i64::from(scale) - 20).unwrap_or(0).min(digits.len());
    let (digits, cut) = digits.split_at_checked(digits.len() - needless)?;
    if digits.is_empty() {
        return Some(1);
    }
    let inexact = cut.bytes().any(|digit| digit != b'0');
    let places = scale.checked_add(i32::try_from(needless).ok()?)?.checked_add(9)?;
    let amount = digits.parse::<i128>().ok()?.checked_mul(1 << power_of_two)?;
    let power = 10_i128.checked_pow(places.unsigned_abs())?;
    if places >= 0 {
        return amount.checked_mul(power);
    }
    Some(amount / power + i128::from(inexact || amount % power != 0))
}

/// A stand-in for an amount that is too large, so that it still compares as larger than all others.
fn saturated(parts: &Parts<'_>) -> i128 {
    if parts.negative { i128::MIN + 1 } else { i128::MAX }
}

/// Whether Kubernetes takes the text for canonical without looking closely.
fn nearly_canonical(parts: &Parts<'_>, family: Family, scale: i32, power_of_two: u32) -> bool {
    let whole = parts.whole.trim_start_matches('0');
    let digits = [whole, parts.fraction].concat();
    match family {
        // As a number of bytes it has at most 15 digits, roughly.
        Family::Binary => {
            let room = 14_usize.checked_sub(digits.len() + power_of_two as usize * 3 / 10);
            let value: u64 = digits.parse().unwrap_or(0);
            parts.fraction.is_empty() && room.is_some() && !value.is_multiple_of(8)
        }
        _ => {
            !whole.is_empty()
                && digits.len() <= 18
                && scale >= -9
                && scale % 3 == 0
                && !digits.ends_with("000")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_not_rounded() {
        for text in ["1e100", "-1e100", "99999999999999999999999999999999999999999E"] {
            let rounded = Quantity::parse(text).unwrap().round_up_to_thousandths();
            assert_eq!(rounded.to_string(), text);
        }
    }

    #[test]
    fn writes_the_canonical_form() {
        for (text, expected) in [
            ("0", "0"),
            ("0Gi", "0"),
            ("-0", "0"),
            ("1", "1"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("0.1", "100m"),
            ("1000", "1k"),
            ("100000", "100k"),
            ("12345", "12345"),
            ("1Gi", "1Gi"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("512Ki", "512Ki"),
            ("1e3", "1e3"),
            ("1E3", "1E3"),
            ("1000e3", "1e6"),
            ("-200m", "-200m"),
            ("0.0000000001", "1n"),
            ("1.500", "1.500"),
            ("00012", "00012"),
            ("+7", "+7"),
            ("01Gi", "01Gi"),
            ("08Gi", "8Gi"),
            ("1.Gi", "1.Gi"),
            ("1E", "1E"),
            ("1e40", "1e40"),
            ("m", "0"),
            (&format!("0.25{}1", "0".repeat(1000)), "250000001n"),
            (&format!("0.{}1", "0".repeat(1000)), "1n"),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_quantity() {
        for (text, expected) in [
            ("", WRONG_FORMAT),
            ("lots", WRONG_FORMAT),
            ("1 Gi", WRONG_FORMAT),
            ("1Gib", WRONG_FORMAT),
            ("1.2.3", WRONG_FORMAT),
            ("1mm", WRONG_SUFFIX),
            ("1e", WRONG_SUFFIX),
            ("1e99999999999", WRONG_SUFFIX),
            ("äö", WRONG_FORMAT),
        ] {
            assert_eq!(Quantity::parse(text).err(), Some(expected), "{text}");
        }
    }

    #[test]
    fn compares_by_amount() {
        let parse = |text| Quantity::parse(text).unwrap();
        assert_eq!(parse("1000m"), parse("1"));
        assert!(parse("1Gi") > parse("1G"));
        assert!(parse("-1").is_negative() && parse("0").is_zero() && !parse("1m").is_whole());
        assert!(parse("1e300") > parse("1Ei"));
    }

    #[test]
    fn rounds_up_to_thousandths() {
        for (text, expected) in [("1n", "1m"), ("1.0001", "1001m"), ("-1n", "-1m"), ("1m", "1m"), ("2", "2")]
        {
            assert_eq!(
                Quantity::parse(text).unwrap().round_up_to_thousandths().to_string(),
                expected,
                "{text}"
            );
        }
    }
}
