//! Durations on the command line: `500ms`, `2s`, `1m`.

use std::time::Duration;

/// The time that a text means.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let advice = || "give a time such as 500ms, 2s or 1m".to_owned();
    let start = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(start);
    let number: u64 = number.parse().map_err(|_| advice())?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        _ => None,
    };
    const LONGEST: u64 = 86_400_000;
    match milliseconds {
        Some(time @ 1..=LONGEST) => Ok(Duration::from_millis(time)),
        _ => Err(advice()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, expected) in [("500ms", 500), ("2s", 2000), ("1m", 60_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(expected)));
        }
        for text in
            ["", "2", "s", "0s", "-1s", "1.5s", "2h", "99999999999999999999s", "18446744073709551615m"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
