//! How long a check takes: the only module that reads a clock. It has no influence on what is checked.

use std::time::{Duration, Instant};

/// Measures from its making.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "only reported, never part of a state")]
    pub(crate) fn start() -> Self {
        Stopwatch(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
