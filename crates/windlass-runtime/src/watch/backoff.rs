//! How long to wait before something that failed is tried again.

use std::time::Duration;

use crate::operations::entropy::random_u64;

/// Exponential backoff with jitter, so that those who failed together do not retry together.
#[derive(Clone, Debug)]
pub(crate) struct JitteredBackoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl JitteredBackoff {
    pub(crate) fn new(first: Duration, max: Duration) -> Self {
        JitteredBackoff { first, max, next: first }
    }

    /// How long to wait now: between half of the wait and all of it.
    pub(crate) fn wait(&mut self) -> Duration {
        let full = self.next;
        self.next = (full * 2).min(self.max);
        full.mul_f64(0.5 + random_fraction() / 2.0)
    }

    /// It went well; the next failure waits for the shortest time again.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

/// Between 0 and 1.
fn random_fraction() -> f64 {
    random_u64() as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let second = Duration::from_secs(1);
        let mut backoff = JitteredBackoff::new(second, 5 * second);
        for full in [1, 2, 4, 5, 5] {
            let wait = backoff.wait();
            assert!(wait >= second * full / 2 && wait <= second * full, "{wait:?}");
        }
        backoff.reset();
        assert!(backoff.wait() <= second);
    }
}
