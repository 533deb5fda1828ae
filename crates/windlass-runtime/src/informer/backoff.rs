//! How long to wait before something that failed is tried again.

use std::time::Duration;

use crate::operations::entropy::random_u64;
use crate::queue::Backoff;

/// Exponential backoff with jitter, so that those who failed together do not retry together.
#[derive(Clone, Debug)]
pub(crate) struct JitteredBackoff {
    backoff: Backoff,
    failures: u32,
}

impl JitteredBackoff {
    pub(crate) fn new(backoff: Backoff) -> Self {
        JitteredBackoff { backoff, failures: 0 }
    }

    /// How long to wait now: between half of the delay and all of it.
    pub(crate) fn wait(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.backoff.exact_delay(self.failures).mul_f64(0.5 + random_fraction() / 2.0)
    }

    /// It went well; the next failure waits for the shortest time again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
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
        let mut backoff = JitteredBackoff::new(Backoff { initial: second, max: 5 * second });
        for full in [1, 2, 4, 5, 5] {
            let wait = backoff.wait();
            assert!(wait >= second * full / 2 && wait <= second * full, "{wait:?}");
        }
        backoff.reset();
        assert!(backoff.wait() <= second);
    }
}
