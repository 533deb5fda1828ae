//! Points and spans of time, as Go reads and writes them.

use std::fmt;

use super::{Arguments, Outcome, Table};
use crate::error::EvalError;
use crate::formats::calendar::{date_of_day, day_of_date};
use crate::value::Value;

pub(super) const FUNCTIONS: Table = &[
    ("getFullYear", full_year),
    ("getMonth", month),
    ("getDate", date),
    ("getDayOfMonth", day_of_month),
    ("getDayOfWeek", day_of_week),
    ("getDayOfYear", day_of_year),
    ("getHours", hours),
    ("getMinutes", minutes),
    ("getSeconds", seconds),
    ("getMilliseconds", milliseconds),
];

const NANOS: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// 0001-01-01T00:00:00Z
const FIRST_SECOND: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z
const LAST_SECOND: i64 = 253_402_300_799;

/// A point in time between the years 1 and 9999, and the offset it was written with.
#[derive(Clone, Copy, Debug)]
pub struct CelTimestamp {
    nanos: i128,
    offset_seconds: i64,
}

impl CelTimestamp {
    /// The given number of seconds after the Unix epoch; `None` outside the years 1 to 9999.
    pub(crate) fn from_unix_seconds(seconds: i64) -> Option<Self> {
        Self::from_nanos(i128::from(seconds) * NANOS, 0)
    }

    fn from_nanos(nanos: i128, offset_seconds: i64) -> Option<Self> {
        let second = i64::try_from(nanos.div_euclid(NANOS)).ok()?;
        (FIRST_SECOND..=LAST_SECOND).contains(&second).then_some(CelTimestamp { nanos, offset_seconds })
    }

    /// Whole seconds since the Unix epoch.
    pub(crate) fn unix_seconds(self) -> i64 {
        self.nanos.div_euclid(NANOS) as i64
    }

    /// Nanoseconds since the Unix epoch.
    pub(crate) fn unix_nanos(self) -> i128 {
        self.nanos
    }

    /// This time plus a number of nanoseconds.
    pub(crate) fn plus(self, nanos: i128) -> Result<Self, EvalError> {
        Self::from_nanos(self.nanos + nanos, self.offset_seconds)
            .ok_or_else(|| EvalError::failed("timestamp overflow"))
    }

    /// Reads RFC 3339 as strictly as Go does: `T` and `Z` in capitals, an offset in any case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::parse_with(text, false)
    }

    /// Reads what the format `date-time` allows: the offset may be missing, empty text is the epoch.
    pub(crate) fn parse_lenient(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Self::from_unix_seconds(0);
        }
        Self::parse_with(text, true)
    }

    /// Midnight UTC of `YYYY-MM-DD`.
    pub(crate) fn parse_date(text: &str) -> Option<Self> {
        Self::from_unix_seconds(parse_day(text)?.checked_mul(SECONDS_PER_DAY)?)
    }

    fn parse_with(text: &str, offset_optional: bool) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let rest = rest.strip_prefix('T')?;
        // Go takes an hour of one digit.
        let short_hour = usize::from(rest.as_bytes().get(1) == Some(&b':'));
        let (clock, rest) = rest.split_at_checked(8 - short_hour)?;
        let (nanos, rest) = match rest.strip_prefix(['.', ',']) {
            Some(fraction) => parse_fraction(fraction)?,
            None => (0, rest),
        };
        let offset = if offset_optional && rest.is_empty() { 0 } else { parse_offset(rest)? };
        let seconds = parse_day(date)? * SECONDS_PER_DAY + parse_clock(clock)? - offset;
        Self::from_nanos(i128::from(seconds) * NANOS + i128::from(nanos), offset)
    }

    /// Year, month, day of the month, day since the epoch, and second of the day, at an offset.
    fn civil(self, offset_seconds: i64) -> (i64, i64, i64, i64, i64) {
        let seconds = self.unix_seconds() + offset_seconds;
        let day = seconds.div_euclid(SECONDS_PER_DAY);
        let (year, month, date) = date_of_day(day);
        (year, month, date, day, seconds.rem_euclid(SECONDS_PER_DAY))
    }
}

