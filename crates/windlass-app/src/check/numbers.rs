//! Numbers for people.

use std::time::Duration;

/// `2.1 M per second`; nothing is said of what took no time.
pub(super) fn per_second(count: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 0.001 {
        "at once".to_owned()
    } else {
        format!("{} per second", short(count as f64 / seconds))
    }
}

/// `950`, `12 k`, `2.1 M`
pub(super) fn short(number: f64) -> String {
    scaled(number, 1000.0, &["", " k", " M", " G"])
}

/// `950 B`, `12 KiB`, `2.1 MiB`
pub(super) fn bytes(count: usize) -> String {
    scaled(count as f64, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

fn scaled(mut number: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    // What would be rounded up to a whole step belongs to the next unit.
    while number.round() >= step && unit + 1 < units.len() {
        number /= step;
        unit += 1;
    }
    let digits = if unit > 0 && number < 9.95 { 1 } else { 0 };
    format!("{number:.digits$}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, text) in
            [(0.0, "0"), (999.4, "999"), (999.6, "1.0 k"), (12_345.0, "12 k"), (2_140_000.0, "2.1 M")]
        {
            assert_eq!(short(number), text);
        }
        for (count, text) in [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (300 << 20, "300 MiB")] {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(per_second(3000, Duration::from_secs(2)), "1.5 k per second");
        assert_eq!(per_second(3000, Duration::ZERO), "at once");
    }
}
