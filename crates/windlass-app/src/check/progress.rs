//! The line that shows how far a check is.

use std::sync::Arc;

use windlass_check::engine::{Progress, ProgressCallback};
use windlass_check::grouped;

use crate::progress_line::ProgressLine;

use super::numbers::{bytes, short};

/// Prints the progress of a check; `None` if standard error is no terminal.
pub(super) fn line(name: &'static str) -> Option<Arc<ProgressCallback>> {
    let line = ProgressLine::new()?;
    Some(Arc::new(move |progress: &Progress| line.show(&text(name, progress))))
}

/// Removes the line, so that the result stands there by itself.
pub(super) fn clear() {
    ProgressLine::new().iter().for_each(ProgressLine::clear);
}

fn text(name: &str, progress: &Progress) -> String {
    format!(
        "{name}: {} states, {}/s, frontier {}, {}, {} s",
        grouped(progress.states as u64),
        short(progress.rate),
        grouped(progress.frontier as u64),
        bytes(progress.bytes),
        progress.elapsed.as_secs(),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let progress = Progress {
            states: 1_204_551,
            rate: 2_140_000.0,
            frontier: 34_000,
            bytes: 210 << 20,
            elapsed: Duration::from_millis(3_900),
            ..Progress::default()
        };
        let expected = "pairs: 1,204,551 states, 2.1 M/s, frontier 34,000, 210 MiB, 3 s";
        assert_eq!(text("pairs", &progress), expected);
    }
}