/// `2024-01-02T03:04:05.678Z`, with the offset that the time was written with.
impl fmt::Display for CelTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, date, _, second) = self.civil(self.offset_seconds);
        write!(f, "{year:04}-{month:02}-{date:02}T")?;
        write!(f, "{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)?;
        let nanos = self.nanos.rem_euclid(NANOS);
        if nanos > 0 {
            let digits = format!("{nanos:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        if self.offset_seconds == 0 {
            return f.write_str("Z");
        }
        let minutes = self.offset_seconds.abs() / 60;
        let sign = if self.offset_seconds < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

fn parse_day(text: &str) -> Option<i64> {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if shape { day_of_date(text) } else { None }
}

fn two_digits(text: &str, below: i64) -> Option<i64> {
    let valid = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| valid && *number < below)
}

fn parse_clock(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let hour = two_digits(&format!("{:0>2}", parts.next()?), 24)?;
    let minute = two_digits(parts.next()?, 60)?;
    let second = two_digits(parts.next()?, 60)?;
    Some(hour * 3_600 + minute * 60 + second)
}

/// Nanoseconds (further digits are cut), and what follows.
fn parse_fraction(text: &str) -> Option<(i64, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let kept = digits.get(..9).unwrap_or(digits);
    let number: i64 = kept.parse().ok()?;
    Some((number * 10_i64.pow(9 - kept.len() as u32), rest))
}

fn parse_offset(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let sign = match text.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hour, minute) = text.get(1..)?.split_once(':')?;
    Some(sign * (two_digits(hour, 25)? * 3_600 + two_digits(minute, 60)? * 60))
}

/// Nanoseconds of `1h2m3.5s`, as Go's `ParseDuration` reads it.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_i128;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        total = total.checked_add(scaled(number, unit_nanos(unit)?)?)?;
        if total > i128::from(i64::MAX) + 1 {
            return None;
        }
        rest = tail;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn unit_nanos(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOS,
        "m" => 60 * NANOS,
        "h" => 3_600 * NANOS,
        _ => return None,
    })
}

/// `1.5` of a unit. Digits beyond what a duration can hold are cut.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { i128::from(whole.parse::<u64>().ok()?) };
    let fraction = fraction.get(..18).unwrap_or(fraction);
    let part = if fraction.is_empty() { 0 } else { i128::from(fraction.parse::<u64>().ok()?) };
    Some(whole.checked_mul(unit)? + part * unit / 10_i128.pow(fraction.len() as u32))
}

/// What the format `duration` allows besides: `3 days`, `2 weeks 1 hr`.
pub(crate) fn parse_lenient_duration(text: &str) -> Option<i64> {
    if let Some(nanos) = parse_duration(text) {
        return Some(nanos);
    }
    let mut total: Option<i64> = None;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number_text = &rest[start..];
        let end = number_text.find(|c: char| !c.is_ascii_digit()).unwrap_or(number_text.len());
        let (number, tail) = number_text.split_at(end);
        let tail = tail.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let unit_end = tail.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        if let Some(nanos) = word_nanos(&unit.to_lowercase()) {
            let part = number.parse::<i64>().ok()?.checked_mul(nanos)?;
            total = Some(total.unwrap_or(0).checked_add(part)?);
        }
        rest = tail;
    }
    total
}

fn word_nanos(unit: &str) -> Option<i64> {
    const SECOND: i64 = 1_000_000_000;
    /// Short names that must match whole, then the start of the long name.
    const WORDS: [(&[&str], &str, i64); 8] = [
        (&["ns"], "nano", 1),
        (&["us", "µs"], "micro", 1_000),
        (&["ms"], "milli", 1_000_000),
        (&["s"], "sec", SECOND),
        (&["m"], "min", 60 * SECOND),
        (&["h", "hr"], "hour", 3_600 * SECOND),
        (&["d"], "day", 86_400 * SECOND),
        (&["w", "wk"], "week", 604_800 * SECOND),
    ];
    let known = WORDS.iter().find(|(short, long, _)| short.contains(&unit) || unit.starts_with(long));
    known.map(|(_, _, nanos)| *nanos)
}

