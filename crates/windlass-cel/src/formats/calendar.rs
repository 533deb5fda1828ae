//! Dates and days: the calendar is jiff's, the texts are those that Kubernetes reads and writes.

use jiff::SignedDuration;
use jiff::civil::{Date, date};

const EPOCH: Date = date(1970, 1, 1);
const HOURS_PER_DAY: i64 = 24;

/// Days since the epoch of `YYYY-MM-DD`; `None` for what is no date of the years 0 to 9999.
pub fn day_of_date(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let (year, month, day) = (number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?);
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    Some(date.duration_since(EPOCH).as_hours() / HOURS_PER_DAY)
}

/// Year, month and day of a day since the epoch. Days before the year -9999 and after 9999 become the first and the last
/// that there are.
pub fn date_of_day(days_since_epoch: i64) -> (i64, i64, i64) {
    let hours = days_since_epoch.saturating_mul(HOURS_PER_DAY);
    let date = SignedDuration::try_from_hours(hours)
        .map_or_else(|| if hours < 0 { Date::MIN } else { Date::MAX }, |since| EPOCH.saturating_add(since));
    (date.year().into(), date.month().into(), date.day().into())
}

fn number(text: &str) -> Option<i16> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_are_inverse() {
        for (text, day) in [
            ("0001-01-01", -719_162),
            ("1969-12-31", -1),
            ("1970-01-01", 0),
            ("2000-02-29", 11_016),
            ("9999-12-31", 2_932_896),
        ] {
            assert_eq!(day_of_date(text), Some(day), "{text}");
            let (year, month, date) = date_of_day(day);
            assert_eq!(format!("{year:04}-{month:02}-{date:02}"), text);
        }
    }

    #[test]
    fn rejects_what_is_no_date() {
        for text in
            ["", "2026", "2026-13-01", "2026-02-30", "1900-02-29", "10000-01-01", "+026-01-01", "2026-01-"]
        {
            assert_eq!(day_of_date(text), None, "{text}");
        }
    }

    #[test]
    fn days_beyond_the_calendar_are_its_ends() {
        assert_eq!(date_of_day(i64::MAX), (9999, 12, 31));
        assert_eq!(date_of_day(2_932_897), (9999, 12, 31));
        assert_eq!(date_of_day(i64::MIN), (-9999, 1, 1));
    }
}
