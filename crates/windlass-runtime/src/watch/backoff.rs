//! How long to wait before something that failed is tried again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Exponential backoff with jitter, so that those who failed together do not retry together.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, max: Duration) -> Self {
        Backoff { first, max, next: first }
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

/// Between 0 and 1. The keys of hash maps are random, and nothing more is needed here.
fn random_fraction() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(0) & u64::from(u32::MAX)).unwrap_or(0);
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let second = Duration::from_secs(1);
        let mut backoff = Backoff::new(second, 5 * second);
        for full in [1, 2, 4, 5, 5] {
            let wait = backoff.wait();
            assert!(wait >= second * full / 2 && wait <= second * full, "{wait:?}");
        }
        backoff.reset();
        assert!(backoff.wait() <= second);
    }
}