/// Seconds with as many digits as a double needs: `5400s`, `0.1s`.
pub(crate) fn show_duration(nanos: i64) -> String {
    let (seconds, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    format!("{}s", seconds as f64 + fraction as f64 / 1e9)
}

/// The offset of a time zone argument: UTC or `+hh:mm`. There is no database of named zones.
fn zone_offset(call: &Arguments<'_, '_>) -> Result<i64, EvalError> {
    if !call.has(1) {
        return Ok(0);
    }
    let zone = call.text(1)?;
    if matches!(&*zone, "" | "UTC") {
        return Ok(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let parts = zone.trim_start_matches(['+', '-']).split_once(':');
    let offset = parts.and_then(|(hour, minute)| Some((two_digits(hour, 100)?, two_digits(minute, 100)?)));
    let (hour, minute) = offset.ok_or_else(|| EvalError::failed(format!("unknown time zone {}", &*zone)))?;
    Ok(sign * (hour * 3_600 + minute * 60))
}

/// A part of a timestamp, computed from year, month, date, day and second of the day.
fn part<'a>(call: &mut Arguments<'_, 'a>, read: fn((i64, i64, i64, i64, i64)) -> i64) -> Outcome<'a> {
    call.budget.charge(1)?;
    let Value::Timestamp(timestamp) = call.get(0)? else { return Err(EvalError::no_overload()) };
    Ok(Value::Int(read(timestamp.civil(zone_offset(call)?))))
}

fn full_year<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    part(call, |(year, ..)| year)
}

fn month<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    part(call, |(_, month, ..)| month - 1)
}

fn date<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    part(call, |(_, _, date, ..)| date)
}

fn day_of_month<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    part(call, |(_, _, date, ..)| date - 1)
}

fn day_of_week<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    // The epoch was a Thursday, and weeks start with Sunday.
    part(call, |(_, _, _, day, _)| (day + 4).rem_euclid(7))
}

fn day_of_year<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    part(call, |(year, _, _, day, _)| day - day_of_date(&format!("{year:04}-01-01")).unwrap_or(day))
}

fn clock_part<'a>(
    call: &mut Arguments<'_, 'a>,
    of_timestamp: fn((i64, i64, i64, i64, i64)) -> i64,
    nanos_per_unit: i64,
) -> Outcome<'a> {
    if let Value::Duration(nanos) = call.get(0)? {
        let nanos = *nanos;
        call.budget.charge(1)?;
        return Ok(Value::Int(nanos / nanos_per_unit));
    }
    part(call, of_timestamp)
}

fn hours<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    clock_part(call, |(.., second)| second / 3_600, 3_600_000_000_000)
}

fn minutes<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    clock_part(call, |(.., second)| second / 60 % 60, 60_000_000_000)
}

fn seconds<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    clock_part(call, |(.., second)| second % 60, 1_000_000_000)
}

fn milliseconds<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    if let Value::Timestamp(timestamp) = call.get(0)? {
        let nanos = timestamp.nanos.rem_euclid(NANOS);
        call.budget.charge(1)?;
        zone_offset(call)?;
        return Ok(Value::Int((nanos / 1_000_000) as i64));
    }
    clock_part(call, |_| 0, 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenient_durations() {
        for (text, seconds) in [
            ("90s", Some(90)),
            ("3 days", Some(259_200)),
            ("1 week 2 hours", Some(612_000)),
            ("5m", Some(300)),
            ("10 min", Some(600)),
            ("2 hr", Some(7_200)),
            ("nope", None),
            ("5 parsecs", None),
            ("9999999999999 weeks", None),
        ] {
            let expected = seconds.map(|seconds: i64| seconds * 1_000_000_000);
            assert_eq!(parse_lenient_duration(text), expected, "{text}");
        }
    }

    #[test]
    fn lenient_times() {
        for (text, shown) in [
            ("2024-01-02T03:04:05", Some("2024-01-02T03:04:05Z")),
            ("", Some("1970-01-01T00:00:00Z")),
            ("2024-01-02T03:04:05.5+01:00", Some("2024-01-02T03:04:05.5+01:00")),
            ("2024-01-02", None),
        ] {
            assert_eq!(
                CelTimestamp::parse_lenient(text).map(|timestamp| timestamp.to_string()).as_deref(),
                shown,
                "{text}"
            );
        }
    }
}
