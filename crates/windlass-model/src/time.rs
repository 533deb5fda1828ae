//! Points in time as Kubernetes writes them; the model never reads a clock.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_cel::formats::calendar::{date_of_day, day_of_date};

/// Microseconds since the Unix epoch. In JSON it is RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(i64);

const MICROS: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// 9999-12-31T23:59:59.999999Z, the last time that RFC 3339 can write.
const MAX_MICROS: i64 = 253_402_300_800 * MICROS - 1;

impl Timestamp {
    /// The given number of seconds after the Unix epoch, held within the years 1970 to 9999.
    pub fn from_unix_seconds(seconds: i64) -> Self {
        Self::from_unix_micros(seconds.saturating_mul(MICROS))
    }

    /// The given number of microseconds after the Unix epoch, held within the years 1970 to 9999.
    pub fn from_unix_micros(micros: i64) -> Self {
        Timestamp(micros.clamp(0, MAX_MICROS))
    }

    /// Whole seconds since the Unix epoch.
    pub fn unix_seconds(self) -> i64 {
        self.0.div_euclid(MICROS)
    }

    /// Microseconds since the Unix epoch.
    pub fn unix_micros(self) -> i64 {
        self.0
    }

    /// This time plus a number of seconds.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self::from_unix_micros(self.0.saturating_add(seconds.saturating_mul(MICROS)))
    }

    /// `2026-01-02T03:04:05.678901Z`, as `MicroTime` fields have it.
    pub fn to_micro_string(self) -> String {
        let (seconds, micros) = (self.unix_seconds(), self.0.rem_euclid(MICROS));
        format!("{}.{micros:06}Z", date_and_clock(seconds).as_str())
    }

    /// Reads RFC 3339, with any offset and any number of fractional digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (seconds, micros) = unix_time(text)?;
        Some(Self::from_unix_micros(seconds * MICROS + micros))
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_micro_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Timestamp::parse(&text).ok_or_else(|| format!("{text:?} is no time as RFC 3339 writes it"))
    }
}

/// Reads RFC 3339 as seconds since the Unix epoch, which may be negative, and microseconds.
pub(crate) fn unix_time(text: &str) -> Option<(i64, i64)> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, rest) = rest.split_at_checked(8)?;
    let days = day_of_date(date)?;
    let seconds = parse_clock(time)?;
    let (micros, rest) = parse_fraction(rest)?;
    let offset = parse_offset(rest)?;
    Some((days * SECONDS_PER_DAY + seconds - offset, micros))
}

/// `2026-01-02T03:04:05`, for any second of the years 0 to 9999.
pub(crate) fn date_and_clock(unix_seconds: i64) -> DateAndClock {
    let (year, month, day) = date_of_day(unix_seconds.div_euclid(SECONDS_PER_DAY));
    let (hour, minute, second) = clock(unix_seconds.rem_euclid(SECONDS_PER_DAY));
    let mut text = *b"0000-00-00T00:00:00";
    for (at, number) in
        [(0, year / 100), (2, year % 100), (5, month), (8, day), (11, hour), (14, minute), (17, second)]
    {
        text[at] += (number / 10 % 10) as u8;
        text[at + 1] += (number % 10) as u8;
    }
    DateAndClock(text)
}

/// A date and a time of day as text. Every write has some, so they are not put together by `format!`.
pub(crate) struct DateAndClock([u8; 19]);

impl DateAndClock {
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// `2026-01-02T03:04:05Z`, as `Time` fields have it.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(date_and_clock(self.unix_seconds()).as_str())?;
        f.write_str("Z")
    }
}

fn clock(second_of_day: i64) -> (i64, i64, i64) {
    (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60)
}

fn digits(text: &str) -> Option<i64> {
    (!text.is_empty() && text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

fn parse_clock(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute, second) = (digits(parts.next()?)?, digits(parts.next()?)?, digits(parts.next()?)?);
    (hour < 24 && minute < 60 && second < 61).then_some(hour * 3_600 + minute * 60 + second)
}

/// The fraction in microseconds (further digits are cut), and what follows it.
fn parse_fraction(text: &str) -> Option<(i64, &str)> {
    let Some(fraction) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = fraction.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(fraction.len());
    let (shown, rest) = fraction.split_at(end);
    if shown.is_empty() {
        return None;
    }
    let kept = &shown[..shown.len().min(6)];
    Some((digits(kept)? * 10_i64.pow(6 - kept.len() as u32), rest))
}

fn parse_offset(text: &str) -> Option<i64> {
    if text == "Z" || text == "z" {
        return Some(0);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hour, minute) = rest.split_once(':')?;
    let (hour, minute) = (digits(hour)?, digits(minute)?);
    (hour < 24 && minute < 60).then_some(sign * (hour * 3_600 + minute * 60))
}

/// A number of seconds in its most significant units, as kubectl shows it: `5m`, `3h20m`, `2d`.
pub(crate) fn human_duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{small_unit}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(seconds / HOUR, "h", seconds / MINUTE % 60, "m"),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(seconds / DAY, "d", seconds / HOUR % 24, "h"),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds / YEAR, "y", seconds / DAY % 365, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_reads_back() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_767_225_600, "2026-01-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            let time = Timestamp::from_unix_seconds(seconds);
            assert_eq!(time.to_string(), text);
            assert_eq!(Timestamp::parse(text), Some(time));
        }
    }

    #[test]
    fn reads_fractions_and_offsets() {
        let time = Timestamp::parse("2026-01-01T02:00:00.1234567+02:00").unwrap();
        assert_eq!(time.to_micro_string(), "2026-01-01T00:00:00.123456Z");
    }

    #[test]
    fn refuses_what_is_not_a_time() {
        for text in [
            "",
            "2026",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-01-01T25:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "ä026-01-01T00:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn ages_have_few_figures() {
        let cases = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (12_000, "3h20m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ];
        for (seconds, wanted) in cases {
            assert_eq!(human_duration(seconds), wanted, "{seconds}");
        }
    }
}
