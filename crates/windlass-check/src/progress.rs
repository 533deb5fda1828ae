//! The progress of a long check, for whoever waits for it in a test.

use std::io::{Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::{Progress, ProgressCallback};

/// A check that takes no longer than this says nothing, and one that does says so about as often.
const INTERVAL_SECONDS: u64 = 5;

/// Writes a line every few seconds, past the test harness, which would keep it until the test has ended.
pub(crate) fn on_stderr(controllers: &str) -> Arc<ProgressCallback> {
    let (controllers, next) = (controllers.to_owned(), AtomicU64::new(INTERVAL_SECONDS));
    Arc::new(move |progress: &Progress| {
        let now = progress.elapsed.as_secs();
        if now >= next.load(Ordering::Relaxed) {
            next.store(now + INTERVAL_SECONDS, Ordering::Relaxed);
            // A closed stderr is no reason to fail a check.
            let _ = writeln!(stderr(), "{}", line(&controllers, progress));
        }
    })
}

fn line(controllers: &str, progress: &Progress) -> String {
    format!(
        "checking {controllers}: {} states, {:.0} steps/s, {} in the frontier at depth {}, {} MiB, {} s",
        progress.states,
        progress.rate,
        progress.frontier,
        progress.depth,
        progress.bytes >> 20,
        progress.elapsed.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn says_how_far_it_is() {
        let progress = Progress {
            states: 1_000,
            rate: 250.4,
            frontier: 7,
            depth: 3,
            bytes: 5 << 20,
            elapsed: Duration::from_secs(6),
            ..Progress::default()
        };
        assert_eq!(
            line("pairs", &progress),
            "checking pairs: 1000 states, 250 steps/s, 7 in the frontier at depth 3, 5 MiB, 6 s"
        );
    }
}
