//! Seeds of random runs.

use std::time::SystemTime;

/// Another one each time, and short enough to be typed.
pub(crate) fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos()) ^ (since.as_secs() & 0xffff_ffff)
}

/// A seed on the command line: a number, or `random` for another one each time.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    match text {
        "random" => Ok(new_seed()),
        number => number.parse().map_err(|_| "give a whole number, or random".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_numbers_or_drawn() {
        assert_eq!(parse("7"), Ok(7));
        assert!(parse("random").is_ok());
        assert_eq!(parse("-1"), Err("give a whole number, or random".to_owned()));
    }
}
