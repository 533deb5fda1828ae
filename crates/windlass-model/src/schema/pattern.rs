//! The patterns of a schema, compiled within what they may use together.

use regex::Regex;
use windlass_cel::formats::pattern::{self, PatternError};

/// Sizes to which a pattern may compile; the smallest that suffices is charged.
const SIZES: [usize; 3] = [16 << 10, 256 << 10, 4 << 20];
/// What all patterns of one schema may use together, in bytes.
const ALLOWANCE: usize = 64 << 20;

/// What the patterns of one schema may still use, so that many small patterns cannot take much memory.
#[derive(Debug)]
pub(super) struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Allowance(ALLOWANCE)
    }
}

impl Allowance {
    /// Compiles a pattern of Go's dialect and charges for it.
    ///
    /// # Errors
    /// Why it is refused, in one line.
    pub(super) fn compile(&mut self, pattern: &str) -> Result<Regex, String> {
        let mut failure = String::new();
        for size in SIZES {
            if size > self.0 {
                return Err("the patterns of the schema are too large together".to_owned());
            }
            match pattern::compile(pattern, size) {
                Ok(regex) => {
                    self.0 -= size;
                    return Ok(regex);
                }
                Err(error @ PatternError::TooLarge { .. }) => failure = error.to_string(),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_patterns_share_one_allowance() {
        let mut allowance = Allowance::default();
        let compiled = (0..10_000).take_while(|_| allowance.compile("a").is_ok()).count();
        assert!((1_000..10_000).contains(&compiled), "{compiled}");
    }
}
